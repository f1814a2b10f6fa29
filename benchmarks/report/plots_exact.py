"""Plots of exact sums: speed and accuracy."""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from .plot_style import (
    CUB_LEVEL,
    HIGHER,
    LOWER,
    STYLE,
    bytes_label,
    finish,
    look,
    name_of,
    select,
    share_axis,
    size_axis,
)

EXACT_LAST = sorted(STYLE, key="exact".__eq__)  # drawn last, so on top


def name_at_level(who: str) -> str:
    return CUB_LEVEL if who == "cub" else name_of(who)


def speed(rows: list[dict], machine: str) -> Figure | None:
    """Exact full sums and what else could serve: the share of the limit, by size and by data, one row a dtype."""
    limited = [r for r in rows if "limit" in r["contenders"]]
    by_size, by_data = select(limited, "cuda", "exact"), select(limited, "cuda", "data")
    if not by_size or not by_data:
        return None
    dtypes = [d for d in dict.fromkeys(r["dtype"] for r in by_size) if any(r["dtype"] == d for r in by_data)]
    kinds = list(dict.fromkeys(r["data"] for r in by_data))
    figure, axes = plt.subplots(
        len(dtypes),
        2,
        figsize=(12, 1.9 + 2.9 * len(dtypes)),
        sharex="col",
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    present = [who for who in EXACT_LAST if any(who in r["contenders"] for r in by_data)]
    values = []
    for (left, right), dtype in zip(axes, dtypes, strict=True):
        for who in EXACT_LAST:
            mark = look(who, name_at_level(who)) | {"ms": 5}
            points = _shares([r for r in by_size if r["dtype"] == dtype], who, "in_bytes")
            if points:
                left.plot(*zip(*points, strict=True), **mark)
                values += [share for _, share in points]
            points = _shares([r for r in by_data if r["dtype"] == dtype], who, "data")
            if points:
                beside = 0.8 * ((present.index(who) + 0.5) / len(present) - 0.5)  # so that none covers another
                right.plot([kinds.index(k) + beside for k, _ in points], [y for _, y in points], **mark, ls="none")
                values += [share for _, share in points]
        for axis in (left, right):
            axis.axhline(1, color="black", lw=0.8)
            axis.grid(alpha=0.3)
        left.set_title(f"{dtype}, by size")
        right.set_title(f"{dtype}, by data, {bytes_label(max(r['in_bytes'] for r in by_data))}")
        left.set_ylabel(f"limit / time\n({HIGHER})")
    size_axis(axes[-1][0], by_size)
    share_axis(axes[0][0].yaxis, values)
    axes[-1][1].set_xticks(range(len(kinds)), [kind.replace(" ", "\n") for kind in kinds])
    axes[-1][1].set_xlabel("distribution of the elements")
    return finish(figure, "Exact full sums: share of the speed of memory", machine)


def _shares(rows: list[dict], who: str, key: str) -> list[tuple]:
    return [(r[key], 1 / r["contenders"][who]["times_limit"]["median"]) for r in rows if who in r["contenders"]]


def accuracy(rows: list[dict], machine: str) -> Figure | None:
    """Errors in ulps by length and by condition number, one row a dtype."""
    chosen = [r for r in rows if r["suite"] == "accuracy"]
    cuts = {"n": "asked_condition", "asked_condition": "n"}  # what varies, and what stays
    lines = []
    for dtype in dict.fromkeys(r["dtype"] for r in chosen):
        these = [r for r in chosen if r["dtype"] == dtype]
        panels = [(dtype, varies, _cut(these, varies, stays)) for varies, stays in cuts.items()]
        lines.append([panel for panel in panels if _differ(panel[2])])
    lines = [line for line in lines if line]
    if not lines:
        return None
    figure = plt.figure(figsize=(12, 1.9 + 3.4 * len(lines)), layout="constrained")
    places = [
        [(i, j * len(line) // 2) for j in range(2)] for i, line in enumerate(lines)
    ]  # one alone has all the width
    axes = figure.subplot_mosaic([[f"{i} {j}" for i, j in line] for line in places])
    for i, line in enumerate(lines):
        for j, panel in enumerate(line):
            _errors(axes[f"{i} {j}"], *panel)
    return finish(figure, "Full sums: error against the true sum (the line is half an ulp)", machine)


def _cut(rows: list[dict], varies: str, stays: str) -> list[dict]:
    """The rows in which only `varies` does."""
    values = [r[stays] for r in rows]
    fixed = max(set(values), key=values.count)
    return sorted((r for r in rows if r[stays] == fixed), key=lambda r: r[varies])


def _differ(points: list[dict]) -> bool:
    """Whether any contender's errors are other than the rest's: a panel of equal ones shows nothing."""
    return any(len({c["ulps"] for c in r["contenders"].values()}) > 1 for r in points)


def _errors(axis, dtype: str, varies: str, points: list[dict]) -> None:
    for who in EXACT_LAST:
        if all(who in r["contenders"] for r in points):
            # A logarithmic axis has no zero.
            y = [max(r["contenders"][who]["ulps"], 1e-3) for r in points]
            # Contenders that are right share their points: the larger marker shows below the smaller one.
            axis.plot([r[varies] for r in points], y, ms=4 if who == "exact" else 8, **look(who))
    axis.axhline(0.5, color="black", lw=0.8)
    axis.set_yscale("log")
    axis.set_xscale("log", base=2 if varies == "n" else 10)
    axis.grid(alpha=0.3)
    axis.set_ylabel(f"largest error in ulps ({LOWER})")
    if varies == "n":
        axis.set_title(f"{dtype}, condition number {points[0]['asked_condition']:.0e}")
        axis.set_xlabel("elements")
    else:
        axis.set_title(f"{dtype}, 2^{points[0]['n'].bit_length() - 1} elements")
        axis.set_xlabel("condition number, sum |x| / |sum x|")
