"""Times every family and kind of loads that is legal for a reduction, not only those that are chosen:
`python -m benchmarks.tune.choices --out choices.json` says how much time a better choice would save, and where.

The file holds a row for each reduction: its layout, and every plan with its times.
"""

from __future__ import annotations

import argparse
import itertools
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

MOST = 8 << 30  # bytes of a tensor
FAMILIES = ("rows", "short_rows", "columns", "tiles")
SETTLED = ("family", "reads", "grid", "block", "split", "finish", "shared_bytes")


TYPES = (torch.float32, torch.bfloat16, torch.float16, torch.int8, torch.int32, torch.int64, torch.float64, torch.bool)
TYPE_WEIGHTS = (6, 6, 1, 1, 1, 1, 1, 1)


def cases(drawn: int) -> list[Case]:
    """Those of the benchmark's suites, and as many others of all sizes, types and operators as are asked for."""
    both = [torch.float32, torch.bfloat16]
    chosen = shapes.shapes(both, quick=False) + shapes.hard() + shapes.layouts() + shapes.random_shapes(quick=False)
    chosen += shapes.ops()
    draw = random.Random(5)
    others = named()
    odd = itertools.chain.from_iterable(shapes.random_shapes(False, seed=seed) for seed in itertools.count(11))
    for case in itertools.islice(odd, drawn):
        suite = draw.choice(("small", "large", "even"))
        layout = shrunk(case, draw) if suite == "small" else even(draw) if suite == "even" else case
        op = draw.choices(("sum", "amax", "argmax", "sumsq"), (7, 1, 1, 1))[0]
        others.append(replace(layout, op=op, dtype=draw.choices(TYPES, TYPE_WEIGHTS)[0], suite=suite))
    return [c for c in chosen + others if c.memory_elements * c.dtype.itemsize <= MOST]


def exact_cases(drawn: int) -> list[Case]:
    """Floating sums: those of the benchmark's suites, and as many random ones as are asked for."""
    chosen = shapes.exact_shapes(False, MOST) + shapes.hard() + shapes.layouts() + shapes.random_shapes(False)
    odd = itertools.chain.from_iterable(shapes.random_shapes(False, seed=seed) for seed in itertools.count(11))
    chosen += itertools.islice(odd, drawn)
    chosen = [c for c in chosen if c.dtype.is_floating_point]
    return [c for c in chosen if c.memory_elements * c.dtype.itemsize <= MOST]


def named() -> list[Case]:
    """Layouts between two families, where choices were once thresholds."""
    both, fp32, wide = (torch.float32, torch.bfloat16), (torch.float32,), (torch.int64, torch.float64)
    contiguous = [
        *(((n, 1000), (0,), both) for n in (8, 16, 32, 200)),
        *((shape, (0,), both) for shape in ((256, 128), (16, 4096), (32, 2048), (32, 150_001), (12, 150_001))),
        *((shape, (0,), both) for shape in ((17, 150_001), (20, 600_001), (272, 3751), (400, 1877), (700, 1877))),
        *((shape, (0,), both) for shape in ((272, 501), (654, 2846), (20, 16_873), (1597, 402))),
        *(((10, 35, 100_000, k), (0, 2), both) for k in (2, 3)),
        *((shape, (0,), wide) for shape in ((16_384, 2048), (4096, 4096), (65_536, 512), (2**20, 32), (1000, 1000))),
        *((shape, (1,), wide) for shape in ((64, 1024, 256), (1024, 128, 128))),
        *(((100_000, n, k), (0, 2), fp32) for n, k in ((32, 4), (16, 4), (64, 6), (20, 8), (10, 4), (64, 7))),
        *((shape, (1,), both) for shape in ((3000, 500, 10), (400, 500, 6), (80, 500, 14), (3000, 1728, 14))),
        *((shape, (1,), both) for shape in ((38_457, 17, 2), (3, 2097152, 2))),
    ]
    cases = [Case("named", shape, dims, dtype) for shape, dims, dtypes in contiguous for dtype in dtypes]
    transposed = ((2, 4_233_607), (8, 16_000_000), (3000, 700), (52, 50_984), (8192, 8192), (16_384, 4096))
    cases += [
        Case("named", shape, (0, 1), dtype, layout="strided", order=(1, 0), whole=shape)
        for shape in transposed
        for dtype in both
    ]
    return cases


