"""Tuning: rows by architecture, values set by name, plans that stay valid launches, and bits that do not change."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from launches import check, huge
from strategies import dims, room

import torch_reduce
from torch_reduce.testing import assert_same_bits, constrained_plan, fill, model, tuned, tuning, typical_gpu

# A GPU of each row: compute capability, SMs.
GPUS = [((8, 0), 108), ((8, 6), 84), ((8, 9), 142), ((9, 0), 132), ((10, 0), 148), ((12, 0), 170), ((8, 9), 20)]
H200 = {
    "rows_ctas_per_sm": 32,
    "rows_split_slots": 64,
    "rows_split_below_per_sm": 5,
    "rows_least_ctas_per_sm": 2,
    "rows_shared_ctas_per_sm": 3,
    "staged_warp_bytes": 3072,
    "staged_ctas_per_sm": 4,
    "columns_uncut_ctas_per_sm": 4,
    "columns_least_ctas_per_two_sms": 3,
    "columns_ctas_per_sm": 3,
    "columns_tile": 128,
    "columns_shared": 40 << 10,
    "columns_small_per_sm": 32 << 10,
    "finish_few_outputs_per_sm": 2,
}
SIZES = {
    "rows_split_slots": (1, 4096),
    "staged_warp_bytes": (16, 5 << 10),
    "columns_tile": (32, 4096),
    "columns_shared": (8 << 10, 48 << 10),
}
POWERS_OF_TWO = ("rows_split_slots", "columns_tile")
MOST = 1 << 20


@st.composite
def tunings(draw):
    """Some of the values, most of them small, some at the ends of what is legal."""
    values = {}
    for name in draw(st.sets(st.sampled_from(sorted(H200)))):
        least, most = SIZES.get(name, (1, MOST))
        powers = [2**k for k in range(21) if least <= 2**k <= most]
        drawn = st.sampled_from(powers)
        if name not in POWERS_OF_TWO:
            drawn = drawn | st.integers(least, min(least + 40, most)) | st.sampled_from([least, most])
        values[name] = draw(drawn)
    return values


# ---- the table ----------------------------------------------------------------------------------------------------


def test_the_measured_row():
    """As `make tune` printed it, which may change it, and then this."""
    assert tuning() == H200
    with typical_gpu((9, 0), 78):
        assert tuning() == H200


def test_derived_rows_differ_where_the_architectures_do():
    rows = {}
    for capability, sms in GPUS:
        with typical_gpu(capability, sms):
            rows[capability] = tuning()
    for row in rows.values():
        different = {name for name in H200 if row[name] != H200[name]}
        assert different <= {"columns_shared", "columns_small_per_sm", "staged_warp_bytes"}
    # Four CTAs, or as many of 256 threads as an SM holds, and what the system takes of each fit its shared memory.
    sizes = (((8, 0), 164, 8), ((8, 6), 100, 6), ((8, 9), 100, 6), ((10, 0), 228, 8), ((12, 0), 100, 6))
    for capability, kib, ctas in sizes:
        assert 4 * (rows[capability]["columns_shared"] + 1024) <= kib << 10, capability
        assert ctas * (8 * rows[capability]["staged_warp_bytes"] + 1024) <= kib << 10, capability
    # What memory delivers to an SM in the same time.
    order = sorted(rows, key=lambda capability: rows[capability]["columns_small_per_sm"])
    assert order == [(8, 9), (12, 0), (8, 6), (8, 0), (9, 0), (10, 0)]


@pytest.mark.parametrize(
    "capability, row",
    [
        ((7, 5), (8, 0)),
        ((8, 7), (8, 6)),
        ((10, 3), (10, 0)),
        ((11, 0), (10, 0)),
        ((12, 1), (12, 0)),
        ((13, 0), (12, 0)),
    ],
    ids=str,
)
def test_others_have_the_next_lower_row(capability, row):
    with typical_gpu(row, 100):
        expected = tuning()
    with typical_gpu(capability, 100):
        assert tuning() == expected


# ---- plans --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("capability, sms", GPUS, ids=str)
def test_every_architecture_is_explained(capability, sms):
    with typical_gpu(capability, sms):
        for shape, dim in (((2**26,), None), ((65536, 1000), 1), ((2**23, 8), 1), ((4096, 4096), 0), ((512, 768), 0)):
            for mode in ("deterministic", "atomic", "exact"):
                x = torch.empty(shape, dtype=torch.bfloat16, device="meta")
                check(torch_reduce.explain(x, dim, mode=mode, device="cuda"), x)


@given(x=huge(), values=tunings(), gpu=st.sampled_from(GPUS), data=st.data())
def test_every_plan_under_any_tuning_is_a_valid_launch(x, values, gpu, data):
    dim = data.draw(dims(x.ndim))
    with typical_gpu(*gpu), tuned(**values):
        for mode in ("deterministic", "atomic", "exact"):
            try:
                plan = torch_reduce.explain(x, dim, mode=mode, device="cuda")
            except RuntimeError as refused:  # only what no memory holds
                assert "more than one launch can hold" in str(refused) and room(x.shape) > 2**38
                continue
            check(plan, x)
            assert plan.outputs * plan.n == x.numel()


@given(x=huge(), gpu=st.sampled_from(GPUS), values=tunings(), data=st.data())
def test_what_is_legal_is_no_matter_of_tuning(x, gpu, values, data):
    """What a kernel needs of its tensor depends on the tensor alone. Which kernel is chosen depends on the GPU too."""
    dim = data.draw(dims(x.ndim))

    def legal():
        for family in ("rows", "short_rows", "columns", "tiles"):
            for vector in (True, False):
                with constrained_plan(family, vector=vector):
                    try:
                        yield torch_reduce.explain(x, dim, device="cuda").family
                    except RuntimeError as e:
                        yield "constraint" not in str(e)

    here = list(legal())
    with typical_gpu(*gpu), tuned(**values):
        assert list(legal()) == here


# ---- values set by name -------------------------------------------------------------------------------------------


def test_values_are_in_force_and_restored():
    with tuned(columns_ctas_per_sm=7, columns_tile=512):
        assert tuning() == H200 | {"columns_ctas_per_sm": 7, "columns_tile": 512}
        with tuned(columns_ctas_per_sm=9), typical_gpu((12, 0), 170):
            assert tuning()["columns_ctas_per_sm"] == 9 and tuning()["columns_tile"] == 512
        assert tuning()["columns_ctas_per_sm"] == 7
        with pytest.raises(KeyError), tuned(columns_ctas_per_sm=9):
            raise KeyError
        assert tuning()["columns_ctas_per_sm"] == 7
    assert tuning() == H200


@pytest.mark.parametrize(
    "values, words",
    [
        ({"columns_ctas": 3}, ["unknown", "columns_ctas", "columns_ctas_per_sm", "rows_split_slots"]),
        ({"columns_ctas_per_sm": 0}, ["columns_ctas_per_sm", "from 1 to 1048576", "got 0"]),
        ({"rows_ctas_per_sm": -4}, ["rows_ctas_per_sm", "got -4"]),
        ({"rows_ctas_per_sm": MOST + 1}, ["rows_ctas_per_sm", "from 1 to 1048576", "got 1048577"]),
        ({"rows_split_slots": 48}, ["rows_split_slots", "power of two from 1 to 4096", "got 48"]),
        ({"rows_split_slots": 8192}, ["rows_split_slots", "power of two", "got 8192"]),
        ({"columns_tile": 16}, ["columns_tile", "power of two from 32 to 4096", "got 16"]),
        ({"columns_shared": 64 << 10}, ["columns_shared", "from 8192 to 49152", "got 65536"]),
    ],
    ids=str,
)
def test_what_is_not_legal_is_refused_and_changes_nothing(values, words):
    with tuned(finish_few_outputs_per_sm=2):
        before = tuning()
        with pytest.raises(ValueError) as caught, tuned(columns_uncut_ctas_per_sm=5, **values):
            pass
        sentence = str(caught.value).split("\nException raised from")[0]
        assert sentence.startswith("reduce: ") and all(word in sentence for word in words), sentence
        assert tuning() == before
    assert tuning() == H200


@pytest.mark.parametrize("capability, sms", [((9, 0), 0), ((9, 0), -1), ((0, 5), 100), ((9, 12), 100)])
def test_no_gpu_is_so(capability, sms):
    with pytest.raises(ValueError, match="reduce: a"), typical_gpu(capability, sms):
        pass
    assert tuning() == H200


# ---- bits ---------------------------------------------------------------------------------------------------------

# Rows, few and many, short ones, columns, dims in the middle, all elements: each is cut in other ways by other tunings.
SHAPES = [
    ((300_003,), None),
    ((2**18,), None),
    ((5, 2**15), 1),
    ((600, 20_000), 1),
    ((70, 1000), 1),
    ((4096, 64), 1),
    ((901, 8), 1),
    ((4096, 64), 0),
    ((3001, 77), 0),
    ((50_000, 4), 0),
    ((20_000, 256), 0),
    ((12, 300, 40), (0, 2)),
    ((12, 3000, 40), 1),
    ((4, 64, 14, 14), (0, 2, 3)),
]
_known: dict = {}  # inputs and the bits that the model says


def known(shape, dim, dtype, op):
    key = (shape, dim, dtype, op)
    if key not in _known:
        x = fill(shape, dtype, op=op)
        _known[key] = x.to("cuda"), model(x, dim, op=op)
    return _known[key]


@pytest.mark.cuda
@given(
    case=st.sampled_from(SHAPES),
    dtype=st.sampled_from([torch.float32, torch.bfloat16]),
    op=st.sampled_from(["sum", "mean"]),
    values=tunings(),
)
def test_no_tuning_changes_a_bit(case, dtype, op, values):
    shape, dim = case
    x, expected = known(shape, dim, dtype, op)
    with tuned(**values):
        plan = torch_reduce.explain(x, dim, op=op)
        assert_same_bits(getattr(torch_reduce, op)(x, dim), expected, f"{values}: {plan}")


@pytest.mark.cuda
@given(case=st.sampled_from(SHAPES), values=tunings())
def test_atomic_under_any_tuning_is_right(case, values):
    """Integers below 2^24: sums are exact in any order."""
    shape, dim = case
    x = (torch.arange(torch.Size(shape).numel(), device="cuda") % 7).reshape(shape)
    expected = x.sum(dim)
    for dtype in (torch.float32, torch.bfloat16):
        with tuned(**values):
            got = torch_reduce.sum(x.to(dtype), dim, mode="atomic")
        assert_same_bits(got.cpu(), expected.to(dtype).cpu(), f"{values}")
