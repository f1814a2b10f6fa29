"""Plots of a run, as PNG."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, NullLocator

# Colours that stay apart for colour-blind readers (Okabe and Ito); markers tell them apart in print.
STYLE = {
    "deterministic": ("#0072B2", "o"),
    "atomic": ("#D55E00", "D"),
    "exact": ("#E69F00", "P"),
    "torch": ("#555555", "s"),
    "torch_ops": ("#999999", "p"),
    "inductor": ("#009E73", "^"),
    "torch_fp64": ("#56B4E9", "X"),
    "cub": ("#CC79A7", "v"),
    "cub_not_guaranteed": ("#882255", "<"),
    "cub_gpu_to_gpu": ("#661100", ">"),
}
LABEL = {
    "torch": "torch.sum",
    "torch_ops": "torch.sum by torch.ops",
    "inductor": "torch.compile",
    "torch_fp64": "torch.sum, fp64",
    "cub": "CUB",
    "cub_not_guaranteed": "CUB, not_guaranteed",
    "cub_gpu_to_gpu": "CUB, gpu_to_gpu",
}
EXACT_LAST = sorted(STYLE, key="exact".__eq__)  # drawn last, so on top
CUB_LEVEL = "CUB, run_to_run"  # the label of "cub" where its other levels stand beside it
DTYPES = ("float32", "bfloat16")


def _select(rows: list[dict], device: str, suite: str, dtype: str | None = None) -> list[dict]:
    chosen = [r for r in rows if (r["device"], r["suite"]) == (device, suite)]
    return [r for r in chosen if dtype is None or r["dtype"] == dtype]


def _bytes(value: float, _=None) -> str:
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if value >= size:
            return f"{value / size:g} {unit}"
    return f"{value:g} B"


def _times(value: float, _=None) -> str:
    return f"{value:g}×"


def _size_axis(axis, rows: list[dict]) -> None:
    exponents = [r["in_bytes"].bit_length() - 1 for r in rows]
    axis.set_xscale("log", base=2)
    axis.set_xticks([2.0**e for e in range(min(exponents), max(exponents) + 1, 2)])
    axis.xaxis.set_major_formatter(FuncFormatter(_bytes))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.tick_params(axis="x", labelrotation=45)
    axis.set_xlabel("bytes reduced")


def _ratio_axis(axis, values: list[float]) -> None:
    """Makes an XAxis or YAxis logarithmic, labelled with plain factors, 1 among them."""
    low, high = min([*values, 1]) / 1.08, max([*values, 1]) * 1.08
    plane, name = axis.axes, axis.axis_name
    plane.set(**{f"{name}scale": "log", f"{name}lim": (low, high)})
    fine = (0.1, 0.2, 0.3, 0.5, 0.65, 0.8, 1, 1.25, 1.5, 2, 3, 5, 10, 20, 50)
    coarse = (0.1, 0.2, 0.5, 1, 1.5, 2, 3, 5, 10, 20, 50)
    axis.set_ticks([t for t in (fine if high / low < 5 else coarse) if low <= t <= high])
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(_times))


def _finish(figure, title: str, machine: str, path: Path) -> Path:
    figure.suptitle(f"{title}\n{machine}", fontsize=12)
    entries: dict[str, object] = {}
    for axis in figure.axes:  # a contender may be missing from some panels
        entries = {label: handle for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)} | entries
    order = {_name(who): i for i, who in enumerate(STYLE)}
    order[CUB_LEVEL] = order[_name("cub")]
    names = sorted(entries, key=lambda label: order.get(label, 0))
    columns = -(-len(names) // -(-len(names) // 6))  # rows of at most six, about equally long
    figure.legend([entries[label] for label in names], names, loc="outside lower center", ncols=columns)
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path


def full_cuda(rows: list[dict], machine: str, path: Path) -> Path | None:
    """Full sums: the share of the limit that each contender reaches, by size."""
    if not any("limit" in r["contenders"] for r in _select(rows, "cuda", "full")):
        return None
    figure, axes = plt.subplots(1, 2, figsize=(12, 5.2), sharey=True, layout="constrained")
    for axis, dtype in zip(axes, DTYPES, strict=True):
        chosen = [r for r in _select(rows, "cuda", "full", dtype) if "limit" in r["contenders"]]
        for who, (colour, marker) in STYLE.items():
            points = [(r["in_bytes"], r["contenders"][who]["times_limit"]) for r in chosen if who in r["contenders"]]
            if points:
                x = [size for size, _ in points]
                axis.plot(x, [1 / q["median"] for _, q in points], marker=marker, ms=5, color=colour, label=_name(who))
                axis.fill_between(
                    x, [1 / q["high"] for _, q in points], [1 / q["low"] for _, q in points], color=colour, alpha=0.15
                )
        axis.axhline(1, color="black", lw=0.8)
        axis.set_title(dtype)
        axis.grid(alpha=0.3)
        axis.set_ylim(0, 1.08)
        _size_axis(axis, chosen)
    axes[0].set_ylabel("limit / time")
    axes[0].yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{100 * v:.0f}%"))
    return _finish(figure, "Full sums: share of the speed of memory", machine, path)


def full_cpu(rows: list[dict], machine: str, path: Path) -> Path | None:
    """Full sums: speed-up over torch.sum by size, with the quartiles of the ratio, one panel per thread count."""
    chosen = _select(rows, "cpu", "full")
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
        _size_axis(axis, [r for r in chosen if r["threads"] == count])
    for axis in axes[0]:
        _ratio_axis(axis.yaxis, values)
    axes[0][0].set_ylabel("speed-up over torch.sum")
    return _finish(figure, "Full sums, deterministic, on the CPU", machine, path)


def shapes(rows: list[dict], device: str, machine: str, path: Path) -> Path | None:
    """Every shape: dots for each contender's time over the limit's, or over torch.sum's where there is no limit."""
    chosen = _select(rows, device, "shapes")
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
                axis.scatter(x, y, marker=marker, s=30, color=colour, label=_name(who), alpha=0.9, zorder=3)
                values += x
        axis.axvline(1, color="black", lw=0.8)
        axis.set_title(title)
        axis.grid(alpha=0.3, which="major")
        axis.set_xlabel("time / limit" if limited else "time / torch.sum's time")
    for axis in axes[0]:
        _ratio_axis(axis.xaxis, values)
    axes[0][0].set_yticks(range(len(labels)), labels, fontsize=8.5)
    axes[0][0].set_ylim(len(labels) - 0.5, -0.5)
    against = "the limit (all input read, all output written)" if limited else "torch.sum"
    return _finish(figure, f"Shape / reduced dims: time against {against}", machine, path)


