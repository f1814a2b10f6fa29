"""Special values at every place that a kernel treats apart: NaN, infinities, signed zeros, subnormals, overflow."""

import math
from itertools import product

import pytest
import torch

import torch_reduce
from torch_reduce.model import MEANING
from torch_reduce.testing import (
    FLOATING,
    OPS,
    assert_same_bits,
    converts_to_bool,
    fill,
    function_of,
    gives_index,
    model,
    skips_nan,
    wants_two_elements,
)

INF, NAN = math.inf, math.nan
every_op = pytest.mark.parametrize("op", OPS)
every_float = pytest.mark.parametrize("dtype", FLOATING, ids=str)
# Two types of each operator, the other two of the next one.
every_op_of_two_types = pytest.mark.parametrize(
    "op, dtype", [(op, dtype) for i, op in enumerate(OPS) for dtype in FLOATING[i % 2 :: 2]], ids=str
)
SIZES = [1, 2, 3, 15, 16, 17, 31, 32, 33, 255, 256, 257, 511, 1023, 1024, 1025, 4097, 20_000]


def layouts(x, device):
    """The values of a vector as a full reduction, as rows and as columns: (tensor, dim)."""
    x = x.to(device)
    return [(x, None), (x.expand(3, -1).contiguous(), 1), (x[:, None].expand(-1, 5).contiguous(), 0)]


