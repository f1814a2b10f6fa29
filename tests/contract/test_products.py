"""Products: finite elements neither overflow nor underflow on the way, and every multiplication rounds once."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch

import torch_reduce
from torch_reduce.testing import FLOATING, assert_same_bits, model

every_type = pytest.mark.parametrize("dtype", FLOATING, ids=str)
INF, NAN = math.inf, math.nan


def ends(dtype):
    """The smallest and the largest powers of two that a type has, subnormal ones too."""
    info = torch.finfo(dtype)
    return info.smallest_normal * info.eps, 2.0 ** (math.frexp(info.max)[1] - 1)


def wild(n, dtype, seed):
    """Elements of every exponent, of which each has an inverse somewhere, about."""
    draw = torch.Generator().manual_seed(seed)
    low, high = (math.log2(end) for end in ends(dtype))
    exponents = torch.rand(n, generator=draw, dtype=torch.float64) * min(-low, high)
    exponents[: n // 2] *= -1
    exponents[n // 2 : 2 * (n // 2)] = -exponents[: n // 2][torch.randperm(n // 2, generator=draw)]
    signs = torch.randint(0, 2, (n,), generator=draw) * 2 - 1
    values = (signs * torch.exp2(exponents)).to(dtype)
    return values[torch.randperm(n, generator=draw)]


def exact(values):
    """The real product, as a fraction."""
    return math.prod((Fraction(v) for v in values.double().tolist()), start=Fraction(1))


def check(actual, expected, n, compute, what=""):
    """Within n - 1 roundings of significands, one of the result, and half a step of subnormal results."""
    info = torch.finfo(actual.dtype)
    relative = (1 + Fraction(torch.finfo(compute).eps) / 2) ** (n - 1) * (1 + Fraction(info.eps) / 2) - 1
    bound = abs(expected) * relative + Fraction(info.smallest_normal) * Fraction(info.eps) / 2
    if abs(expected) + bound > Fraction(info.max):  # rounded up to infinity, or not
        assert actual.isinf() or abs(expected) - bound <= Fraction(info.max) * (1 + Fraction(info.eps)), (what, actual)
        return
    assert abs(Fraction(actual.item()) - expected) <= bound, (what, actual, float(expected))


def compute_of(dtype):
    return torch.float64 if dtype == torch.float64 else torch.float32


@every_type
def test_what_cancels(dtype, device):
    low, high = ends(dtype)
    for values in (
        [low, low, high, high],
        [high, high, low, low],
        [high, high, -low, low, 3.0],
        [low] * 7 + [high] * 7,
    ):
        x = torch.tensor(values, dtype=dtype)
        result = torch_reduce.prod(x.to(device))
        assert_same_bits(result.cpu(), model(x, op="prod"))
        check(result.cpu(), exact(x), len(x), compute_of(dtype))


def test_the_products_of_the_report(device):
    x = torch.tensor([1e-30, 1e-30, 1e30, 1e30])
    check(torch_reduce.prod(x.to(device)).cpu(), exact(x), 4, torch.float32)
    x = torch.exp(torch.randn(2000, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 8)
    x = torch.cat([x, 1 / x]).float()
    result = torch_reduce.prod(x.to(device)).cpu()
    check(result, exact(x), len(x), torch.float32)


@every_type
@pytest.mark.parametrize("n", [2, 3, 33, 255, 1025, 3000])
def test_elements_of_every_exponent(dtype, n, device):
    """By every kind of kernel: rows, columns, and those whose order memory does not have."""
    x = torch.stack([wild(n, dtype, seed) for seed in range(6)])
    expected = model(x, 1, op="prod")
    for row, result in zip(x[:2], expected, strict=False):
        check(result, exact(row), n, compute_of(dtype))
    y = x.to(device)
    assert_same_bits(torch_reduce.prod(y, 1).cpu(), expected)
    assert_same_bits(torch_reduce.prod(y.t().contiguous(), 0).cpu(), expected)
    assert_same_bits(torch_reduce.prod(y.t().contiguous().t(), 1).cpu(), expected)
    wide = y.repeat(40, 1)
    assert_same_bits(torch_reduce.prod(wide, 1).cpu(), expected.repeat(40))
    assert_same_bits(torch_reduce.prod(wide.t().contiguous(), 0).cpu(), expected.repeat(40))
    if n % 3 == 0:
        assert_same_bits(torch_reduce.prod(y.view(6, 3, -1), (1, 2)).cpu(), expected)
        apart = y.view(6, 3, -1).transpose(1, 2).contiguous().transpose(1, 2)
        assert_same_bits(torch_reduce.prod(apart, (1, 2)).cpu(), expected)
    for out in FLOATING:
        assert_same_bits(torch_reduce.prod(y, 1, dtype=out).cpu(), model(x, 1, op="prod", dtype=out))


@every_type
def test_two_factors_round_as_one_multiplication(dtype, device):
    """Results that are subnormal too: once, where a rounding of the significand comes first."""
    draw = np.random.default_rng(3)
    compute = np.float64 if dtype == torch.float64 else np.float32
    exponents = draw.integers(-14, 12, (4000, 2)) if dtype == torch.float16 else draw.integers(-90, 60, (4000, 2))
    x = torch.from_numpy(np.ldexp(draw.uniform(1, 2, (4000, 2)), exponents).astype(compute)).to(dtype)
    expected = model(x, 1, op="prod")
    assert_same_bits(torch_reduce.prod(x.to(device), 1).cpu(), expected)
    for row, result in zip(x[:50], expected, strict=False):
        check(result, exact(row), 2, compute_of(dtype))


def test_a_long_way_out_and_back(device):
    """Exponents go far beyond those of fp64."""
    x = torch.cat([torch.full((100_000,), 2.0**-140), torch.full((140_000,), 2.0**100)])
    assert torch_reduce.prod(x.to(device)).item() == 1
    assert torch_reduce.prod(x[:200_000].to(device)).item() == 0
    assert torch_reduce.prod(-x[150_001:].to(device)).item() == -INF
    y = torch.cat(
        [torch.full((3000,), 2.0**-1070, dtype=torch.float64), torch.full((3210,), 2.0**1000, dtype=torch.float64)]
    )
    assert torch_reduce.prod(y.to(device)).item() == 1


@every_type
def test_what_is_not_finite(dtype, device):
    low, high = ends(dtype)
    for values, expected in (
        ([INF, low, low, -1], -INF),
        ([INF, 0.0, high], NAN),
        ([high, high, 0.0], 0.0),
        ([high, high, -0.0], -0.0),
        ([-low, low, 0.0], -0.0),
        ([NAN, high, high], NAN),
        ([high, high], INF),
        ([-high, high], -INF),
        ([low, low], 0.0),
        ([low, -low], -0.0),
    ):
        result = torch_reduce.prod(torch.tensor(values, dtype=dtype, device=device))
        assert_same_bits(result.cpu(), torch.tensor(expected, dtype=dtype), str(values))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("apart", [1, 256])
def test_a_product_that_rounds_up_to_the_least_normal_number(dtype, apart, device):
    """(1 - d) * (1 + d) is below 1 by d^2, which is less than half a step of subnormal numbers: with an exponent of
    its own it rounds down, without one up."""
    info = torch.finfo(dtype)
    d = math.isqrt(int(0.375 / info.eps)) * info.eps
    half = math.sqrt(info.smallest_normal)
    x = torch.ones(4 * apart, dtype=dtype)
    x[0], x[apart], x[2 * apart] = half * (1 - d), half * (1 + d), 1 / half
    result = torch_reduce.prod(x.to(device)).cpu()
    assert_same_bits(result, model(x, op="prod"))
    stacked = torch_reduce.prod(x.to(device)[:, None].expand(-1, 32).contiguous(), 0).cpu()
    assert_same_bits(stacked, model(x, op="prod").expand(32))
