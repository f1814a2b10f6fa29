"""Puts the figures of the committed results into the documents that show them: `python -m benchmarks.document`.

In a document, what stands between <!-- NAME --> and <!-- end --> is written by this, from JSON that a benchmark wrote.
"""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path

from tabulate import tabulate

from . import models, operators
from .measure import machine
from .report.targets import geometric_mean, slower

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
BLOCK = re.compile(r"(<!-- ([^\n]+) -->\n)(?:.*?)(<!-- end -->)", re.DOTALL)
CONTENDERS = {
    "limit": "read limit",
    "deterministic": "deterministic",
    "atomic": "atomic",
    "exact": "exact",
    "torch": "torch.sum",
    "inductor": "torch.compile",
    "cub": "CUB",
}
# The contenders of exact sums, in the tables' order.
EXACT = {
    "exact": "exact",
    "deterministic": "deterministic",
    "torch": "torch.sum",
    "torch_fp64": "torch.sum, fp64",
    "cub_not_guaranteed": "CUB, not_guaranteed",
    "cub": "CUB, run_to_run",
    "cub_gpu_to_gpu": "CUB, gpu_to_gpu",
}
CONDITIONS = (1, 1e4, 1e8, 1e12)  # those in the table; the plot has all
NO_GPU = "Not measured on a GPU yet."
MODES = ("deterministic", "atomic", "exact")
CPU_SUITES = ("full", "shapes", "slow", "ops", "layouts")
# The README's choice: full sums, rows, columns, and both.
SELECTED = [
    ("full", "float32", "2^20 / all"),
    ("full", "float32", "2^28 / all"),
    ("full", "bfloat16", "2^28 / all"),
    ("full", "bool", "2^28 / all"),
    ("shapes", "float32", "65536×1000 / 1"),
    ("shapes", "float32", "8388608×8 / 1"),
    ("shapes", "bfloat16", "128×4096 / 1"),
    ("shapes", "float32", "65536×1024 / 0"),
    ("shapes", "bfloat16", "8192×768 / 0"),
    ("shapes", "bfloat16", "64×256×56×56 / 0,2,3"),
]


def fill(text: str, blocks: dict[str, str]) -> str:
    """The document with every block written anew.

    Raises:
        KeyError: the document has a block that is not among ``blocks``.
    """
    return BLOCK.sub(lambda block: f"{block[1]}{blocks[block[2]]}\n{block[3]}", text)


def _table(lines: list[list[str]], header: list[str]) -> str:
    return tabulate(lines, header, tablefmt="github", disable_numparse=True)


def selected(rows: list[dict]) -> str:
    """One line a case, one column a contender, in microseconds."""
    by_name = {(r["suite"], r["dtype"], r["label"]): r["contenders"] for r in rows}
    lines = []
    for name in SELECTED:
        times = [by_name[name][c]["us"]["median"] if c in by_name[name] else None for c in CONTENDERS]
        case = f"{name[1]} {name[2].removesuffix(' / all').replace(' / ', ', dim ')}"
        lines.append([case, *("" if us is None else f"{us:.2f}" for us in times)])
    return _table(lines, ["", *CONTENDERS.values()])


def summary(rows: list[dict]) -> str:
    """Over the 30 shapes of two types: the modes against the limit; and whether bits repeated and agreed."""
    chosen = [r["contenders"] for r in rows if r["suite"] == "shapes"]
    means = [(m, geometric_mean([c[m]["times_limit"]["median"] for c in chosen])) for m in MODES]
    lost = sum(slower(c["deterministic"], "speedup") for c in chosen)
    ours = [r["contenders"].get("deterministic", {}) for r in rows]
    checked = [c["equals_cpu"] and c["distinct"] == 1 for c in ours if "equals_cpu" in c]
    return (
        f"Over {len(chosen)} cases (30 shapes, float32 and bfloat16) the geometric mean of time over the read limit is "
        + ", ".join(f"{mean:.3f} in `{mode}`" for mode, mean in means)
        + f". `deterministic` was slower than `torch.sum` in {lost} of them. In {sum(checked)} of {len(checked)} cases "
        "of the run its bits repeated, and CUDA and CPU agreed."
    )


def targets(found: list[dict]) -> str:
    """One line a target, the missed ones first."""
    found = sorted(found, key=lambda t: t["met"])
    lines = [["met" if t["met"] else "**missed**", t["what"], t["asked"], t["measured"], t["worst"]] for t in found]
    return _table(lines, ["", "target", "asked", "measured", "decided by"])


