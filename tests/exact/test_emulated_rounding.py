"""The exact CUDA kernels on the CPU (emulated.py): sums, and quotients of them, are rounded once."""

import ctypes
from fractions import Fraction

import numpy as np
import pytest
import torch
from emulated import TYPES, aligned, every_dtype, needs_emulator, run
from exact_cases import far_ties, of_bits
from hypothesis import given, settings
from hypothesis import strategies as st

from torch_reduce.exact_model import exact_model, round_fraction
from torch_reduce.testing import FLOATING, assert_same_bits

pytestmark = needs_emulator


@every_dtype
def test_ties_are_decided_from_every_distance(emulator, dtype):
    x, expected = far_ties(dtype)
    long = torch.cat([x, torch.zeros(len(x), 997, dtype=dtype)], 1)
    if dtype == torch.float64:  # four thousand of them
        long, few = long[::16], expected[::16]
    else:
        few = expected
    for y, sums in ((x, expected), (long, few)):
        for z, dim, sign in ((y, 1, 1), (-y.t().contiguous(), 0, -1)):
            actual, _ = run(emulator, aligned(z), dim)
            assert_same_bits(actual, sign * sums)
    eight = torch.cat([x, torch.zeros(len(x), 5, dtype=dtype)], 1)
    actual, _ = run(emulator, aligned(eight), 1, op="mean")
    assert_same_bits(actual, expected / 8)


@every_dtype
def test_ties(emulator, dtype):
    """Of both parities, alone and decided by an element far below, in short and long rows, in columns, and of means."""
    eps, tiny = torch.finfo(dtype).eps, of_bits(np.array([1]), dtype).item()
    rows = []
    for base in (1.0, 1.0 + eps, 2.0 - eps):
        for third in (0.0, tiny, -tiny, 2.0**-9 * eps):
            rows += [[base, eps / 2, third], [-base, -eps / 2, third]]
    x = torch.tensor(rows, dtype=torch.float64).to(dtype)
    wide = torch.zeros(len(rows), 3000, dtype=dtype)
    wide[:, [0, 1500, 2999]] = x
    for y, dim in ((x, 1), (x.t().contiguous(), 0), (wide, 1), (wide.t().contiguous(), 0)):
        for op in ("sum", "mean"):
            for out in FLOATING:
                actual, _ = run(emulator, aligned(y), dim, op=op, dtype=out)
                assert_same_bits(actual, exact_model(y, dim, op=op, dtype=out), f"{op} to {out}, {tuple(y.shape)}")


def check_result(emulated_library, value, exponent, divisor):
    """A sum, value * 2^exponent, divided by the divisor and rounded, for every type of elements and of results."""
    expected = {dtype: round_fraction(Fraction(value) * Fraction(2) ** exponent / divisor, dtype) for dtype in FLOATING}
    high, low = value >> 64, value & (2**64 - 1)
    for of_elements in FLOATING:
        for dtype in FLOATING:
            out = torch.full((), 77, dtype=dtype)
            emulated_library.emulate_result(
                TYPES[of_elements],
                TYPES[dtype],
                ctypes.c_int64(divisor),
                ctypes.c_int64(high),
                ctypes.c_uint64(low),
                exponent,
                ctypes.c_void_p(out.data_ptr()),
            )
            what = f"{value} * 2^{exponent} / {divisor}, {of_elements} to {dtype}"
            assert_same_bits(out, expected[dtype], what)


@given(
    bits=st.integers(0, 126),
    value=st.integers(0, 2**126 - 1),
    negative=st.booleans(),
    exponent=st.integers(-149, 127),
    divisor=st.integers(0, 62).flatmap(lambda bits: st.integers(2**bits, 2 ** (bits + 1) - 1)),
)
@settings(max_examples=300, deadline=None)
def test_any_quotient_is_rounded_once(emulated_library, bits, value, negative, exponent, divisor):
    value >>= bits
    check_result(emulated_library, -value if negative else value, exponent, divisor)


@pytest.mark.parametrize("bits", [1, 2, 20, 26, 27, 28, 29, 31, 32, 33, 40, 62])
def test_quotients_that_are_ties_or_nearly(emulated_library, bits):
    """The sum is a tie times an odd divisor, or one unit beside it, many bits below."""
    rng = np.random.default_rng(bits)
    for precision in (8, 11, 24, 53):
        for divisor in (2**bits - 1, 2**bits + 1, int(rng.integers(2 ** (bits - 1), 2**bits)) | 1):
            tie = int(rng.integers(2 ** (precision - 1), 2**precision)) * 2 + 1
            room = 126 - (tie * divisor).bit_length()
            for below in {0, 1, room // 2, room} if room >= 0 else ():
                for beside in (-1, 0, 1):
                    check_result(emulated_library, (tie * divisor << below) + beside, -below - 30, divisor)
                    check_result(emulated_library, -(tie * divisor << below) - beside, -below - 30, divisor)
