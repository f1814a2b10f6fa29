"""Two states of the library by one benchmark, in one run: `python -m benchmarks.compare BASE [CHANGED]`.

Each state's library is built in a folder of its own under build/compare/. The benchmark is this tree's for both. Runs
alternate, since machines drift: a ratio is of two runs that followed one another, and its range over all pairs is the
noise that a finding has to stand out from.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from tabulate import tabulate
from tqdm import tqdm

from .measure.contenders import OURS
from .report.targets import geometric_mean

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "compare"
KEYS = ("device", "suite", "op", "dtype", "label", "threads", "grad")

Case = tuple
Times = dict[Case, float]


class CompareError(RuntimeError):
    """What keeps two states from being compared, in one sentence."""


def git(*arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise CompareError((done.stderr.strip().splitlines() or ["git failed"])[-1])
    return done.stdout.strip()


def package_of(commit: str | None) -> Path:
    """A folder to import torch_reduce from, built from a commit, or from this tree as it is."""
    if commit is None:
        source, name = ROOT, "tree"
    else:
        name = git("rev-parse", "--verify", "--short=12", f"{commit}^{{commit}}")
        source = FOLDER / name / "source"
        if not source.is_dir():
            git("worktree", "prune")
            git("worktree", "add", "--detach", str(source), name)
    print(f"building {commit or 'this tree'}", flush=True)
    if subprocess.run([sys.executable, str(source / "tools" / "native_build.py")]).returncode != 0:
        raise CompareError(f"the library of {commit or 'this tree'} did not build")
    # Nothing but the package: the benchmark is to come from this tree.
    folder = FOLDER / name / "path"
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / "torch_reduce"
    if not link.is_symlink():
        link.symlink_to(source / "torch_reduce")
    return folder


def times(rows: list[dict]) -> Times:
    """Microseconds by case and mode."""
    return {
        (*(row.get(key) for key in KEYS), mode): row["contenders"][mode]["us"]["median"]
        for row in rows
        for mode in OURS
        if "us" in row["contenders"].get(mode, {})
    }


def run(package: Path, arguments: list[str]) -> Times:
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "benchmarks", "--json-only", "--out", out, *arguments]
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(package), str(ROOT)]), PYTHONSAFEPATH="1")
        done = subprocess.run(command, cwd=out, env=environment, capture_output=True, text=True)
        found = list(Path(out).glob("*.json"))
        if not found:
            raise CompareError(f"the benchmark failed: {(done.stderr.strip().splitlines() or ['no output'])[-1]}")
        return times(json.loads(found[0].read_text())["rows"])


def ratios(pairs: list[tuple[Times, Times]]) -> dict[Case, list[float]]:
    """Changed over base, pair by pair, of the cases that every run has."""
    cases = set.intersection(*(set(t) for pair in pairs for t in pair))
    return {case: [changed[case] / base[case] for base, changed in pairs] for case in pairs[0][0] if case in cases}


def verdict(found: list[float], margin: float) -> str:
    """ "slower" or "faster" if every pair says so by more than the margin, else ""."""
    return "slower" if min(found) > 1 + margin else "faster" if max(found) < 1 - margin else ""


def table(pairs: list[tuple[Times, Times]], margin: float) -> str:
    lines = []
    for case, found in ratios(pairs).items():
        device, suite, op, dtype, label, threads, grad, mode = case
        lines.append(
            [f"{device} {suite}", op, dtype, label]
            + [(f"{threads} threads" if threads else mode) + (", gradient" if grad else "")]
            + [f"{median(pair[side][case] for pair in pairs):.2f}" for side in (0, 1)]
            + [f"{median(found):.3f}", f"{min(found):.3f} - {max(found):.3f}", verdict(found, margin)]
        )
    header = ["suite", "op", "dtype", "shape / dims", "", "base us", "changed us", "ratio", "range", ""]
    return tabulate(lines, header, disable_numparse=True)


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__.split("\n\n")[0])
    parser.add_argument("base", help="a commit")
    parser.add_argument("changed", nargs="?", help="another one; this tree as it is, if not given")
    parser.add_argument("--pairs", type=int, default=5, help="how often each of the two runs (default: %(default)s)")
    parser.add_argument(
        "--margin",
        type=float,
        default=0.02,
        help="what is slower in every pair by more than this share makes the exit status 1 (default: %(default)s)",
    )
    parser.add_argument(
        "--bench", default="--quick", metavar="ARGS", help="arguments of python -m benchmarks (default: %(default)s)"
    )
    options = parser.parse_args(argv)
    if options.pairs < 1:
        parser.error("--pairs: at least 1")
    return options


def main() -> int:
    options = parse()
    try:
        packages = [package_of(options.base), package_of(options.changed)]
        pairs = []
        for i in tqdm(range(options.pairs), unit="pair", dynamic_ncols=True):
            order = (0, 1) if i % 2 == 0 else (1, 0)
            done = {side: run(packages[side], options.bench.split()) for side in order}
            pairs.append((done[0], done[1]))
    except CompareError as error:
        sys.exit(f"compare: {error}")
    found = ratios(pairs)
    print(f"\n{table(pairs, options.margin)}\n")
    if not found:
        sys.exit("compare: the two have no case in common")
    verdicts = [verdict(r, options.margin) for r in found.values()]
    mean = geometric_mean([median(r) for r in found.values()])
    slower, faster = verdicts.count("slower"), verdicts.count("faster")
    print(
        f"changed / base, geometric mean of {len(found)}: {mean:.3f}; by more than {options.margin:.0%} in each of "
        f"{options.pairs} pairs: {slower} slower, {faster} faster"
    )
    return 1 if "slower" in verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
