"""The CUDA kernels of two tensors on the CPU, to the bit: layouts of both, drawn by seed, and every kernel for them."""

import math
import random
from dataclasses import replace

import pytest
import torch
from emulated import needs_emulator
from emulated_kernels import POISON, Case, Planned, Second, around, at_16_bytes, build_of, call, placed

from torch_reduce.model import model
from torch_reduce.testing import assert_same_bits, fill
from torch_reduce.two_model import model_of_dot, model_of_masked

pytestmark = needs_emulator
FACTOR, MASK, NORMAL_FACTOR = 1, 2, 3
OPS = {"dot": "Dot", "sum": "Masked<Sum>", "mean": "Masked<Sum>", "amin": "Masked<Max>", "var": "Masked<Variance>"}
OPS |= {"prod": "Masked<Prod>", "logsumexp": "Masked<LogSumExp>"}
NORMAL = "NormalDot"
KINDS = {f"rows, {access}, {finish}" for access in ("contiguous", "strided") for finish in ("direct", "few")}
KINDS |= {"rows, segmented, direct"}
KINDS |= {f"short_rows, {access}, direct" for access in ("contiguous", "segmented", "strided")}
KINDS |= {f"columns, {access}, direct" for access in ("contiguous", "segmented", "strided")}


@pytest.fixture(scope="module")
def kernels(shared_folder):
    instances = [(operator, "float") for operator in dict.fromkeys([*OPS.values(), NORMAL])]
    return build_of(shared_folder, [*instances, ("Masked<Sum>", "int64_t"), ("Masked<Max>", "int64_t")])


def draw(rng, ops=tuple(OPS)):
    """A reduction, and a layout for its second tensor."""
    shape, reduced = rng.choice(
        [
            ([5, 3000], [1]),
            ([40_000], [0]),
            ([3, 2, 2048], [2]),
            ([6, 7, 1024], [0, 2]),
            ([9, 64], [1]),
            ([300, 24], [1]),
            ([4, 5, 32], [2]),
            ([700, 40], [0]),
            ([3, 90, 64], [1]),
            ([5, 600, 8], [0, 1]),
            ([6, 5, 40, 16], [0, 2]),
            ([2, 3, 300, 32], [0, 2]),
            ([2, 3, 4, 5], [1, 3]),
        ]
    )
    dims = list(range(len(shape)))

    aligned = rng.random() < 0.6  # both

    def layout():
        if aligned:
            return {"memory": dims, "gaps": [rng.choice([0, 0, 8]) for _ in dims], "offset": rng.choice([0, 8])}
        memory = dims if rng.random() < 0.7 else rng.sample(dims, len(dims))
        gaps = [rng.choice([0, 0, 8, 1]) if rng.random() < 0.3 else 0 for _ in dims]
        expanded = [d for d in dims if rng.random() < 0.1]
        return {"memory": memory, "gaps": gaps, "expanded": expanded, "offset": rng.choice([0, 0, 0, 8, 1])}

    op = rng.choice(ops)
    dtype = rng.choice([torch.float32, torch.bfloat16] + ([torch.int16] if op in ("sum", "amin") else []))
    out = torch.int64 if op == "sum" and dtype == torch.int16 else dtype
    case = Case(
        shape, reduced, **layout(), op=op, dtype=dtype, out=out, sms=rng.choice([4, 132]), seed=rng.randrange(99)
    )
    case.major = rng.choice([8, 9])
    second = torch.bool if op != "dot" else dtype
    other = Case(shape, reduced, **layout(), dtype=second, values="whole" if second == torch.bool else "normal")
    case.family = rng.choice(["", "", "rows", "columns", "short_rows"])
    case.vector = rng.choice([-1, 1]) if aligned else -1
    if shape == [4, 5, 32] and aligned:  # a gap between the kept dims
        case.family, case.vector, case.gaps, other.gaps = "short_rows", 1, [0, 8, 0], [0, 8, 0]
    return case, other


