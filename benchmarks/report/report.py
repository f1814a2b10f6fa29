"""What a run prints and writes: a verdict, tables, a summary, the targets, JSON."""

from __future__ import annotations

import json
from pathlib import Path

from tabulate import tabulate

from ..measure.contenders import OURS
from .targets import geometric_mean


def _time(us: float) -> str:
    return f"{us:.2f}" if us < 100 else f"{us:.0f}"


def _spread(q: dict) -> str:
    return f"{q['median']:.2f} [{q['low']:.2f}-{q['high']:.2f}]"


def _bits(contender: dict) -> str:
    if "distinct" not in contender:
        return ""
    same = "same" if contender["distinct"] == 1 else f"{contender['distinct']} of {contender['runs']}"
    return same + (", not CPU's" if contender.get("equals_cpu") is False else "")


def _short(mode: str) -> str:
    return "det" if mode == "deterministic" else mode


def _line(row: dict, mode: str) -> dict:
    """One line of a table: one of our modes in one case, beside its peers."""
    contenders = row["contenders"]
    c = contenders[mode]
    torch = contenders.get("torch", {})
    half = (c["us"]["high"] - c["us"]["low"]) / 2 / c["us"]["median"]
    line = {"op": row["op"], "dtype": row["dtype"], "shape / dims": row["label"]}
    if row["device"] == "cpu":
        line["threads"] = row["threads"]
    line["mode"] = _short(mode)
    if row["suite"] == "host":
        line["gradient"] = "yes" if row["grad"] else "no"
    line |= {"us": _time(c["us"]["median"]), "± %": f"{100 * half:.1f}"}
    if row["suite"] != "host":
        line["GB/s"] = f"{c['gb_per_s']:.1f}" if c["gb_per_s"] < 100 else f"{c['gb_per_s']:.0f}"
    if row["device"] == "cuda" and row["suite"] != "host":
        line["limit us"] = _time(contenders["limit"]["us"]["median"]) if "limit" in contenders else "n/a"
        line["x limit"] = f"{c['times_limit']['median']:.3f}" if "times_limit" in c else "n/a"
        if "limit_ahead" in contenders:
            line["ahead us"] = _time(contenders["limit_ahead"]["us"]["median"])
    for peer in ("torch", "torch_ops", "inductor", "cub", "cub_not_guaranteed", "cub_gpu_to_gpu", "torch_fp64", "fsum"):
        if peer in contenders:
            line[f"{peer} us"] = _time(contenders[peer]["us"]["median"])
    if "speedup" in c:
        line["x torch"] = _spread(c["speedup"])
    if "error" in c:
        line |= {"error": f"{c['error']:.1e}", "torch's": f"{torch['error']:.1e}" if "error" in torch else ""}
        line |= {"bits": _bits(c), "torch's bits": _bits(torch)}
    return line


def _accuracy(row: dict) -> dict:
    line = {"dtype": row["dtype"], "shape / dims": row["label"].split(" condition")[0]}
    line["condition"] = f"{row['condition']:.1e}"
    return line | {who: f"{c['ulps']:.3g}" for who, c in row["contenders"].items()}


HEADINGS = {
    "full": "Full sums",
    "shapes": "Rows, columns, middle dims",
    "slow": "Where torch.sum is known to be slow",
    "hard": "Unaligned rows, masks",
    "random": "Random shapes and strides",
    "ops": "Other operators",
    "scans": "Scans",
    "layouts": "Memory order other than logical order",
    "exact": "Exact full sums by size, and what else could serve",
    "data": "Exact full sums by the distribution of the elements",
    "accuracy": "Errors in units in the last place",
    "host": "Host time of a call",
}


def tables(rows: list[dict]) -> str:
    parts = []
    for device in ("cuda", "cpu"):
        for suite, heading in HEADINGS.items():
            chosen = [r for r in rows if (r["device"], r["suite"]) == (device, suite)]
            if suite == "accuracy":
                lines = [_accuracy(r) for r in chosen]
            else:
                lines = [_line(r, mode) for r in chosen for mode in OURS if mode in r["contenders"]]
            if lines:
                keys = list(dict.fromkeys(key for line in lines for key in line))  # cub is not in every line
                table = tabulate(
                    [[line.get(key, "") for key in keys] for line in lines],
                    headers=keys,
                    disable_numparse=True,
                    colalign=["left" if key in _LEFT else "right" for key in keys],
                )
                parts.append(f"{heading}, {device.upper()}\n\n{table}\n")
    return "\n".join(parts) + "\n" + NOTES


_LEFT = {"op", "dtype", "shape / dims", "mode", "gradient", "bits", "torch's bits"}

