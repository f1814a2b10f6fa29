"""Shapes that fill a GPU with outputs: several rows to a lane, columns to a thread, CTAs in more than one wave. Their
bits are the CPU's, which other tests hold against the model."""

import pytest
import torch
from strategies import like

import torch_reduce
from torch_reduce.testing import OPS, assert_same_bits, fill, function_of, legal_plans, wants_floating

pytestmark = pytest.mark.cuda
DTYPES = [torch.float32, torch.bfloat16, torch.float64, torch.uint8, torch.int8, torch.int64, torch.bool]


def check(x, dim, ops=OPS):
    """Every operator, by the plan that is chosen and by every other one that is legal."""
    on_gpu = like(x, "cuda")
    for op in ops:
        if wants_floating(op) and not x.dtype.is_floating_point:
            continue
        call = function_of(op)
        expected = call(x, dim)
        plan = torch_reduce.explain(on_gpu, dim, op=op)
        assert_same_bits(call(on_gpu, dim), expected, (op, plan))
        for plan in legal_plans(on_gpu, dim, op=op):
            assert_same_bits(call(on_gpu, dim), expected, (op, plan))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 9, 33], ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_scattered_rows(n, dtype):
    """More rows than groups of lanes that run at once, and one less than a multiple of those of a CTA."""
    lanes = -(-n // 8)
    outputs = 2 * 135_168 // lanes - 1
    check(fill((n, 2 * outputs), dtype)[:, ::2], 0, ["sum", "amin"])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_scattered_rows_whose_results_lie_across(dtype):
    x = fill((7, 90, 3, 250), dtype)
    for order in ((3, 0, 1, 2), (1, 3, 2, 0), (0, 3, 1, 2)):
        check(x.permute(order), order.index(2), ["sum", "amax", "amin"])


@pytest.mark.parametrize("dtype", [*DTYPES, torch.int16, torch.uint16], ids=str)
def test_copies(dtype):
    """Outputs of one element: results innermost along another dim than the elements, or along the same, in tiles that
    are full, and that end early in both dims, and of slices."""
    exchanged = fill((1, 613, 707), dtype)
    direct = fill((2, 700, 1, 19, 23), dtype)
    ops = ["sum", "amin"] if dtype == torch.uint16 else OPS
    for x, dim in (
        (exchanged.transpose(1, 2), 0),
        (exchanged[:, 5:517, 3:643].transpose(1, 2), 0),
        (direct.permute(2, 3, 0, 1, 4), 0),
        (direct[:, :, :, 2:, 1:22].permute(3, 0, 2, 1, 4), 2),
        (direct.permute(4, 3, 2, 0, 1), 2),
    ):
        check(x, dim, ops)
    x = exchanged.transpose(1, 2)
    out = torch.full((1, 707, 3 * 613), 7, device="cuda").to(dtype)
    torch_reduce.amax(like(x, "cuda"), 0, keepdim=True, out=out[:, :, ::3])
    assert_same_bits(out[:, :, ::3], torch_reduce.amax(x, 0, keepdim=True))
    assert bool((out[:, :, 1::3] == out[0, 0, 1]).all())


def test_copies_have_no_negative_zero():
    x = torch.full((640, 1, 480), -0.0).permute(2, 1, 0)
    assert_same_bits(torch_reduce.sum(like(x, "cuda"), 1), torch.zeros(480, 640))


@pytest.mark.parametrize("dim", [(0, 1), (0, 2), (1, 2), (0, 1, 2), (2,), (1,)], ids=str)
def test_steps_beyond_32_bits(dim):
    """Elements and outputs over 2^31 bytes apart, so that places are found by 64 bits."""
    x = fill((2, 1000, 3), torch.bfloat16)
    memory = torch.empty((1 << 30) + (1 << 15), dtype=torch.bfloat16, device="cuda")
    apart = memory.as_strided((2, 1000, 3), (1 << 30, 7, 8000))
    apart.copy_(x)
    for order in ((0, 1, 2), (1, 0, 2), (2, 0, 1)):
        expected = torch_reduce.sum(x.permute(order), dim)
        there = apart.permute(order)
        for plan in legal_plans(there, dim):
            assert_same_bits(torch_reduce.sum(there, dim), expected, plan)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5], ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_stacked_columns(n, dtype):
    x = fill((5, n, 256), dtype)
    check(x, 1)
    check(x[0], 0)
    check(x[:, :, 64:192], 1, ["sum", "amin"])


def test_stacked_columns_with_results_apart():
    x = fill((3, 1 << 16), torch.bfloat16)
    out = torch.full((1 << 17,), 7.0, dtype=torch.bfloat16, device="cuda")
    torch_reduce.sum(like(x, "cuda"), 0, out=out[::2])
    assert_same_bits(out[::2], torch_reduce.sum(x, 0))
    assert bool((out[1::2] == 7).all())
    assert_same_bits(
        torch_reduce.sum(like(x, "cuda"), 0, dtype=torch.float32), torch_reduce.sum(x, 0, dtype=torch.float32)
    )


@pytest.mark.parametrize("columns", [63, 64, 128, 249, 251, 669], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.uint8], ids=str)
def test_columns_in_between_one_wave_and_two(columns, dtype):
    """CTAs of half as many warps, lanes that lend what they load, and columns that begin anywhere."""
    for outer, n in ((601, 300), (130, 900)):
        check(fill((outer, n, columns), dtype), 1, ["sum"])


@pytest.mark.parametrize("n", [300, 512, 513, 800, 1030], ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rows_of_a_part_of_a_chunk(n, dtype):
    check(fill((333, 2 * n), dtype)[:, ::2], 1, ["sum", "amin"])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int8], ids=str)
def test_rows_that_interleave(dtype):
    check(fill((20_000, 2, 3, 7), dtype), (0, 3), ["sum", "amax"])


@pytest.mark.parametrize("n", [2, 9, 71, 256, 257], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.uint8], ids=str)
def test_columns_of_several_kept_dims(n, dtype):
    """Aligned, but cut out, so that kept dims do not merge; leaves of one element and of more."""
    x = fill((3, n + 4, 50, 96), dtype)[:, 3 : n + 3, :, 16:80]
    check(x.permute(2, 1, 3, 0), 1, ["sum", "amin"])
    check(x, 1, ["sum"])
