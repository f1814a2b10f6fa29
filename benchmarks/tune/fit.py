"""Fits what kernels cost to the times of a file of choices, and prints the numbers of csrc/core/plan/tuning/cost.h:
`python -m benchmarks.tune.fit choices.json`. No GPU is needed: efforts are those that the library here counts.

An estimate need not be right: only the order of a reduction's legal plans matters. So what is minimised is the time of
the plans that the estimates choose. Their own error counts too, to keep the numbers near what a machine could have. A
choice is made soft for that: a plan counts by its chance under a softmax of the estimates.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from torch_reduce.testing import constrained_plan

from ..measure import contenders
from ..suites.shapes import Case
from .choices import FAMILIES, MOST, SETTLED

FEATURES = ("memory_bytes", "cta_sectors", "lines", "loads", "values", "warps", "trees", "rounds", "sms", "shares_sms")
FINISHES = ("direct", "cluster", "partials", "atomic")
SECTOR = 32
# Of the suites that the benchmark reports, so that they do not lose by what others gain; and by how much a round of the
# fit raises a reduction's weight that loses all the same.
BENCHMARK = ("shapes", "hard", "layouts", "random", "ops")
WEIGHTS = dict.fromkeys(BENCHMARK, 4.0) | {"named": 2.0}
RAISE = 2.0
# Where the fit begins; kernels' own numbers first.
BEGIN = {
    "start_us": 1.3,
    "load_instructions": 15.0,
    "tree_instructions": 10.0,
    "value_instructions": 4.0,
    "memory_bytes_per_us": 3.3e6,
    "sm_bytes_per_us": 6e4,
    "cta_bytes_per_us": 8e6,
    "lines_per_us": 2300.0,
    "round_us": 0.2,
    "instruction_us": 0.5e-3,
    "shared_sm_us": 0.5,
}
OF_KERNEL = ("start_us", "load_instructions", "tree_instructions")
INSTRUCTIONS_PER_US = 6800.0


@dataclass
class Times:
    """Plans of all reductions, one behind the other, and where each reduction's are."""

    kernels: list[str]
    kernel: Tensor  # (plans,), into kernels
    finish: Tensor
    features: dict[str, Tensor]
    us: Tensor
    plans: Tensor  # (reductions, most plans), -1 where there are no more
    chosen_us: Tensor  # (reductions,), of the plan that the library chose where the times were taken
    weight: Tensor
    rows: list[dict]


def explained(row: dict, memory: Tensor, family: str, vector: bool | None) -> dict | None:
    """The plan of this library under a constraint, None where it is not legal."""
    dtype = getattr(torch, row["dtype"])
    to = getattr(torch, row["to"]) if row["to"] else None
    offset = row["alignment"] // dtype.itemsize if row["alignment"] < 16 else 0
    x = memory.view(dtype).as_strided(row["sizes"], row["strides"], offset)
    modes = {"mode": row["mode"]} if contenders.has_modes(Case("", (1,), None, dtype, row["op"])) else {}
    with constrained_plan(family, vector=vector):
        try:
            plan = torch.ops.reduce._explain(x, row["dims"], op=row["op"], dtype=to, device="cuda", **modes)
            return json.loads(plan)
        except RuntimeError:
            return None


def timed_plans(row: dict, memory: Tensor) -> Iterator[tuple[dict, float]]:
    """The plans that this library may choose, where they are still the plans that were timed."""
    times = {tuple(plan[k] for k in SETTLED): statistics.median(plan["us"]) for plan in row["plans"]}
    for family in FAMILIES:
        for vector in (True, False):
            plan = explained(row, memory, family, vector)
            us = times.pop(tuple(plan[k] for k in SETTLED), None) if plan else None
            if us is not None:
                yield plan, us


