"""On the CPU, bits depend neither on the number of threads nor on the instruction set."""

import os
import subprocess
import sys

import pytest
import torch
from capabilities import CAPABILITIES, assert_bits_of_every_capability

import torch_reduce
from torch_reduce.testing import (
    OPS,
    assert_same_bits,
    cpu_capability,
    fill,
    function_of,
    model,
    num_threads,
    wants_floating,
)

SHAPES = [
    ((400_003,), None),
    ((2, 150_001), 1),
    ((3000, 100), 1),
    ((40_000, 9), 0),
    ((40_000, 9), 1),
    ((70, 60, 50), (0, 2)),
]
DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int32, torch.uint8]


# Of the shapes every second one, the others for the next operator.
@pytest.mark.parametrize(
    "op, shape, dim", [(op, *case) for i, op in enumerate(OPS) for case in SHAPES[i % 2 :: 2]], ids=str
)
def test_thread_counts(op, shape, dim):
    """Of one type, the next one for the next shape and operator."""
    types = [torch.float32, torch.bfloat16] + [torch.int16] * (not wants_floating(op))
    dtype = types[(OPS.index(op) + SHAPES.index((shape, dim))) % len(types)]
    x = fill(shape, dtype, op=op)
    expected = model(x, dim, op=op)
    for count in sorted({1, 2, 3, 4, 7, os.cpu_count() or 1}):
        with num_threads(count):
            assert_same_bits(function_of(op)(x, dim), expected, f"{count} threads, {dtype}")


@pytest.mark.parametrize("op", OPS)
def test_capabilities(op):
    """Every second shape, the others for the next operator; each of the next type, which the operator after that begins
    with."""
    number = OPS.index(op)
    types = [dtype for dtype in DTYPES if dtype.is_floating_point or not wants_floating(op)]
    shapes = [*SHAPES, ((33, 1025), 1), ((1025, 33), 0), ((7, 13), 1)]
    for i, (shape, dim) in enumerate(shapes[number % 2 :: 2], number // 2):
        dtype = types[i % len(types)]
        x = fill(shape, dtype, op=op)
        assert_bits_of_every_capability(
            lambda x=x, dim=dim: function_of(op)(x, dim), model(x, dim, op=op), f"{shape} {dtype}"
        )


def test_capability_is_restored():
    before = torch.ops.reduce._cpu_capability()
    with cpu_capability("baseline"):
        assert torch.ops.reduce._cpu_capability() == "baseline"
    assert torch.ops.reduce._cpu_capability() == before
    assert before in CAPABILITIES


def test_unknown_capability_names_the_known():
    with pytest.raises(ValueError, match="baseline"):
        torch.ops.reduce._cpu_capability("sse9")


def test_called_from_many_threads_at_once():
    """Each caller has its own scratch: concurrent calls give the bits of calls one after the other."""
    from concurrent.futures import ThreadPoolExecutor

    inputs = [fill((5, 30_000), torch.float32, start=i) for i in range(16)]
    expected = [model(x, dim) for x in inputs for dim in (0, 1)]
    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(torch_reduce.sum, x, dim) for _ in range(5) for x in inputs for dim in (0, 1)]
        for index, future in enumerate(futures):
            assert_same_bits(future.result(), expected[index % len(expected)])


def test_threads_work():
    """As many threads as torch was told join in, in torch's own pool: the pool starts with the first reduction."""
    code = """
import os, torch, torch_reduce
torch.set_num_threads(3)
x = torch.empty(1 << 22)
before = len(os.listdir("/proc/self/task"))
torch_reduce.sum(x)
ours = len(os.listdir("/proc/self/task"))
torch.sum(x)
print(ours - before, len(os.listdir("/proc/self/task")) - ours)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.split() == ["2", "0"], result.stdout + result.stderr
