"""What every plot shares: looks and names of the contenders, axes, title and legend."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, NullLocator

# A contender has one colour and one marker in all plots. The colours of a plot stay apart for colour-blind readers
# (Okabe and Ito; Tol), the markers in print.
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
    # rungs of the ladder
    "sequential": ("#AAAA00", "v"),
    "shuffle": ("#44BB99", "^"),
    "vector": ("#AA3377", "P"),
    "two_pass": ("#332288", "X"),
    "last_block_acq_rel": ("#117733", "p"),
    "cluster": ("#77AADD", "h"),
}
# What is no contender, such as sizes: no colour of a contender.
OTHER = (("#C9B8E8", "o"), ("#9470D0", "s"), ("#4B1D91", "D"))
HIGHER, LOWER = "higher is better", "lower is better"
LABEL = {
    "torch": "torch.sum",
    "torch_ops": "torch.sum by torch.ops",
    "inductor": "torch.compile",
    "torch_fp64": "torch.sum, fp64",
    "cub": "CUB",
    "cub_not_guaranteed": "CUB, not_guaranteed",
    "cub_gpu_to_gpu": "CUB, gpu_to_gpu",
}
CUB_LEVEL = "CUB, run_to_run"  # the label of "cub" where its other levels stand beside it
DTYPES = ("float32", "bfloat16")


def select(rows: list[dict], device: str, suite: str, dtype: str | None = None) -> list[dict]:
    chosen = [r for r in rows if (r["device"], r["suite"]) == (device, suite)]
    return [r for r in chosen if dtype is None or r["dtype"] == dtype]


def bytes_label(value: float, _=None) -> str:
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if value >= size:
            return f"{value / size:g} {unit}"
    return f"{value:g} B"


def times_label(value: float, _=None) -> str:
    return f"{value:g}×"


def percent_label(value: float, _=None) -> str:
    return f"{100 * value:.0f}%"


def look(who: str, label: str | None = None) -> dict:
    """How a contender is drawn, as arguments of plot() and scatter(). The artist's gid says which contender it is."""
    colour, marker = STYLE[who]
    return {"color": colour, "marker": marker, "label": label or name_of(who), "gid": who}


def size_axis(axis, rows: list[dict]) -> None:
    exponents = [r["in_bytes"].bit_length() - 1 for r in rows]
    axis.set_xscale("log", base=2)
    low, high = min(exponents), max(exponents)
    axis.set_xticks([2.0**e for e in range(low, high + 1, 2 if high - low < 12 else 4)])
    axis.xaxis.set_major_formatter(FuncFormatter(bytes_label))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.set_xlabel("bytes reduced")


def share_axis(axis, values: Iterable[float]) -> None:
    """Makes a YAxis one of shares of the limit, from nothing to beyond the largest."""
    axis.axes.set_ylim(0, 1.05 * max([*values, 1]))
    axis.set_major_formatter(FuncFormatter(percent_label))


_TICKS = (
    (0.1, 0.2, 0.3, 0.5, 0.65, 0.8, 1, 1.25, 1.5, 2, 3, 5, 10, 20, 50),
    (0.1, 0.2, 0.5, 1, 1.5, 2, 3, 5, 10, 20, 50),
    tuple(digit * 10.0**e for e in range(-3, 4) for digit in (1, 2, 5)),
    tuple(10.0**e for e in range(-9, 10)),
)


def ratio_axis(axis, values: list[float]) -> None:
    """Makes an XAxis or YAxis logarithmic, labelled with plain factors, 1 among them. Its ends lie beyond the values
    by more than a marker."""
    low, high = min([*values, 1]), max([*values, 1])
    margin = max(1.08, (high / low) ** 0.03)
    low, high = low / margin, high * margin
    plane, name = axis.axes, axis.axis_name
    plane.set(**{f"{name}scale": "log", f"{name}lim": (low, high)})
    for ticks in _TICKS:  # the finest whose labels have room
        ticks = [t for t in ticks if low <= t <= high]
        steps = [math.log(b / a) / math.log(high / low) for a, b in zip(ticks, ticks[1:], strict=False)]
        if min(steps, default=1) > 0.08:
            break
    axis.set_ticks(ticks)
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(times_label))


def finish(figure, title: str, machine: str):
    """The figure, with its title and with one legend below it."""
    figure.suptitle(f"{title}\n{machine}", fontsize=12)
    entries: dict[str, object] = {}
    for axis in figure.axes:  # a contender may be missing from some panels
        entries = {label: handle for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)} | entries
    order = {name_of(who): i for i, who in enumerate(STYLE)}
    order[CUB_LEVEL] = order[name_of("cub")]
    names = sorted(entries, key=lambda label: order.get(label, 0))
    columns = -(-len(names) // -(-len(names) // 6))  # rows of at most six, about equally long
    figure.legend([entries[label] for label in names], names, loc="outside lower center", ncols=columns)
    return figure


def save(figures: dict[str, object], out: Path) -> list[Path]:
    """Every figure as a PNG of its name."""
    paths = []
    for name, figure in figures.items():
        paths.append(out / f"{name}.png")
        figure.savefig(paths[-1], dpi=130)
        plt.close(figure)
    return paths


def name_of(who: str) -> str:
    return LABEL.get(who, who)
