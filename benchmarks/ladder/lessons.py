"""What a table of times does not show: how far results spread, what becomes of subnormals, where fp16 ends."""

from __future__ import annotations

import torch

from . import library, rungs
from .library import Library
from .measure import repeats

SUBNORMAL = ("two_pass", "last_block_acq_rel", "atomic_block", "cluster", "deterministic", "atomic", "torch")
SPREAD = ("atomic_each", *SUBNORMAL)
HALF_SIZES = (1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 17, 1 << 18, 1 << 22)


def _call(ladder: Library, name: str, n: int, device: torch.device):
    rung = rungs.BY_NAME[name]
    return ladder.call(rung, n, device) if rung.in_library else library.product(rung)


def spread(ladder: Library, x: torch.Tensor, runs: int) -> list[dict]:
    """The results of many runs on one input of numbers from 0 to 1: how many differ, and by how much."""
    exact = x.sum(dtype=torch.float64)
    found = []
    for name in SPREAD:
        try:
            results = repeats(_call(ladder, name, x.numel(), x.device), x, runs).double()
        except library.NotOnThisGpu:
            continue
        low, high = results.min(), results.max()
        found.append(
            {
                "rung": name,
                "elements": x.numel(),
                "runs": runs,
                "distinct": len(results.unique()),
                "lowest": low.item(),
                "highest": high.item(),
                "spread": ((high - low) / exact).item(),
                "worst_error": ((results - exact).abs().max() / exact).item(),
            }
        )
    return found


def subnormal(ladder: Library, device: torch.device) -> list[dict]:
    """The sum of 2^20 of the smallest positive fp32 numbers, 2^-149. It is 2^-129, which fp32 holds exactly; and so is
    every partial sum."""
    n = 1 << 20
    x = torch.full((n,), 1, dtype=torch.int32, device=device).view(torch.float32)
    found = []
    for name in SUBNORMAL:
        try:
            result = _call(ladder, name, n, device)(x)
        except library.NotOnThisGpu:
            continue
        found.append({"rung": name, "elements": n, "right": n * 2.0**-149, "result": result.double().item()})
    return found


def half(ladder: Library, device: torch.device) -> list[dict]:
    """Sums of fp16 numbers from 0 to 1 with fp32 and with fp16 additions. A result in fp16 ends at 65,504."""
    found = []
    for n in HALF_SIZES:
        x = torch.rand(n, generator=torch.Generator(device).manual_seed(3), device=device).half()
        exact = x.sum(dtype=torch.float64)
        entry = {"elements": n, "right": exact.item()}
        for name in ("half_input", "half_accumulate"):
            result = _call(ladder, name, n, device)(x).double()
            entry[name] = result.item()
            entry[f"{name}_error"] = ((result - exact).abs() / exact).item()
        found.append(entry)
    return found
