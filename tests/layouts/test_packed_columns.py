"""Sums of columns of one-byte elements: kernels add up two columns in a register, of sixteen bits each."""

import pytest
import torch

import torch_reduce
from torch_reduce.testing import assert_same_bits, constrained_plan, fill, legal_plans, typical_gpu

# Of so few outputs that a warp has lanes above each other, of so many that it has none, of one step, of several
# batches and of batches that do not exist, cut by the plan, in segments, and beside others that are left out.
CASES = [
    ((3000, 16), 0),
    ((5000, 64), 0),
    ((257, 512), 0),
    ((200, 1024), 0),
    ((1200, 8192), 0),
    ((70_001, 16), 0),
    ((5, 900, 48), 1),
    ((3, 700, 2, 32), (0, 2)),
]


def extremes(x):
    """The elements, and in place of them the largest, the smallest, and both in turn, so that a column's sum would
    carry into its neighbour's."""
    yield x
    if x.dtype is torch.bool:
        yield x.fill_(True)
        return
    info = torch.iinfo(x.dtype)
    yield x.fill_(info.max)
    yield x.fill_(info.min)
    x[..., ::2] = info.max
    yield x


@pytest.mark.parametrize("shift", [0, 1], ids=["aligned", "anywhere"])
@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.bool], ids=str)
@pytest.mark.parametrize("shape, dim", CASES, ids=str)
def test_sums(shape, dim, dtype, shift, device):
    for values in extremes(fill(shape, dtype)):
        whole = torch.zeros((*shape[:-1], shape[-1] + shift), dtype=dtype)
        whole[..., shift:] = values
        x = whole.to(device)[..., shift:]
        expected = torch.sum(whole[..., shift:], dim)
        assert_same_bits(torch_reduce.sum(x, dim), expected)
        assert_same_bits(torch_reduce.sum(x, dim, mode="atomic"), expected)
        if shift == 0 or (isinstance(dim, int) and shape[-1] >= 32):  # from anywhere: one dim, two loads wide at least
            with constrained_plan("columns", vector=True):
                reads = torch_reduce.explain(x, dim, device="cuda").reads
            assert reads == ("16 bytes, unaligned" if shift else "16 bytes")
        for plan in legal_plans(x, dim) if x.is_cuda else ():
            assert_same_bits(torch_reduce.sum(x, dim), expected, plan)


def test_results_of_other_types(device):
    x = fill((3000, 512), torch.int8).to(device)
    for dtype in (torch.int8, torch.int32, torch.float16, torch.float64):
        assert_same_bits(torch_reduce.sum(x, 0, dtype=dtype), torch_reduce.sum(x.cpu(), 0).to(dtype), str(dtype))
    assert_same_bits(torch_reduce.mean(x, 0, dtype=torch.float32), torch_reduce.mean(x.cpu(), 0, dtype=torch.float32))


@pytest.mark.parametrize("shape, dim", [((2000, 64), 0), ((2000, 64), 1), ((64, 2000), None)], ids=str)
def test_bools_of_any_byte(shape, dim, device):
    """A bool that another library wrote may be any byte: what is not zero is true."""
    any_byte = fill(shape, torch.uint8)
    assert bool((any_byte == 0).any()) and bool((any_byte > 1).any())
    x = any_byte.to(device).view(torch.bool)
    assert_same_bits(torch_reduce.sum(x, dim), torch.sum(any_byte != 0, dim))


def test_as_many_ctas_as_of_other_types():
    """Sixteen columns of 64 bits each had registers for half as many."""
    with typical_gpu((9, 0), 132):
        of_bytes = torch_reduce.explain(torch.empty(16384, 8192, dtype=torch.int8, device="meta"), 0, device="cuda")
        of_halves = torch_reduce.explain(torch.empty(16384, 4096, dtype=torch.float16, device="meta"), 0, device="cuda")
    assert (of_bytes.grid, of_bytes.block) == (of_halves.grid, of_halves.block)
