"""The two plots: how the speed-up grows from rung to rung, and the share of the limit by size."""

from __future__ import annotations

import itertools
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from ..report.plot_style import HIGHER, OTHER, look, ratio_axis, save, share_axis
from .tables import label, size_name


def cumulative(rows: list[dict], machine: str) -> Figure | None:
    """The speed-up over interleaved_modulo of every rung that sums fp32, one line for each size."""
    rows = [r for r in rows if "cumulative" in r and r["group"] != "memory" and r["dtype"] == "float32"]
    rows = [r for r in rows if r["elements"] > 2048 and r["rung"] != "cpu_loop" and r["group"] != "operators"]
    names = list(dict.fromkeys(r["rung"] for r in rows))
    if not names:
        return None
    figure, axis = plt.subplots(figsize=(12, 1.9 + 0.26 * len(names)), layout="constrained")
    sizes = sorted({r["elements"] for r in rows})
    for (colour, marker), n in zip(itertools.cycle(OTHER), sizes, strict=False):
        points = [(r["cumulative"], names.index(r["rung"])) for r in rows if r["elements"] == n]
        axis.plot(*zip(*points, strict=True), marker=marker, color=colour, label=f"{size_name(n)} elements")
    axis.axvline(1, color="black", lw=0.8)
    ratio_axis(axis.xaxis, [r["cumulative"] for r in rows])
    axis.set_yticks(range(len(names)), [label(name) for name in names])
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.set_xlabel(f"speed-up over interleaved_modulo ({HIGHER})")
    axis.grid(alpha=0.3)
    axis.legend()
    figure.suptitle(f"The ladder: cumulative speed-up\n{machine}", fontsize=12)
    return figure


def share(sweep: list[dict], machine: str) -> Figure | None:
    """The time of the read limit over that of a rung, by size."""
    if not sweep:
        return None
    figure, axis = plt.subplots(figsize=(12, 5.6), layout="constrained")
    sizes = [entry["elements"] for entry in sweep]
    values = []
    for name in (n for n in sweep[0]["us"] if n != "limit"):
        shares = [entry["us"]["limit"] / entry["us"][name] for entry in sweep]
        axis.plot(sizes, shares, ms=5, **look(name, label(name)))
        values += shares
    axis.axhline(1, color="black", lw=0.8)
    axis.set_xscale("log", base=2)
    axis.set_xticks(sizes, [size_name(n) for n in sizes])
    share_axis(axis.yaxis, values)
    axis.set_xlabel("elements (fp32)")
    axis.set_ylabel(f"read limit / time ({HIGHER})")
    axis.grid(alpha=0.3)
    axis.legend(ncols=2)
    figure.suptitle(f"The ladder: share of the read limit\n{machine}", fontsize=12)
    return figure


def figures(result: dict, machine: str) -> dict[str, Figure]:
    made = {"ladder_speedup": cumulative(result["rows"], machine), "ladder_share": share(result["sweep"], machine)}
    return {name: figure for name, figure in made.items() if figure is not None}


def write(result: dict, machine: str, out: Path) -> list[Path]:
    return save(figures(result, machine), out)
