"""Columns of which 16-byte loads take none, at multiples of two elements: neighbours are read two at a time."""

import itertools

import pytest
import torch
from drawn import drawn

import torch_reduce
from torch_reduce.testing import assert_same_bits, constrained_plan, fill, model

DTYPES = [torch.float32, torch.bfloat16, torch.float16, torch.int16, torch.float64]
# Shape, the sizes of the tensor of which it is the last corner, the reduced dims: leaves of one element and of four,
# tiles that columns fill in part, several kept dims, columns of a row, and none.
CASES = [
    ((24, 130, 5), (26, 142, 6), (0, 2)),
    ((5, 24, 130), (6, 26, 142), (0, 1)),
    ((3, 300, 66), (4, 300, 70), 1),
    ((3, 1, 300, 2), (3, 2, 301, 4), (0, 2)),
    ((40, 7, 1300), (42, 8, 1302), (0, 1)),
    ((1500, 3, 34), (1500, 4, 36), (0, 1)),
    ((2, 3, 2100, 18), (3, 5, 2101, 20), (0, 2)),
    ((4, 70_002), (5, 70_010), 0),
]
# So few elements that a thread has both of its columns whole.
STACKED = [((700, 2, 148), (700, 2, 148), 1), ((500, 3, 150), (501, 4, 154), 1), ((100, 4, 702), (101, 5, 710), 1)]


@drawn("case, dtype, shift", CASES + STACKED, DTYPES, [0, 1, 2])
def test_bits(case, dtype, shift, device):
    """At even and odd places, of types with kernels for pairs and without."""
    shape, whole, dim = case
    corner = tuple(slice(w - s, None) for s, w in zip(shape, whole, strict=True))
    memory = torch.zeros(torch.Size(whole).numel() + shift, dtype=dtype)
    values = fill(shape, dtype)
    memory[shift:].view(whole)[corner].copy_(values)
    x = memory.to(device)[shift:].view(whole)[corner]
    for op in ("sum", "mean", "amax", "amin") if dtype.is_floating_point else ("sum", "amax"):
        expected, call = model(values, dim, op=op), getattr(torch_reduce, op)
        assert_same_bits(call(x, dim), expected, op)
        for split, vector in itertools.product((0, 1, 2, 4, 16), (None, False)) if x.is_cuda else ():
            with constrained_plan("columns", vector=vector, split=split):
                try:
                    torch_reduce.explain(x, dim, op=op)
                except RuntimeError:
                    continue
                assert_same_bits(call(x, dim), expected, f"{op}, split {split}, {vector}")


@pytest.mark.parametrize("shape, whole, dim", STACKED, ids=str)
def test_a_few_elements_are_stacked(shape, whole, dim):
    """Not where 16 bytes are aligned, nor where columns lie at odd places."""
    corner = tuple(slice(w - s, None) for s, w in zip(shape, whole, strict=True))
    x = torch.empty(whole, dtype=torch.bfloat16, device="meta")[corner]
    plan = torch_reduce.explain(x, dim, device="cuda")
    assert (plan.family, plan.reads, plan.grid) == ("columns", "pairs", -(-plan.outputs // 2 // plan.block))
    assert torch_reduce.explain(x[..., 1:], dim, device="cuda").reads != "pairs"


def test_results_of_any_stride(device):
    x = fill((300, 3, 2 * 77), torch.bfloat16).to(device)[:, 1:, 2:]
    for stride in (1, 3):
        out = torch.full((160 * stride,), 5.0, dtype=torch.bfloat16, device=device)
        torch_reduce.sum(x, (0, 1), out=out[: 152 * stride : stride])
        assert_same_bits(out[: 152 * stride : stride], model(x, (0, 1)))
        out[: 152 * stride : stride] = 5
        assert bool((out == 5).all())
