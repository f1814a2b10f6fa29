"""The exact CUDA kernels on the CPU (emulated.py): what holds a sum on its way overflows nowhere, and loses nothing."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from emulated import aligned, check, every_dtype, needs_emulator, run

from torch_reduce.exact_model import exact_sum, round_fraction
from torch_reduce.testing import assert_same_bits

pytestmark = needs_emulator


@every_dtype
def test_largest_fractions(emulator, dtype):
    """All bits set and one sign, at the top of every window: what overflows first; more than one flush takes."""
    finfo = torch.finfo(dtype)
    high = math.frexp(finfo.max)[1]
    exponents = [math.frexp(finfo.smallest_normal)[1], 0, high - 1] + ([high - 9, high - 60] if high > 1000 else [])
    for e in exponents:
        for n, sms in ((4097, 4), (150_000, 1)):
            x = aligned(torch.full((n,), -math.ldexp(2 - finfo.eps, e), dtype=dtype))
            one = Fraction(x[0].double().item())
            actual, _ = run(emulator, x, sms=sms, dtype=torch.float64)
            assert_same_bits(actual, round_fraction(one * n, torch.float64), f"{e} {n}")
        for shape in ((20_000, 8), (5000, 132)):
            x = aligned(torch.full(shape, math.ldexp(2 - finfo.eps, e), dtype=dtype))
            expected = round_fraction(-one * shape[0], torch.float64).expand(shape[1])
            for sms in (1,):
                actual, _ = run(emulator, x, 0, sms=sms, dtype=torch.float64)
                assert_same_bits(actual, expected, f"{e} {shape}")


@every_dtype
@pytest.mark.parametrize("octaves", [3, 14, 20, 23, 27, 38, 46, 50, 70, 74, 98, 130])
def test_ranges_around_the_windows(emulator, octaves, dtype):
    """Full fractions at the top and so far below, mixed, in blocks, rising: windows kept, raised, lowered."""
    finfo = torch.finfo(dtype)
    if octaves > math.frexp(finfo.max)[1] - 2:
        pytest.skip("the type has fewer octaves")
    rng = np.random.default_rng(octaves)
    n = 9600
    for exponents in (
        rng.choice([0, -octaves], n),
        np.where(np.arange(n) % 4800 < 2400, 0, -octaves),
        -octaves + np.arange(n) * octaves // n,
    ):
        x = torch.from_numpy(np.ldexp(2 - finfo.eps, exponents) * rng.choice([-1.0, 1.0, 1.0], n)).to(dtype)
        for y, dim in ((x, None), (x.view(-1, 24), 0), (x.view(-1, 24), 1), (x.view(20, -1), 1), (x.view(20, -1), 0)):
            check(emulator, y, dim, ("sum",), (torch.float64,), (1,) if dim is None else (4,), (1,))


@pytest.mark.parametrize("loads, exponent", [(1, 49), (4, 46)], ids=["short rows", "rows of one tile"])
@pytest.mark.parametrize("subnormal", [False, True])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_rows_fill_a_double(emulator, loads, exponent, subnormal, dtype):
    """An odd number whose 1 a double loses beside the sum of half of the lanes, were the others in its window."""
    finfo = torch.finfo(dtype)
    of_lanes = 16 * 16 // dtype.itemsize  # one load of half of a warp
    row = torch.tensor([1.0, -1.0]).repeat_interleave(of_lanes).repeat(loads) * 2.0**exponent
    row[0], row[-1] = 1 / finfo.eps + 1, 0
    row *= finfo.smallest_normal * finfo.eps if subnormal else 1
    check(emulator, row.to(dtype).repeat(3, 1), 1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_slices_are_closed_in_time(emulator, dtype):
    """More elements of a warp than its slices' 63 bits hold, at the very top of a window that its first tile set."""

    def rising(shape):
        x = torch.full(shape, 15 * (2 - torch.finfo(dtype).eps), dtype=dtype)
        x[:4096] = 2 - torch.finfo(dtype).eps
        return aligned(x)

    row = rising((2_300_000,))
    actual, units = run(emulator, row, sms=0, dtype=torch.float64, family="rows")
    assert units == 1
    assert_same_bits(actual, round_fraction(exact_sum(row.double().numpy()), torch.float64))

    columns = rising((1_300_000, 4))
    actual, units = run(emulator, columns, 0, sms=1, dtype=torch.float64, family="columns")
    assert units <= 2
    column = round_fraction(exact_sum(columns[:, 0].double().numpy()), torch.float64)
    assert_same_bits(actual, column.expand(4))


def test_elements_of_eight_loads_fill_doubles(emulator):
    """At the very top of a window that a warp's first tile set, in the rows that are long enough for eight loads."""
    x = torch.full((1 << 17,), 15 * (2 - 2**-23))
    x[: 1 << 15] = 2 - 2**-23
    actual, _ = run(emulator, aligned(x), sms=1, dtype=torch.float64, family="rows")
    assert_same_bits(actual, round_fraction(exact_sum(x.double().numpy()), torch.float64))


def sums_of_columns(emulator, rows, columns, sms, vector=-1):
    """Of equal columns; and the number of CTAs that share them."""
    x = aligned(rows.unsqueeze(1).repeat(1, columns))
    actual, units = run(emulator, x, 0, sms=sms, dtype=torch.float64, family="columns", vector=vector)
    assert_same_bits(actual, round_fraction(exact_sum(rows.double().numpy()), torch.float64).expand(columns))
    return units


def test_warps_of_a_column_fill_64_bits(emulator):
    """Sums in units of a window that only a few of the rows needed: all together they take more than 63 bits."""
    r = torch.arange(256)
    rows = (2 - 2**-23) * torch.where(r % 32 < 4, 2.0**-13, 1.0)
    assert sums_of_columns(emulator, rows, 32, sms=0) == 1


@pytest.mark.parametrize("up, down", [(0, 0), (14, 13), (15, 12), (16, 12), (16, 13), (40, 13), (16, 40)])
@pytest.mark.parametrize("dtype, columns", [(torch.bfloat16, 3), (torch.float32, 8)], ids=str)
def test_windows_of_shared_columns_lie_apart(emulator, up, down, dtype, columns):
    """The windows of one CTA `up` octaves apart, and those of the others `down` octaves below its lowest."""
    r = torch.arange(5120)
    scales = torch.where(r < 1024, torch.where(r % 128 < 16, 2.0**up, 1.0), 2.0**-down)
    assert sums_of_columns(emulator, ((2 - torch.finfo(dtype).eps) * scales).to(dtype), columns, sms=4) > 1


def test_many_ctas_share_columns(emulator):
    """More than a column has threads in the second kernel. Their sums are negative, so that all bits are set."""
    rows = torch.full((260 * 512,), -1.5, dtype=torch.float64)
    assert sums_of_columns(emulator, rows, 4, sms=130, vector=0) == 260