def random_shapes(rows: list[dict], machine: str, path: Path) -> Path | None:
    """Random shapes and strides: each contender's times over the limit's, sorted: a curve each."""
    chosen = [r for r in _select(rows, "cuda", "random") if "limit" in r["contenders"]]
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
                axis.plot(share, times, color=colour, label=_name(who), drawstyle="steps-mid")
                values += times
        axis.axhline(1, color="black", lw=0.8)
        axis.set_title(f"{title}: {len(these)}")
        axis.grid(alpha=0.3)
        axis.set_xlabel("percent of the cases")
    for axis in axes:
        _ratio_axis(axis.yaxis, values)
    axes[0].set_ylabel("time / limit")
    return _finish(figure, "Random shapes and strides: times against the limit, sorted", machine, path)


def host(rows: list[dict], device: str, machine: str, path: Path) -> Path | None:
    """Host time of one call, a bar a contender."""
    chosen = _select(rows, device, "host")
    if not chosen:
        return None
    names = [who for who in STYLE if who in chosen[0]["contenders"]]
    figure, axis = plt.subplots(figsize=(9, 5.2), layout="constrained")
    for i, who in enumerate(names):
        x = [group + (i - (len(names) - 1) / 2) * 0.8 / len(names) for group in range(len(chosen))]
        us = [r["contenders"][who]["us"] for r in chosen]
        spread = [[q["median"] - q["low"] for q in us], [q["high"] - q["median"] for q in us]]
        heights = [q["median"] for q in us]
        axis.bar(x, heights, 0.75 / len(names), yerr=spread, color=STYLE[who][0], label=_name(who))
    titles = [f"{r['label']}{', with gradient' if r['grad'] else ''}" for r in chosen]
    axis.set_xticks(range(len(chosen)), titles)
    axis.set_ylabel("us a call")
    axis.grid(alpha=0.3, axis="y")
    return _finish(figure, f"Host time of a call on {device.upper()}, float32", machine, path)


def _ratio(row: dict, who: str, limited: bool) -> float:
    contender = row["contenders"][who]
    return contender["times_limit"]["median"] if limited else 1 / contender["speedup"]["median"]


def _name(who: str) -> str:
    return LABEL.get(who, who)


def _exact_name(who: str) -> str:
    return CUB_LEVEL if who == "cub" else _name(who)


def exact_speed(rows: list[dict], machine: str, path: Path) -> Path | None:
    """Exact full sums and what else could serve: the share of the limit, by size and by data, one row a dtype."""
    limited = [r for r in rows if "limit" in r["contenders"]]
    by_size, by_data = _select(limited, "cuda", "exact"), _select(limited, "cuda", "data")
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
            look = {"marker": marker, "ms": 5, "color": colour, "label": _exact_name(who)}
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
        right.set_title(f"{dtype}, by data, {_bytes(max(r['in_bytes'] for r in by_data))}")
        left.set_ylabel("limit / time")
    _size_axis(axes[-1][0], by_size)
    axes[-1][1].set_xticks(range(len(kinds)), kinds, rotation=30, ha="right")
    return _finish(figure, "Exact full sums: share of the speed of memory", machine, path)


def _shares(rows: list[dict], who: str, key: str) -> list[tuple]:
    return [(r[key], 1 / r["contenders"][who]["times_limit"]["median"]) for r in rows if who in r["contenders"]]


def exact_accuracy(rows: list[dict], machine: str, path: Path) -> Path | None:
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
                    axis.plot(x, y, marker=marker, ms=4 if who == "exact" else 8, color=colour, label=_name(who))
            axis.axhline(0.5, color="black", lw=0.8)
            axis.set_yscale("log")
            axis.set_xscale("log", base=2 if varies == "n" else 10)
            axis.grid(alpha=0.3)
            what = f"condition number {fixed:.0e}" if varies == "n" else f"2^{fixed.bit_length() - 1} elements"
            axis.set_title(f"{dtype}, {what}")
            axis.set_ylabel("error in ulps, largest")
    axes[-1][0].set_xlabel("elements")
    axes[-1][1].set_xlabel("condition number, sum |x| / |sum x|")
    return _finish(figure, "Full sums: error against the true sum (the line is half an ulp)", machine, path)


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
        exact_speed(rows, machine, out / "exact_speed.png"),
        exact_accuracy(rows, machine, out / "exact_accuracy.png"),
    ]
    return [path for path in made if path is not None]
