"""Every input type with every output type: the rules of the contract, and one rounding to the output type."""

import math

import pytest
import torch

import torch_reduce
from torch_reduce.testing import DTYPES, FLOATING, INTEGERS, assert_same_bits, constrained_plan, fill, model

LOW = (torch.float16, torch.bfloat16)
ids = {"ids": lambda t: str(t).removeprefix("torch.")}
every_input = pytest.mark.parametrize("dtype_in", DTYPES, **ids)
sums = pytest.mark.parametrize("op", ["sum", "mean", "prod"])


def convertible(shape, dtype_in, dtype_out, op):
    """Test values whose conversion to ``dtype_out`` is defined: no fraction is negative where the type has no sign,
    no value exceeds the range of the type."""
    x = fill(shape, dtype_in, op=op)
    if dtype_in.is_floating_point and not dtype_out.is_floating_point:
        x = x.abs() if dtype_out not in (torch.int8, torch.int16, torch.int32, torch.int64) else x
        x = x.clamp(-100, 100)
    return x


@sums
@every_input
def test_every_combination(op, dtype_in, device):
    for dtype_out in FLOATING if op == "mean" else DTYPES:
        for shape, dim in (((3, 300), 1), ((300, 3), 0), ((2500,), 0)):
            x = convertible(shape, dtype_in, dtype_out, op)
            actual = getattr(torch_reduce, op)(x.to(device), dim, dtype=dtype_out)
            assert_same_bits(actual, model(x, dim, op=op, dtype=dtype_out), f"to {dtype_out}, {shape}")


@sums
@every_input
def test_out_names_the_type(op, dtype_in, device):
    """Without ``dtype``, out's dtype is the output type; with both, they are equal."""
    for dtype_out in FLOATING if op == "mean" else DTYPES:
        x = convertible((4, 70), dtype_in, dtype_out, op).to(device)
        out = torch.ones(4, dtype=dtype_out, device=device)
        expected = model(x, 1, op=op, dtype=dtype_out)
        assert_same_bits(getattr(torch_reduce, op)(x, 1, out=out), expected, f"out of {dtype_out}")
        out.fill_(1)
        assert_same_bits(getattr(torch_reduce, op)(x, 1, dtype=dtype_out, out=out), expected, f"both {dtype_out}")


@every_input
def test_default_types_are_those_of_torch(dtype_in, device):
    x = fill((5, 6), dtype_in).to(device)
    assert torch_reduce.sum(x).dtype == torch.sum(x).dtype
    assert torch_reduce.prod(x).dtype == torch.prod(x).dtype
    assert torch_reduce.amax(x).dtype == torch_reduce.amin(x).dtype == dtype_in
    if dtype_in.is_floating_point:
        assert torch_reduce.mean(x).dtype == torch.mean(x).dtype


@pytest.mark.parametrize("op", ["amax", "amin"])
@every_input
def test_extremes(op, dtype_in, device):
    for shape, dim in (((3, 300), 1), ((300, 3), 0), ((2500,), 0)):
        x = fill(shape, dtype_in)
        assert_same_bits(getattr(torch_reduce, op)(x.to(device), dim), model(x, dim, op=op), f"{shape}")


@pytest.mark.parametrize("dtype", INTEGERS, **ids)
def test_extremes_of_the_type(dtype, device):
    """The largest and smallest values of a type, unsigned 64-bit ones beyond int64 too."""
    info = torch.iinfo(dtype)
    x = torch.tensor([1, info.max, 0, info.min, info.max - 1, info.min + 1], dtype=dtype, device=device)
    assert torch_reduce.amax(x).item() == info.max
    assert torch_reduce.amin(x).item() == info.min
    for value in (info.min, info.max):
        same = torch.full((3, 70), value, dtype=dtype, device=device)
        assert torch_reduce.amax(same, 1).tolist() == torch_reduce.amin(same, 1).tolist() == [value] * 3


