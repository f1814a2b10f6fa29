"""Runs of neighbours that begin anywhere, of several reduced dims: rows whose order is free read them by 16-byte loads,
with what a load holds beside its run left out."""

import math

import pytest
import torch

import torch_reduce
from torch_reduce.testing import assert_same_bits, assert_within, constrained_plan, error_bound, fill, model, reference

ORDER_FREE = [
    (op, dtype) for op in ("sum", "amax", "amin") for dtype in (torch.int8, torch.bool, torch.int16, torch.int32)
]
ORDER_FREE += [(op, dtype) for op in ("amax", "amin") for dtype in (torch.float16, torch.bfloat16, torch.float32)]
# Sizes but the innermost, and those of the memory that holds them: one dim, several, chunks of one run and of many.
OUTER = [((3,), (4,)), ((70,), (71,)), ((2, 9), (3, 11)), ((3, 2, 5), (3, 4, 7)), ((2, 3, 1, 2, 3), (3, 4, 2, 3, 5))]
LENGTHS = (16, 17, 33, 513, 879, 1025)


def in_runs(outer, whole, length, gap, dtype, op, device):
    """Runs of ``length`` elements in the last corner of a tensor whose innermost dim is ``gap`` longer. The tensor ends
    where its memory does, and what is not of it would show in any result."""
    shape, around = (*outer, length), (*whole, length + gap)
    extreme = {"sum": 1, "amax": math.inf, "amin": -math.inf}[op]
    if not dtype.is_floating_point:
        info = (0, 1) if dtype is torch.bool else (torch.iinfo(dtype).min, torch.iinfo(dtype).max)
        extreme = {"sum": 1, "amax": info[1], "amin": info[0]}[op]
    memory = torch.full(around, extreme, dtype=dtype)
    corner = tuple(slice(w - s, None) for s, w in zip(shape, around, strict=True))
    memory[corner] = fill(shape, dtype)
    return memory.to(device)[corner]


def plan_of(x, dim, **keywords):
    return torch_reduce.explain(x, dim, **({"device": "cuda"} | keywords))


@pytest.mark.parametrize("outer, whole", OUTER, ids=str)
@pytest.mark.parametrize("op, dtype", ORDER_FREE, ids=str)
def test_order_free(op, dtype, outer, whole, device):
    call = getattr(torch_reduce, op)
    for length in LENGTHS:
        for gap in (1, 3):
            x = in_runs(outer, whole, length, gap, dtype, op, device)
            expected = model(x, op=op)
            assert_same_bits(call(x), expected, f"{length}, gap {gap}")
            for split in (0, 2, 8):
                with constrained_plan("rows", vector=True, split=split):
                    try:
                        torch_reduce.explain(x, op=op)
                    except RuntimeError:
                        continue
                    assert_same_bits(call(x), expected, f"{length}, gap {gap}, split {split}")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("outer, whole", OUTER, ids=str)
def test_atomic(outer, whole, dtype, device):
    """Sums of floating elements; what lies beside the runs would make them wrong by more than the bound."""
    for length in LENGTHS:
        for gap in (1, 5):
            x = in_runs(outer, whole, length, gap, dtype, "amax", device)  # infinities around
            for dim in (None, (0, x.ndim - 1)):
                expected = reference(x, dim)
                for keywords in ({}, {"family": "rows", "vector": True}):
                    with constrained_plan(**keywords):
                        try:
                            plan = torch_reduce.explain(x, dim, mode="atomic")
                        except RuntimeError:
                            continue
                        actual = torch_reduce.sum(x, dim, mode="atomic")
                    # Loads have places for up to twice a run's elements: a level of the tree more.
                    bound = error_bound(x, dim, atomic_parts=plan.split)
                    assert_within(actual, expected, bound, f"{length}, gap {gap}, {dim}")


def is_legal(x, dim, **keywords):
    """Whether rows may read x by 16-byte loads."""
    with constrained_plan("rows", vector=True):
        try:
            plan = plan_of(x, dim, **keywords)
        except RuntimeError:
            return False
    return plan.reads == "16 bytes, unordered"


@pytest.mark.parametrize("op, mode", [("amax", None), ("sum", "atomic"), ("mean", "atomic")])
def test_by_16_byte_loads(op, mode):
    """Where the order is free, runs fill a load, and no other ends close behind the last one."""
    keywords = {"op": op} | ({} if mode is None else {"mode": mode})
    x = torch.empty(50, 60, 901, dtype=torch.bfloat16, device="meta")[:, 1:, 2:]
    for taken in (x, x[..., :256], x[..., :8], x.float()[..., :512]):
        assert is_legal(taken, None, **keywords), taken.shape
    for other in (
        x[..., ::2],
        x[..., :7],
        x[:, :1].expand(50, 59, 899),
        x.as_strided((50, 59, 899), (60 * 901, 7, 1)),
        x.as_strided((2,) * 5 + (600,), tuple(1200 << 2 * d for d in range(5)) + (1,)),
    ):
        assert not is_legal(other, None, **keywords), other.shape


def test_not_where_the_order_matters():
    x = torch.empty(50, 60, 901, dtype=torch.bfloat16, device="meta")[:, 1:, 2:]
    assert not is_legal(x, None)
    assert not is_legal(x, None, mode="atomic", dtype=torch.float64)
    assert not is_legal(x, None, op="prod", mode="atomic")
    assert is_legal(x.view(torch.int16), None)
