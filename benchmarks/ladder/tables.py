"""Every table of the ladder, for a terminal or in Markdown."""

from __future__ import annotations

import math

from tabulate import tabulate

from .rungs import BY_NAME, RUNGS

LABELS = {"deterministic": "product, deterministic", "atomic": "product, atomic", "torch": "torch.sum"}

NOTES = """\
time: one call, the memset that some rungs need included; median, and half the interquartile range. of limit: the time
that a kernel needs which only reads these bytes (and writes those of the result), over this one's. grade: GB/s against
the theoretical peak, below 40 % poor, 40-60 fair, 60-75 good, above very good. step: speed-up against the rung that it
changes. in all: against the first of the classic rungs. x CPU: against the loop on one core. error: largest |result -
fp64|, relative to the result. bits: "same", or how many different results came of how many runs. blocks: how many an
SM holds at the same time, by the occupancy API."""


def label(name: str) -> str:
    return LABELS.get(name, name)


def size_name(n: int) -> str:
    power = n.bit_length() - 1
    return f"2^{power}" if n == 1 << power else f"{n:,}"


def digits(value: float | None, digits: int = 3) -> str:
    if value is None:
        return ""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{places}f}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f} %"


def _error(row: dict) -> str:
    if not row["right"]:
        return "WRONG"
    error = float(row["error"])
    return "0" if error == 0 else f"{error:.1e}" if math.isfinite(error) else str(error)


def _bits(row: dict) -> str:
    if "distinct" not in row:
        return ""
    return (f"same in {row['runs']}") if row["distinct"] == 1 else f"{row['distinct']} of {row['runs']}"


def line(row: dict, with_published: bool) -> dict:
    shown = {"rung": label(row["rung"])}
    if "us" not in row:
        return shown | {"time, us": row["note"]}
    us = row["us"]
    shown |= {
        "time, us": digits(us["median"], 4),
        "±": f"{50 * (us['high'] - us['low']) / us['median']:.1f} %",
        "GB/s": digits(row["gb_per_s"]),
        "of limit": _percent(row.get("share_of_limit")),
        "of peak": _percent(row.get("share_of_peak")),
        "grade": row.get("grade", ""),
        "step": digits(row.get("step")),
        "in all": digits(row.get("cumulative")),
        "x CPU": digits(row.get("against_cpu")),
        "error": _error(row),
        "bits": _bits(row),
        "blocks": str(row.get("blocks_per_sm", "")),
    }
    return shown | ({"published": row.get("published", "")} if with_published else {})


def table(lines: list[dict], markdown: bool) -> str:
    """Columns that are empty in every line are left out."""
    keys = list(dict.fromkeys(key for each in lines for key in each))
    keys = [key for key in keys if any(each.get(key, "") != "" for each in lines)]
    left = {"", "device", "rung", "grade", "bits", "published", "measured here", "kernel"}
    return tabulate(
        [[each.get(key, "") for key in keys] for each in lines],
        headers=keys,
        disable_numparse=True,
        tablefmt="github" if markdown else "simple",
        colalign=["left" if key in left else "right" for key in keys],
    )


def sum_table(rows: list[dict], n: int, markdown: bool = False, with_published: bool = True) -> str:
    """The ladder at one size: whole-array rungs, ways to combine blocks, operators, the product."""
    chosen = [row for row in rows if row["elements"] == n and row["group"] != "memory"]
    return table([line(row, with_published) for row in chosen], markdown)


def lesson_table(rows: list[dict], tasks: tuple[str, ...], n: int | None = None, markdown: bool = False) -> str:
    """Memory lessons that compute one of some tasks."""
    chosen = [
        row
        for row in rows
        if row["group"] == "memory" and BY_NAME[row["rung"]].task in tasks and n in (None, row["elements"])
    ]
    return table([line(row, True) for row in chosen], markdown)


def published_table(rows: list[dict], markdown: bool = False) -> str:
    """Published figures beside ours for the same rung: other GPUs, so to be compared by their steps alone."""
    lines = []
    for rung in RUNGS:
        ours = []
        for row in rows:
            if row["rung"] == rung.name and "us" in row and rung.published:
                speedup = f", {digits(row['against_cpu'])} x CPU" if "against_cpu" in row else ""
                ours.append(f"{size_name(row['elements'])}: {digits(row['us']['median'], 4)} us{speedup}")
        if ours:
            lines.append({"rung": rung.name, "published": rung.published, "measured here": "; ".join(ours)})
    return table(lines, markdown)


