"""Plans of a GPU for tensors without memory: any problem, and what a valid launch is."""

import math

import torch
from hypothesis import strategies as st
from strategies import room

from torch_reduce.testing import DTYPES

MAX_SCRATCH = 4 << 20
SIZES = st.one_of(
    st.integers(0, 40), st.integers(1, 2**33), st.sampled_from([2**k + d for k in range(4, 33, 4) for d in (-1, 0, 1)])
)


@st.composite
def huge(draw):
    """A meta tensor of up to 2^44 elements: contiguous, permuted, sliced, or with any strides."""
    shape = []
    for _ in range(draw(st.integers(0, 5))):
        size = draw(SIZES)
        shape.append(size if room(shape) * size <= 2**44 else 1 + size % 5)
    x = torch.empty(shape, dtype=draw(st.sampled_from(DTYPES)), device="meta")
    kind = draw(st.sampled_from(["contiguous", "permuted", "sliced", "expanded"]))
    if kind == "permuted":
        x = x.permute(draw(st.permutations(range(x.ndim))))
    elif kind == "sliced" and x.ndim and x.shape[-1] > 1:
        x = x[..., 1::2]
    elif kind == "expanded":
        x = x[..., None].expand(*x.shape, draw(st.integers(1, 5000)))
    return x


def check(plan, x):
    """A plan that a GPU accepts, and numbers that agree with each other."""
    assert plan.device == "cuda" and plan.family in ("rows", "short_rows", "columns", "tiles", "empty"), plan
    assert 0 <= plan.scratch_bytes <= MAX_SCRATCH, plan
    assert plan.finish in ("direct", "cluster", "partials", "atomic"), plan
    if plan.family == "empty":
        assert plan.outputs == 0 and plan.launches == 0, plan
        return
    assert 1 <= plan.grid <= 2**31 - 1, plan
    assert 1 <= plan.block <= 1024 and plan.block % 32 == 0, plan
    assert 0 <= plan.shared_bytes <= 48 << 10, plan
    assert plan.split >= 1 and plan.launches >= 1, plan
    assert (plan.finish == "direct") == (plan.split == 1), plan
    assert (plan.scratch_bytes > 0) or plan.finish != "partials", plan
    if plan.finish == "cluster":  # an aligned run of CTAs for each output or tile
        assert plan.split <= 16 and plan.grid % plan.split == 0 and plan.launches == 1, plan
    if plan.family == "columns":  # what kernels are compiled for; those of 16 warps have code for nothing but clusters
        assert plan.block <= (512 if plan.finish == "cluster" and plan.reads == "16 bytes" else 256), plan
    assert plan.grid * plan.block >= 1 and plan.outputs * max(1, plan.n) >= plan.split, plan
    assert plan.expected_bytes >= plan.outputs, plan
    # A unit of a split is a power of two of leaves, so at most twice as many leaves are covered as there are.
    leaves = max(1, math.ceil(plan.n / 1024)) * 256
    assert plan.split <= leaves, plan
