"""A results file as Markdown, for the README: `python -m benchmarks.summary benchmarks/results/cuda.json`."""

from __future__ import annotations

import json
import sys

from tabulate import tabulate

NAMES = {"limit": "read limit", "torch": "torch", "inductor": "inductor", "cub": "CUB"}


def microseconds(row: dict, contender: str) -> str:
    entry = row["contenders"].get(contender)
    return f"{entry['us']['median']:.2f}" if entry else ""


def table(rows: list[dict]) -> str:
    """One line a case, one column a contender, in microseconds."""
    contenders = [
        c
        for c in ("limit", "deterministic", "atomic", "torch", "inductor", "cub")
        if any(c in r["contenders"] for r in rows)
    ]
    header = ["", *(NAMES.get(c, c) for c in contenders)]
    lines = [[f"{r['dtype']} {r['label']}", *(microseconds(r, c) for c in contenders)] for r in rows]
    return tabulate(lines, header, tablefmt="github", disable_numparse=True)


def targets(found: list[dict]) -> str:
    lines = [
        ["met" if t["met"] else "**missed**", t["what"], t["asked"], t["measured"], t.get("worst") or ""] for t in found
    ]
    return tabulate(lines, ["", "target", "asked", "measured", "decided by"], tablefmt="github", disable_numparse=True)


def main() -> None:
    results = json.load(open(sys.argv[1], encoding="utf-8"))
    for suite in ("full", "shapes"):
        rows = [r for r in results["rows"] if r["suite"] == suite and r["dtype"] in ("float32", "bfloat16")]
        print(f"\n{suite}, microseconds:\n\n{table(rows)}")
    print(f"\ntargets:\n\n{targets(results['targets'])}")


if __name__ == "__main__":
    main()