LESSONS = {
    "Reads": ("sum", "sum_but_first"),
    "Transpose": ("transpose",),
    "Instructions": ("cases_by_lane", "cases_by_warp", "relax", "exp", "exp_fast"),
    "Host memory": ("copy", "pieces"),
}


def lessons(rows: list[dict]) -> dict[str, str]:
    """Heading and table of every memory lesson and size."""
    found = {}
    for heading, tasks in LESSONS.items():
        for n in sorted({row["elements"] for row in rows}):
            text = lesson_table(rows, tasks, n)
            if text:
                found[f"{heading}, {size_name(n)} elements"] = text
    return found


def device_table(facts: dict, markdown: bool = False) -> str:
    limit = facts.get("limit_gb_per_s")
    shared, block = facts["shared_bytes_per_sm"] // 1024, facts["shared_bytes_per_block"] // 1024
    lines = [
        ("name", facts["name"]),
        ("SMs", str(facts["sms"])),
        ("SM clock, highest", f"{facts['clock_khz'] / 1000:,.0f} MHz"),
        ("memory clock, highest", f"{facts['memory_clock_khz'] / 1000:,.0f} MHz"),
        ("memory bus", f"{facts['bus_bits']:,} bits"),
        ("theoretical peak", f"{facts['peak_gb_per_s']:,.0f} GB/s (both edges of the memory clock)"),
        ("measured read limit", f"{limit:,.0f} GB/s" if limit else "not measured"),
        ("L2", f"{facts['l2_bytes'] / 2**20:.0f} MiB"),
        ("shared memory", f"{shared} KiB an SM, up to {block} KiB a block"),
        ("threads an SM", f"{facts['threads_per_sm']:,}"),
        ("registers an SM", f"{facts['registers_per_sm']:,}"),
        ("cooperative launch", "yes" if facts["cooperative_launch"] else "no"),
        ("clusters", "yes" if facts["cluster_launch"] else "no"),
        ("copy engines", str(facts["copy_engines"])),
    ]
    return table([{"device": key, "": value} for key, value in lines], markdown)


def spread_table(entries: list[dict], markdown: bool = False) -> str:
    lines = [
        {
            "rung": label(e["rung"]),
            "runs": f"{e['runs']:,}",
            "different results": str(e["distinct"]),
            "lowest": f"{e['lowest']:,.2f}",
            "highest": f"{e['highest']:,.2f}",
            "spread": "0" if e["spread"] == 0 else f"{e['spread']:.1e}",
            "worst error": f"{e['worst_error']:.1e}",
        }
        for e in entries
    ]
    return table(lines, markdown)


def subnormal_table(entries: list[dict], markdown: bool = False) -> str:
    lines = [{"rung": label(e["rung"]), "right": f"{e['right']:.6e}", "result": f"{e['result']:.6e}"} for e in entries]
    return table(lines, markdown)


def half_table(entries: list[dict], markdown: bool = False) -> str:
    lines = [
        {
            "elements": size_name(e["elements"]),
            "right": f"{e['right']:,.2f}",
            "fp32 additions": f"{e['half_input']:,.2f}",
            "error": f"{float(e['half_input_error']):.1e}",
            "fp16 additions": f"{float(e['half_accumulate']):,.2f}",
            "its error": f"{float(e['half_accumulate_error']):.1e}",
        }
        for e in entries
    ]
    return table(lines, markdown)


def _millions(value: float | None) -> str:
    return "" if value is None else f"{value / 1e6:,.2f} M"


def profile_table(entries: list[dict], markdown: bool = False) -> str:
    """The longest kernel of each rung and size, and how long the others take together."""
    rungs: dict[tuple, list[dict]] = {}
    for entry in entries:
        rungs.setdefault((entry["rung"], entry["elements"]), []).append(entry)
    lines = []
    for (name, n), kernels in rungs.items():
        longest = max(kernels, key=lambda e: e["ns"])
        others = sum(e["ns"] for e in kernels) - longest["ns"]
        lines.append(
            {
                "rung": label(name),
                "elements": size_name(n),
                "kernel": f"`{longest['kernel']}`" if markdown else longest["kernel"],
                "duration, us": digits(longest["ns"] / 1e3, 4),
                "DRAM": f"{longest['dram']:.1f} %",
                "issue slots": f"{longest['issue']:.1f} %" if "issue" in longest else "",
                "registers": f"{longest['registers']:.0f}" if "registers" in longest else "",
                "warp instructions": _millions(longest.get("instructions")),
                "bank conflicts": _millions(longest.get("bank_conflicts")),
                "sectors loaded": _millions(longest.get("load_sectors")),
                "other kernels, us": digits(others / 1e3) if others else "",
            }
        )
    return table(lines, markdown)
