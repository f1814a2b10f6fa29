"""Times what models are made of, and reductions of two tensors, beside torch on a GPU: `python -m benchmarks.models`.

With `--suite family`, the operators beside sum instead (suites/family.py); with `--suite gradients`, norms and losses
forward and backward (suites/gradients.py); with `--suite selections`, topk; with `--suite products`, exact dot and
sumsq; with `--suite training`, a step of a GPT, which is in no graph (suites/training.py). All else (suites/works.py)
runs in CUDA graphs on cold inputs, one contender after the other; liger-kernel is one where it is installed, but for
cross_entropy, in which it waits for the GPU. The limit is the time to read the inputs and write the results once.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

import torch
from tabulate import tabulate
from tqdm import tqdm

from .measure import machine
from .measure.limit import Limit
from .measure.timing_cuda import POOL, Flush, Recording, cut, interleaved
from .suites import family, gradients, training, works
from .suites.works import Work


def measure(work: Work, limit: Limit, flush: Flush, rounds: int) -> dict:
    """A row: median microseconds of each contender."""
    elements = max(POOL // 2 // work.dtype.itemsize, work.memory_elements)
    room = -(-work.besides // work.dtype.itemsize)  # for the limit to read as many bytes
    pool = torch.empty(elements + room, dtype=work.dtype, device="cuda").normal_()
    inputs = cut(pool[:elements], work)
    torch.compiler.reset()
    contenders = {"ours": work.ours, "torch": work.torchs, "inductor": torch.compile(work.torchs, dynamic=False)}
    if works.liger is not None and work.ligers is not None:
        contenders["liger"] = work.ligers
    calls = {name: work.with_second(call) for name, call in contenders.items()}
    for x in inputs.tensors:
        calls["ours"](x)  # makes the second tensors, outside of any graph
    if limit.available:
        calls["limit"] = limit.call(work)
    recordings = {name: Recording(call, inputs, work.out_bytes) for name, call in calls.items()}
    samples = interleaved(recordings, inputs, flush, rounds)
    return {
        "name": work.name,
        "label": work.label,
        "us": {name: statistics.median(times) for name, times in samples.items()},
    }


NAMES = ("limit", "sum", "ours", "torch", "inductor", "liger", "ours compiled", "torch compiled")


def table(rows: list[dict]) -> str:
    """One line a row, in microseconds."""
    names = [name for name in NAMES if any(name in r["us"] for r in rows)]
    others = [name for name in names if name != "ours"]
    lines = []
    for r in rows:
        us = r["us"]
        times = [f"{us[name]:.1f}" if name in us else "" for name in names]
        ratios = [f"{us['ours'] / us[name]:.2f}" if {"ours", name} <= us.keys() else "" for name in others]
        lines.append([r["name"], r["label"], *times, *ratios])
    header = ["", "", *names, *(f"x {name}" for name in others)]
    return tabulate(lines, header, tablefmt="github", disable_numparse=True)


def each(calls: list[Work], limit: Limit, flush: Flush, arguments: argparse.Namespace) -> Iterator[dict]:
    for work in tqdm(calls, disable=None):
        try:
            yield measure(work, limit, flush, arguments.rounds)
        except RuntimeError as error:
            print(f"{work.name} {work.label}: {str(error).splitlines()[0]}", file=sys.stderr)


def of_models(limit: Limit, flush: Flush, arguments: argparse.Namespace) -> Iterator[dict]:
    yield from each([*works.of_two(), *works.of_rows()], limit, flush, arguments)


def of_selections(limit: Limit, flush: Flush, arguments: argparse.Namespace) -> Iterator[dict]:
    yield from each(list(works.selections()), limit, flush, arguments)


def of_gradients(limit: Limit, flush: Flush, arguments: argparse.Namespace) -> Iterator[dict]:
    yield from each(list(gradients.steps()), limit, flush, arguments)


def of_products(limit: Limit, flush: Flush, arguments: argparse.Namespace) -> Iterator[dict]:
    yield from each(list(works.exact_products()), limit, flush, arguments)


def of_family(limit: Limit, flush: Flush, arguments: argparse.Namespace) -> Iterator[dict]:
    device = torch.device("cuda")
    for group in tqdm(family.groups(), disable=None):
        yield from family.measure(group, limit, flush, arguments.rounds, device=device, compiled=arguments.compiled)


def of_training(limit: Limit, flush: Flush, arguments: argparse.Namespace) -> Iterator[dict]:
    yield training.measure(max(arguments.rounds, 20), torch.device("cuda"))


SUITES = {
    "models": of_models,
    "selections": of_selections,
    "products": of_products,
    "family": of_family,
    "gradients": of_gradients,
    "training": of_training,
}


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models", description=__doc__)
    parser.add_argument("--suite", choices=list(SUITES), default="models", help="which (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/out"), help="where <suite>.json goes")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument(
        "--compiled",
        choices=["none", "some", "all"],
        default="some",
        help="which of the family torch.compile is measured on: a second or two for each (default: %(default)s)",
    )
    return parser.parse_args(argv)


def main() -> int:
    arguments = parse()
    if not torch.cuda.is_available():
        print("benchmarks.models: there is no GPU")
        return 1
    arguments.out.mkdir(parents=True, exist_ok=True)
    limit, flush = Limit(arguments.out / "build"), Flush(torch.device("cuda"))
    rows = list(SUITES[arguments.suite](limit, flush, arguments))
    results = {"machine": machine.describe(torch.device("cuda")), "rows": rows}
    (arguments.out / f"{arguments.suite}.json").write_text(json.dumps(results, indent=1) + "\n")
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