def run(kernels, case, other, words=0):
    """Runs it and returns the kind of its plan, or None where the family is not legal. Words of rows normalise
    factors."""
    is_mask = other.dtype == torch.bool
    strides, elements = case.strides()
    memory = at_16_bytes(elements + case.offset, case.dtype, around(replace(case, op="sum")))
    x = placed(memory, case.offset, case.shape, strides)
    other_strides, elements = other.strides()
    other_memory = at_16_bytes(elements + other.offset, other.dtype, 1 if is_mask else 0xFF)
    y = placed(other_memory, other.offset, case.shape, other_strides)
    for to, of in ((x, case), (y, other)):
        elements_of = replace(of, op="sum" if of.op == "dot" else of.op)
        once, values = to, elements_of.of_values() if of.dtype != torch.bool else None
        for d in of.expanded:
            once = once.narrow(d, 0, 1)
        once.copy_(fill(once.shape, torch.bool, start=case.seed) if values is None else values)

    kept = [d for d in range(len(case.shape)) if d not in case.reduced]
    shape = [case.shape[d] for d in kept]
    out_strides, elements = case.out_strides()
    results = at_16_bytes(elements, case.out, POISON)
    out = placed(results, 0, shape, [out_strides[d] for d in kept])
    counts = model(y, case.reduced, op="count_nonzero").contiguous() if case.op in ("mean", "var") else None
    second = Second(MASK if is_mask else FACTOR, other.dtype, other_strides, y.data_ptr())
    second.counts = None if counts is None else counts.data_ptr()
    n = math.prod(case.shape[d] for d in case.reduced)
    rows = torch.linspace(0.5, 1.5, n * words).view(n, words)[torch.arange(n) * 7919 % n] if words else None
    if words:
        rows = rows.contiguous()
        second.role, second.rows, second.row_words = NORMAL_FACTOR, rows.data_ptr(), words
    planned = Planned()
    status = call(kernels, case, x.data_ptr(), out.data_ptr(), planned, second)
    if status == -1:
        return None
    assert status == 0, f"{case} {other}: status {status}, {kernels.emulator_failure().decode()}"
    if words:
        expected = model(products(x, y, rows, case.reduced), case.reduced, op="sum").to(case.out)
    elif not is_mask:
        expected = model_of_dot(x, y, case.reduced)
    else:
        keywords = {} if case.op in ("amin", "var") else {"dtype": case.out}
        expected = model_of_masked(x, y, case.reduced, op=case.op, **keywords)
    assert_same_bits(out.clone(), expected, f"{planned.kind}: {case} {other}")
    return planned.kind


def products(x, y, rows, reduced):
    """Of elements and of those beside them, which the words of their number normalise; each operation in float32."""
    sizes = [size if d in reduced else 1 for d, size in enumerate(x.shape)]
    mean, rest, inverse = (rows if rows.shape[1] == 3 else rows.new_zeros(len(rows), 3)).unbind(-1)
    inverse = rows[:, -1]
    normal = ((y.float() - mean.view(sizes)) - rest.view(sizes)) * inverse.view(sizes)
    return x.float() * normal


def test_normalised_factors(kernels):
    """By their number among the elements of an output, whatever the layout; every kernel, as above."""
    rng, seen = random.Random(7), set()
    for i in range(60):
        case, other = draw(rng, ops=("dot",))
        case.out = torch.float32
        seen.add(run(kernels, case, other, words=1 + 2 * (i % 2)))
    assert {kind for kind in KINDS if "columns" in kind} <= seen, str(seen)


def test_bits(kernels):
    """Of drawn cases, until every kernel has had its turn some times."""
    rng = random.Random(5)
    seen = dict.fromkeys(KINDS, 0)
    for _ in range(250):
        case, other = draw(rng)
        kind = run(kernels, case, other)
        if kind:
            seen[kind] = seen.get(kind, 0) + 1
    assert all(seen[kind] >= 2 for kind in KINDS), str(sorted(seen.items()))
