"""The suites on the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch

from torch_reduce.testing import num_threads

from ..measure import check, contenders
from ..measure.timing_cpu import interleaved
from .rows import row
from .shapes import Case

RUNS = 5  # per thread count
FSUM_MOST = 1 << 20  # elements that math.fsum sums, at about 25 ns each


def calls_for(case: Case, compile_peer: bool) -> dict[str, contenders.Call]:
    # On the CPU "atomic" would be the same call as "deterministic".
    calls = {mode: contenders.ours(case, mode) for mode in contenders.modes(case) if mode != "atomic"}
    calls["torch"] = contenders.eager(case)
    if contenders.has_fp64(case):
        calls["torch_fp64"] = contenders.fp64(case)
    if case.suite == "exact" and case.dims is None and case.elements <= FSUM_MOST:
        calls["fsum"] = contenders.fsum
    if compile_peer:
        calls["inductor"] = contenders.inductor(case)
    return calls


def run(cases: list[Case], thread_counts: list[int], seconds: float, compile_peer: bool) -> Iterator[dict]:
    """Rows for every case and thread count. `seconds` is the time that one row's samples take, about."""
    for case in cases:
        flat = torch.empty(case.memory_elements, dtype=case.dtype)
        check.fill(flat, case)
        x = case.view(flat)
        calls = calls_for(case, compile_peer)
        expected = check.reference(case, x)
        bits: dict[str, set[int]] = {name: set() for name in calls}
        errors = dict.fromkeys(calls, 0.0)
        rows = []
        for count in thread_counts:
            with num_threads(count):
                for name, call in calls.items():
                    bits[name] |= check.repeats(call, x, RUNS)
                    errors[name] = worse(errors[name], expected.error(call(x)))
                samples = interleaved({name: partial(call, x) for name, call in calls.items()}, seconds)
            rows.append(row(case, "cpu", samples, threads=count))
        for entry in rows:  # bits are compared across the thread counts too
            entry["bounds"] = check.bounds(case)
            for name, contender in entry["contenders"].items():
                runs = RUNS * len(thread_counts)
                contender.update(distinct=len(bits[name]), runs=runs)
                if case.suite != "data":  # there an fp64 reference is no better than what it would judge
                    contender["error"] = errors[name]
            yield entry


def worse(a: float, b: float) -> float:
    """The larger, or NaN if either is."""
    return a if a != a or a > b else b
