"""Puts the figures of the committed results into README.md: `python -m benchmarks.document`.

In a document, what stands between <!-- NAME --> and <!-- end --> is written by this, from JSON that a benchmark wrote.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from tabulate import tabulate

from .targets import geometric_mean

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"(<!-- ([^\n]+) -->\n)(?:.*?)(<!-- end -->)", re.DOTALL)
CONTENDERS = {
    "limit": "read limit",
    "deterministic": "deterministic",
    "atomic": "atomic",
    "torch": "torch.sum",
    "inductor": "torch.compile",
    "cub": "CUB",
}
# The README's choice: one line for each way of lying in memory, and the hard ones.
SELECTED = [
    ("full", "float32", "2^20 / all"),
    ("full", "float32", "2^24 / all"),
    ("full", "float32", "2^28 / all"),
    ("full", "bfloat16", "2^28 / all"),
    ("full", "float64", "2^28 / all"),
    ("full", "int8", "2^28 / all"),
    ("shapes", "float32", "65536×1000 / 1"),
    ("shapes", "float32", "8388608×8 / 1"),
    ("shapes", "bfloat16", "1048576×64 / 1"),
    ("shapes", "bfloat16", "128×4096 / 1"),
    ("shapes", "float32", "65536×1024 / 0"),
    ("shapes", "bfloat16", "65536×1024 / 0"),
    ("shapes", "bfloat16", "8192×768 / 0"),
    ("shapes", "float32", "64×1048576 / 0"),
    ("shapes", "bfloat16", "8×8388608 / 0"),
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
        case = f"{name[1]} {name[2].replace(' / ', ', dim ')}"
        lines.append([case, *("" if us is None else f"{us:.2f}" for us in times)])
    return _table(lines, ["", *CONTENDERS.values()])


def targets(found: list[dict]) -> str:
    lines = [["met" if t["met"] else "**missed**", t["what"], t["asked"], t["measured"], t["worst"]] for t in found]
    return _table(lines, ["", "target", "asked", "measured", "decided by"])


def cpu_ratios(rows: list[dict]) -> str:
    """How many times torch's speed, as geometric means over each suite's cases."""
    groups: dict[tuple, list[float]] = {}
    for r in rows:
        if r["suite"] != "host" and "deterministic" in r["contenders"]:
            name = f"{r['suite']}, {r['dtype']}", r["threads"]
            groups.setdefault(name, []).append(r["contenders"]["deterministic"]["speedup"]["median"])
    threads = sorted({t for _, t in groups})
    names = list(dict.fromkeys(name for name, _ in groups))
    lines = [
        [name, *(f"{geometric_mean(found):.2f}" if (found := groups.get((name, t))) else "" for t in threads)]
        for name in names
    ]
    return _table(lines, ["times torch's speed", *(f"{t} thread{'s' if t > 1 else ''}" for t in threads)])


def blocks(cuda: dict, cpu: dict) -> dict[str, str]:
    gpu, host = cuda["machine"], cpu["machine"]
    return {
        "gpu": f"One {gpu['gpu']} (driver {gpu['driver']}), CUDA {gpu['cuda']}, PyTorch {gpu['torch']}, "
        f"Python {gpu['python']}.",
        "selected": selected(cuda["rows"]),
        "targets": targets(cuda["targets"]),
        "cpu": f"{host['cpu']}, {host['cores']} cores of a shared machine, PyTorch {host['torch']}:\n\n"
        + cpu_ratios(cpu["rows"]),
    }


def main() -> int:
    cuda, cpu = (json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text()) for name in ("cuda", "cpu"))
    readme = ROOT / "README.md"
    readme.write_text(fill(readme.read_text(), blocks(cuda, cpu)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