def test_integers_wrap_around(device):
    x = torch.tensor([2**63 - 1, 1, 5], device=device)
    assert torch_reduce.sum(x).item() == -(2**63) + 5
    assert torch_reduce.prod(torch.tensor([2**62, 4, 3], device=device)).item() == 0
    ones = torch.full((1000,), 100, dtype=torch.uint8, device=device)
    assert torch_reduce.sum(ones).item() == 100_000
    assert torch_reduce.sum(ones, dtype=torch.uint8).item() == 100_000 % 256
    assert torch_reduce.sum(ones, dtype=torch.int16).item() == 100_000 - 131_072


@pytest.mark.parametrize("mode", ["atomic", "deterministic", "exact"])
def test_sums_of_integers_are_exact_where_the_result_is_floating(mode, device):
    """Beyond 64 bits too: nanoseconds since 1970, and uint64 that no int64 holds. Rounded once, to any type."""
    double = {"dtype": torch.float64, "mode": mode}
    times = torch.full((6,), 1_764_000_000_000_000_000, device=device)
    assert torch_reduce.mean(times, **double).item() == 1_764_000_000_000_000_000
    assert torch_reduce.sum(torch.tensor([2**62] * 4, device=device), **double).item() == 2.0**64
    assert torch_reduce.sum(torch.tensor([-(2**63)] * 3, device=device), **double).item() == -3 * 2.0**63
    large = torch.tensor([2**64 - 1, 2**63, 1], dtype=torch.uint64, device=device)
    assert torch_reduce.sum(large, **double).item() == 3 * 2.0**63
    assert torch_reduce.mean(large, **double).item() == 2.0**63
    # The tie of 2^64 and 2^64 + 2^12 goes to even, and one more goes up.
    for extra, result in ((2**11, 2.0**64), (2**11 + 1, 2.0**64 + 2.0**12)):
        assert torch_reduce.sum(torch.tensor([2**62] * 4 + [extra], device=device), **double).item() == result
    for shape, dim in (((70, 3000), 1), ((3000, 70), 0), ((300_007,), None), ((9, 40, 70), (0, 2)), ((1000, 8), 1)):
        for dtype in (torch.int64, torch.uint64):
            x = fill(shape, dtype)
            for out in FLOATING:
                for op in ("sum", "mean"):
                    actual = getattr(torch_reduce, op)(x.to(device), dim, dtype=out, mode=mode)
                    assert_same_bits(actual, model(x, dim, op=op, dtype=out), f"{op} of {dtype} {shape} to {out}")


def test_floating_to_integer_converts_elements_first(device):
    x = torch.tensor([0.5, 0.5, -0.9, 1.9, -1.9], device=device)
    for dtype in (torch.int8, torch.int16, torch.int32, torch.int64):
        assert_same_bits(torch_reduce.sum(x, dtype=dtype), torch.sum(x, dtype=dtype))
        assert torch_reduce.sum(x[:2], dtype=dtype).item() == 0
        assert torch_reduce.prod(x, dtype=dtype).item() == 0


@pytest.mark.parametrize("dtype_in", [*FLOATING, *INTEGERS], **ids)
def test_bool_result(dtype_in, device):
    """To bool, every element converts first, as torch does: sum is "any", and prod is "all"."""
    x = torch.tensor([[0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 2, 1]]).to(dtype_in).to(device)
    assert torch_reduce.sum(x, 1, dtype=torch.bool).tolist() == [False, True, True, True]
    assert torch_reduce.prod(x, 1, dtype=torch.bool).tolist() == [False, False, True, True]
    if dtype_in.is_floating_point:
        small = torch.tensor([[0.25, -0.25], [0.0, -0.0], [math.nan, 0.0]], dtype=dtype_in, device=device)
        assert torch_reduce.sum(small, 1, dtype=torch.bool).tolist() == [True, False, True]
        assert torch_reduce.prod(small, 1, dtype=torch.bool).tolist() == [True, False, False]


def test_bool_of_an_integer_that_wraps(device):
    """256 ones in uint8, and 2^32 twice, are still true."""
    assert torch_reduce.sum(torch.ones(256, dtype=torch.uint8, device=device), dtype=torch.bool).item() is True
    assert torch_reduce.prod(torch.full((2,), 2**32, device=device), dtype=torch.bool).item() is True


