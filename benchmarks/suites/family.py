"""The operators beside sum at the shapes that models have, and a few of them on random layouts, on a GPU.

What reduces one tensor is a *group*: its read limit, its sum and the contenders of every operator take turns. So the
limit and the sum are measured once for all of them.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import torch

from ..measure import check, contenders
from ..measure.limit import Limit
from ..measure.timing_cuda import POOL, Flush, Recording, cut, interleaved
from .shapes import Case, drawn, scaled

FLOATING = ("nansum", "nanmean", "aminmax", "norm1", "norm_inf", "norm", "sumsq", "norm2", "var", "logsumexp", "argmax")
TESTS = ("any", "count_nonzero")
OF_LAYOUTS = ("var", "norm2", "amax")
SHAPES = [
    ((1 << 12,), None),
    ((1 << 20,), None),
    ((1 << 26,), None),
    ((16, 128256), (1,)),
    ((65536, 1024), (1,)),
    ((65536, 1024), (0,)),
    ((64, 256, 56, 56), (0, 2, 3)),
    ((4096, 64), (0,)),
]
# Compiling takes longer than measuring, so some are compiled: a full reduction, rows and columns, of one type.
COMPILED = [((1 << 26,), None), ((65536, 1024), (1,)), ((65536, 1024), (0,))]
COMPILED_TYPES = (torch.float32, torch.bool)

Group = list[Case]
"""Cases of one tensor and its dims, beginning with the sum."""
Name = tuple[str, str]
"""An operator and who computes it."""


def _group(total: Case, ops: tuple[str, ...]) -> Group:
    return [total, *(replace(total, op=op, ord=3 if op == "norm" else None) for op in ops)]


def groups(most: int | None = None) -> list[Group]:
    """Those of one type follow one another."""
    types = {torch.float32: FLOATING, torch.bfloat16: FLOATING, torch.bool: TESTS}
    of_shapes = [
        _group(Case("family", scaled(shape, most), dims, dtype), ops)
        for dtype, ops in types.items()
        for shape, dims in SHAPES
    ]
    largest = 26 if most is None else int(math.log2(most))
    return of_shapes + [_group(total, OF_LAYOUTS) for total in drawn("layouts", 30, largest, seed=33)]


def is_compiled(case: Case, compiled: str) -> bool:
    """Whether torch.compile is a contender, if ``compiled`` are: "none", "some" or "all"."""
    some = case.suite == "family" and (case.shape, case.dims) in COMPILED and case.dtype in COMPILED_TYPES
    return compiled == "all" or (compiled == "some" and some)


def _makers(group: Group, limit: Limit, compiled: str) -> dict[Name, Callable[[], contenders.Call]]:
    """What makes each contender. Inductor's is the last one compiled, so it is recorded before the next is made."""
    makers: dict[Name, Callable[[], contenders.Call]] = {}
    if limit.available:
        makers["sum", "limit"] = partial(limit.call, group[0])
    for case in group:
        makers[case.op, "ours"] = partial(contenders.ours, case, "deterministic")
        makers[case.op, "torch"] = partial(contenders.eager, case)
        if is_compiled(case, compiled):
            makers[case.op, "inductor"] = partial(contenders.inductor, case)
    return makers


def measure(
    group: Group, limit: Limit, flush: Flush, rounds: int, *, device: torch.device, compiled: str = "some"
) -> Iterator[dict]:
    """A row for each case: median microseconds of each contender, of the limit and of our sum."""
    total, cases = group[0], {case.op: case for case in group}
    size = max(POOL // total.dtype.itemsize, total.memory_elements)
    pool = torch.empty(size, dtype=total.dtype, device=device)
    check.fill(pool, total)
    inputs = cut(pool, total)
    recordings: dict[Name, Recording] = {}
    for name, make in _makers(group, limit, compiled).items():
        try:
            recordings[name] = Recording(make(), inputs, cases[name[0]].out_bytes)
        except Exception as error:  # the other contenders are still worth their rows
            print(f"{' '.join(name)}, {total.dtype_name} {total.label}: {error}", file=sys.stderr)
    samples = interleaved(recordings, inputs, flush, rounds)
    us = {name: statistics.median(times) for name, times in samples.items()}
    shared = {who: us[name] for who, name in (("limit", ("sum", "limit")), ("sum", ("sum", "ours"))) if name in us}
    for op, case in cases.items():
        own = {who: us[op, who] for who in ("ours", "torch", "inductor") if (op, who) in us}
        yield {
            "suite": case.suite,
            "name": op if case.ord is None else f"{op} ord={case.ord}",
            "op": op,
            "dtype": case.dtype_name,
            "label": f"{case.label} {case.dtype_name}",
            "us": shared | own,
        }