def read(paths: list[Path]) -> Times:
    memory = torch.empty(MOST, dtype=torch.uint8)  # never touched
    rows, found = [], []
    for path in paths:
        for row in json.loads(path.read_text())["rows"]:
            plans = list(timed_plans(row, memory))
            if plans:
                rows.append(row)
                found.append(plans)
    flat = [plan for plans in found for plan in plans]
    kernels = sorted({plan["kernel"] for plan, _ in flat})
    index = torch.full((len(found), max(map(len, found))), -1)
    begin = 0
    for i, plans in enumerate(found):
        index[i, : len(plans)] = torch.arange(begin, begin + len(plans))
        begin += len(plans)
    of = lambda values: torch.tensor(list(values), dtype=torch.float64)  # noqa: E731
    return Times(
        kernels,
        torch.tensor([kernels.index(plan["kernel"]) for plan, _ in flat]),
        torch.tensor([FINISHES.index(plan["finish"]) for plan, _ in flat]),
        {name: of(float(plan[name]) for plan, _ in flat) for name in FEATURES},
        of(us for _, us in flat),
        index,
        of(statistics.median(row["plans"][row["chosen"]]["us"]) for row in rows),
        of(WEIGHTS.get(row["suite"], 1.0) for row in rows),
        rows,
    )


def estimates(t: Times, logs: dict[str, Tensor]) -> Tensor:
    """As estimated_us in csrc/core/plan/gpu/choose/cost.cpp."""
    cost = {name: log.exp() for name, log in logs.items()}
    for name in OF_KERNEL:
        cost[name] = cost[name][t.kernel]
    f = t.features
    instructions = (
        f["loads"] * cost["load_instructions"]
        + f["values"] * cost["value_instructions"]
        + f["trees"] * cost["tree_instructions"]
    )
    causes = torch.stack(
        [
            f["memory_bytes"] / torch.minimum(cost["memory_bytes_per_us"], f["sms"] * cost["sm_bytes_per_us"]),
            f["cta_sectors"] * SECTOR / cost["cta_bytes_per_us"],
            f["lines"] / (f["sms"] * cost["lines_per_us"]),
            instructions / (f["sms"] * INSTRUCTIONS_PER_US),
            f["rounds"] * cost["round_us"] + instructions / f["warps"] * cost["instruction_us"],
        ]
    )
    most = causes.max(0).values.clamp(min=1e-9)
    overlapped = most * ((causes / most) ** 3).sum(0) ** (1 / 3)
    finish = torch.cat([torch.zeros(1, dtype=torch.float64), cost["finish_us"]])[t.finish]
    return cost["start_us"] + f["shares_sms"] * cost["shared_sm_us"] + finish + overlapped


def of_plans(t: Times, values: Tensor, missing: float) -> Tensor:
    return torch.where(t.plans < 0, missing, values[t.plans.clamp(min=0)])


def lost_softly(t: Times, estimated: Tensor, temperature: float) -> Tensor:
    """The logarithm of a reduction's time over that of its fastest plan, on average over a softmax."""
    chance = torch.softmax(-of_plans(t, estimated, math.inf).log() / temperature, 1)
    us = of_plans(t, t.us, math.inf)
    lost = (us / us.min(1, keepdim=True).values).log().clamp(max=1)
    return (chance * lost).sum(1)


def begin(t: Times) -> dict[str, Tensor]:
    logs = {
        name: torch.full((len(t.kernels),) if name in OF_KERNEL else (), math.log(value), dtype=torch.float64)
        for name, value in BEGIN.items()
    }
    logs["finish_us"] = torch.full((len(FINISHES) - 1,), math.log(0.7), dtype=torch.float64)
    return logs


def descend(t: Times, steps: int, plans: Tensor, weight: Tensor) -> dict[str, Tensor]:
    """The logarithms of the costs. Choices harden from step to step."""
    logs, first = begin(t), begin(t)
    for log in logs.values():
        log.requires_grad_()
    optimizer = torch.optim.Adam(logs.values(), lr=0.02)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, steps)
    for step in range(steps):
        estimated = estimates(t, logs)
        lost = lost_softly(t, estimated, 0.06 * (1 - 0.7 * step / steps))
        error = (estimated / t.us)[plans].log()
        drift = sum(((logs[name] - first[name]) ** 2).sum() for name in logs)
        loss = 20 * (weight * lost).sum() / weight.sum() + 0.3 * (error**2 + 0.01).sqrt().mean() + 1e-4 * drift
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return {name: rounded(log.detach().exp()).log() for name, log in logs.items()}