@pytest.mark.parametrize("dtype_in", LOW + (torch.float32,), **ids)
def test_wider_output_widens_the_compute_type(dtype_in, device):
    """1 + 2^-30 + ... is lost in fp32 and kept in fp64."""
    small = 2.0**-20 if dtype_in != torch.float32 else 2.0**-40
    x = torch.tensor([1.0, small * 2**-4], dtype=dtype_in, device=device)
    assert torch_reduce.sum(x, dtype=torch.float64).item() == 1.0 + small * 2**-4
    many = fill((1000,), dtype_in)
    assert_same_bits(torch_reduce.sum(many.to(device), dtype=torch.float64), model(many.double()))


@pytest.mark.parametrize("dtype_in", [torch.float32, torch.float64], **ids)
def test_input_is_never_rounded_to_a_narrower_type(dtype_in, device):
    """2^-12 vanishes beside 1 in half precision, but 4096 of them are 1."""
    x = torch.cat([torch.ones(1), torch.full((4096,), 1 + 2.0**-12), torch.full((4096,), -1.0)]).to(dtype_in).to(device)
    for dtype_out in LOW:
        assert torch_reduce.sum(x, dtype=dtype_out).item() == 2.0


# A tie between two neighbours of the output type, and a term too small for fp32 that decides it.
@pytest.mark.parametrize(
    "dtype_out, tie, up", [(torch.float16, 2.0**-11, 2.0**-10), (torch.bfloat16, 2.0**-8, 2.0**-7)], **ids
)
@pytest.mark.parametrize("op", ["sum", "mean"])
def test_one_rounding_from_fp64(op, dtype_out, tie, up, device):
    for sign in (1.0, -1.0):
        for decides, expected in ((2.0**-40, 1 + up), (0.0, 1.0), (-(2.0**-40), 1.0)):
            x = torch.tensor([1.0, tie, decides, 0.0], dtype=torch.float64, device=device) * sign
            x = x * 4 if op == "mean" else x
            assert getattr(torch_reduce, op)(x, dtype=dtype_out).item() == sign * expected
        for decides, expected in ((-(2.0**-40), 1 + up), (2.0**-40, 1 + 2 * up), (0.0, 1 + 2 * up)):
            x = torch.tensor([1.0 + up, tie, decides], dtype=torch.float64, device=device) * sign
            assert torch_reduce.sum(x, dtype=dtype_out).item() == sign * expected


@pytest.mark.parametrize("dtype_out", FLOATING, **ids)
def test_one_rounding_from_int64(dtype_out, device):
    precision = {torch.float16: 11, torch.bfloat16: 8, torch.float32: 24, torch.float64: 53}[dtype_out]
    top = 2**14 if dtype_out == torch.float16 else 2**61
    half_ulp = top >> precision
    for sign in (1, -1):
        for decides, expected in ((0, top), (1, top + 2 * half_ulp), (-1, top)):
            x = torch.tensor([top, half_ulp, decides], device=device) * sign
            assert torch_reduce.sum(x, dtype=dtype_out).double().item() == sign * expected


@pytest.mark.parametrize("dtype_out", LOW, **ids)
def test_rounding_at_the_ends_of_the_type(dtype_out, device):
    """Subnormals, the largest value, the tie to infinity: each as one rounding of the fp64 value."""
    info = torch.finfo(dtype_out)
    ulp = info.max * info.eps / (2 - info.eps) if dtype_out == torch.bfloat16 else 32.0
    least = info.smallest_normal * info.eps
    values = [info.max, info.max + ulp / 2 * (1 - 2.0**-30), info.max + ulp / 2, least, least / 2, least * 0.5000001]
    values += [least * 1.5, least * 2.5, info.smallest_normal - least / 2, info.smallest_normal * (1 - 2.0**-30)]
    for value in values + [-v for v in values]:
        x = torch.tensor([value], dtype=torch.float64)
        assert_same_bits(torch_reduce.sum(x.to(device), dtype=dtype_out), model(x, dtype=dtype_out), f"{value!r}")