def places(n):
    return sorted({0, 1, n // 2, n - 2, n - 1} & set(range(n)))


@every_op
@pytest.mark.parametrize("n", SIZES)
def test_nan_wins_everywhere(op, n, device):
    for place, nan in product(places(n), (NAN, -NAN)):
        x = fill((n,), torch.float32, op=op)
        x[(place + n // 3) % n] = INF
        x[place] = nan
        for y, dim in layouts(x, device):
            result = function_of(op)(y, dim)
            if converts_to_bool(op) or skips_nan(op):
                assert_same_bits(result, model(y, dim, op=op), f"{nan} at {place} of {n}")
            else:
                found = result == place if gives_index(op) else result.isnan()
                assert found.all(), f"{nan} at {place} of {n}"


@every_op_of_two_types
def test_infinities(op, dtype, device):
    for n in (1, 17, 256, 1025, 5000):
        for place in places(n):
            for infinity in (INF, -INF):
                x = fill((n,), dtype, op=op)
                x[place] = infinity
                for y, dim in layouts(x, device):
                    expected = model(y, dim, op=op)
                    if op in ("sum", "mean"):
                        assert (expected == infinity).all()
                    assert_same_bits(function_of(op)(y, dim), expected, f"{infinity} at {place} of {n}")


def test_opposite_infinities_give_nan(device):
    for n in (2, 16, 300, 1025, 70_000):
        for first, second in ((0, n - 1), (0, 1), (n - 2, n - 1)):
            x = torch.ones(n)
            x[first], x[second] = INF, -INF
            for y, dim in layouts(x, device):
                assert torch_reduce.sum(y, dim).isnan().all() and torch_reduce.mean(y, dim).isnan().all()
                assert (torch_reduce.amax(y, dim) == INF).all() and (torch_reduce.amin(y, dim) == -INF).all()


def test_zero_times_infinity_is_nan(device):
    x = torch.tensor([2.0, 0.0, INF], device=device)
    assert torch_reduce.prod(x).isnan()


@every_op_of_two_types
def test_signed_zeros(op, dtype, device):
    """Zero sums are +0; +0 is larger than -0; a product keeps its sign; exponentials of both are 1."""
    for n in (1, 2, 16, 17, 257, 1025, 4096):
        patterns = [torch.zeros(n), torch.full((n,), -0.0), torch.where(torch.arange(n) % 2 == 0, 0.0, -0.0)]
        patterns += [torch.where(torch.arange(n) == place, s, -s) for place in places(n) for s in (0.0, -0.0)]
        for x in patterns:
            for y, dim in layouts(x.to(dtype), device):
                expected = model(y, dim, op=op)
                if MEANING[op].natural is None and not (n == 1 and wants_two_elements(op)):
                    assert (expected == 0).all()  # the first index too, as the zeros are equal
                assert_same_bits(function_of(op)(y, dim), expected, f"{n}")


def test_signs_of_zeros_by_name(device):
    zeros = torch.tensor([-0.0, 0.0, -0.0], device=device)
    assert not torch_reduce.amax(zeros).signbit() and torch_reduce.amin(zeros).signbit()
    assert not torch_reduce.sum(zeros).signbit() and not torch_reduce.sum(zeros[:1]).signbit()
    assert torch_reduce.prod(zeros[:1]).signbit() and not torch_reduce.prod(zeros).signbit()
    assert torch_reduce.prod(torch.tensor([-3.0, 0.0], device=device)).signbit()
    assert not torch_reduce.sum(torch.tensor([1.5, -1.5], device=device)).signbit()
    assert torch_reduce.amax(torch.tensor([-0.0, -1.0], device=device)).signbit()


@every_float
def test_sums_of_subnormals_are_exact(dtype, device):
    """Nothing is flushed to zero: multiples of the smallest subnormal add exactly."""
    info = torch.finfo(dtype)
    least = info.smallest_normal * info.eps
    for n in (1, 16, 33, 257, 1025, 5000):
        counts = torch.arange(n) % 7 + 1
        x = (counts.double() * least).to(dtype)
        for y, dim in layouts(x, device):
            result = torch_reduce.sum(y, dim)
            assert_same_bits(result, model(y, dim))
            exact = counts.sum().double() * least
            if exact < info.smallest_normal:
                assert (result.double() == exact).all()
            assert (torch_reduce.amax(y, dim).double() == counts.max().double() * least).all()
            assert (torch_reduce.amin(y, dim).double() == least).all()


def test_products_underflow_gradually(device):
    x = torch.tensor([2.0**-126, 0.5, 0.5, 2.0**-21], device=device)
    assert torch_reduce.prod(x).item() == 2.0**-149
    assert torch_reduce.prod(-x[:3]).item() == -(2.0**-128)


def test_overflow_on_the_way(device):
    """Deterministic sums are computed in the compute type, so finite inputs may overflow, in the order's sequence."""
    big = 3e38
    assert torch_reduce.sum(torch.tensor([big, big, -big], device=device)).item() == INF
    assert torch_reduce.sum(torch.tensor([big, -big, big], device=device)).item() == torch.tensor(big).item()
    assert torch_reduce.sum(torch.tensor([big, big, -big], device=device), dtype=torch.float64).isfinite()
    assert torch_reduce.mean(torch.tensor([big, big], device=device)).item() == INF


def test_half_overflows_only_at_the_end(device):
    """65504 is the largest fp16; sums pass it in fp32 and come back."""
    x = torch.tensor([65504.0, 65504.0, -65504.0, 0.0], dtype=torch.float16, device=device)
    assert torch_reduce.sum(x).item() == 65504
    assert torch_reduce.sum(x[:2]).item() == INF
    assert torch_reduce.sum(-x[:2]).item() == -INF
    assert torch_reduce.sum(x[:2], dtype=torch.float32).item() == 131008
    assert torch_reduce.mean(x[:2]).item() == 65504
    assert torch_reduce.mean(x.expand(1000, 4).contiguous()).item() == 16376
    # 65504 + 15.99 rounds down, 65504 + 16 is the tie, which goes to infinity as IEEE says.
    for extra, expected in ((15.984375, 65504.0), (16.0, INF)):
        assert torch_reduce.sum(torch.tensor([65504.0, extra], dtype=torch.float16, device=device)).item() == expected


@every_float
def test_largest_values(dtype, device):
    info = torch.finfo(dtype)
    x = torch.tensor([info.max, -info.max, info.min, info.tiny, -info.tiny], dtype=dtype, device=device)
    assert torch_reduce.amax(x).item() == info.max and torch_reduce.amin(x).item() == -info.max
    for value in x.tolist():
        one = torch.tensor([value], dtype=dtype, device=device)
        for op in OPS:
            assert_same_bits(function_of(op)(one), model(one, op=op), f"{op} of {value}")
        assert torch_reduce.sum(one).item() == torch_reduce.prod(one).item() == value


@every_op
@every_float
def test_every_size_around_a_boundary(op, dtype, device):
    """With infinities around the view, so that one read past either end shows."""
    for n in SIZES:
        guard = torch.full((n + 34,), NAN, dtype=dtype)
        guard[17 : 17 + n] = fill((n,), dtype, op=op)
        x = guard.to(device)[17 : 17 + n]
        assert_same_bits(function_of(op)(x), model(x, op=op), f"{n}")


def test_cancellation(device):
    """x and -x in any places cancel to +0 where the order pairs them, and to what the model says elsewhere."""
    for n in (2, 256, 512, 2048, 65_536):
        x = fill((n // 2,), torch.float32)
        for y in (torch.stack([x, -x], 1).flatten(), torch.cat([x, -x])):
            assert_same_bits(torch_reduce.sum(y.to(device)), model(y))
        pairs = torch.stack([x, -x], 1).flatten()
        if n <= 256:
            assert torch_reduce.sum(pairs.to(device)).item() == 0


@pytest.mark.parametrize("mode", ["atomic", "deterministic", "exact"])
def test_no_results_at_any_strides(mode, device):
    """A kept dim of size 0, at whatever stride, is nothing to do."""
    for strides in ((5, 1), (1, 5), (0, 0), (1, 1)):
        for shape, dim in (((3, 0), 0), ((0, 3), 1), ((3, 0, 2), (0, 2))):
            x = torch.empty_strided(shape, (*strides, 1)[: len(shape)], device=device)
            assert torch_reduce.mean(x, dim, mode=mode).shape == (0,)
