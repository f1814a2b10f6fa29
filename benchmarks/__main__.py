"""Measures torch.ops.reduce against torch.sum and its kin: `python -m benchmarks`."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

import torch
from tqdm import tqdm

from torch_reduce.testing import cpu_capability

from .measure import contenders, machine
from .measure.limit import Cub, Limit
from .report import plots, report, targets
from .suites import accuracy, host, run_cpu, shapes
from .suites.run_cuda import Bench

SUITES = {
    "cuda": ("full", "shapes", "hard", "random", "ops", "layouts", "exact", "data", "accuracy", "host", "scans", "cpu"),
    "cpu": ("full", "shapes", "slow", "ops", "layouts", "exact", "data", "accuracy", "host", "scans"),
}
# So that a run on a GPU takes eight minutes at most, and on a laptop five.
BY_NAME = {"cuda": ("random", "scans"), "cpu": ("exact", "accuracy", "scans")}
CPU_MOST = 1 << 22  # elements of a shape on the CPU, for the same reason
NOT_WRITTEN = ("out", "cccl", "tables", "targets")  # options that change no row
DTYPES = [torch.float32, torch.bfloat16]


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measures torch.ops.reduce against torch.sum and its kin, and prints a summary.",
    )
    default = "cuda" if torch.cuda.is_available() else "cpu"
    parser.add_argument(
        "--device", choices=list(SUITES), default=default, help="what to measure on; here %(default)s unless given"
    )
    parser.add_argument(
        "--suite",
        help="comma-separated, of: full (full sums by size), shapes (30 shapes), slow (where torch.sum "
        "is known to be slow; on the CPU), hard (unaligned rows, masks; on "
        "CUDA), random (200 shapes and strides; on CUDA), ops (the other operators), scans (beside torch's), layouts "
        "(memory order other than logical order), exact (exact sums by size, beside what else could serve, and on the "
        "CPU by shape), data (by distribution), accuracy (errors by length and condition number), host (host time of a "
        "call); cpu (with --device cuda: full and exact sums on the CPU too); if not given all, on CUDA without random "
        "and scans, on the CPU without exact, accuracy and scans",
    )
    parser.add_argument("--quick", action="store_true", help="fewer cases and rounds: a look, not a result")
    parser.add_argument(
        "--threads", type=int, nargs="+", metavar="N", help="CPU thread counts; 1 and all of them if not given"
    )
    parser.add_argument(
        "--cpu-capability",
        choices=["baseline", "avx2", "avx512"],
        help="instruction set of the CPU kernels (default: the best that the machine has); torch's own are limited by "
        "the environment variable ATEN_CPU_CAPABILITY",
    )
    parser.add_argument(
        "--compile", action="store_true", help="torch.compile as a peer too: seconds more for every case"
    )
    parser.add_argument(
        "--cub",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="CUB as a peer of full sums on CUDA (default: yes)",
    )
    parser.add_argument(
        "--cccl",
        type=Path,
        metavar="FOLDER",
        help="CUB from the headers in this folder (that holds cub/, cuda/ and thrust/), not the compiler's own: "
        "its levels of determinism need CCCL 3.2",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(__file__).parent / "out",
        help="folder for the JSON and the plots (default: out/ beside this)",
    )
    parser.add_argument("--json-only", action="store_true", help="no plots")
    parser.add_argument(
        "--tables", action="store_true", help="print every row too, and geometric means by suite, dtype and mode"
    )
    parser.add_argument("--targets", action="store_true", help="print every target too, the missed ones first")
    options = parser.parse_args(argv)
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda: this torch sees no GPU")
    if options.cccl is not None and not (options.cccl / "cub").is_dir():
        parser.error(f"--cccl: {options.cccl} holds no cub/")
    try:
        with cpu_capability(options.cpu_capability or "auto"):
            pass
    except ValueError as error:
        parser.error(f"--cpu-capability: {error}")
    if options.threads is not None and min(options.threads) < 1:
        parser.error("--threads: counts start at 1")
    known = SUITES[options.device]
    if options.suite is None:
        options.suite = [suite for suite in known if suite not in BY_NAME[options.device]]
    else:
        options.suite = options.suite.split(",")
    if unknown := sorted(set(options.suite) - set(known)):
        parser.error(f"--suite: unknown on {options.device}: {', '.join(unknown)}; there are {', '.join(known)}")
    if options.threads is None:
        options.threads = sorted({1, torch.get_num_threads()})
    return options


def cases_for(suite: str, options: argparse.Namespace) -> list[shapes.Case]:
    most = None if options.device == "cuda" else CPU_MOST
    if suite == "full":
        return shapes.full_cuda(options.quick) if options.device == "cuda" else shapes.full_cpu(options.quick)
    if suite == "shapes":
        return shapes.shapes(DTYPES if options.device == "cuda" else DTYPES[:1], options.quick, most)
    if suite == "hard":
        return shapes.hard()
    if suite == "slow":
        return shapes.slow(CPU_MOST if options.quick else None)
    if suite == "random":
        return shapes.random_shapes(options.quick)
    if suite == "exact":
        if options.device == "cuda":
            return shapes.exact_cuda(options.quick)
        return shapes.exact_cpu(options.quick) + shapes.exact_shapes(options.quick, CPU_MOST)
    if suite == "cpu":
        return shapes.full_cpu(options.quick) + shapes.exact_cpu(options.quick)
    return {"ops": shapes.ops, "scans": shapes.scans, "layouts": shapes.layouts, "data": shapes.data}[suite](most)


def rows_for(suite: str, cases: list[shapes.Case], bench: Bench | None, options: argparse.Namespace) -> Iterator[dict]:
    seconds = 0.1 if options.quick else 0.25
    if suite == "host":
        return host.run(torch.device(options.device), 4 * seconds)
    if suite == "accuracy":
        return accuracy.run(accuracy.sums(options.quick), torch.device(options.device))
    if bench is None:
        return run_cpu.run(cases, options.threads, seconds, options.compile)
    if suite == "cpu":
        return run_cpu.run(cases, options.threads, seconds, compile_peer=False)
    return bench.run(cases)


def measure(options: argparse.Namespace, info: dict) -> tuple[list[dict], bool]:
    """The rows, and whether they are all of them: an interrupt (Ctrl-C) ends the measuring early."""
    bench = None
    # Rows of the suites with cases of their own.
    counts = {"host": host.ROWS, "accuracy": len(accuracy.sums(options.quick))}
    if options.device == "cuda":
        folder = options.out / "build"
        bench = Bench(
            device=torch.device("cuda", torch.cuda.current_device()),
            limit=Limit(folder),
            cub=Cub(folder, options.cccl) if options.cub else None,
            compile_peer=options.compile,
            rounds=7 if options.quick else 15,
            runs=20 if options.quick else 100,
        )
        info["cub"] = bench.cub.version if bench.cub else None
    cases = {suite: [] if suite in counts else cases_for(suite, options) for suite in options.suite}
    rows_of_case = {
        suite: len(options.threads) if options.device == "cpu" or suite == "cpu" else 1 for suite in options.suite
    }
    total = sum(counts.get(suite, len(cases[suite]) * rows_of_case[suite]) for suite in options.suite)
    streams = (rows_for(suite, cases[suite], bench, options) for suite in options.suite)
    rows = []
    with tqdm(total=total, unit="row", dynamic_ncols=True, mininterval=0.5) as bar:
        try:
            for row in itertools.chain.from_iterable(streams):
                rows.append(row)
                bar.set_description(f"{row['device']} {row['suite']} {row['dtype']} {row['label']}", refresh=False)
                bar.update()
        except KeyboardInterrupt:
            bar.write(f"interrupted after {len(rows)} of {total} rows")
            return rows, False
    return rows, True


def main() -> int:
    options = parse()
    if options.cpu_capability is None:
        return run(options)
    with cpu_capability(options.cpu_capability):
        return run(options)


def run(options: argparse.Namespace) -> int:
    info = machine.describe(torch.device(options.device))
    print(machine.line(info))
    rows, complete = measure(options, info)
    found = targets.evaluate(rows)
    arguments = {key: value for key, value in vars(options).items() if key not in NOT_WRITTEN}
    arguments["complete"] = complete
    path = options.out / f"{options.device}.json"
    report.write_json(path, info, arguments, rows, found)
    if options.tables:
        print(f"\n{report.tables(rows)}\n{report.summary(rows)}\n")
    if options.targets:
        print(f"\n{report.targets(found)}\n")
    # A missed speed is a finding; a wrong result, or an operator of ours that failed, is an error.
    broken = [t for t in found if t["asked"] == "always" and not t["met"]]
    ours_failed = any(who in contenders.OURS for r in rows for who in r.get("failed", {}))
    for target in broken:
        print(f"broken: {target['what']}: {target['measured']}, first by {target['worst']}")
    for failure in report.failures(rows):
        print(failure)
    print(report.verdict(rows, found))
    if options.json_only:
        print(f"wrote {path}")
    else:
        cpu = f"{info['cpu']}, {info['cores']} cores, PyTorch {info['torch']}"
        made = plots.write(rows, machine.line(info), cpu, options.out)
        print(f"wrote {path}", *(plot.name for plot in made), sep=", ")
    return 1 if broken or ours_failed or not complete else 0


if __name__ == "__main__":
    sys.exit(main())
