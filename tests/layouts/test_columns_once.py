"""Columns of so few bytes that a second launch would take as long again: uncut, or their CTAs meet in clusters."""

import pytest
import torch

import torch_reduce
from torch_reduce.testing import (
    OPS,
    assert_same_bits,
    constrained_plan,
    fill,
    function_of,
    typical_gpu,
    wants_floating,
)

DTYPES = [torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.int8, torch.int32, torch.int64]
# Shape, the reduced dim or dims, and the shape of the tensor of which it is the last corner, if of another: uncut,
# clusters of two to sixteen, wide and narrow ones, uneven last units, a middle dim, a last tile that is filled in part,
# columns that begin anywhere, segments.
CASES = [
    ((1024, 1280), 0, None),
    ((2048, 256), 0, None),
    ((4096, 512), 0, None),
    ((8192, 256), 0, None),
    ((16384, 128), 0, None),
    ((4096, 768), 0, None),
    ((8192, 768), 0, None),
    ((2048, 2048), 0, None),
    ((3000, 1000), 0, None),
    ((4097, 528), 0, None),
    ((2, 3000, 1024), 1, None),
    ((3, 5000, 96), 1, None),
    ((32, 2048, 64), 1, None),
    ((2048, 1001), 0, (2048, 1002)),
    ((4096, 515), 0, (4096, 516)),
    ((32, 200, 256), (0, 1), (32, 228, 256)),
]
BF16, F32 = torch.bfloat16, torch.float32


def corner(x, shape):
    return x[tuple(slice(w - s, None) for w, s in zip(x.shape, shape, strict=True))]


@pytest.mark.cuda
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape, dim, whole", CASES, ids=str)
def test_bits_are_the_cpus(shape, dim, whole, dtype):
    x = corner(fill(whole or shape, dtype), shape)
    there = corner(fill(whole or shape, dtype).cuda(), shape)
    for op in OPS:
        if wants_floating(op) and not dtype.is_floating_point:
            continue
        call = function_of(op)
        assert_same_bits(call(there, dim), call(x, dim), f"{op}, {torch_reduce.explain(there, dim, op=op)}")
    if dtype.is_floating_point:  # a cluster adds in the canonical order in this mode too
        plan = torch_reduce.explain(there, dim, mode="atomic")
        if plan.finish == "cluster":
            assert_same_bits(torch_reduce.sum(there, dim, mode="atomic"), torch_reduce.sum(x, dim))


@pytest.mark.cuda
def test_results_of_any_stride_and_type():
    x = fill((4096, 512), BF16)
    there = x.cuda()
    assert torch_reduce.explain(there, 0).launches == 1
    for dtype in (torch.float32, torch.float64, torch.float16, torch.int64):
        assert_same_bits(torch_reduce.sum(there, 0, dtype=dtype), torch_reduce.sum(x, 0, dtype=dtype))
    out = torch.full((1536,), 5.0, dtype=BF16, device="cuda")
    torch_reduce.sum(there, 0, out=out[::3])
    assert_same_bits(out[::3], torch_reduce.sum(x, 0))
    out[::3] = 5
    assert bool((out == 5).all())


def plan_of(shape, dim=0, dtype=BF16, whole=None, sms=132, capability=(9, 0), mode="deterministic"):
    x = corner(torch.empty(whole or shape, dtype=dtype, device="meta"), shape)
    with typical_gpu(capability, sms):
        return torch_reduce.explain(x, dim, mode=mode, device="cuda")