def cpu_ratios(rows: list[dict]) -> str:
    """How many times torch's speed, as geometric means over each suite's cases."""
    groups: dict[tuple, list[float]] = {}
    for r in rows:
        if r["suite"] in CPU_SUITES:
            name = f"{r['suite']}, {r['dtype']}", r["threads"]
            groups.setdefault(name, []).append(r["contenders"]["deterministic"]["speedup"]["median"])
    threads = sorted({t for _, t in groups})
    names = list(dict.fromkeys(name for name, _ in groups))
    lines = [
        [name, *(f"{geometric_mean(found):.2f}" if (found := groups.get((name, t))) else "" for t in threads)]
        for name in names
    ]
    return _table(lines, ["times torch's speed", *(f"{t} thread{'s' if t > 1 else ''}" for t in threads)])


def cpu_lost(results: dict) -> str:
    chosen = [r["contenders"]["deterministic"] for r in results["rows"] if r["suite"] in CPU_SUITES]
    lost, below = sum(slower(c, "speedup") for c in chosen), sum(c["speedup"]["median"] < 1 for c in chosen)
    capability = results["machine"]["torch_cpu_capability"]
    return f"slower than `torch.sum` in {lost} of {len(chosen)} cases with {capability} (by the median alone {below})"


def gpu(cuda: dict) -> str:
    m = cuda["machine"]
    return f"One {m['gpu']} (driver {m['driver']}), CUDA {m['cuda']}, PyTorch {m['torch']}, Python {m['python']}."


def readme_blocks(cuda: dict) -> dict[str, str]:
    return {"gpu": gpu(cuda), "selected": selected(cuda["rows"]), "summary": summary(cuda["rows"])}


def target_blocks(cuda: dict, cpu: dict, avx2: dict) -> dict[str, str]:
    """docs/performance.md's blocks on targets, but for those of random shapes."""
    host = cpu["machine"]
    return {
        "gpu": gpu(cuda),
        "targets": targets(cuda["targets"]),
        "cpu": f"{host['cpu']}, {host['cores']} cores of a shared machine, PyTorch {host['torch']}. `deterministic` "
        f"was {cpu_lost(cpu)}, and {cpu_lost(avx2)}.\n\n{cpu_ratios(cpu['rows'])}",
        "cpu targets": targets(cpu["targets"]),
    }


def _shares(rows: list[dict], suite: str) -> str:
    """One line a case, one column a contender: the share of the read limit's speed; nothing without a GPU."""
    chosen = [r for r in rows if (r["device"], r["suite"]) == ("cuda", suite) and "limit" in r["contenders"]]
    if not chosen:
        return ""
    names = {who: name for who, name in EXACT.items() if any(who in r["contenders"] for r in chosen)}
    lines = []
    for r in chosen:
        times = [r["contenders"].get(who, {}).get("times_limit") for who in names]
        size = f"{r['in_bytes'] / 2**20:g} MiB" if r["in_bytes"] >= 2**20 else f"{r['in_bytes'] / 2**10:g} KiB"
        case = [r["dtype"], size if suite == "exact" else r["data"], f"{r['contenders']['limit']['us']['median']:.1f}"]
        lines.append([*case, *(f"{1 / t['median']:.3f}" if t else "" for t in times)])
    return _table(lines, ["", "", "limit, us", *names.values()])


def accuracy(rows: list[dict]) -> str:
    chosen = [r for r in rows if r["suite"] == "accuracy" and r["asked_condition"] in CONDITIONS]
    names = {who: name for who, name in EXACT.items() if any(who in r["contenders"] for r in chosen)}
    lines = [
        [r["dtype"], f"2^{r['n'].bit_length() - 1}", f"{r['condition']:.1e}"]
        + [f"{r['contenders'][who]['ulps']:.3g}" for who in names]
        for r in chosen
    ]
    return _table(lines, ["", "elements", "condition", *names.values()])


def exact_blocks(results: dict) -> dict[str, str]:
    """docs/exact.md's blocks, from a run of the suites exact, data and accuracy, and of others that exact is in."""
    rows = results["rows"]
    by_size, by_data = _shares(rows, "exact"), _shares(rows, "data")
    plot = "![Limit / time by size and by data, higher is better](../benchmarks/results/exact_speed.png)"
    return {
        "exact machine": f"`python -m benchmarks --suite {','.join(results['arguments']['suite'])}` on "
        f"{machine.line(results['machine'])}{f', CUB {cub}' if (cub := results['machine'].get('cub')) else ''}:",
        "exact targets": targets([t for t in results["targets"] if "exact" in t["what"]]),
        "exact by size": by_size or NO_GPU,
        "exact by data": f"{by_data}\n\n{plot}" if by_size and by_data else by_data or NO_GPU,
        "exact accuracy": accuracy(rows),
    }


def exact_cpu(results: dict) -> str:
    """docs/exact.md's block on the CPU."""
    command = f"`python -m benchmarks --device cpu --suite exact --threads 1` on {machine.line(results['machine'])}"
    return f"{command}:\n\n{targets([t for t in results['targets'] if 'exact' in t['what']])}"


