"""Outputs that lie between one another in memory: runs of a few elements of each, one behind the other."""

import pytest
import torch

import torch_reduce
from torch_reduce.testing import (
    assert_same_bits,
    assert_within,
    error_bound,
    fill,
    legal_plans,
    reference,
    typical_gpu,
)

DTYPES = [torch.float32, torch.bfloat16, torch.int8, torch.float64]
# Outer runs, outputs, and elements of a run: as rows in segments of 16 bytes or not, and as columns.
CASES = [(3000, 10, 16), (900, 3, 32), (700, 32, 4), (300, 64, 6), (2000, 5, 7), (40, 300, 2), (5000, 2, 8)]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", CASES, ids=str)
def test_bits(shape, dtype, device):
    """As those of rows that hold the same elements side by side."""
    x = fill(shape, dtype)
    rows = x.transpose(0, 1).reshape(shape[1], -1)
    on_device = x.to(device)
    for op in ("sum", "amax"):
        call = getattr(torch_reduce, op)
        expected = call(rows, 1)
        assert_same_bits(call(on_device, (0, 2)), expected, op)
        for plan in legal_plans(on_device, (0, 2), op=op) if on_device.is_cuda else ():
            assert_same_bits(call(on_device, (0, 2)), expected, f"{op}, {plan}")


@pytest.mark.parametrize("shape", CASES, ids=str)
def test_atomic(shape, device):
    x = fill(shape, torch.float32)
    parts = torch_reduce.explain(x.to("meta"), (0, 2), mode="atomic", device="cuda").split
    bound = error_bound(x, (0, 2), atomic_parts=parts)
    actual = torch_reduce.sum(x.to(device), (0, 2), mode="atomic")
    assert_within(actual, reference(x, (0, 2)), bound)


def test_how_they_are_read():
    """Segments of a few elements of many outputs as columns; units of short segments stay short."""

    def plan(*shape):
        return torch_reduce.explain(torch.empty(shape, device="meta"), (0, 2), device="cuda")

    with typical_gpu((9, 0), 132):
        assert plan(100_000, 32, 4).family == "columns"
        short, long = plan(300_000, 10, 16), plan(75_000, 10, 64)
        assert short.vector and long.vector and short.split == 2 * long.split
