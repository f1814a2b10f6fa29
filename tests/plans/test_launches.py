"""Plans are pure host code: for every shape, huge ones too, a GPU plan is a valid launch with bounded scratch. Meta
tensors have no memory, so this needs neither a GPU nor storage."""

import math

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from launches import MAX_SCRATCH, check, huge
from strategies import dims, room, strided

import torch_reduce
from torch_reduce.testing import (
    DTYPES,
    FLOATING,
    OPS,
    assert_same_bits,
    constrained_plan,
    fill,
    function_of,
    model,
    num_threads,
    typical_gpu,
    wants_floating,
)

SUMS = ("sum", "mean", "prod")


@given(x=huge(), data=st.data())
@example(x=torch.empty(2**40, device="meta"), data=None)
@example(x=torch.empty(2**38, 2, device="meta"), data=None)
@example(x=torch.empty(2, 2**38, device="meta"), data=None)
def test_every_plan_is_a_valid_launch(x, data):
    axes = [None, 0] if data is None else [data.draw(dims(x.ndim))]
    for dim in axes:
        for mode in ("deterministic", "atomic"):
            for op in ("sum", "prod"):
                try:
                    plan = torch_reduce.explain(x, dim, op=op, mode=mode, device="cuda")
                except RuntimeError as refused:  # only what no memory holds
                    assert "more than one launch can hold" in str(refused) and room(x.shape) > 2**38
                    continue
                check(plan, x)
                assert plan.outputs * plan.n == x.numel()


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.float64], ids=str)
@pytest.mark.parametrize(
    "shape, dim",
    [((2**32, 2), 1), ((2, 2**32), 0), ((2**32, 1), 1), ((2**31, 3, 2), 1), ((2**32, 40), 1), ((8, 0, 2, 2**28), 1)],
    ids=str,
)
def test_more_outputs_than_an_int(shape, dim, dtype):
    x = torch.empty(shape, dtype=dtype, device="meta")
    check(torch_reduce.explain(x, dim, device="cuda"), x)
    check(torch_reduce.explain(x[..., ::2], dim, device="cuda"), x)


@given(x=strided(torch.float32, "sum"), data=st.data())
def test_any_strides(x, data):
    dim = data.draw(dims(x.ndim))
    check(torch_reduce.explain(x, dim, device="cuda"), x)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_and_op(op, dtype):
    for shape, dim in (((1, 2**26), 1), ((2**23, 8), 1), ((2**23, 8), 0), ((64, 256, 56, 56), (0, 2, 3)), ((), None)):
        x = torch.empty(shape, dtype=dtype, device="meta")
        for out in (None, *FLOATING) if op in SUMS else (None,):
            if wants_floating(op) and out is None and not dtype.is_floating_point:
                continue
            check(torch_reduce.explain(x, dim, op=op, dtype=out, device="cuda"), x)


def test_family_fits_the_layout():
    meta = {"device": "meta"}
    cases = [
        (torch.empty(2**26, **meta), None, "rows"),
        (torch.empty(65536, 1000, **meta), 1, "rows"),
        (torch.empty(2**23, 8, **meta), 1, "short_rows"),
        (torch.empty(4096, 4096, **meta), 0, "columns"),
        (torch.empty(4096, 4096, **meta).t(), 1, "columns"),
        (torch.empty(4096, 0, **meta), 0, "empty"),
    ]
    for x, dim, family in cases:
        assert torch_reduce.explain(x, dim, device="cuda").family == family, (x.shape, dim)


def test_atomic_is_one_pass():
    """Over the input; a launch before it zeroes the result."""
    plan = torch_reduce.explain(torch.empty(2**28, device="meta"), mode="atomic", device="cuda")
    assert plan.finish == "atomic" and plan.launches == 2 and plan.split > 1
    assert plan.expected_bytes == 4 * 2**28 + 2 * 4 and plan.scratch_bytes == 0
    plan = torch_reduce.explain(torch.empty(2**28, device="meta"), device="cuda")
    assert plan.finish == "partials" and plan.scratch_bytes > 0


def test_atomic_adds_where_no_cluster_can_meet():
    cases = {2**14: "cluster"} | dict.fromkeys((2**20, 2**22, 2**24, 30_000_000, 2**26, 2**26 + 5000), "atomic")
    for n, finish in cases.items():
        with typical_gpu((9, 0), 132):
            plan = torch_reduce.explain(torch.empty(n, device="meta"), mode="atomic", device="cuda")
        assert plan.finish == finish, n


