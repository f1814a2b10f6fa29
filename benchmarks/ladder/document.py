"""Puts the figures of a run into docs/ladder.md: `python -m benchmarks.ladder.document`, after a run whose JSON and
plots were copied to benchmarks/results/. In the text, a block from <!-- NAME --> to <!-- end --> is written by this."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from .. import document
from ..measure import machine
from . import tables
from .report import verdict

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "ladder.md"
RESULT = ROOT / "benchmarks" / "results" / "ladder.json"


def blocks(result: dict) -> dict[str, str]:
    """What stands in each block."""
    rows = result["rows"]
    info = result["machine"]
    found = {
        "machine": f"{machine.line(info)}; CPU: {info['cpu']}, one core.",
        "device": tables.device_table(result["device"], markdown=True),
        "verdict": "\n".join(f"- {line}" for line in verdict(rows)),
        "spread": tables.spread_table(result["spread"], markdown=True),
        "subnormal": tables.subnormal_table(result["subnormal"], markdown=True),
        "half": tables.half_table(result["half"], markdown=True),
        "profile": tables.profile_table(result["profile"], markdown=True),
        "notes": tables.NOTES,
    }
    for n in sorted({row["elements"] for row in rows if row["group"] != "memory"}):
        found[f"sum {tables.size_name(n)}"] = tables.sum_table(rows, n, markdown=True, with_published=False)
    found["published"] = tables.published_table(rows, markdown=True)
    for heading, tasks in tables.LESSONS.items():
        found[heading.lower()] = "\n\n".join(
            f"{tables.size_name(n)} elements:\n\n{shown}"
            for n in sorted({row["elements"] for row in rows})
            if (shown := tables.lesson_table(rows, tasks, n, markdown=True))
        )
    return found


def fill(text: str, result: dict) -> str:
    """The document with every block written anew."""
    return document.fill(text, blocks(result))


def main() -> int:
    result = json.loads(RESULT.read_text())
    DOCUMENT.write_text(fill(DOCUMENT.read_text(), result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
