"""Measures what plans are tuned by, on the GPU that is here: `python -m benchmarks.tune` prints a table and the row to
commit.

One value is varied at a time, the others as the table has them, on problems whose plans it changes. Each candidate is
timed beside the table's value in the same run, and stands for it only where it is better beyond the noise.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from tabulate import tabulate
from tqdm import tqdm

import torch_reduce
from torch_reduce.testing import tuned, tuning, typical_gpu

from ..measure import contenders, machine
from ..measure.timing_cuda import POOL, Flush, Recording, cut, interleaved
from ..suites.shapes import SHAPES, Case

ROUNDS = 11
MOST_PROBLEMS = 8  # for a value
GAIN = 0.01  # what is better by less is not worth a change
WORST = 1.05  # nor is what costs any problem more than this


@dataclass(frozen=True)
class Problem:
    case: Case
    mode: str

    def plan(self) -> str:
        """The plan under the tuning in force, for the GPU that is in force as the typical one."""
        x = torch.empty(self.case.shape, dtype=self.case.dtype, device="meta")
        return torch.ops.reduce._explain(x, self.case.dims, mode=self.mode, device="cuda")


# Microseconds in every round by value, the same number of rounds for each, for a problem and the name of the values.
Timer = Callable[[Problem, str, list[int]], dict[int, list[float]]]


def problems() -> list[Problem]:
    """Reductions large and small, among them those whose plans lie at the edge of what the values decide."""
    shapes = SHAPES + [((2**e,), None) for e in (16, 18, 20, 22, 24, 27, 28, 29)]
    shapes += [((rows, 1000), (1,)) for rows in (150, 300, 600)] + [((600, 65536), (1,)), ((300, 131072), (1,))]
    shapes += [((1000, columns), (0,)) for columns in (24_576, 49_152)]
    shapes += [((rows, 256), (0,)) for rows in (256, 512, 1024)] + [((rows, 768), (0,)) for rows in (1024, 2048, 4096)]
    shapes += [((2**17, columns), (0,)) for columns in (48, 96, 192, 384)]
    shapes += [((rows, n), (1,)) for rows, n in ((2**20, 23), (2**18, 59), (2**16, 171), (150_000, 23), (10_000, 171))]
    shapes += [((rows, n), (1,)) for rows, n in ((8192, 3072), (8192, 5120), (2048, 9216), (1000, 5120))]
    cases = [Case("tune", shape, dims, dtype) for shape, dims in shapes for dtype in (torch.float32, torch.bfloat16)]
    cases = [case for case in cases if case.in_bytes <= POOL]
    return [Problem(case, "deterministic") for case in cases]


def candidates(name: str, value: int) -> list[int]:
    """Half and twice a value, and beside a small one its neighbours, as far as they are legal."""
    legal = []
    for other in sorted({value // 2, 2 * value} | ({value - 1, value + 1} if value < 8 else set())):
        try:
            with tuned(**{name: other}):
                legal.append(other)
        except ValueError:
            continue
    return legal


def changed(name: str, value: int, chosen: list[Problem]) -> list[tuple[Problem, list[int]]]:
    """The problems that have another plan with another value, at most MOST_PROBLEMS, with the values that change it."""
    found = []
    for problem in chosen:
        plan, others = problem.plan(), []
        for other in candidates(name, value):
            with tuned(**{name: other}):
                if problem.plan() != plan:
                    others.append(other)
        if others:
            found.append((problem, others))
    step = -(-len(found) // MOST_PROBLEMS) if found else 1
    return found[::step]


@dataclass(frozen=True)
class Ratio:
    """Time over that with the table's value: geometric mean over problems, its median and 80 % of the rounds."""

    median: float
    low: float
    high: float
    worst: float  # of a problem
    problems: int

    @property
    def better(self) -> bool:
        return self.median < 1 - GAIN and self.high < 1 and self.worst <= WORST


@dataclass(frozen=True)
class Finding:
    name: str
    table: int
    ratios: dict[int, Ratio]

    @property
    def chosen(self) -> int:
        """The table's value unless others are better; then the best of them."""
        better = [value for value, ratio in self.ratios.items() if ratio.better]
        return min(better, key=lambda value: self.ratios[value].median, default=self.table)