@given(x=strided(torch.bfloat16, "sum"), data=st.data())
def test_the_least_estimate_is_chosen(x, data):
    """Among all families and kinds of loads that are legal, but for tiles, which some layouts are not asked about."""
    dim = data.draw(dims(x.ndim))
    mode = data.draw(st.sampled_from(["deterministic", "atomic"]))
    chosen = torch_reduce.explain(x, dim, mode=mode, device="cuda")
    for family in ("rows", "short_rows", "columns"):
        for vector in (True, False):
            with constrained_plan(family, vector=vector):
                try:
                    other = torch_reduce.explain(x, dim, mode=mode, device="cuda")
                except RuntimeError:
                    continue
            assert chosen.estimated_us <= other.estimated_us, other


def test_expected_bytes_are_input_and_output():
    plan = torch_reduce.explain(torch.empty(2**20, 64, dtype=torch.bfloat16, device="meta"), 1, device="cuda")
    assert plan.expected_bytes == 2 * 2**26 + 2 * 2**20
    plan = torch_reduce.explain(torch.empty(2**28, device="meta"), device="cuda")
    assert 4 * 2**28 + 4 <= plan.expected_bytes <= 4 * 2**28 + 4 + 2 * MAX_SCRATCH


def test_large_tensors_use_wide_loads_where_they_can():
    x = torch.empty(2**26, device="meta")
    assert torch_reduce.explain(x, device="cuda").vector
    assert not torch_reduce.explain(x[::2], device="cuda").vector


def test_what_a_load_takes():
    x = torch.empty(4096, 4098, dtype=torch.bfloat16, device="meta")
    for tensor, dim, reads in (
        (x, None, "16 bytes"),
        (x, 0, "16 bytes, unaligned"),
        (x[:, ::2], 0, "elements"),
        (torch.empty(26, 142, 6, 500, dtype=torch.bfloat16, device="meta")[2:, 12:, 1:, 6:], (0, 2), "pairs"),
    ):
        plan = torch_reduce.explain(tensor, dim, device="cuda")
        assert plan.reads == reads and f"({reads})" in str(plan), plan


def test_explain_tells_how_a_cpu_reads():
    x = torch.empty(4096, 64, device="meta")
    images = torch.empty(16, 64, 28, 28, device="meta")
    for tensor, dim, reads in (
        (x, 1, "neighbours"),
        (x[:, ::2], 1, "elements"),
        (x, 0, "blocks"),
        (images, (0, 2, 3), "segments"),
        (torch.empty(701, 700, device="meta").T, None, "tiles"),
        (x.T, None, "chunks"),
        (torch.empty(1024, 512, device="meta").T, None, "chunks"),
        (torch.empty(512, 1000, device="meta").T, None, "bundles"),
        (torch.empty(12544, 1000, device="meta").T, None, "strips"),
    ):
        plan = torch_reduce.explain(tensor, dim, device="cpu")
        assert plan.reads == reads and f"({reads})" in str(plan), plan
    with constrained_plan("rows"):
        assert torch_reduce.explain(x.T, device="cpu").reads == "tiles"


