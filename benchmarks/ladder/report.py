"""What a run prints and writes."""

from __future__ import annotations

import json
import math
from pathlib import Path

from ..report.report import _rounded
from .rungs import BY_NAME
from .tables import (
    NOTES,
    device_table,
    digits,
    half_table,
    label,
    lessons,
    profile_table,
    size_name,
    spread_table,
    subnormal_table,
    sum_table,
)


def text(result: dict) -> str:
    """All tables, for a terminal."""
    rows = result["rows"]
    parts = [device_table(result["device"])]
    for n in sorted({row["elements"] for row in rows if row["group"] != "memory"}):
        parts.append(f"{size_name(n)} elements\n\n{sum_table(rows, n)}")
    parts += [f"{heading}\n\n{shown}" for heading, shown in lessons(rows).items()]
    more = (
        ("spread", "The same sum, many times", spread_table),
        ("subnormal", "A sum of subnormal numbers", subnormal_table),
        ("half", "fp16 numbers from 0 to 1", half_table),
        ("profile", "Nsight Compute: the longest kernel of each rung, on a cold L2", profile_table),
    )
    parts += [f"{heading}\n\n{show(result[key])}" for key, heading, show in more if result.get(key)]
    return "\n\n".join([*parts, NOTES])


def verdict(rows: list[dict]) -> list[str]:
    """Whether the product is the fastest at every size of 2^22 and above, and what is not."""
    found = []
    for n in sorted({row["elements"] for row in rows if row["elements"] >= 1 << 22}):
        times = {
            row["rung"]: row["us"]["median"]
            for row in rows
            if row["elements"] == n and "us" in row and row["group"] != "memory" and _is_fp32_sum(row)
        }
        ours = {name: times[name] for name in ("deterministic", "atomic") if name in times}
        if ours:
            best = min(ours, key=ours.get)
            faster = sorted((us, name) for name, us in times.items() if us < ours[best])
            said = ", ".join(f"{label(name)} {digits(us, 4)}" for us, name in faster)
            beaten = f"faster: {said}" if said else "the fastest"
            found.append(f"{size_name(n)}: {label(best)} {digits(ours[best], 4)} us; {beaten}")
    return found


def _is_fp32_sum(row: dict) -> bool:
    rung = BY_NAME[row["rung"]]
    return (rung.task, rung.dtype) == ("sum", "float32")


def _finite(value):
    """JSON knows no infinity."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list) else value


def write_json(path: Path, result: dict) -> None:
    """One line for every row, so that two runs can be compared line by line. Times have five digits; sums, all."""

    def shown(key: str, item) -> str:
        item = item if key in ("spread", "subnormal", "half") else _rounded(item)
        return json.dumps(_finite(item), ensure_ascii=False)

    parts = []
    for key, value in result.items():
        if isinstance(value, list):
            lines = ",\n".join(shown(key, item) for item in value)
            parts.append(f'"{key}": [\n{lines}\n]')
        else:
            parts.append(f'"{key}": {shown(key, value)}')
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n")