NOTES = """\
us: median of one call's time; ± half its interquartile range. GB/s: input and output bytes. x torch: torch's time over
ours, median [quartiles] of the ratio within a round. x limit: our time over that of a kernel that only reads the input
and writes the output; ahead: the time of that kernel if it is launched before the one before it has ended, as ours are.
torch_ops: torch.sum called through torch.ops. error: largest |result - fp64| over the outputs, relative to
the sum of |x| (a product's: to the result). bits: "same", or how many different results came of how many runs (on the
CPU at every thread count).
"""


def summary(rows: list[dict]) -> str:
    """Geometric means by device, suite, dtype, threads and mode."""
    lines = []
    keys = ("device", "suite", "dtype", "threads")
    groups: dict[tuple, list[dict]] = {}
    for r in rows:
        if r["suite"] not in ("host", "accuracy"):
            groups.setdefault(tuple(r.get(key) for key in keys), []).append(r)
    for group, chosen in groups.items():
        for mode in OURS:
            entries = [r["contenders"][mode] for r in chosen if mode in r["contenders"]]
            if not entries:
                continue
            line = dict(zip(keys, ["" if g is None else g for g in group], strict=True))
            line |= {"mode": _short(mode), "cases": len(entries)}
            limits = [c["times_limit"]["median"] for c in entries if "times_limit" in c]
            if limits:
                line |= {"x limit": f"{geometric_mean(limits):.3f}", "worst": f"{max(limits):.2f}"}
            for key, peer in (("speedup", "torch"), ("speedup_over_inductor", "inductor"), ("speedup_over_cub", "cub")):
                ratios = [c[key]["median"] for c in entries if key in c]
                if ratios:
                    line |= {f"x {peer}": f"{geometric_mean(ratios):.2f}", f"least x {peer}": f"{min(ratios):.2f}"}
            lines.append(line)
    keys = list(dict.fromkeys(key for line in lines for key in line))
    return tabulate([[line.get(key, "") for key in keys] for line in lines], headers=keys, disable_numparse=True)


def verdict(rows: list[dict], found: list[dict]) -> str:
    """The essential in a few lines: two a device, and one on the targets."""
    lines = []
    for device in ("cuda", "cpu"):
        chosen = [r for r in rows if r["device"] == device]
        if chosen:
            count = f"{len(chosen)} row{'s' if len(chosen) > 1 else ''}"
            lines += [f"{device.upper()}, {count}{_agreement(chosen)}", *_means(device.upper(), chosen)]
    if found:
        lines.append(f"targets: {sum(t['met'] for t in found)} of {len(found)} met; --targets lists them")
    return "\n".join(lines)


def _agreement(rows: list[dict]) -> str:
    """In how many rows the bits are those that the contract promises: atomic promises none."""
    ours = [[c for mode in ("deterministic", "exact") if (c := r["contenders"].get(mode))] for r in rows]
    text = ""
    for what, key, holds in (
        ("bits repeat", "distinct", lambda value: value == 1),
        ("CPU and CUDA agree", "equals_cpu", bool),
    ):
        checked = [[holds(c[key]) for c in modes if key in c] for modes in ours]
        if checked := [modes for modes in checked if modes]:
            text += f"; {what} in {sum(map(all, checked))} of {len(checked)} checked"
    return text


def _means(device: str, rows: list[dict]) -> list[str]:
    """Geometric means over the cases of all suites that time a reduction."""
    timed = [r["contenders"].get("deterministic", {}) for r in rows if r["suite"] not in ("host", "accuracy")]
    parts = []
    for key, what in (("speedup", "torch's speed"), ("times_limit", "the limit's time")):
        if ratios := [c[key]["median"] for c in timed if key in c]:
            parts.append(f"{geometric_mean(ratios):.2f} x {what} over {len(ratios)} rows")
    return [f"{device}, deterministic, geometric means: {', '.join(parts)}"] if parts else []


def targets(found: list[dict]) -> str:
    """One line a target, the missed ones first."""
    found = sorted(found, key=lambda t: t["met"])
    lines = [["met" if t["met"] else "missed", t["what"], t["asked"], t["measured"], t["worst"]] for t in found]
    return tabulate(lines, headers=["", "target", "asked", "measured", "decided by"], disable_numparse=True)


def failures(rows: list[dict]) -> list[str]:
    return [
        f"{r['device']} {r['op']} {r['dtype']} {r['label']}: {who} failed: {why}"
        for r in rows
        for who, why in r.get("failed", {}).items()
    ]


def write_json(path: Path, machine: dict, arguments: dict, rows: list[dict], found: list[dict]) -> None:
    """One line for every target and every row, so that two runs can be compared line by line."""

    def lines(items: list[dict]) -> str:
        return ",\n".join(json.dumps(_rounded(item), ensure_ascii=False) for item in items)

    head = json.dumps({"machine": machine, "arguments": arguments}, indent=1, ensure_ascii=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'{head[:-2]},\n "targets": [\n{lines(found)}\n ],\n "rows": [\n{lines(rows)}\n ]\n}}\n')


def _rounded(value):
    """Five digits: more than any measurement here has."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list) else value