def ways(rows: list[dict]) -> str:
    """The random cases in `deterministic` by the way in which they are worked on: times over the limit's, and the
    share of what all of them lack, as logarithms add up."""
    groups: dict[tuple, list[dict]] = {}
    for r in rows:
        plan = r["contenders"]["deterministic"]["plan"]
        groups.setdefault((not r["keeps_order"], plan["family"], plan["reads"]), []).append(
            r["contenders"]["deterministic"]
        )
    lacking = sum(math.log(c["times_limit"]["median"]) for found in groups.values() for c in found)
    lines = []
    for (other_order, family, reads), found in sorted(groups.items()):
        times = [c["times_limit"]["median"] for c in found]
        lost = sum(slower(c, "speedup") for c in found)
        order = "another" if other_order else "the shape's"
        share = 100 * sum(map(math.log, times)) / lacking
        line = [order, family, reads, len(found), f"{geometric_mean(times):.2f}", f"{max(times):.1f}", lost]
        lines.append([*line, f"{share:.0f} %"])
    header = [
        "memory's order",
        "family",
        "reads",
        "cases",
        "x limit",
        "worst",
        "slower than torch",
        "of what is lacking",
    ]
    return _table(lines, header)


def random_blocks(results: dict) -> dict[str, str]:
    """docs/performance.md's other blocks, from a run of the suite random."""
    return {
        "random machine": f"`python -m benchmarks --suite random` on {machine.line(results['machine'])}:",
        "random targets": targets([t for t in results["targets"] if t["what"].startswith("random")]),
        "random ways": ways(results["rows"]),
    }


def scans(results: dict) -> str:
    """One line a scan, in microseconds; and how many repeated their bits and had those of the CPU."""
    names = {"limit": "limit: read and write", "deterministic": "ours", "torch": "torch"}
    lines = []
    for r in results["rows"]:
        us = {who: r["contenders"][who]["us"]["median"] for who in names if who in r["contenders"]}
        ours, theirs = us["deterministic"], us.get("torch")
        times = [f"{us[who]:.1f}" if who in us else "over 2 ms" for who in names]
        ratios = [f"{ours / us['limit']:.2f}", f"{theirs / ours:.2f}" if theirs else ""]
        lines.append([r["op"], r["dtype"], r["label"], *times, *ratios])
    ours = [r["contenders"]["deterministic"] for r in results["rows"]]
    same = sum(c["distinct"] == 1 and c["equals_cpu"] for c in ours)
    table = _table(lines, ["", "", "", *names.values(), "x limit", "x torch"])
    return (
        f"`python -m benchmarks --suite scans` on {machine.line(results['machine'])}. In {same} of {len(ours)} cases "
        f"bits repeated, and CUDA and CPU agreed.\n\n{table}"
    )


def made_of_reductions(results: dict) -> str:
    return f"`python -m benchmarks.models` on {machine.line(results['machine'])}:\n\n{models.table(results['rows'])}"


def of_suite(suite: str, words: str) -> str:
    """Another suite of models, where it was measured."""
    if not (RESULTS / f"{suite}.json").exists():
        return NO_GPU
    results = load(suite)
    return (
        f"`python -m benchmarks.models --suite {suite}` on {machine.line(results['machine'])}. {words}:\n\n"
        f"{models.table(results['rows'])}"
    )


def load(name: str) -> dict:
    return json.loads((RESULTS / f"{name}.json").read_text())


def documents() -> dict[Path, dict[str, str]]:
    """Every document that shows results, with its blocks."""
    return {
        ROOT / "README.md": readme_blocks(load("cuda")),
        ROOT / "docs" / "operators.md": {"operators": operators.table()},
        ROOT / "docs" / "exact.md": exact_blocks(load("exact"))
        | {"exact cpu": exact_cpu(load("exact_cpu"))}
        | {"exact products": of_suite("products", "`torch` and `inductor` compute in fp64")},
        ROOT / "docs" / "performance.md": target_blocks(load("cuda"), load("cpu"), load("cpu_avx2"))
        | random_blocks(load("random"))
        | {"scans": scans(load("scans")), "models": made_of_reductions(load("models"))}
        | {"family": of_suite("family", "`sum` is our sum of the same elements")}
        | {"selections": of_suite("selections", "Of the largest elements of each row")}
        | {"gradients": of_suite("gradients", "`liger` is liger-kernel, for norms and softmax")}
        | {"training": of_suite("training", "`ours` is the model under `torch_reduce.patch`")},
    }


def main() -> int:
    for path, found in documents().items():
        path.write_text(fill(path.read_text(), found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
