"""The two plots: how the speed-up grows from rung to rung, and the share of the limit by size."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from .tables import label, size_name

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#555555", "#000000", "#8B4513")
MARKERS = "osD^vP*Xh"


def cumulative(rows: list[dict], machine: str, path: Path) -> Path | None:
    """The speed-up over interleaved_modulo of every rung that sums fp32, one line for each size."""
    rows = [r for r in rows if "cumulative" in r and r["group"] != "memory" and r["dtype"] == "float32"]
    rows = [r for r in rows if r["elements"] > 2048 and r["rung"] != "cpu_loop" and r["group"] != "operators"]
    names = list(dict.fromkeys(r["rung"] for r in rows))
    if not names:
        return None
    figure, axis = plt.subplots(figsize=(12, 5.6), layout="constrained")
    for i, n in enumerate(sorted({r["elements"] for r in rows})):
        points = [(names.index(r["rung"]), r["cumulative"]) for r in rows if r["elements"] == n]
        axis.plot(*zip(*points, strict=True), marker=MARKERS[i], color=COLOURS[i], label=f"{size_name(n)} elements")
    axis.axhline(1, color="black", lw=0.8)
    axis.set_yscale("log")
    axis.yaxis.set_major_formatter(lambda v, _: f"{v:g} x")
    axis.set_xticks(range(len(names)), [label(name) for name in names], rotation=40, ha="right")
    axis.set_ylabel("speed-up over interleaved_modulo")
    axis.grid(alpha=0.3, which="both")
    axis.legend()
    figure.suptitle(f"The ladder: cumulative speed-up\n{machine}", fontsize=12)
    return _save(figure, path)


def share(sweep: list[dict], machine: str, path: Path) -> Path | None:
    """The time of the read limit over that of a rung, by size."""
    if not sweep:
        return None
    figure, axis = plt.subplots(figsize=(12, 5.6), layout="constrained")
    sizes = [entry["elements"] for entry in sweep]
    for i, name in enumerate(n for n in sweep[0]["us"] if n != "limit"):
        shares = [entry["us"]["limit"] / entry["us"][name] for entry in sweep]
        axis.plot(sizes, shares, marker=MARKERS[i], ms=5, color=COLOURS[i], label=label(name))
    axis.axhline(1, color="black", lw=0.8)
    axis.set_xscale("log", base=2)
    axis.set_xticks(sizes, [size_name(n) for n in sizes], rotation=45)
    axis.set_ylim(0, 1.05)
    axis.yaxis.set_major_formatter(lambda v, _: f"{100 * v:.0f} %")
    axis.set_xlabel("elements (fp32)")
    axis.set_ylabel("read limit / time")
    axis.grid(alpha=0.3)
    axis.legend(ncols=2)
    figure.suptitle(f"The ladder: share of the read limit\n{machine}", fontsize=12)
    return _save(figure, path)


def _save(figure, path: Path) -> Path:
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path


def write(result: dict, machine: str, out: Path) -> list[Path]:
    made = [
        cumulative(result["rows"], machine, out / "ladder_speedup.png"),
        share(result["sweep"], machine, out / "ladder_share.png"),
    ]
    return [path for path in made if path is not None]
