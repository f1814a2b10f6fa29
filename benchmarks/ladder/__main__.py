"""Climbs the ladder: `python -m benchmarks.ladder`, or `make ladder`, which builds it first."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch
from tqdm import tqdm

from ..measure import machine
from . import lessons, library, plots, profile, report, rungs
from .measure import Bench

IN_SWEEP = "sequential shuffle vector two_pass last_block_acq_rel cluster deterministic atomic torch".split()


class Parser(argparse.ArgumentParser):
    def error(self, message: str):
        self.exit(2, f"{self.prog}: {message}\n{rungs.listing()}\n")


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    parser = Parser(
        prog="python -m benchmarks.ladder",
        description="Measures the classic reduction kernels one by one, from the naive one to torch_reduce.",
        epilog=rungs.listing(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("rungs", nargs="*", help="rungs or groups of them; all if none is given")
    parser.add_argument("--quick", action="store_true", help="up to 2^23 elements, few rounds: a look, not a result")
    parser.add_argument("--profile", action="store_true", help="durations and DRAM throughput by Nsight Compute too")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(__file__).parent / "out",
        help="folder for the JSON and the plots (default: out/ beside this)",
    )
    options = parser.parse_args(argv)
    try:
        options.chosen = rungs.chosen(options.rungs)
    except ValueError as error:
        parser.error(str(error))
    return options


def measure(options: argparse.Namespace, ladder: library.Library, device: torch.device) -> dict:
    rounds, runs, most = (3, 20, 1 << 23) if options.quick else (9, 100, 1 << 29)
    with tqdm(unit="row", dynamic_ncols=True, mininterval=0.5) as bar:

        def progress(text: str, rows: int) -> None:
            bar.set_description(text, refresh=False)
            bar.update(rows)

        bench = Bench(ladder, device, rounds, runs, most, progress)
        bar.total = sum(len(here) for _, here in bench.plan(options.chosen))
        rows = bench.run(options.chosen)
        everything = not options.rungs
        sweep = bench.sweep(IN_SWEEP) if everything else []
    result = {"rows": rows, "sweep": sweep}
    if everything:
        x = bench.pool(torch.float32)[: 1 << 22]
        result["spread"] = lessons.spread(ladder, x, 10 * runs)
        result["subnormal"] = lessons.subnormal(ladder, device)
        result["half"] = lessons.half(ladder, device)
    return result


def describe(ladder: library.Library, device: torch.device, rows: list[dict]) -> dict:
    """The device query, with the read limit of the largest size that was measured."""
    facts = {"name": torch.cuda.get_device_name(device)} | ladder.device()
    facts["peak_gb_per_s"] = library.theoretical_peak(facts)
    sums = [row for row in rows if "limit_us" in row and row["group"] != "memory" and row["dtype"] == "float32"]
    if sums:
        largest = max(sums, key=lambda row: row["elements"])
        facts["limit_gb_per_s"] = 4 * largest["elements"] / largest["limit_us"] / 1e3
    return facts


def why_not() -> str | None:
    """What is missing to run the ladder, in one line."""
    built = library.path().is_file()
    if built and torch.cuda.is_available():
        return None
    state = "built" if built else "not built, for want of nvcc or of a torch with CUDA"
    sees = "one" if torch.cuda.is_available() else "none"
    return f"The ladder is {state}. It needs an NVIDIA GPU to run; torch sees {sees} here."


def main() -> int:
    options = parse()
    if reason := why_not():
        print(reason)
        return 0
    device = torch.device("cuda", torch.cuda.current_device())
    info = machine.describe(device)
    print(machine.line(info))
    ladder = library.Library()
    result = measure(options, ladder, device)
    result = {"machine": info, "device": describe(ladder, device, result["rows"])} | result
    if options.profile:
        result["profile"] = profile.run()
    path = options.out / "ladder.json"
    report.write_json(path, result)
    written = [path, *plots.write(result, machine.line(info), options.out)]
    print(f"\n{report.text(result)}\n\n" + "\n".join(report.verdict(result["rows"])))
    print("wrote", *written)
    wrong = [f"{row['rung']} at {row['elements']}" for row in result["rows"] if row.get("right") is False]
    if wrong:
        print("WRONG:", ", ".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
