"""The plans that are chosen for every shape of the benchmark, and for 2,000 others: each reads only what is there and
aligned, is a valid launch, and has the least estimate. Legality is derived here anew, from sizes and strides."""

import contextlib
import json

import pytest
import torch
from launches import check

import torch_reduce
from benchmarks.measure.contenders import has_modes
from benchmarks.tune import choices
from torch_reduce.testing import constrained_plan

CASES = choices.cases(drawn=2000)
PARTS = 8
ORDER_FREE = ("amax", "amin")


def merged(dims):
    """Neighbours (outer, inner) that walk memory like one dim, as (size, stride)."""
    found = []
    for size, stride in dims:
        if size > 1 and found and found[-1][1] == stride * size:
            found[-1] = (found[-1][0] * size, stride)
        elif size > 1:
            found.append((size, stride))
    return found


def reduced_dims(case):
    return range(len(case.shape)) if case.dims is None else case.dims


def nest(x, case, mode):
    """Kept and reduced dims, outermost first."""
    dims = list(zip(x.shape, x.stride(), strict=True))
    kept = sorted((d for i, d in enumerate(dims) if i not in reduced_dims(case)), key=lambda d: -d[1])
    reduced = [d for i, d in enumerate(dims) if i in reduced_dims(case)]
    free = case.op in ORDER_FREE or mode == "atomic" or not (x.dtype.is_floating_point or case.op == "argmax")
    return merged(kept), merged(sorted(reduced, key=lambda d: -d[1]) if free and case.op != "argmax" else reduced), free


def are_multiples(dims, of):
    return all(stride % of == 0 for _, stride in dims)


def why_not(plan, x, case, mode):
    """Why a plan may not read as it says, or None."""
    kept, reduced, free = nest(x, case, mode)
    v = 16 // x.element_size()
    inner_kept, inner_reduced = kept[-1] if kept else (1, 0), reduced[-1] if reduced else (1, 1)
    if plan["family"] == "columns" and not kept:
        return "columns of one output"
    most = {"16 bytes": 32 * max(v, 8), "16 bytes, unaligned": 768}.get(plan["reads"], 256)
    if plan["family"] == "short_rows" and plan["n"] > most:
        return "rows that are not short"
    if plan["family"] == "tiles":
        return None if len(reduced) > 1 and not free else "tiles without an order that needs them"
    reads = plan["reads"]
    if reads == "elements":
        return None
    along = inner_kept if plan["family"] == "columns" else inner_reduced
    if along[1] != 1:
        return "elements that are no neighbours"
    if reads == "16 bytes, unordered":
        return None if free and along[0] >= v else "an order that matters, or short segments"
    if reads == "16 bytes, unaligned":
        return None if plan["family"] != "columns" or along[0] >= 2 * v else "loads past the last row"
    width = {"16 bytes": v, "pairs": 2}[reads]
    if x.data_ptr() % (width * x.element_size()):
        return "an address that is not aligned"
    if plan["family"] == "columns":
        legal = along[0] % width == 0 and are_multiples(kept[:-1] + reduced, width)
    else:
        legal = are_multiples(kept + reduced[:-1], width) and (len(reduced) == 1 or along[0] % width == 0)
    return None if legal else "what begins between two loads"


@pytest.mark.parametrize("part", range(PARTS))
def test_choices_are_legal(part):
    for case in CASES[part::PARTS]:
        x = case.view(torch.empty(case.memory_elements, dtype=case.dtype, device="meta"))
        for mode in ("deterministic", "atomic") if has_modes(case) else ("deterministic",):
            plan = torch_reduce.explain(x, list(reduced_dims(case)), op=case.op, mode=mode, device="cuda")
            check(plan, x)
            described = vars(plan)
            assert (reason := why_not(described, x, case, mode)) is None, (reason, case, plan)


def test_exact_reads_16_bytes_where_it_can():
    """Kernels that read by elements take up to three times as long."""
    seen = set()
    for case in choices.exact_cases(drawn=200):
        x = case.view(torch.empty(case.memory_elements, dtype=case.dtype, device="meta"))

        def explain(x=x, case=case):
            return torch_reduce.explain(x, list(reduced_dims(case)), mode="exact", device="cuda")

        can = False
        for family in ("rows", "short_rows", "columns"):
            with constrained_plan(family, vector=True), contextlib.suppress(RuntimeError):
                read = vars(explain()) | {"reads": "16 bytes"}  # what begins anywhere reads them too: no reason to
                can |= why_not(read, x, case, "atomic") is None
        plan = explain()
        assert plan.vector or not can, (case, plan)
        seen.add((plan.family, plan.vector))
    assert seen == {(family, vector) for family in ("rows", "short_rows", "columns") for vector in (True, False)}


def test_what_is_not_legal_is_found():
    """The rules above refuse plans of other layouts, so that they can fail."""
    case = next(c for c in CASES if c.label.startswith("(8192, 4097)") or c.shape == (8192, 4097))
    x = torch.empty(case.shape, device="meta")
    plan = json.loads(torch.ops.reduce._explain(x, [1], op="sum", device="cuda"))
    for reads, reason in (("16 bytes", "what begins between two loads"), ("16 bytes, unordered", "an order that")):
        assert why_not(plan | {"family": "rows", "reads": reads}, x, case, "deterministic").startswith(reason)
    assert why_not(plan | {"family": "tiles"}, x, case, "deterministic").startswith("tiles without")
    assert why_not(plan | {"family": "columns", "reads": "pairs"}, x, case, "deterministic").startswith("elements that")