def judge(name: str, table: int, samples: list[dict[int, list[float]]]) -> Finding:
    """`samples`: what a timer said of each problem, the table's value among the values."""
    ratios = {}
    for value in sorted({value for by_value in samples for value in by_value} - {table}):
        logs = np.array([np.log(np.divide(s[value], s[table])) for s in samples if value in s])
        low, median, high = np.exp(np.percentile(logs.mean(axis=0), [10, 50, 90]))
        worst = np.exp(np.median(logs, axis=1).max())
        ratios[value] = Ratio(float(median), float(low), float(high), float(worst), len(logs))
    return Finding(name, table, ratios)


def find(name: str, table: int, chosen: list[Problem], timer: Timer) -> Finding:
    return judge(name, table, [timer(p, name, [table, *others]) for p, others in changed(name, table, chosen)])


def report(findings: list[Finding]) -> str:
    lines = []
    for f in findings:
        lines.append([f.name, f.table, "", "", "", "", "kept" if f.chosen == f.table else ""])
        for value, r in f.ratios.items():
            verdict = "chosen" if value == f.chosen else ""
            spread = f"{r.low:.3f} - {r.high:.3f}"
            lines.append(["", value, r.problems, f"{r.median:.3f}", spread, f"{r.worst:.3f}", verdict])
    header = ["", "value", "problems", "x table's", "80 % of rounds", "worst", ""]
    return tabulate(lines, header, disable_numparse=True, colalign=("left", *["right"] * 5, "left"))


def source(capability: tuple[int, int], values: dict[str, int], gpu: str) -> str:
    """A row of kMeasured in csrc/core/plan/tuning/gpu.cpp."""
    parts, family = [], ""
    for name, value in values.items():
        number = f"{value >> 10} << 10" if value >= 1024 and value % 1024 == 0 else str(value)
        start, _, _ = name.partition("_")
        parts.append(number if start == family else f"/*{start}*/ {number}")
        family = start
    return f"    // {gpu}\n    {{{10 * capability[0] + capability[1]}, {{{', '.join(parts)}}}}},"


class OnGpu:
    """The timer: graphs captured under each value, replayed in turn on cold inputs."""

    def __init__(self, device: torch.device):
        self._device = device
        self._flush = Flush(device)
        self._pools: dict[torch.dtype, torch.Tensor] = {}

    def __call__(self, problem: Problem, name: str, values: list[int]) -> dict[int, list[float]]:
        case = problem.case
        inputs = cut(self._pool(case.dtype), case)
        call = contenders.ours(case, problem.mode)
        recordings = {}
        for value in values:
            with tuned(**{name: value}):
                recordings[str(value)] = Recording(call, inputs, case.out_bytes)
        samples = interleaved(recordings, inputs, self._flush, ROUNDS)
        return {int(value): us for value, us in samples.items()}

    def _pool(self, dtype: torch.dtype) -> torch.Tensor:
        if dtype not in self._pools:
            self._pools[dtype] = torch.empty(POOL // dtype.itemsize, dtype=dtype, device=self._device).uniform_(-1, 1)
        return self._pools[dtype]


def why_not() -> str | None:
    if not torch_reduce.build_info()["cuda"]:
        return "it measures a GPU, and the library was built without CUDA"
    if not torch.cuda.is_available():
        return "it measures a GPU, and torch sees none"
    return None


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tune", description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(tuning())}; all of them if not given")
    names = parser.parse_args(argv).names
    if unknown := sorted(set(names) - set(tuning())):
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(tuning())}")
    if reason := why_not():
        sys.exit(f"tune: {reason}")
    device = torch.device("cuda", torch.cuda.current_device())
    info = machine.describe(device)
    print(machine.line(info))
    capability = torch.cuda.get_device_capability(device)
    with typical_gpu(capability, info["sms"]):
        table, timer, chosen = tuning(), OnGpu(device), problems()
        bar = tqdm(names or table, unit="value", dynamic_ncols=True)
        findings = [find(name, table[name], chosen, timer) for name in bar]
    best = table | {f.name: f.chosen for f in findings}
    print(f"\n{report(findings)}\n\nkMeasured in csrc/core/plan/tuning/gpu.cpp, in place of this architecture's row:\n")
    print(source(capability, best, info["gpu"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
