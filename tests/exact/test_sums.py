"""mode="exact": the real-number sum or mean, rounded once. Against rational arithmetic, never another floating sum."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from drawn import drawn
from exact_cases import check, every_dtype, finite_bits, of_bits, run
from hypothesis import given
from hypothesis import strategies as st

from torch_reduce.exact_model import exact_model, exact_sum, round_fraction
from torch_reduce.testing import FLOATING, assert_same_bits, bits


@every_dtype
@pytest.mark.parametrize("n", [1, 2, 3, 8, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 4097, 20_001])
def test_uniform_bits(n, dtype, device):
    check(finite_bits(n, dtype, n), device)


@every_dtype
def test_every_exponent_alone(dtype, device):
    """Each power of two, and its neighbours, is its own sum; subnormals too."""
    finfo = torch.finfo(dtype)
    exponents = range(round(math.log2(finfo.smallest_normal * finfo.eps)), math.frexp(finfo.max)[1])
    powers = torch.tensor([2.0**e for e in exponents], dtype=torch.float64).to(dtype)
    x = torch.cat([powers, -powers, torch.nextafter(powers, 2 * powers) if dtype != torch.bfloat16 else powers * 1.5])
    x = x[x.isfinite()]
    assert_same_bits(run(x[:, None], 1, device=device).cpu(), x)
    assert_same_bits(run(x[None, :], 0, device=device).cpu(), x)
    assert_same_bits(run(x[:, None].expand(-1, 7), 1, op="mean", device=device).cpu(), x)
    check(x, device)


@every_dtype
def test_every_pair_of_exponents_cancels(dtype, device):
    """big + small - big is small, whatever lies between them."""
    finfo = torch.finfo(dtype)
    low, high = round(math.log2(finfo.smallest_normal * finfo.eps)), math.frexp(finfo.max)[1]
    small = torch.tensor([2.0**e for e in range(low, high, 7)], dtype=torch.float64).to(dtype)
    big = torch.tensor([2.0**e for e in range(low, high, 11)], dtype=torch.float64).to(dtype)
    x = torch.stack([t.flatten() for t in torch.broadcast_tensors(big[:, None], small, -big[:, None])], 1)  # (pairs, 3)
    expected = small.repeat(len(big))
    assert_same_bits(run(x, 1, device=device).cpu(), expected)
    assert_same_bits(run(x.t().contiguous(), 0, device=device).cpu(), expected)


@every_dtype
@pytest.mark.parametrize("n", [1000, 70_000])
def test_cancellation_to_the_last_bit(n, dtype, device):
    """All of it cancels but the smallest subnormal."""
    x = finite_bits(n, dtype, 5)
    tiny = of_bits(np.array([1]), dtype)
    whole = torch.cat([x, tiny, -x])
    whole = whole[torch.randperm(len(whole), generator=torch.Generator().manual_seed(1))]
    assert_same_bits(run(whole, device=device).cpu(), tiny[0])
    zero = run(torch.cat([x, -x]), device=device).cpu()
    assert_same_bits(zero, torch.zeros((), dtype=dtype), "a zero sum is +0")


@every_dtype
def test_one_huge_and_many_tiny(dtype, device):
    finfo = torch.finfo(dtype)
    tiny = finfo.smallest_normal * finfo.eps
    x = torch.full((10**7 + 1,), tiny, dtype=dtype)
    x[4_321_987] = finfo.max
    total = Fraction(finfo.max) + 10**7 * Fraction(tiny)
    for out in (dtype, torch.float64):
        assert_same_bits(run(x, device=device, dtype=out).cpu(), round_fraction(total, out))
    x[17] = -finfo.max
    rest = Fraction(tiny) * (10**7 - 1)
    assert_same_bits(run(x, device=device).cpu(), round_fraction(rest, dtype))


@pytest.mark.parametrize(
    "dtype, value", [(torch.float32, 1 / 3), (torch.bfloat16, 0.1), (torch.float16, -6e-5)], ids=str
)
def test_many_equal(dtype, value, device):
    x = torch.full((10**8,), value, dtype=dtype, device=device)
    one = Fraction(x[0].double().item())
    assert_same_bits(run(x, device=device, dtype=torch.float64).cpu(), round_fraction(one * 10**8, torch.float64))
    assert_same_bits(run(x, device=device, op="mean").cpu(), x[0].cpu())


@every_dtype
def test_largest_fractions_at_every_exponent(dtype, device):
    """All bits of every fraction set and no sign to cancel: what fills the digits and the slices fastest."""
    finfo = torch.finfo(dtype)
    fraction = 2 - finfo.eps
    high = math.frexp(finfo.max)[1]
    exponents = [math.frexp(finfo.smallest_normal)[1], -3, 0, 5, high - 1]
    if dtype == torch.float64:
        exponents += [high - 12, high - 60]
    for e in exponents:
        for n in (4097, 300_000):
            for sign in (1, -1):
                x = torch.full((n,), sign * math.ldexp(fraction, e), dtype=dtype)
                total = n * Fraction(x[0].double().item())
                assert_same_bits(
                    run(x, device=device, dtype=torch.float64).cpu(), round_fraction(total, torch.float64), f"{e} {n}"
                )
                wide = x[: n // 8 * 8].view(-1, 8)
                column = Fraction(x[0].double().item()) * len(wide)
                expected = round_fraction(column, torch.float64).expand(8)
                assert_same_bits(run(wide, 0, device=device, dtype=torch.float64).cpu(), expected, f"{e} {n}")


@every_dtype
@pytest.mark.parametrize("octaves", range(1, 64, 3))
def test_ranges_around_the_windows(octaves, dtype, device):
    """Exponents that span so many octaves, with full fractions at the top and the bottom."""
    finfo = torch.finfo(dtype)
    if octaves > math.frexp(finfo.max)[1] - 2:
        pytest.skip("the type has fewer octaves")
    fraction = 2 - finfo.eps
    rng = np.random.default_rng(octaves)
    for n in (1024, 5000):
        e = rng.choice([0, -octaves], n)
        x = torch.from_numpy(np.ldexp(fraction, e) * rng.choice([-1.0, 1.0, 1.0], n)).to(dtype)
        check(x, device, out_types=(torch.float64, dtype), ops=("sum",))
        x = x[: n // 40 * 40].view(-1, 40)
        check(x, device, 0, (torch.float64,), ("sum",))
        check(x, device, 1, (torch.float64,), ("sum",))


@every_dtype
def test_blocks_fill_a_double(dtype, device):
    """Largest numbers that cancel in the next block; an odd one among them is lost where no double holds their sum."""
    finfo = torch.finfo(dtype)
    odd = torch.tensor(4 / 3, dtype=dtype)
    for octaves in range(8, min(64, math.frexp(finfo.max)[1])):
        x = torch.zeros(2048, dtype=dtype)
        x[:1024], x[1024:2047] = math.ldexp(2 - finfo.eps, octaves), -math.ldexp(2 - finfo.eps, octaves)
        x[500] = odd
        assert_same_bits(run(x, device=device).cpu(), odd, f"{octaves} octaves")


@drawn(
    "case, sigma, dtype",
    [((200_001,), None), ((300, 700), 1), ((700, 300), 0), ((5000, 24), 1)],
    [0, 3, 6, 20],
    [torch.float32, torch.bfloat16, torch.float64],
)
def test_gradient_like(case, sigma, dtype, device):
    """Of a log-normal distribution."""
    shape, dim = case
    rng = np.random.default_rng(sigma)
    values = rng.standard_normal(shape) * np.exp(sigma * rng.standard_normal(shape))
    check(torch.from_numpy(values).to(dtype), device, dim, (dtype,))


def test_the_overview_example(device):
    assert run(torch.tensor([3e38, 3e38, -3e38]), device=device).item() == torch.tensor(3e38).item()


@given(data=st.data())
def test_any_bits(data, device):
    dtype = data.draw(st.sampled_from(FLOATING))
    n, rows = data.draw(st.integers(0, 70)), data.draw(st.integers(1, 4))
    width = 8 * torch.finfo(dtype).bits // 8
    patterns = data.draw(
        st.lists(st.integers(-(2 ** (width - 1)), 2 ** (width - 1) - 1), min_size=n * rows, max_size=n * rows)
    )
    x = of_bits(np.array(patterns, dtype=np.int64), dtype).view(rows, n)
    out = data.draw(st.sampled_from(FLOATING))
    op = data.draw(st.sampled_from(["sum", "mean"]))
    for y, dim in ((x, 1), (x.t().contiguous(), 0), (x.t(), 0)):
        assert_same_bits(run(y, dim, op=op, device=device, dtype=out).cpu(), exact_model(y, dim, op=op, dtype=out))


def test_the_model_itself():
    """exact_sum against Fraction, so that the tests above stand on something simple."""
    for seed in range(20):
        x = finite_bits(300, torch.float64 if seed % 2 else torch.float32, seed).double().numpy()
        assert exact_sum(x) == sum(map(Fraction, x.tolist()))
    assert bits(round_fraction(Fraction(1, 3), torch.float32)).item() == bits(torch.tensor(1 / 3)).item()
