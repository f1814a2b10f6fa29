"""The CUDA kernels of modes "deterministic" and "atomic" on the CPU, to the bit: every kernel, every way to read memory
and every way in which units meet, by cases drawn by seed (support/emulated_cases.py)."""

import itertools

import moments
import pytest
import torch
from emulated import needs_emulator
from emulated_cases import draw_cases
from emulated_kernels import ACCESSES, FINISHES, KERNELS, Case, build, plan, run

pytestmark = needs_emulator

OF_ROWS = ["contiguous", "segmented", "unaligned", "unaligned_segmented", "unordered", "strided"]
OF_COLUMNS = ["contiguous", "segmented", "unaligned", "pairs", "strided"]
KINDS = [
    *itertools.product(["rows"], OF_ROWS, ["direct", "cluster", "few", "atomic"]),
    *itertools.product(["short_rows"], ["contiguous", "segmented", "unaligned", "strided"], ["direct"]),
    *itertools.product(["columns"], OF_COLUMNS, ["direct", "cluster", "few", "many", "atomic"]),
    *itertools.product(["stacked"], ["contiguous", "pairs"], ["direct"]),
    *itertools.product(["tiles"], ["strided"], ["direct", "few", "many"]),
    *itertools.product(["strips"], ["contiguous", "strided"], ["few", "many"]),
]
KINDS = [", ".join(kind) for kind in KINDS]
ALIGNED = ["contiguous", "segmented", "strided"]
KINDS_OF_WORDS = [
    *itertools.product(["rows"], ALIGNED, ["direct", "cluster", "few"]),
    *itertools.product(["short_rows"], ALIGNED, ["direct"]),
    *itertools.product(["columns"], ALIGNED, ["direct", "cluster", "few", "many"]),
    *itertools.product(["stacked"], ["contiguous"], ["direct"]),
]
KINDS_OF_WORDS = [", ".join(kind) for kind in KINDS_OF_WORDS]


@pytest.fixture(scope="module")
def kernels(shared_folder):
    return build(shared_folder)


