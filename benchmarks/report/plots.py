"""Plots of a run, as PNG: one function each, and all of them by write()."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter

from . import plots_exact
from .plot_style import DTYPES, STYLE, finish, name_of, ratio_axis, select, size_axis


def full_cuda(rows: list[dict], machine: str, path: Path) -> Path | None:
    """Full sums: the share of the limit that each contender reaches, by size."""
    if not any("limit" in r["contenders"] for r in select(rows, "cuda", "full")):
        return None
    figure, axes = plt.subplots(1, 2, figsize=(12, 5.2), sharey=True, layout="constrained")
    for axis, dtype in zip(axes, DTYPES, strict=True):
        chosen = [r for r in select(rows, "cuda", "full", dtype) if "limit" in r["contenders"]]
        for who, (colour, marker) in STYLE.items():
            points = [(r["in_bytes"], r["contenders"][who]["times_limit"]) for r in chosen if who in r["contenders"]]
            if points:
                x = [size for size, _ in points]
                axis.plot(
                    x, [1 / q["median"] for _, q in points], marker=marker, ms=5, color=colour, label=name_of(who)
                )
                axis.fill_between(
                    x, [1 / q["high"] for _, q in points], [1 / q["low"] for _, q in points], color=colour, alpha=0.15
                )
        axis.axhline(1, color="black", lw=0.8)
        axis.set_title(dtype)
        axis.grid(alpha=0.3)
        axis.set_ylim(0, 1.08)
        size_axis(axis, chosen)
    axes[0].set_ylabel("limit / time")
    axes[0].yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{100 * v:.0f}%"))
    return finish(figure, "Full sums: share of the speed of memory", machine, path)


def full_cpu(rows: list[dict], machine: str, path: Path) -> Path | None:
    """Full sums: speed-up over torch.sum by size, with the quartiles of the ratio, one panel per thread count."""
    chosen = select(rows, "cpu", "full")
    if not chosen:
        return None
    counts = sorted({r["threads"] for r in chosen})
    figure, axes = plt.subplots(
        1, len(counts), figsize=(1 + 5.5 * len(counts), 5.2), sharey=True, squeeze=False, layout="constrained"
    )
    values = []
    for axis, count in zip(axes[0], counts, strict=True):
        for dtype, (colour, marker) in zip(DTYPES, (STYLE["deterministic"], STYLE["atomic"]), strict=True):
            these = [r for r in chosen if (r["threads"], r["dtype"]) == (count, dtype)]
            ratios = [r["contenders"]["deterministic"]["speedup"] for r in these]
            x = [r["in_bytes"] for r in these]
            axis.plot(x, [q["median"] for q in ratios], marker=marker, color=colour, label=dtype)
            axis.fill_between(x, [q["low"] for q in ratios], [q["high"] for q in ratios], color=colour, alpha=0.15)
            values += [v for q in ratios for v in (q["low"], q["high"])]
        axis.axhline(1, color="black", lw=0.8)
        axis.set_title(f"{count} thread{'s' if count > 1 else ''}")
        axis.grid(alpha=0.3, which="major")
        size_axis(axis, [r for r in chosen if r["threads"] == count])
    for axis in axes[0]:
        ratio_axis(axis.yaxis, values)
    axes[0][0].set_ylabel("speed-up over torch.sum")
    return finish(figure, "Full sums, deterministic, on the CPU", machine, path)


def shapes(rows: list[dict], device: str, machine: str, path: Path) -> Path | None:
    """Every shape: dots for each contender's time over the limit's, or over torch.sum's where there is no limit."""
    chosen = select(rows, device, "shapes")
    if not chosen:
        return None
    limited = all("limit" in r["contenders"] for r in chosen)
    if device == "cuda":
        panels = {dtype: [r for r in chosen if r["dtype"] == dtype] for dtype in DTYPES}
    else:
        counts = sorted({r["threads"] for r in chosen})
        panels = {f"{c} thread{'s' if c > 1 else ''}": [r for r in chosen if r["threads"] == c] for c in counts}
    panels = {title: these for title, these in panels.items() if these}
    labels = list(dict.fromkeys(r["label"] for r in chosen))
    figure, axes = plt.subplots(
        1,
        len(panels),
        figsize=(3.5 + 4.5 * len(panels), 1.9 + 0.26 * len(labels)),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    values = []
    for axis, (title, these) in zip(axes[0], panels.items(), strict=True):
        for who, (colour, marker) in reversed(STYLE.items()):  # ours last, on top
            if who == "torch" and not limited:
                continue
            points = [(r["label"], _ratio(r, who, limited)) for r in these if who in r["contenders"]]
            if points:
                x = [ratio for _, ratio in points]
                y = [labels.index(label) for label, _ in points]
                axis.scatter(x, y, marker=marker, s=30, color=colour, label=name_of(who), alpha=0.9, zorder=3)
                values += x
        axis.axvline(1, color="black", lw=0.8)
        axis.set_title(title)
        axis.grid(alpha=0.3, which="major")
        axis.set_xlabel("time / limit" if limited else "time / torch.sum's time")
    for axis in axes[0]:
        ratio_axis(axis.xaxis, values)
    axes[0][0].set_yticks(range(len(labels)), labels, fontsize=8.5)
    axes[0][0].set_ylim(len(labels) - 0.5, -0.5)
    against = "the limit (all input read, all output written)" if limited else "torch.sum"
    return finish(figure, f"Shape / reduced dims: time against {against}", machine, path)


def random_shapes(rows: list[dict], machine: str, path: Path) -> Path | None:
    """Random shapes and strides: each contender's times over the limit's, sorted: a curve each."""
    chosen = [r for r in select(rows, "cuda", "random") if "limit" in r["contenders"]]
    if not chosen:
        return None
    orders = {True: "memory in the order of the shape", False: "memory in another order"}
    panels = {title: [r for r in chosen if r["keeps_order"] == keeps] for keeps, title in orders.items()}
    figure, axes = plt.subplots(1, 2, figsize=(12, 5.2), sharey=True, layout="constrained")
    values = []
    for axis, (title, these) in zip(axes, panels.items(), strict=True):
        for who, (colour, _) in STYLE.items():
            times = sorted(_ratio(r, who, True) for r in these if who in r["contenders"])
            if times:
                share = [100 * (i + 0.5) / len(times) for i in range(len(times))]
                axis.plot(share, times, color=colour, label=name_of(who), drawstyle="steps-mid")
                values += times
        axis.axhline(1, color="black", lw=0.8)
        axis.set_title(f"{title}: {len(these)}")
        axis.grid(alpha=0.3)
        axis.set_xlabel("percent of the cases")
    for axis in axes:
        ratio_axis(axis.yaxis, values)
    axes[0].set_ylabel("time / limit")
    return finish(figure, "Random shapes and strides: times against the limit, sorted", machine, path)


def host(rows: list[dict], device: str, machine: str, path: Path) -> Path | None:
    """Host time of one call, a bar a contender."""
    chosen = select(rows, device, "host")
    if not chosen:
        return None
    names = [who for who in STYLE if who in chosen[0]["contenders"]]
    figure, axis = plt.subplots(figsize=(9, 1.5 + 0.5 * len(chosen)), layout="constrained")
    for i, who in enumerate(names):
        y = [group + (i - (len(names) - 1) / 2) * 0.8 / len(names) for group in range(len(chosen))]
        us = [r["contenders"][who]["us"] for r in chosen]
        spread = [[q["median"] - q["low"] for q in us], [q["high"] - q["median"] for q in us]]
        lengths = [q["median"] for q in us]
        axis.barh(y, lengths, 0.75 / len(names), xerr=spread, color=STYLE[who][0], label=name_of(who))
    axis.set_yticks(range(len(chosen)), [f"{r['label']}{', with gradient' if r['grad'] else ''}" for r in chosen])
    axis.invert_yaxis()
    axis.set_xlabel("us a call")
    axis.grid(alpha=0.3, axis="x")
    return finish(figure, f"Host time of a call on {device.upper()}, float32", machine, path)


def _ratio(row: dict, who: str, limited: bool) -> float:
    contender = row["contenders"][who]
    return contender["times_limit"]["median"] if limited else 1 / contender["speedup"]["median"]


def write(rows: list[dict], machine: str, cpu: str, out: Path) -> list[Path]:
    """All plots that the rows allow. `machine` and `cpu` are lines that say where either device's rows are from."""
    made = [
        full_cuda(rows, machine, out / "cuda_full.png"),
        shapes(rows, "cuda", machine, out / "cuda_shapes.png"),
        random_shapes(rows, machine, out / "cuda_random.png"),
        host(rows, "cuda", machine, out / "cuda_host.png"),
        full_cpu(rows, cpu, out / "cpu_full.png"),
        shapes(rows, "cpu", cpu, out / "cpu_shapes.png"),
        host(rows, "cpu", cpu, out / "cpu_host.png"),
        plots_exact.speed(rows, machine, out / "exact_speed.png"),
        plots_exact.accuracy(rows, machine, out / "exact_accuracy.png"),
    ]
    return [path for path in made if path is not None]