# Types that the kernels read themselves, and types that are converted first: the plan knows which.
@pytest.mark.parametrize("op", ["sum", "prod", "amax"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_way_of_a_cpu_for_every_type(dtype, op):
    ways = [
        (fill((3, 5, 600), dtype, op=op), (0, 2)),
        (fill((300, 301), dtype, op=op).T, None),
        (fill((300, 64), dtype, op=op), 0),
        (fill((2048, 32), dtype, op=op).T, None),
    ]
    for x, dim in ways:
        for to in [None] if op == "amax" else [None, torch.float64, torch.int64, torch.bool]:
            keywords = {} if op == "amax" else {"dtype": to}
            result = function_of(op)(x, dim, **keywords)
            expected = model(x, dim, op=op, dtype=to)
            assert_same_bits(result, expected, f"{tuple(x.shape)} over {dim} to {to}")


def test_outputs_whose_segments_are_a_page_are_many_at_a_time():
    tensors = [torch.empty(9, 64, n, device="meta") for n in (1023, 1024)]
    with num_threads(1):
        held = [torch_reduce.explain(x, (0, 2), device="cpu").scratch_bytes for x in tensors]
    assert held == [4 * (4096 + 64), 32 * (4096 + 64)]  # a chunk and a line of each


@pytest.mark.parametrize("threads", [1, 2, 8, 32, 192])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_columns_and_segments_of_all_threads_fit(dtype, threads):
    """What waits of the trees of a strip of columns, and what is held of outputs whose segments take turns."""
    columns = torch.empty(2**22, 4096, dtype=dtype, device="meta")
    segments = torch.empty(64, 512, 900, dtype=dtype, device="meta")
    acc = max(dtype.itemsize, 4)
    with num_threads(threads):
        plan = torch_reduce.explain(columns, 0, device="cpu")
        partials = columns.shape[1] * plan.split * acc if plan.split > 1 else 0
        assert 256 * acc <= plan.scratch_bytes - partials <= MAX_SCRATCH
        plan = torch_reduce.explain(segments, (0, 2), device="cpu")
        assert plan.reads == "segments" and 4 * 1024 * dtype.itemsize <= plan.scratch_bytes <= MAX_SCRATCH


@pytest.mark.parametrize("threads", [1, 2, 8, 32, 192])
@pytest.mark.parametrize("shape", [(20, 100_001), (300, 7001), (5, 120_000), (70, 1025)], ids=str)
def test_tiles_of_all_threads_fit(shape, threads):
    """Lines of a transposed tensor of odd length are copied by every thread that works on the CPU; too long ones are
    not."""
    x = torch.empty(shape[::-1], device="meta").T
    with num_threads(threads):
        scratch = torch_reduce.explain(x, device="cpu").scratch_bytes
    assert scratch <= MAX_SCRATCH
    assert scratch >= 4 * 4 * shape[1] or 4 * 4 * shape[1] > MAX_SCRATCH // threads - 4096


@pytest.mark.parametrize("threads", [1, 2, 8, 32, 192])
@pytest.mark.parametrize("shape", [(20, 100_000), (300, 7000), (1000, 12544)], ids=str)  # with vectors of any width
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_strips_of_all_threads_fit(dtype, shape, threads):
    """Those of even length go by strips, of which every thread holds some sums for each row: of fewer where they are
    many threads."""
    x = torch.empty(shape[::-1], dtype=dtype, device="meta").T
    with num_threads(threads):
        plan = torch_reduce.explain(x, device="cpu")
    assert plan.split == math.ceil(x.numel() / 1024)  # a partial for every chunk
    held = plan.scratch_bytes - plan.split * 4
    assert 16 * 256 * 4 <= held <= MAX_SCRATCH  # the leaves of 16 rows, at least


@pytest.mark.parametrize("threads", [1, 2, 8, 32, 192])
@pytest.mark.parametrize("shape", [(100_000, 512), (8000, 768), (12_000, 7936), (48_000, 448), (70, 256)], ids=str)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_bundles_of_all_threads_fit(dtype, shape, threads):
    """Columns that are whole chunks some at a time go by bundles, of which every working thread holds results."""
    x = torch.empty(shape[::-1], dtype=dtype, device="meta").T
    with num_threads(threads):
        plan = torch_reduce.explain(x, device="cpu")
    assert plan.reads == "bundles" and plan.split == math.ceil(x.numel() / 1024)
    held = plan.scratch_bytes - plan.split * max(dtype.itemsize, 4)
    assert 16 * 4 <= held <= MAX_SCRATCH


@pytest.mark.parametrize("shape, dim", [((54, 127), 0), ((3, 5, 2, 68, 5), 1), ((50, 15), 1), ((1000, 64), 1)], ids=str)
@pytest.mark.parametrize("vector", [False, True])
def test_loads_alone_are_constrained(shape, dim, vector):
    """Tiny tensors, whose elements are read one at a time unless it is said otherwise, too."""
    x = torch.empty(shape, device="meta")
    with constrained_plan(vector=vector):
        try:
            plan = torch_reduce.explain(x, dim, device="cuda")
        except RuntimeError as refused:
            assert vector and "no 16-byte loads" in str(refused)
        else:
            assert plan.vector == vector


def test_constraints_are_followed_or_refused():
    """GPU plans under a constraint, without a GPU: legal ones are taken, others are refused in one sentence."""
    taken = refused = 0
    for shape, dim in (((2**22,), None), ((512, 2**14), 1), ((2**18, 64), 1), ((2**14, 512), 0)):
        x = torch.empty(shape, device="meta")
        for family in ("rows", "short_rows", "columns"):
            for vector in (False, True):
                for split in (0, 1, 2, 16, 256):
                    with constrained_plan(family, vector=vector, split=split):
                        try:
                            plan = torch_reduce.explain(x, dim, device="cuda")
                        except RuntimeError:
                            refused += 1
                            continue
                    taken += 1
                    check(plan, x)
                    assert plan.family == family and plan.vector == vector, plan
                    # The last of the units may be missing, where the padded leaves have no element.
                    assert split == 0 or split / 2 < plan.split <= split, plan
    assert taken > 20 and refused > 0
    assert torch_reduce.explain(torch.empty(2**22, device="meta"), device="cuda").family == "rows"
