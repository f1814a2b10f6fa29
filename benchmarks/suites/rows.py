"""From samples to a row of the result: plain numbers, ready for JSON."""

from __future__ import annotations

import numpy as np

from .shapes import Case


def quartiles(samples) -> dict[str, float]:
    low, median, high = np.percentile(np.asarray(samples, dtype=float), [25, 50, 75])
    return {"median": float(median), "low": float(low), "high": float(high)}


def row(case: Case, device: str, samples: dict[str, list[float]], **more) -> dict:
    """One case's row. `samples` holds microseconds per call by contender, the same number for each, taken in rounds:
    ratios are taken within a round and then summarised, by their median and quartiles."""
    moved = case.in_bytes + case.out_bytes
    contenders = {}
    for name, us in samples.items():
        entry: dict = {"us": quartiles(us), "gb_per_s": moved / (float(np.median(us)) * 1e3)}
        if "torch" in samples:
            entry["speedup"] = quartiles(np.divide(samples["torch"], us))
        if "limit" in samples:
            entry["times_limit"] = quartiles(np.divide(us, samples["limit"]))
        for peer in ("inductor", "cub", "fsum", "torch_ops"):
            if peer in samples and name != peer:
                entry[f"speedup_over_{peer}"] = quartiles(np.divide(samples[peer], us))
        contenders[name] = entry
    return {
        "suite": case.suite,
        "device": device,
        "op": case.op,
        "shape": list(case.shape),
        "dims": None if case.dims is None else list(case.dims),
        "layout": case.layout,
        "keeps_order": case.keeps_order,
        "data": case.data,
        "dtype": case.dtype_name,
        "label": case.label,
        "n": case.n,
        "outputs": case.outputs,
        "in_bytes": case.in_bytes,
        "out_bytes": case.out_bytes,
        **more,
        "contenders": contenders,
    }
