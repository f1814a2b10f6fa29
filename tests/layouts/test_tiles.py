"""Reduced dims that lie in memory in another order than in the shape: plans without a GPU, and bits on one."""

import itertools

import pytest
import torch

import torch_reduce
from torch_reduce.testing import assert_same_bits, constrained_plan, fill, model

# (shape in memory, its dims in the order of the tensor, those reduced): short lines, long ones, few neighbours in
# memory, chunks that end where rows do and that do not, several outputs.
CASES = [
    ((134, 1959), (1, 0), None),
    ((13, 20_011), (1, 0), None),
    ((2, 50_001), (1, 0), None),
    ((40_903, 3), (1, 0), None),
    ((3000, 31), (1, 0), None),
    ((2048, 64), (1, 0), None),
    ((2051, 70), (1, 0), None),
    ((300, 92, 4), (2, 1, 0), None),
    ((65, 2, 4, 301), (0, 3, 2, 1), None),
    ((4, 56, 56, 24), (0, 3, 1, 2), None),
    ((17, 3, 96, 52), (2, 3, 0, 1), (0, 1, 2)),
    ((5, 1100, 70), (0, 2, 1), (1, 2)),
    ((300, 31, 70), (1, 2, 0), (1, 2)),
    ((6, 5, 40, 50), (3, 2, 1, 0), (0, 2, 3)),
    ((1000, 263, 8), (2, 1, 0), None),
    ((3, 7, 1670), (0, 2, 1), None),
    # Neighbouring rows of a multiple of a strip's, whose last chunks end in the next one: at a block's end and within.
    ((9, 36, 41, 256), (0, 3, 1, 2), None),
    ((34, 1031, 64), (0, 2, 1), None),
    ((1280, 2304), (1, 0), None),
    ((12, 3, 1303, 64), (0, 1, 3, 2), None),
    ((35, 1500, 64), (2, 0, 1), (0, 2)),
    ((17, 524, 2, 128), (0, 3, 1, 2), None),
]


def lay_out(x, order, sliced):
    """A tensor whose memory is that of x, permuted; or, sliced, memory of which it leaves out some."""
    if sliced:
        x = x[tuple(slice(size // 7, size - size // 5) for size in x.shape)]
    return x.permute(order)


@pytest.mark.parametrize("sliced", [False, True], ids=["whole", "sliced"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("shape, order, dim", CASES, ids=str)
def test_plans_and_bits(shape, order, dim, dtype, sliced, device):
    x = lay_out(fill(shape, dtype).to(device), order, sliced)
    expected = model(x, dim)
    if device == "cpu":  # only the plan is of the GPU
        for split in (0, 2, 16):
            with constrained_plan("tiles", split=split):
                try:
                    plan = torch_reduce.explain(x, dim, device="cuda")
                except RuntimeError as refused:
                    assert split and "not legal" in str(refused)
                    continue
            assert plan.family == "tiles" and plan.shared_bytes <= 46 << 10 and plan.block <= 256
            assert split == 0 or split / 2 < plan.split <= split
        return
    for split, vector in itertools.product((0, 2, 16), (False, True)):
        with constrained_plan("tiles", vector=vector, split=split):
            try:
                torch_reduce.explain(x, dim)
            except RuntimeError:
                continue
            assert_same_bits(torch_reduce.sum(x, dim), expected, f"split {split}, 16-byte loads: {vector}")
    assert_same_bits(torch_reduce.sum(x, dim), expected, "free")


@pytest.mark.parametrize("op", ["mean", "prod"])
def test_other_operators(op, device):
    x = fill((300, 1100), torch.float32, op=op).to(device).t()
    assert_same_bits(getattr(torch_reduce, op)(x), model(x, op=op), op)


def test_where_tiles_are_taken():
    """Where memory's neighbours are far apart in the order, and the order matters."""
    x = torch.empty(4096, 4096, device="meta", dtype=torch.bfloat16)
    images = torch.empty(64, 256, 56, 56, device="meta").to(memory_format=torch.channels_last)
    for tensor, dim, keywords in (
        (x.t(), None, {}),
        (x[:4000, 3:].t(), None, {}),
        (images, None, {}),
        (x.view(16, 256, 4096).transpose(1, 2), (1, 2), {}),
        (x.t(), None, {"op": "sumsq"}),
    ):
        assert torch_reduce.explain(tensor, dim, device="cuda", **keywords).family == "tiles"
    for tensor, dim, keywords in (
        (x, None, {}),
        (x.t(), 0, {}),
        (x.t(), 1, {}),
        (x.t(), None, {"mode": "atomic"}),
        (x.t(), None, {"mode": "exact"}),
        (x.t(), None, {"op": "amax"}),
        (x.t(), None, {"op": "prod"}),  # of two words
        (x.t().to(torch.int32), None, {}),
        (images, (0, 2, 3), {}),
    ):
        assert torch_reduce.explain(tensor, dim, device="cuda", **keywords).family != "tiles"


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_where_16_byte_loads_hold_neighbouring_rows(dtype):
    """Strips of long rows: those that lie side by side at multiples of 16 bytes, and as many of them."""
    v = 16 // dtype.itemsize
    x = torch.empty(4096, 4096, dtype=dtype)  # its address matters, its elements do not
    images = torch.empty(64, 256, 56, 56, device="meta", dtype=dtype).to(memory_format=torch.channels_last)
    for tensor, dim, vector in (
        (x.t(), None, True),
        (images, None, True),
        (x[:, : 32 * v].t(), None, True),
        (x[:, v:].t(), None, True),
        (x[:, : 32 * v + 1].t(), None, False),  # rows too many
        (x[:, 1 : 1 + 32 * v].t(), None, False),  # the first ones
        (x.reshape(-1)[: 4096 * 4095].view(4096, 4095)[:, : 32 * v].t(), None, False),  # those of other places
        (x[:, ::2].t(), None, False),  # not side by side
        (x.view(16, 256, 4096).transpose(1, 2)[:, :, :128], (1, 2), False),  # tiles
    ):
        with constrained_plan("tiles"):
            plan = torch_reduce.explain(tensor, dim, device="cuda")
        assert plan.vector == vector, (tensor.shape, tensor.stride(), plan)
        strips = {True: "strips, 16 bytes", False: "strips, elements"}[vector] if dim is None else "elements"
        assert plan.reads == strips, (tensor.shape, tensor.stride(), plan)
    with constrained_plan("tiles", vector=False):
        assert not torch_reduce.explain(x.t(), device="cuda").vector
    with constrained_plan("tiles", vector=True), pytest.raises(RuntimeError, match="not legal"):
        torch_reduce.explain(x[:, 1 : 1 + 32 * v].t(), device="cuda")


def test_tiles_are_refused_where_no_order_is_kept():
    x = torch.empty(4096, 4096, device="meta").t()
    for keywords in ({"mode": "exact"}, {"mode": "atomic"}, {"op": "amax"}, {"dtype": torch.int64}):
        with constrained_plan("tiles"), pytest.raises(RuntimeError, match="not legal"):
            torch_reduce.explain(x, device="cuda", **keywords)
    with constrained_plan("tiles"), pytest.raises(RuntimeError, match="not legal"):
        torch_reduce.sum(torch.ones(64, 64))
