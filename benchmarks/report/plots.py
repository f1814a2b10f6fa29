"""Plots of a run: one function each, all of them by figures(), and as PNG by write()."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from . import plots_exact
from .plot_style import (
    DTYPES,
    HIGHER,
    LOWER,
    STYLE,
    finish,
    look,
    name_of,
    ratio_axis,
    save,
    select,
    share_axis,
    size_axis,
)


def full_cuda(rows: list[dict], machine: str) -> Figure | None:
    """Full sums: the share of the limit that each contender reaches, by size."""
    limited = [r for r in select(rows, "cuda", "full") if "limit" in r["contenders"]]
    panels = {dtype: these for dtype in DTYPES if (these := [r for r in limited if r["dtype"] == dtype])}
    if not panels:
        return None
    figure, axes = _side_by_side(len(panels))
    values = []
    for axis, (dtype, these) in zip(axes, panels.items(), strict=True):
        for who in reversed(STYLE):  # ours last, on top
            points = [(r["in_bytes"], r["contenders"][who]["times_limit"]) for r in these if who in r["contenders"]]
            if points:
                x = [size for size, _ in points]
                low, median, high = ([1 / q[key] for _, q in points] for key in ("high", "median", "low"))
                axis.plot(x, median, ms=5, **look(who))
                axis.fill_between(x, low, high, color=STYLE[who][0], alpha=0.15)
                values += median + high
        axis.axhline(1, color="black", lw=0.8)
        axis.set_title(dtype)
        axis.grid(alpha=0.3)
        size_axis(axis, these)
    share_axis(axes[0].yaxis, values)
    axes[0].set_ylabel(f"limit / time ({HIGHER})")
    return finish(figure, "Full sums: share of the speed of memory", machine)


def full_cpu(rows: list[dict], machine: str) -> Figure | None:
    """Full sums: speed-up over torch.sum by size, with the quartiles of the ratio, one panel per thread count."""
    chosen = select(rows, "cpu", "full")
    if not chosen:
        return None
    counts = sorted({r["threads"] for r in chosen})
    figure, axes = _side_by_side(len(counts))
    colour = STYLE["deterministic"][0]
    values = []
    for axis, count in zip(axes, counts, strict=True):
        for dtype, dashes, fill in zip(DTYPES, ("-", "--"), (colour, "white"), strict=True):
            these = [r for r in chosen if (r["threads"], r["dtype"]) == (count, dtype)]
            ratios = [r["contenders"]["deterministic"]["speedup"] for r in these]
            x = [r["in_bytes"] for r in these]
            label = f"{name_of('deterministic')}, {dtype}"
            axis.plot(x, [q["median"] for q in ratios], ls=dashes, mfc=fill, **look("deterministic", label))
            axis.fill_between(x, [q["low"] for q in ratios], [q["high"] for q in ratios], color=colour, alpha=0.15)
            values += [v for q in ratios for v in (q["low"], q["high"])]
        axis.axhline(1, color="black", lw=0.8)
        axis.set_title(f"{count} thread{'s' if count > 1 else ''}")
        axis.grid(alpha=0.3, which="major")
        size_axis(axis, [r for r in chosen if r["threads"] == count])
    for axis in axes:
        ratio_axis(axis.yaxis, values)
    axes[0].set_ylabel(f"speed-up over torch.sum ({HIGHER})")
    return finish(figure, "Full sums, deterministic, on the CPU", machine)


def shapes(rows: list[dict], device: str, machine: str) -> Figure | None:
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
    unit = "limit" if limited else "torch.sum's time"
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
        for who in reversed(STYLE):  # ours last, on top
            if who == "torch" and not limited:
                continue
            points = [(r["label"], _ratio(r, who, limited)) for r in these if who in r["contenders"]]
            if points:
                x = [ratio for _, ratio in points]
                y = [labels.index(label) for label, _ in points]
                axis.scatter(x, y, s=30, alpha=0.9, zorder=3, **look(who))
                values += x
        axis.axvline(1, color="black", lw=0.8)
        axis.set_title(title)
        axis.grid(alpha=0.3, which="major")
        axis.set_xlabel(f"time / {unit} ({LOWER})")
    for axis in axes[0]:
        ratio_axis(axis.xaxis, values)
    axes[0][0].set_yticks(range(len(labels)), labels, fontsize=8.5)
    axes[0][0].set_ylim(len(labels) - 0.5, -0.5)
    against = "the limit (all input read, all output written)" if limited else "torch.sum"
    return finish(figure, f"Shape / reduced dims: time against {against}", machine)


def random_shapes(rows: list[dict], machine: str) -> Figure | None:
    """Random shapes and strides: each contender's times over the limit's, sorted: a curve each."""
    chosen = [r for r in select(rows, "cuda", "random") if "limit" in r["contenders"]]
    if not chosen:
        return None
    orders = {True: "memory in the order of the shape", False: "memory in another order"}
    panels = {title: [r for r in chosen if r["keeps_order"] == keeps] for keeps, title in orders.items()}
    panels = {title: these for title, these in panels.items() if these}
    figure, axes = _side_by_side(len(panels))
    values = []
    for axis, (title, these) in zip(axes, panels.items(), strict=True):
        for who in reversed(STYLE):  # ours last, on top
            times = sorted(_ratio(r, who, True) for r in these if who in r["contenders"])
            if times:
                share = [100 * (i + 0.5) / len(times) for i in range(len(times))]
                axis.plot(share, times, drawstyle="steps-mid", **look(who) | {"marker": ""})
                values += times
        axis.axhline(1, color="black", lw=0.8)
        axis.set_title(f"{title}: {len(these)} cases")
        axis.grid(alpha=0.3)
        axis.set_xlabel("percent of the cases")
    for axis in axes:
        ratio_axis(axis.yaxis, values)
    axes[0].set_ylabel(f"time / limit ({LOWER})")
    return finish(figure, "Random shapes and strides: times against the limit, sorted", machine)


def host(rows: list[dict], device: str, machine: str) -> Figure | None:
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
        bar = {key: value for key, value in look(who).items() if key != "marker"}
        axis.barh(y, lengths, 0.75 / len(names), xerr=spread, **bar)
    axis.set_yticks(range(len(chosen)), [f"{r['label']}{', with gradient' if r['grad'] else ''}" for r in chosen])
    axis.invert_yaxis()
    axis.set_xlabel(f"us a call ({LOWER})")
    axis.grid(alpha=0.3, axis="x")
    return finish(figure, f"Host time of a call on {device.upper()}, float32", machine)


def _ratio(row: dict, who: str, limited: bool) -> float:
    contender = row["contenders"][who]
    return contender["times_limit"]["median"] if limited else 1 / contender["speedup"]["median"]


def _side_by_side(panels: int) -> tuple[Figure, list]:
    size = (1 + 5.5 * panels, 5.2)
    figure, axes = plt.subplots(1, panels, figsize=size, sharey=True, squeeze=False, layout="constrained")
    return figure, list(axes[0])


def figures(rows: list[dict], machine: str, cpu: str) -> dict[str, Figure]:
    """All plots that the rows allow, by name. `machine` and `cpu` are lines that say where either device's rows are
    from."""
    made = {
        "cuda_full": full_cuda(rows, machine),
        "cuda_shapes": shapes(rows, "cuda", machine),
        "cuda_random": random_shapes(rows, machine),
        "cuda_host": host(rows, "cuda", machine),
        "cpu_full": full_cpu(rows, cpu),
        "cpu_shapes": shapes(rows, "cpu", cpu),
        "cpu_host": host(rows, "cpu", cpu),
        "exact_speed": plots_exact.speed(rows, machine),
        "exact_accuracy": plots_exact.accuracy(rows, machine),
    }
    return {name: figure for name, figure in made.items() if figure is not None}


def write(rows: list[dict], machine: str, cpu: str, out: Path) -> list[Path]:
    return save(figures(rows, machine, cpu), out)
