"""What every plot shares: colours and names of the contenders, axes, title and legend."""

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


def size_axis(axis, rows: list[dict]) -> None:
    exponents = [r["in_bytes"].bit_length() - 1 for r in rows]
    axis.set_xscale("log", base=2)
    axis.set_xticks([2.0**e for e in range(min(exponents), max(exponents) + 1, 2)])
    axis.xaxis.set_major_formatter(FuncFormatter(bytes_label))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.tick_params(axis="x", labelrotation=45)
    axis.set_xlabel("bytes reduced")


def ratio_axis(axis, values: list[float]) -> None:
    """Makes an XAxis or YAxis logarithmic, labelled with plain factors, 1 among them."""
    low, high = min([*values, 1]) / 1.08, max([*values, 1]) * 1.08
    plane, name = axis.axes, axis.axis_name
    plane.set(**{f"{name}scale": "log", f"{name}lim": (low, high)})
    fine = (0.1, 0.2, 0.3, 0.5, 0.65, 0.8, 1, 1.25, 1.5, 2, 3, 5, 10, 20, 50)
    coarse = (0.1, 0.2, 0.5, 1, 1.5, 2, 3, 5, 10, 20, 50)
    axis.set_ticks([t for t in (fine if high / low < 5 else coarse) if low <= t <= high])
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(times_label))


def finish(figure, title: str, machine: str, path: Path) -> Path:
    figure.suptitle(f"{title}\n{machine}", fontsize=12)
    entries: dict[str, object] = {}
    for axis in figure.axes:  # a contender may be missing from some panels
        entries = {label: handle for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)} | entries
    order = {name_of(who): i for i, who in enumerate(STYLE)}
    order[CUB_LEVEL] = order[name_of("cub")]
    names = sorted(entries, key=lambda label: order.get(label, 0))
    columns = -(-len(names) // -(-len(names) // 6))  # rows of at most six, about equally long
    figure.legend([entries[label] for label in names], names, loc="outside lower center", ncols=columns)
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path


def name_of(who: str) -> str:
    return LABEL.get(who, who)
