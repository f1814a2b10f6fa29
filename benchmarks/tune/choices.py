"""Times every family and kind of loads that is legal for a reduction, not only those that are chosen:
`python -m benchmarks.tune.choices --out choices.json` says how much time a better choice would save, and where.

The file holds a row for each reduction: its layout, and every plan with its times.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path

import torch

from torch_reduce.testing import constrained_plan

from ..measure import contenders, machine
from ..measure.timing_cuda import POOL, Flush, Recording, cut, interleaved
from ..suites import shapes
from ..suites.shapes import Case
from .__main__ import why_not

FAMILIES = ("rows", "short_rows", "columns", "tiles")
SETTLED = ("family", "reads", "grid", "block", "split", "finish", "shared_bytes")


def cases() -> list[Case]:
    both = [torch.float32, torch.bfloat16]
    chosen = shapes.shapes(both, quick=False) + shapes.hard() + shapes.layouts() + shapes.random_shapes(quick=False)
    small = [replace(c, suite="small") for c in small_shapes()]
    others = []
    draw = random.Random(5)
    for dtype in (torch.int8, torch.int64, torch.float64, torch.bool):
        others += [
            replace(c, dtype=dtype, suite="types") for c in draw.sample(shapes.random_shapes(False, seed=11), 15)
        ]
    for op in ("amax", "argmax", "sumsq"):
        others += [replace(c, op=op, suite="types") for c in draw.sample(shapes.random_shapes(False, seed=12), 15)]
    return [c for c in chosen + small + others if c.memory_elements * c.dtype.itemsize <= POOL]


def small_shapes() -> list[Case]:
    """As the random ones, of 2^8 to 2^22 elements."""
    draw = random.Random(23)
    found = []
    for case in shapes.random_shapes(False, seed=24):
        shrink = 2 ** draw.uniform(8, 22) / case.elements
        if shrink >= 1:
            continue
        sizes = list(case.shape)
        for d in draw.sample(range(len(sizes)), len(sizes)):
            size = max(1, round(sizes[d] * shrink ** (1 / len(sizes))))
            sizes[d] = min(size, sizes[d])
        sizes = shapes.scaled(sizes, 1 << 22)
        whole = tuple(s + (w - o) * s // o for s, w, o in zip(sizes, case.whole, case.shape, strict=True))
        found.append(replace(case, shape=tuple(sizes), whole=whole))
    return found


def plan_of(x: torch.Tensor, case: Case, mode: str) -> dict:
    modes = {"mode": mode} if contenders.has_modes(case) else {}
    return json.loads(torch.ops.reduce._explain(x, case.dims, op=case.op, **modes))


def candidates(x: torch.Tensor, case: Case, mode: str) -> list[tuple[str, bool | None, dict]]:
    """Families and loads whose plans differ, the choice first."""
    found = [("", None, plan_of(x, case, mode))]
    for family in FAMILIES:
        for vector in (True, False):
            with constrained_plan(family, vector=vector):
                try:
                    plan = plan_of(x, case, mode)
                except RuntimeError:
                    continue
            if all(any(plan[k] != p[k] for k in SETTLED) for _, _, p in found):
                found.append((family, vector, plan))
    return found


def report(rows: list[dict], worst: int = 15) -> str:
    """The time of the plans that are chosen over that of the fastest, by suite, and the worst cases."""
    losses = []
    for row in rows:
        us = [statistics.median(plan["us"]) for plan in row["plans"]]
        losses.append((us[0] / min(us), row, row["plans"][us.index(min(us))]))
    lines = []
    for suite in dict.fromkeys(row["suite"] for row in rows):
        ratios = [ratio for ratio, row, _ in losses if row["suite"] == suite]
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        slower = sum(ratio > 1.02 for ratio in ratios)
        lines.append(f"{suite:8} {mean:.3f} x the best on average, {slower} of {len(ratios)} by more than 2 %")
    for ratio, row, best in sorted(losses, key=lambda loss: -loss[0])[:worst]:
        chosen = row["plans"][0]
        lines.append(
            f"{ratio:.2f} x  {row['label']} {row['dtype']} {row['op']} {row['mode']}: {chosen['family']}, "
            f"{chosen['reads']}; {best['family']}, {best['reads']} would be faster"
        )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tune.choices", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the JSON file to write")
    parser.add_argument("--rounds", type=int, default=5, help="samples of each plan")
    parser.add_argument("--seconds", type=float, default=420, help="after which no other reduction is begun")
    arguments = parser.parse_args()
    if reason := why_not():
        sys.exit(f"choices: {reason}")
    device = torch.device("cuda", torch.cuda.current_device())
    flush, rows, began = Flush(device), [], time.monotonic()
    groups: dict[torch.dtype, list[Case]] = {}
    for case in cases():
        groups.setdefault(case.dtype, []).append(case)
    for dtype, group in groups.items():
        pool = torch.ones(POOL // dtype.itemsize, dtype=dtype, device=device)
        if dtype.is_floating_point:
            pool.uniform_(-1, 1)
        for case in group:
            if time.monotonic() - began > arguments.seconds:
                break
            inputs = cut(pool, case)
            x = inputs.tensors[0]
            in_order = case.keeps_order or not contenders.has_modes(case)
            for mode in ("deterministic",) if in_order else ("deterministic", "atomic"):
                found = candidates(x, case, mode)
                recordings = {}
                for i, (family, vector, _) in enumerate(found):
                    with constrained_plan(family, vector=vector):
                        recordings[str(i)] = Recording(contenders.ours(case, mode), inputs, case.out_bytes)
                samples = interleaved(recordings, inputs, flush, arguments.rounds)
                rows.append(
                    {
                        "suite": case.suite,
                        "label": case.label,
                        "dtype": case.dtype_name,
                        "op": case.op,
                        "mode": mode,
                        "sizes": list(x.shape),
                        "strides": list(x.stride()),
                        "dims": list(range(x.ndim)) if case.dims is None else list(case.dims),
                        "alignment": min(16, x.data_ptr() & -x.data_ptr()),
                        "bytes": case.in_bytes + case.out_bytes,
                        "plans": [
                            {"asked": family, "vector": vector, "us": samples[str(i)]} | {k: plan[k] for k in SETTLED}
                            for i, (family, vector, plan) in enumerate(found)
                        ],
                    }
                )
                del recordings
        del pool
    arguments.out.write_text(json.dumps({"machine": machine.describe(device), "rows": rows}))
    print(f"{len(rows)} reductions in {time.monotonic() - began:.0f} s; {machine.line(machine.describe(device))}")
    print(report(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