# Threads of a CTA are 512 where it has an SM to itself for longer than a batch, 256 elsewhere.
@pytest.mark.parametrize(
    "shape, dtype, finish, split, grid, block",
    [
        ((1024, 3072), BF16, "direct", 1, 96, 256),  # two batches of two sectors, 96 CTAs
        ((1024, 1536), BF16, "direct", 1, 96, 256),  # a batch of one sector
        ((2048, 256), BF16, "cluster", 8, 32, 256),
        ((8192, 256), BF16, "cluster", 16, 128, 256),
        ((4096, 512), F32, "cluster", 8, 128, 256),
        ((4096, 256), torch.int8, "cluster", 8, 32, 256),
        ((4096, 256), torch.float64, "cluster", 8, 128, 256),
        ((4096, 8192), torch.int8, "cluster", 2, 128, 512),  # shared memory only for what registers do not add up
        ((2048, 3072), torch.int8, "cluster", 4, 96, 512),  # and not eight of as much, to be left to one another
        ((8192, 768), BF16, "cluster", 8, 96, 512),
        ((4096, 768), F32, "cluster", 8, 96, 512),
        ((4096, 2048), BF16, "cluster", 2, 128, 512),  # a pair for every two SMs
        ((4096, 4096), BF16, "cluster", 2, 128, 512),
        ((3000, 768), BF16, "cluster", 6, 72, 512),
        ((8448, 320), BF16, "cluster", 9, 90, 256),  # so large that some of ten clusters of wide CTAs would share SMs
    ],
    ids=str,
)
def test_one_launch(shape, dtype, finish, split, grid, block):
    plan = plan_of(shape, dtype=dtype)
    assert (plan.finish, plan.split, plan.grid, plan.block) == (finish, split, grid, block), plan
    assert (plan.family, plan.reads, plan.launches, plan.scratch_bytes) == ("columns", "16 bytes", 1, 0)


@pytest.mark.parametrize(
    "shape, dim, whole, reads, split, grid",
    [
        ((4096, 515), 0, None, "16 bytes, unaligned", 16, 80),
        ((32, 200, 256), (0, 1), (32, 228, 256), "16 bytes", 14, 112),
    ],
    ids=["anywhere", "segments"],
)
def test_one_launch_of_other_columns(shape, dim, whole, reads, split, grid):
    with constrained_plan("columns", vector=True):
        plan = plan_of(shape, dim, whole=whole)
    assert (plan.reads, plan.finish, plan.split, plan.grid, plan.block) == (reads, "cluster", split, grid, 256), plan


@pytest.mark.parametrize(
    "shape",
    [
        (65536, 16),  # 16 CTAs would read 128 KiB each
        (32768, 256),  # 128 CTAs as much, in clusters of 16
        (43082, 202),  # 22 of columns that begin anywhere
        (65536, 1024),  # large
    ],
    ids=str,
)
def test_two_launches_where_those_are_sooner(shape):
    assert (plan_of(shape).finish, plan_of(shape).launches) == ("partials", 2)


@pytest.mark.parametrize(
    "shape, sooner", [((16384, 128), "atomic"), ((4096, 1536), "atomic"), ((4096, 640), "cluster")]
)
def test_one_launch_is_later_than_atomic_adds(shape, sooner):
    assert plan_of(shape, dtype=F32).finish == "cluster"
    assert plan_of(shape, dtype=F32, mode="atomic").finish == sooner
    # Of a type whose accumulators are not the output there are no adds.
    assert plan_of(shape, mode="atomic").finish == plan_of(shape).finish == "cluster"


@pytest.mark.parametrize("sms", [24, 60, 114, 148, 264])
@pytest.mark.parametrize("capability, most", [((8, 0), 1), ((9, 0), 16), ((12, 0), 8)], ids=str)
def test_clusters_fit_every_gpu(capability, most, sms):
    """Never more CTAs than SMs, nor larger clusters than the architecture has; none before 9.0."""
    clusters = 0
    for shape, dim, whole in CASES:
        for dtype in (BF16, F32):
            plan = plan_of(shape, dim, dtype, whole, sms, capability)
            if plan.finish == "cluster":
                clusters += 1
                assert 1 < plan.split <= most and plan.grid <= sms and plan.grid % plan.split == 0, plan
    assert (clusters > 0) == (most > 1)