def rounded(x: Tensor) -> Tensor:
    """To the digits that the table has."""
    return torch.tensor([float(f"{v:.3g}") for v in x.reshape(-1).tolist()], dtype=x.dtype).reshape(x.shape)


def chosen(t: Times, estimated: Tensor) -> Tensor:
    """Microseconds of the plans with the least estimates."""
    return of_plans(t, t.us, math.inf).gather(1, of_plans(t, estimated, math.inf).argmin(1, keepdim=True))[:, 0]


def fit(t: Times, steps: int, seen: Tensor, rounds: int = 1) -> dict[str, Tensor]:
    """The best of some rounds: the one with the fewest reductions of the benchmark that are slower than before by more
    than 2 %, and then with the least times. Only those reductions count that ``seen`` holds."""
    of_benchmark = torch.tensor([row["suite"] in BENCHMARK for row in t.rows]) & seen
    plans = t.plans[seen]
    weight = t.weight * seen
    found = []
    for _ in range(rounds):
        logs = descend(t, steps, plans[plans >= 0], weight)
        us = chosen(t, estimates(t, logs))
        slower = of_benchmark & (us > 1.02 * t.chosen_us)
        found.append((int(slower.sum()), float((t.weight * us.log())[seen].mean()), logs))
        weight = torch.where(slower, RAISE * weight, weight)
    return min(found, key=lambda f: f[:2])[2]


def report(t: Times, estimated: Tensor, shown: Tensor) -> str:
    us = of_plans(t, t.us, math.inf)
    best = us.min(1).values
    new = chosen(t, estimated)
    lines = []
    suites = list(dict.fromkeys(row["suite"] for row in t.rows))
    for suite in suites:
        here = torch.tensor([row["suite"] == suite for row in t.rows]) & shown
        over, then = (new / best)[here].log(), (t.chosen_us / best)[here].log()
        change = over - then
        lines.append(
            f"{suite:8} {over.mean().exp():.4f} x the best plans, {then.mean().exp():.4f} as chosen then; "
            f"of {len(over)}, {(change > 0.02).sum()} slower by more than 2 %, {(change < -0.02).sum()} faster; "
            f"worst {over.max().exp():.2f} x, then {then.max().exp():.2f} x"
        )
    return "\n".join(lines)


def table(t: Times, logs: dict[str, Tensor]) -> str:
    number = lambda x: f"{float(f'{x:.3g}'):g}"  # noqa: E731
    cost = {name: log.exp() for name, log in logs.items()}
    lines = [
        f'    {{"{kernel}", {", ".join(number(cost[name][i]) for name in OF_KERNEL)}}},'
        for i, kernel in enumerate(t.kernels)
    ]
    lines += [f"{name} = {number(value)}" for name, value in cost.items() if value.ndim == 0]
    lines.append(f"finish_us = 0, {', '.join(number(x) for x in cost['finish_us'])}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tune.fit", description=__doc__)
    parser.add_argument("files", type=Path, nargs="+", help="of python -m benchmarks.tune.choices")
    parser.add_argument("--steps", type=int, default=1500, help="of the optimizer, in a round")
    parser.add_argument("--rounds", type=int, default=12, help="each heeds more what lost in the one before")
    parser.add_argument("--held-out", action="store_true", help="fit to two thirds of the layouts, report the third")
    arguments = parser.parse_args()
    times = read(arguments.files)
    thirds = torch.tensor([zlib.crc32(row["label"].encode()) % 3 for row in times.rows])
    seen = thirds > 0 if arguments.held_out else thirds >= 0
    logs = fit(times, arguments.steps, seen, arguments.rounds)
    print(table(times, logs))
    print(report(times, estimates(times, logs), ~seen if arguments.held_out else seen))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