def shrunk(case: Case, draw: random.Random) -> Case:
    """The same layout of 2^8 to 2^22 elements."""
    shrink = min(2 ** draw.uniform(8, 22) / case.elements, 1)
    sizes = list(case.shape)
    for d in draw.sample(range(len(sizes)), len(sizes)):
        size = max(1, round(sizes[d] * shrink ** (1 / len(sizes))))
        sizes[d] = min(size, sizes[d])
    sizes = shapes.scaled(sizes, 1 << 22)
    whole = tuple(s + (w - o) * s // o for s, w, o in zip(sizes, case.whole, case.shape, strict=True))
    return replace(case, shape=tuple(sizes), whole=whole)


def even(draw: random.Random) -> Case:
    """A contiguous tensor of 2^8 to 2^27 elements, whose sizes are those of models: powers of two, and a few others."""
    dims = draw.randint(1, 4)
    left, sizes = draw.uniform(8, 27), []
    for d in range(dims):
        share = left if d + 1 == dims else draw.uniform(0, left)
        left -= share
        unit = draw.choice((1, 1, 1, 3, 5, 7, 8, 10, 125))
        sizes.append(unit * 2 ** max(0, round(share - math.log2(unit))))
    draw.shuffle(sizes)
    reduced = tuple(sorted(draw.sample(range(dims), draw.randint(1, dims))))
    return Case("even", tuple(sizes), reduced, torch.float32)


def plan_of(x: torch.Tensor, case: Case, mode: str) -> dict:
    modes = {"mode": mode} if contenders.has_modes(case) else {}
    return json.loads(torch.ops.reduce._explain(x, case.dims, op=case.op, dtype=case.to, **modes))


def candidates(x: torch.Tensor, case: Case, mode: str) -> list[tuple[str, bool, dict]]:
    """Families and loads whose plans differ."""
    found = []
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


def modes_of(x: torch.Tensor, case: Case, exact: bool) -> dict[str, list[tuple[str, bool, dict]]]:
    """The candidates of each mode that has some of its own, or of exact."""
    if exact:
        return {"exact": candidates(x, case, "exact")}
    found = {"deterministic": candidates(x, case, "deterministic")}
    if contenders.has_modes(case):
        atomic = candidates(x, case, "atomic")
        settled = [[[plan[k] for k in SETTLED] for _, _, plan in plans] for plans in (found["deterministic"], atomic)]
        if settled[0] != settled[1]:
            found["atomic"] = atomic
    return found


def index_of(plan: dict, plans: list[dict]) -> int:
    return next(i for i, other in enumerate(plans) if all(plan[k] == other[k] for k in SETTLED))


def report(rows: list[dict], worst: int = 15) -> str:
    """The time of the plans that are chosen over that of the fastest, by suite, and the worst cases."""
    losses = []
    for row in rows:
        us = [statistics.median(plan["us"]) for plan in row["plans"]]
        losses.append((us[row["chosen"]] / min(us), row, row["plans"][us.index(min(us))]))
    lines = []
    for suite in dict.fromkeys(row["suite"] for row in rows):
        ratios = [ratio for ratio, row, _ in losses if row["suite"] == suite]
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        slower = sum(ratio > 1.02 for ratio in ratios)
        lines.append(f"{suite:8} {mean:.3f} x the best on average, {slower} of {len(ratios)} by more than 2 %")
    for ratio, row, best in sorted(losses, key=lambda loss: -loss[0])[:worst]:
        chosen = row["plans"][row["chosen"]]
        lines.append(
            f"{ratio:.2f} x  {row['label']} {row['dtype']} {row['op']} {row['mode']}: {chosen['family']}, "
            f"{chosen['reads']}; {best['family']}, {best['reads']} would be faster"
        )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tune.choices", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the JSON file to write")
    parser.add_argument("--rounds", type=int, default=5, help="samples of each plan")
    parser.add_argument("--drawn", type=int, default=300, help="reductions beside those of the benchmark's suites")
    parser.add_argument("--exact", action="store_true", help="the plans of exact sums in place of the other modes'")
    parser.add_argument("--seconds", type=float, default=420, help="after which no other reduction is begun")
    arguments = parser.parse_args()
    if reason := why_not():
        sys.exit(f"choices: {reason}")
    device = torch.device("cuda", torch.cuda.current_device())
    flush, rows, began = Flush(device), [], time.monotonic()
    groups: dict[torch.dtype, list[Case]] = {}
    for case in (exact_cases if arguments.exact else cases)(arguments.drawn):
        groups.setdefault(case.dtype, []).append(case)
    for dtype, group in groups.items():
        nbytes = max(POOL, *(case.memory_elements * dtype.itemsize for case in group))
        pool = torch.ones(nbytes // dtype.itemsize, dtype=dtype, device=device)
        if dtype.is_floating_point:
            pool.uniform_(-1, 1)
        for case in group:
            if time.monotonic() - began > arguments.seconds:
                break
            inputs = cut(pool, case)
            x = inputs.tensors[0]
            for mode, found in modes_of(x, case, arguments.exact).items():
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
                        "to": None if case.to is None else str(case.to).removeprefix("torch."),
                        "mode": mode,
                        "sizes": list(x.shape),
                        "strides": list(x.stride()),
                        "dims": list(range(x.ndim)) if case.dims is None else list(case.dims),
                        "alignment": min(16, x.data_ptr() & -x.data_ptr()),
                        "bytes": case.in_bytes + case.out_bytes,
                        "chosen": index_of(plan_of(x, case, mode), [plan for _, _, plan in found]),
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
