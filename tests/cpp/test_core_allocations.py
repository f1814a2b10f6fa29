"""How often the core (torch_reduce/core.h) allocates on the host."""

import pytest
import torch
from consumer import CXX, must
from core_calls import compiled
from folders import TESTS

import torch_reduce
from torch_reduce.model import reduced_dims

ALLOCATIONS = TESTS / "cpp" / "allocations.cpp"
pytestmark = pytest.mark.skipif(CXX is None, reason="needs a C++ compiler")
# Shape, strides, the reduced dims, and how explain says that the CPU reads them.
ALLOCATING = [
    ((2**20,), (1,), None, "neighbours"),
    ((300, 3000), (3000, 1), 1, "neighbours"),
    ((5000, 100), (100, 1), 1, "neighbours"),
    ((300, 3000), (3000, 1), 0, "neighbours"),
    ((3000, 64), (64, 1), 0, "blocks"),
    ((16, 64, 784), (64 * 784, 784, 1), (0, 2), "segments"),
    ((700, 701), (1, 700), None, "tiles"),
    ((64, 4096), (1, 64), None, "chunks"),
    ((1000, 512), (1, 1000), None, "bundles"),
    ((70, 12544), (1, 70), None, "strips"),
]


def test_one_allocation_at_most_beside_the_result(tmp_path):
    """On the host, in every way of reading, and with several workers too: counted by an operator new of its own."""
    arguments = []
    for shape, strides, dim, reads in ALLOCATING:
        x = torch.empty_strided(shape, strides, device="meta")
        assert torch_reduce.explain(x, dim, device="cpu").reads == reads, shape
        dims = [] if dim is None else reduced_dims(x.ndim, dim)
        arguments += [",".join(map(str, numbers)) for numbers in (shape, strides, dims)]
    # Not inlined, or GCC warns of a new that ends in free().
    program = compiled(ALLOCATIONS, tmp_path / "allocations", "-fno-inline")
    counted = [int(line) for line in must(program, *arguments).split()]
    assert len(counted) == 2 * len(ALLOCATING) and max(counted) == 1, counted
    assert counted[:3] == [0, 0, 0], counted  # one thread, and nothing to hold
