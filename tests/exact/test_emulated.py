"""The exact CUDA kernels on the CPU (emulated.py): families, layouts, special elements."""

import math

import numpy as np
import pytest
import torch
from drawn import drawn
from emulated import SHAPES, aligned, check, data_of, every_dtype, needs_emulator, run
from exact_cases import of_bits
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import cases

from torch_reduce.exact_model import exact_model, exact_sum, words_of, words_of_value
from torch_reduce.testing import FLOATING, assert_same_bits

pytestmark = needs_emulator


@drawn("case, kind, dtype", SHAPES, ["normal", "gradient", "wide", "bits", "special"], FLOATING)
def test_every_family(emulator, case, kind, dtype):
    shape, dim = case
    x = data_of(kind, math.prod(shape), dtype).view(shape)
    check(emulator, x, dim, ("mean",) if kind == "normal" else ("sum",))


@every_dtype
def test_rows_are_shared(emulator, dtype):
    """By several CTAs, of rows and of columns, through scratch."""
    for shape, dim in (((2, 60_000), 1), ((40_000, 8), 0)):
        x = aligned(data_of("wide", math.prod(shape), dtype).view(shape))
        actual, units = run(emulator, x, dim)
        assert units > 1
        assert_same_bits(actual, exact_model(x, dim))


@every_dtype
@pytest.mark.parametrize("shape", [(5, 1001), (3, 4099), (1, 70_001), (150, 43)], ids=str)
def test_rows_begin_anywhere(emulator, shape, dtype):
    """By 16-byte loads from every place of a vector on, and by loads of elements; beside them lie NaNs."""
    rows, n = shape
    pitch = n + 16 // dtype.itemsize + 1
    storage = torch.full((rows * pitch + 16,), math.nan, dtype=dtype)
    aligned_at = -storage.data_ptr() % 16 // dtype.itemsize
    for skip in range(1, 16 // dtype.itemsize + 1):
        x = storage.as_strided(shape, (pitch, 1), aligned_at + skip)
        x.copy_(data_of("gradient", rows * n, dtype).view(shape))
        expected = exact_model(x, 1)
        for vector in (0, 1):
            actual, _ = run(emulator, x, 1, family="rows", vector=vector, sms=1 + skip % 2)
            assert actual is not None
            assert_same_bits(actual, expected, f"{skip} elements after 16 bytes, vector {vector}")
        x.fill_(math.nan)


@every_dtype
@pytest.mark.parametrize("kind", ["normal", "wide", "special"])
def test_a_warp_has_several_rows(emulator, kind, dtype):
    x = aligned(data_of(kind, 700 * 96, dtype).view(700, 96))
    actual, _ = run(emulator, x, 1, sms=1, family="rows")
    assert_same_bits(actual, exact_model(x, 1))


@every_dtype
@pytest.mark.parametrize("shape, dim", [((50_000,), None), ((30, 700), 1), ((3000, 20), 0), ((50, 16), 1)], ids=str)
def test_words(emulator, shape, dim, dtype):
    x = data_of("bits", math.prod(shape), dtype).view(shape)
    x.view(-1)[:3] = torch.tensor([math.nan, math.inf, -math.inf], dtype=dtype)
    x = aligned(x)
    actual, _ = run(emulator, x, dim, words=True)
    elements = x if dim == 1 or dim is None else x.t()
    for words, row in zip(
        actual.view(-1, actual.shape[-1]).tolist(), elements.reshape(-1, elements.shape[-1]), strict=True
    ):
        row = row.double().numpy()
        counts = [int((row == math.inf).sum()), int((row == -math.inf).sum()), int(np.isnan(row).sum())]
        assert words == words_of_value(exact_sum(row[np.isfinite(row)]), words_of(dtype)) + counts


@every_dtype
def test_zeros_and_nothing(emulator, dtype):
    for shape, dim in (((5, 0), 1), ((0, 5), 0), ((0,), None)):
        x = torch.empty(shape, dtype=dtype)
        for op in ("sum", "mean"):
            actual, _ = run(emulator, x, dim, op=op)
            assert_same_bits(actual, exact_model(x, dim, op=op))
    for shape, dim in SHAPES:
        check(emulator, torch.full(shape, -0.0, dtype=dtype), dim, sms=(4,))


def test_nothing_of_huge_dims(emulator):
    """Dims that do not merge, and whose sizes' product is no number of 64 bits."""
    actual, _ = run(emulator, torch.empty(0, 2**31, 2**31).transpose(1, 2))
    assert_same_bits(actual, torch.zeros(()))


@every_dtype
def test_short_columns_of_infinities(emulator, dtype):
    """Elements of one magnitude are multiples of a unit, infinite ones too; but their means are not quotients."""
    check(emulator, torch.full((3, 512), math.inf, dtype=dtype), 0, sms=(4,))


@every_dtype
def test_tiny_elements(emulator, dtype):
    """Subnormals alone, and with one number far above."""
    patterns = np.random.default_rng(3).integers(1, 4, 6000)
    x = of_bits(patterns, dtype)
    for big in (0.0, 1.0, torch.finfo(dtype).max):
        y = x.clone()
        y[1234] = big
        for z, dim in ((y, None), (y.view(-1, 24), 0), (y.view(-1, 24), 1)):
            check(emulator, z, dim, ("sum",), sms=(4,))


@settings(max_examples=40)
@given(data=st.data())
def test_any_layout(emulator, data):
    x, dim, _ = data.draw(cases("sum", FLOATING))
    x = x if x.numel() < 6000 else x[..., : max(1, 6000 * x.shape[-1] // x.numel())]
    expected = exact_model(x, dim)
    actual, _ = run(emulator, aligned(x) if x.numel() else x, dim)
    assert_same_bits(actual, expected, f"{x.shape} {x.stride()} {dim}")
