"""Tensors cut out of larger ones: rows and columns that begin at any element, between two multiples of 16 bytes."""

import pytest
import torch
from drawn import drawn

import torch_reduce
from torch_reduce.testing import OPS, assert_same_bits, fill, function_of, legal_plans, model

DTYPES = [torch.float32, torch.bfloat16, torch.float64, torch.int16, torch.bool]


def cut_out(values, shift, gap, device):
    """``values`` of two dims, rows ``gap`` elements apart, the first one ``shift`` elements behind the start of the
    memory, which ends with the last element. What is not of the tensor would show in a sum."""
    rows, columns = values.shape
    stride = columns + gap
    around = float("nan") if values.dtype.is_floating_point else 1
    memory = torch.full((shift + (rows - 1) * stride + columns,), around, dtype=values.dtype)
    memory.as_strided(values.shape, (stride, 1), shift).copy_(values)
    return memory.to(device).as_strided(values.shape, (stride, 1), shift)


def check(x, dim, expected, *where, op="sum"):
    """The plan that is chosen, and every other one that is legal."""
    call = function_of(op)
    assert_same_bits(call(x, dim), expected, str((*where, torch_reduce.explain(x, dim, op=op))))
    for plan in legal_plans(x, dim, op=op):
        assert_same_bits(call(x, dim), expected, (*where, plan))


@pytest.mark.parametrize("n", [257, 1000, 1023, 1024, 1025, 1040, 2047, 4097, 70_001], ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rows(n, dtype, device):
    per_load = 16 // dtype.itemsize
    values = fill((per_load + 1, n), dtype)
    expected = model(values, 1)
    for shift in range(per_load + 1):
        check(cut_out(values, shift, shift % 2, device), 1, expected, shift)


# Whole chunks, and then as many elements as a warp has lanes, fewer, or one more.
@drawn(
    "op, dtype, n",
    ["sum", "amax", "prod", "sumsq"],
    [torch.bfloat16, torch.float16, torch.int8, torch.bool],
    [2049, 2080, 2081, 4128, 6145, 8193, 8224, 16_385],
)
def test_rows_that_end_in_a_few_elements(op, n, dtype, device):
    """A few rows and many, whose last chunk is a few elements."""
    for rows, shift, gap in ((9, 3, 0), (700, 1, 1)):
        x = cut_out(fill((rows, n), dtype, op=op), shift, gap, device)
        assert_same_bits(function_of(op)(x, 1), model(x.cpu(), 1, op=op), (rows, shift, gap))


@pytest.mark.parametrize("n", [2, 3, 5, 23, 31, 32, 33, 60, 64, 100, 129, 255, 256], ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_short_rows(n, dtype, device):
    for shift, gap, rows in ((0, 0, 3001), (1, 0, 700), (3, n // 2, 333), (1, 1, 1)):
        values = fill((rows, n), dtype)
        check(cut_out(values, shift, gap, device), 1, model(values, 1), shift, gap)


@pytest.mark.parametrize("n", [1, 2, 7, 23, 256, 257, 1024, 3001], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int8, torch.bool], ids=str)
def test_columns(n, dtype, device):
    per_load = 16 // dtype.itemsize
    for columns in (2 * per_load, 77, 300):
        values = fill((n, columns), dtype)
        expected = model(values, 0)
        for shift, gap in ((0, 1), (1, 0), (per_load - 1, 2), (3, per_load)):
            check(cut_out(values, shift, gap, device), 0, expected, columns, shift, gap)


@pytest.mark.parametrize("size", [1024, 1025, 1777, 2794], ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_two_reduced_dims(size, dtype, device):
    """Chunks that lie in one of the rows, and those that lie in two."""
    values = fill((6, size), dtype)
    for shift, gap in ((1, 3), (2, 64), (0, 1)):
        x = cut_out(values, shift, gap, device)
        check(x, None, model(values), shift, gap)
        parts = x.as_strided((2, 3, size), (3 * x.stride(0), x.stride(0), 1))
        check(parts, (1, 2), model(values.view(2, 3, size), (1, 2)), shift, gap)
        check(parts, (0, 1), model(values.view(2, 3, size), (0, 1)), shift, gap)


@pytest.mark.parametrize("op", [op for op in OPS if op != "sum"])
@pytest.mark.parametrize("shape, dim", [((4, 2999), 1), ((500, 23), 1), ((300, 60), 1), ((700, 75), 0)], ids=str)
def test_every_op(op, shape, dim, device):
    values = fill(shape, torch.float32, op=op)
    check(cut_out(values, 1, 2, device), dim, model(values, dim, op=op), op=op)


def test_outputs_of_any_stride(device):
    """Neighbouring results that do not lie side by side, or are cut off by the end of a row."""
    values = fill((40, 77), torch.float32)
    x = cut_out(values, 1, 0, device)
    for stride in (1, 3):
        out = torch.full((80 * stride,), 5.0, device=device)
        torch_reduce.sum(x, 0, out=out[: 77 * stride : stride])
        assert_same_bits(out[: 77 * stride : stride], model(values, 0))
        out[: 77 * stride : stride] = 5
        assert bool((out == 5).all())
