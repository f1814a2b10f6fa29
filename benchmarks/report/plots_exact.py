"""Plots of exact sums: speed and accuracy."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter

from .plot_style import CUB_LEVEL, STYLE, bytes_label, finish, name_of, select, size_axis

EXACT_LAST = sorted(STYLE, key="exact".__eq__)  # drawn last, so on top


def name_at_level(who: str) -> str:
    return CUB_LEVEL if who == "cub" else name_of(who)


def speed(rows: list[dict], machine: str, path: Path) -> Path | None:
    """Exact full sums and what else could serve: the share of the limit, by size and by data, one row a dtype."""
    limited = [r for r in rows if "limit" in r["contenders"]]
    by_size, by_data = select(limited, "cuda", "exact"), select(limited, "cuda", "data")
    if not by_size or not by_data:
        return None
    dtypes = [d for d in dict.fromkeys(r["dtype"] for r in by_size) if any(r["dtype"] == d for r in by_data)]
    kinds = list(dict.fromkeys(r["data"] for r in by_data))
    figure, axes = plt.subplots(
        len(dtypes), 2, figsize=(12, 1.9 + 2.9 * len(dtypes)), sharex="col", squeeze=False, layout="constrained"
    )
    for (left, right), dtype in zip(axes, dtypes, strict=True):
        for who in EXACT_LAST:
            colour, marker = STYLE[who]
            look = {"marker": marker, "ms": 5, "color": colour, "label": name_at_level(who)}
            points = _shares([r for r in by_size if r["dtype"] == dtype], who, "in_bytes")
            if points:
                left.plot(*zip(*points, strict=True), **look)
            points = [(kinds.index(k), y) for k, y in _shares([r for r in by_data if r["dtype"] == dtype], who, "data")]
            if points:
                right.plot(*zip(*points, strict=True), **look, ls="none", alpha=0.9)
        for axis in (left, right):
            axis.axhline(1, color="black", lw=0.8)
            axis.grid(alpha=0.3)
            axis.set_ylim(0, 1.08)
            axis.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{100 * v:.0f}%"))
        left.set_title(f"{dtype}, by size")
        right.set_title(f"{dtype}, by data, {bytes_label(max(r['in_bytes'] for r in by_data))}")
        left.set_ylabel("limit / time")
    size_axis(axes[-1][0], by_size)
    axes[-1][1].set_xticks(range(len(kinds)), kinds, rotation=30, ha="right")
    return finish(figure, "Exact full sums: share of the speed of memory", machine, path)


def _shares(rows: list[dict], who: str, key: str) -> list[tuple]:
    return [(r[key], 1 / r["contenders"][who]["times_limit"]["median"]) for r in rows if who in r["contenders"]]


def accuracy(rows: list[dict], machine: str, path: Path) -> Path | None:
    """Errors in ulps by length and by condition number, one row a dtype."""
    chosen = [r for r in rows if r["suite"] == "accuracy"]
    if not chosen:
        return None
    dtypes = list(dict.fromkeys(r["dtype"] for r in chosen))
    cuts = {"n": "asked_condition", "asked_condition": "n"}  # what varies, and what stays
    figure, axes = plt.subplots(
        len(dtypes), 2, figsize=(12, 1.9 + 3.2 * len(dtypes)), sharex="col", squeeze=False, layout="constrained"
    )
    for line, dtype in zip(axes, dtypes, strict=True):
        these = [r for r in chosen if r["dtype"] == dtype]
        for axis, (varies, stays) in zip(line, cuts.items(), strict=True):
            values = [r[stays] for r in these]
            fixed = max(set(values), key=values.count)
            points = sorted((r for r in these if r[stays] == fixed), key=lambda r: r[varies])
            for who in EXACT_LAST:
                colour, marker = STYLE[who]
                if all(who in r["contenders"] for r in points):
                    # A logarithmic axis has no zero.
                    y = [max(r["contenders"][who]["ulps"], 1e-3) for r in points]
                    x = [r[varies] for r in points]
                    # Contenders that are right share their points: the larger marker shows below the smaller one.
                    axis.plot(x, y, marker=marker, ms=4 if who == "exact" else 8, color=colour, label=name_of(who))
            axis.axhline(0.5, color="black", lw=0.8)
            axis.set_yscale("log")
            axis.set_xscale("log", base=2 if varies == "n" else 10)
            axis.grid(alpha=0.3)
            what = f"condition number {fixed:.0e}" if varies == "n" else f"2^{fixed.bit_length() - 1} elements"
            axis.set_title(f"{dtype}, {what}")
            axis.set_ylabel("error in ulps, largest")
    axes[-1][0].set_xlabel("elements")
    axes[-1][1].set_xlabel("condition number, sum |x| / |sum x|")
    return finish(figure, "Full sums: error against the true sum (the line is half an ulp)", machine, path)
