"""Sums side by side: with and without a superaccumulator, of neighbours, in turns, and of outputs that lie apart."""

import numpy as np
import pytest
import torch
from exact_cases import check, every_dtype, finite_bits, of_bits, run

from torch_reduce.testing import assert_same_bits, order_fill

ROWS = 70  # more than are summed side by side


def rows_of(kind, n, dtype):
    """ROWS rows whose exponents are close together, somewhat apart, anywhere; or whose sums are next to ties."""
    draw = np.random.default_rng(n)
    if kind == "anywhere":
        return finite_bits(ROWS * n, dtype, n).view(ROWS, n)
    if kind == "apart":  # some rows have more octaves than a double
        octaves = {torch.float16: 12, torch.bfloat16: 60, torch.float32: 45, torch.float64: 90}[dtype]
        x = np.ldexp(draw.standard_normal((ROWS, n)), -draw.integers(0, octaves, (ROWS, n)))
    elif kind == "ties":  # small integers, whose means and halves are often halfway between two numbers
        x = draw.integers(-8, 9, (ROWS, n)) * (1 + 2.0 ** -torch.finfo(dtype).bits)
    else:
        x = draw.standard_normal((ROWS, n))
    return torch.from_numpy(np.asarray(x, np.float64)).to(dtype)


@every_dtype
@pytest.mark.parametrize("kind", ["close", "apart", "anywhere", "ties"])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 50, 64, 128, 129, 1100])
def test_every_layout(kind, n, dtype, device):
    x = rows_of(kind, n, dtype)[: 7 if 10 < n < 1000 and n != 64 else ROWS]
    check(x, device, 1)
    expected = run(x, 1, device=device)
    assert_same_bits(run(x.t().contiguous(), 0, device=device), expected)
    assert_same_bits(run(x[:5].t().contiguous(), 0, device=device), expected[:5])
    assert_same_bits(run(x.t().contiguous().t(), 1, device=device), expected)
    apart = torch.empty(x.shape[0], 3, n, 2, dtype=dtype)
    apart[:, 1, :, 1] = x
    assert_same_bits(run(apart[:, 1, :, 1], 1, device=device), expected)
    out = torch.full((3 * x.shape[0],), torch.nan, dtype=dtype, device=device)
    assert_same_bits(run(x, 1, device=device, out=out[::3]), expected)
    assert out[1::3].isnan().all() and out[2::3].isnan().all()


@pytest.mark.parametrize("scale", [1, 2.0**1015], ids=["", "near overflow"])
@pytest.mark.parametrize("octaves", [37, 38, 39, 40, 41, 42])
@pytest.mark.parametrize("n", [64, 128])
def test_errors_of_more_bits_than_a_double(n, octaves, scale, device):
    """Every element but two loses nearly half of the last place of a sum that is 2^9 times as large, always upwards.
    Those two are so many octaves smaller."""
    draw = np.random.default_rng(n + octaves)
    lost = 2.0**-44 - 2.0**-52
    x = np.tile(lost + np.where(np.arange(n) % 2, 1.0, -1.0), (ROWS, 1))
    x[:, -2:] = 2.0**-octaves * (1 + draw.integers(1, 64, (ROWS, 2)) * 2.0**-52) * draw.choice([-1, 1], (ROWS, 2))
    check(torch.from_numpy(scale * draw.permuted(x, axis=1)), device, 1)


@pytest.mark.parametrize("n", [64, 128])
def test_lanes_of_other_octaves(n, device):
    """Sums of lanes that have errors where they meet."""
    draw = np.random.default_rng(n)
    octave = draw.integers(0, 30, (ROWS, 8))[:, np.arange(n) % 8]
    check(torch.from_numpy(np.ldexp(draw.standard_normal((ROWS, n)), -octave)), device, 1)


@pytest.mark.parametrize("low, high", [(1.5, 2), (-2, -1.5), (-2, 2)])
@pytest.mark.parametrize("columns", [1, 4, 8, 16])
def test_sums_that_grow_with_every_row(columns, low, high, device):
    draw = np.random.default_rng(columns)
    for rows in (1000, 1024, 1025, 5000):
        check(torch.from_numpy(draw.uniform(low, high, (rows, columns))), device, 0)


@pytest.mark.parametrize("rows, columns", [(128, 8), (256, 4), (512, 2), (64, 8)])
@pytest.mark.parametrize("below", [2.0**1014, 2.0**1015, 2.0**1016])
def test_sums_at_the_end_of_the_range(below, rows, columns, device):
    """Sums that are finite, of numbers that all round up where they are added to much larger ones."""
    x = torch.full((rows, columns), np.nextafter(below, 0), dtype=torch.float64)
    x[:, ::2] *= -1
    check(x, device, 0)
    check(x.t().contiguous(), device, 1)


@every_dtype
def test_what_is_not_finite_stays_with_its_neighbours_apart(dtype, device):
    """One special element changes its own output alone."""
    x = torch.from_numpy(order_fill(ROWS * 5)).to(dtype).view(ROWS, 5)
    x[3, 2], x[40, 0], x[41, 4] = torch.inf, torch.nan, -torch.inf
    x[42, :2] = torch.tensor([torch.inf, -torch.inf])
    x[43] = -0.0
    x[44] = of_bits(np.array([1]), dtype)  # the smallest subnormal
    check(x, device, 1)
    assert not run(x, 1, device=device)[43].signbit()


def test_sums_that_their_errors_carry_past_the_range(device):
    """Two halves of half of the last place: together they round the largest number up to infinity."""
    largest = torch.finfo(torch.float64).max
    x = torch.tensor([[largest, 2.0**969, 2.0**969], [largest, 2.0**969, 0.0]], dtype=torch.float64)
    check(x, device, 1)
    check(-x.t().contiguous(), device, 0)


@every_dtype
def test_the_longest_columns(dtype, device):
    """As many elements as are summed without a superaccumulator, and one more."""
    for n in (1000, 1024, 1025):
        x = rows_of("close", n, dtype)[:5].t().contiguous()
        check(x, device, 0)
        check(x * 0 + 1, device, 0)