@pytest.fixture(scope="module")
def cases(kernels):
    return draw_cases(kernels, seed=1, kinds=KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_kind(kernels, cases, kind):
    """Bits, layouts, lengths, splits, sizes of GPU, orders of threads; NaN, infinities and zeros of both signs."""
    assert cases[kind], "no case was drawn"
    for case in cases[kind]:
        run(kernels, case)


@pytest.fixture(scope="module")
def cases_of_words(kernels):
    moments.add_to_model()
    return draw_cases(kernels, seed=2, kinds=KINDS_OF_WORDS, words=True)


@pytest.mark.parametrize("kind", KINDS_OF_WORDS)
def test_accumulators_of_several_words(kernels, cases_of_words, kind):
    """A variance's three words, of which a missing element has none, and an element's and its index's two."""
    assert cases_of_words[kind], "no case was drawn"
    for case in cases_of_words[kind]:
        run(kernels, case)


@pytest.mark.parametrize("values", ["normal", "wide", "uneven", "a few zeros", "special"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_products_of_columns(kernels, dtype, values):
    """A warp multiplies them as they are; as pairs, where neighbouring columns differ much; and once more from memory,
    where one has no normal product."""
    kinds = set()
    for shape in ([3000, 64], [3000, 1000], [200, 48], [40_000, 8], [257, 320]):
        for split in (0, 1, 2):
            case = Case(shape, [0], [0, 1], [0, 0], op="prod", dtype=dtype, values=values, family="columns", vector=1)
            case.split = split
            if planned := plan(kernels, case):
                kinds.add(planned.kind)
                run(kernels, case)
    assert kinds == {f"columns, contiguous, {finish}" for finish in ("direct", "cluster", "few", "many")}


# Of two types one, the other for the next operator: kernels of a type differ by conversions alone, but for products.
@pytest.mark.parametrize(
    "op, dtype",
    [
        ("sum", torch.float32),
        ("amax", torch.bfloat16),
        ("nansum", torch.float32),
        ("prod", torch.bfloat16),
        ("prod", torch.float32),
        ("logsumexp", torch.bfloat16),
        ("var", torch.float32),
        ("argmax", torch.bfloat16),
        ("aminmax", torch.bfloat16),
    ],
    ids=str,
)
def test_columns_of_two_steps(kernels, op, dtype):
    """Leaves of up to two elements have kernels of their own."""
    kinds = set()
    for n in (257, 300, 511, 512, 513):
        for rows, columns in ((1, 64), (2, 520)):
            case = Case([rows, n, columns], [1], [0, 1, 2], [0, 0, 0], op=op, dtype=dtype, family="columns", vector=1)
            case.out = torch.int64 if op == "argmax" else dtype
            for case.split in (0, 1, 2):
                if planned := plan(kernels, case):
                    kinds.add(planned.kind)
                    run(kernels, case)
    assert kinds >= {f"columns, contiguous, {finish}" for finish in ("direct", "cluster")}


@pytest.mark.parametrize("op", ["sum", "mean", "sumsq", "amax"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_unaligned_rows_of_several_steps(kernels, op, dtype):
    """A warp stages them, two at a time or a last one alone, up to three steps of a chunk."""
    for n in (255, 257, 301, 511, 513, 759):
        for rows in (2, 3, 40):
            case = Case([rows, n], [1], [0, 1], [0, 0], op=op, dtype=dtype, out=dtype, family="short_rows", vector=1)
            case.sms = 1
            assert plan(kernels, case).kind == "short_rows, unaligned, direct"
            run(kernels, case)
    assert plan(kernels, Case([40, 769], [1], [0, 1], [0, 0], dtype=dtype, family="short_rows", vector=1)) is None


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
def test_powers_in_fp64(kernels, dtype):
    """A norm of order 3: missing elements, partials that are no roots, results that a thread writes side by side."""
    kinds = set()
    for shape in ([64, 24], [64, 200], [7, 3000], [64, 23], [3, 40_000], [2000, 300]):
        for memory in ([0, 1], [1, 0]):
            case = Case(shape, [1], memory, [0, 0], op="norm", dtype=dtype, out=dtype)
            kinds.add(plan(kernels, case).kind)
            run(kernels, case)
    assert {kind.split(", ")[0] for kind in kinds} >= {"rows", "short_rows", "columns"}


@pytest.mark.parametrize("values", ["normal", "special", "zeros"])
@pytest.mark.parametrize("op", ["nansum", "nanmean", "norm1", "aminmax", "norm_inf", "norm_minus_inf"])
def test_numbers_and_extremes(kernels, op, values):
    """Sums are of all elements, until NaN shows in one; extremes of 16 bits, down the columns, are two to a word."""
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        for shape, family in (([1100, 72], "columns"), ([300, 64], "columns"), ([72, 1104], "rows"), ([64, 40], "")):
            reduced = [0] if family == "columns" else [1]
            case = Case(shape, reduced, [0, 1], [0, 0], op=op, dtype=dtype, out=dtype, values=values, family=family)
            case.vector = 1
            assert plan(kernels, case)
            run(kernels, case)


def test_every_kind_of_several_words_is_listed(cases_of_words):
    assert cases_of_words.keys() - set(KINDS_OF_WORDS) == set()


def test_every_kind_is_listed(cases):
    """A kernel, or a way to read memory or to meet, that is new needs a test, and cases that choose it."""
    listed = [kind.split(", ") for kind in KINDS]
    assert {kernel for kernel, _, _ in listed} == set(KERNELS) - {"nothing", "copies"}  # which have tests of their own
    assert {access for _, access, _ in listed} == set(ACCESSES)
    assert {finish.replace("few", "partials").replace("many", "partials") for _, _, finish in listed} == set(FINISHES)
    assert cases.keys() - set(KINDS) == set()


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int8], ids=str)
@pytest.mark.parametrize("exchanged", [False, True])
def test_copies(kernels, exchanged, dtype, backward):
    """Outputs of one element, many of them, whose results lie as the elements do or across."""
    case = Case([541, 1, 500], [1], [0, 1, 2], [0, 0, 3], out_memory=[1, 0] if exchanged else None, dtype=dtype)
    case.out, case.backward = torch.float32 if dtype is torch.float32 else torch.int64, backward
    assert plan(kernels, case).kind == "copies, strided, direct"
    run(kernels, case)


def test_very_many_partials(kernels):
    """So many that several CTAs finish one output."""
    case = Case([8192 * 1024 - 5], [0], [0], [0], dtype=torch.float16, sms=132, family="rows", vector=1, split=8192)
    assert plan(kernels, case).kind == "rows, contiguous, few in clusters"
    run(kernels, case)


@pytest.mark.parametrize("op", ["sum", "mean", "sumsq"])
@pytest.mark.parametrize("family", ["", "rows", "short_rows", "columns"])
def test_nothing_to_reduce(kernels, family, op):
    for shape, dim in (([5, 0], 1), ([0, 40], 0), ([3, 0, 7], 1)):
        run(kernels, Case(shape, [dim], list(range(len(shape))), [0] * len(shape), op=op, family=family))