@pytest.mark.parametrize("dtype", FLOATING, **ids)
def test_mean_divides_once_and_rounds_once(dtype, device):
    for n in (3, 7, 10, 49, 255, 1000, 4097):
        x = fill((2, n), dtype)
        assert_same_bits(torch_reduce.mean(x.to(device), 1), model(x, 1, op="mean"), f"{n}")
    # Multiplying by the reciprocal of 3 would round twice: 7 / 3 differs from 7 * (1 / 3) in fp32.
    x = torch.tensor([1.0, 2.0, 4.0], dtype=dtype, device=device)
    assert torch_reduce.mean(x).item() == (torch.tensor(7.0, dtype=dtype) / 3).item()


def test_mean_of_integers_divides_in_fp64(device):
    """The int64 sum 2^53 + 2 over 2 is beyond fp32, and a mean of ten is one division."""
    x = torch.tensor([2**53 + 1, 1], device=device)
    assert torch_reduce.mean(x, dtype=torch.float64).item() == 2**52 + 1
    y = torch.arange(10, dtype=torch.uint8, device=device)
    for dtype in FLOATING:
        assert torch_reduce.mean(y, dtype=dtype).item() == 4.5


def test_product_of_integers_to_floating_does_not_wrap(device):
    x = torch.full((30,), 10, dtype=torch.int64, device=device)
    assert torch_reduce.prod(x, dtype=torch.float64).item() == pytest.approx(1e30, rel=30 * 2.0**-53)
    assert_same_bits(torch_reduce.prod(x, dtype=torch.float32), model(x, op="prod", dtype=torch.float32))


@pytest.mark.parametrize("shape, dim", [((65, 300), 1), ((300, 48), 0), ((1029, 50), 0), ((70, 3, 9), (0, 2))], ids=str)
def test_bools_of_any_byte(shape, dim, device):
    """A bool that is not 0 is True, whatever its byte, and results are bytes of 0 and 1."""
    byte = torch.arange(math.prod(shape), dtype=torch.int64).mul(7).remainder(256).to(torch.uint8).view(shape)
    byte[..., ::3] *= (torch.arange(shape[0]) % 5 > 0).to(torch.uint8).view(-1, *[1] * (len(shape) - 1))
    byte[-1], byte[0] = 6, byte[0].clamp(min=2)
    x, truth = byte.view(torch.bool).to(device), byte != 0
    for order in (lambda t: t, lambda t: t[..., 1:]):
        for op in ("amax", "amin"):
            result = getattr(torch_reduce, op)(order(x), dim)
            expected = getattr(torch, op)(order(truth).to(torch.uint8), dim)
            assert torch.equal(result.view(torch.uint8).cpu(), expected), op
        assert torch.equal(torch_reduce.sum(order(x), dim).cpu(), order(truth).sum(dim))
        assert torch.equal(torch_reduce.prod(order(x), dim).cpu(), order(truth).all(dim=dim).long())


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int8, torch.int16], **ids)
def test_long_columns_of_small_integers(dtype, device):
    """More rows than kernels add up in 32 bits before they widen; sums of int16 do not fit these."""
    low, high = (0, 1) if dtype == torch.bool else (torch.iinfo(dtype).min, torch.iinfo(dtype).max)
    rows = 2**20 + 5  # 2^17 for each of eight warps, 2^32 as a sum of the smallest int16
    for value in (low, high):
        x = torch.full((1, 32), value, dtype=dtype, device=device).expand(rows, 32)
        for y in (x, x.contiguous(), x.contiguous()[:, 1:31]):
            for split in (0, 1):
                with constrained_plan("columns", split=split):
                    assert torch_reduce.sum(y, 0).unique().tolist() == [rows * value]
                    assert torch_reduce.amax(y, 0).unique().tolist() == [value]
                    assert torch_reduce.amin(y, 0).unique().tolist() == [value]
