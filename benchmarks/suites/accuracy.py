"""Errors of full sums, in units in the last place of the result, by length and by condition number."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import torch

from torch_reduce.exact_model import exact_sum, round_fraction

from ..measure import contenders
from .shapes import Case

ORDERS = 4  # orders of one case's elements that are summed; the largest error counts
BLOCK = 1 << 20  # elements that the model sums at a time, so that what it sorts stays in the cache
CONDITION = 1e4  # of the cases by length
LENGTH = 1 << 20  # of the cases by condition number


@dataclass(frozen=True)
class Sum:
    """A full sum of n elements whose condition number, sum |x| / |sum x|, is about as given."""

    dtype: torch.dtype
    n: int
    condition: float

    @property
    def case(self) -> Case:
        return Case("accuracy", (self.n,), None, self.dtype, data=f"condition {self.condition:.0e}")


def sums(quick: bool) -> list[Sum]:
    """Sums by length at one condition number, then by condition number at one length; quick ones are shorter."""
    lengths = [2**e for e in (range(10, 17, 3) if quick else range(10, 25, 2))]
    length = 1 << 13 if quick else LENGTH
    conditions = [10.0**e for e in range(0, 13, 4 if quick else 1)]
    return [
        Sum(dtype, n, condition)
        for dtype in (torch.float32, torch.bfloat16)
        for n, condition in dict.fromkeys([(n, CONDITION) for n in lengths] + [(length, c) for c in conditions])
    ]


def elements(wanted: Sum) -> torch.Tensor:
    """n elements, n a multiple of 4: half are pairs that cancel, half are positive, and their sums give the condition.

    The seed depends on what is wanted alone, so that every run and device sums the same elements.
    """
    generator = torch.Generator().manual_seed(round(math.log10(wanted.condition) * 64) + wanted.n.bit_length())
    half = wanted.n // 2
    rest = torch.rand(half, generator=generator, dtype=torch.float64) / wanted.condition
    pairs = torch.rand(half // 2, generator=generator, dtype=torch.float64) * (1 - 1 / wanted.condition)
    return torch.cat([rest, pairs, -pairs]).to(wanted.dtype)


def true_sum(x: torch.Tensor) -> Fraction:
    return sum((exact_sum(block.double().numpy()) for block in x.split(BLOCK)), Fraction(0))


def ulps(y: torch.Tensor, true: Fraction) -> float:
    """|y - true| in units in the last place of y's type at the true value, which is no zero."""
    info = torch.finfo(y.dtype)
    exponent = math.frexp(float(true))[1] - 1
    unit = Fraction(2) ** max(exponent, math.frexp(info.tiny)[1] - 1) * Fraction(info.eps)
    value = y.item()
    return float(abs(Fraction(value) - true) / unit) if math.isfinite(value) else math.inf


def calls_for(case: Case) -> dict[str, contenders.Call]:
    return {
        "deterministic": contenders.ours(case, "deterministic"),
        "exact": contenders.ours(case, "exact"),
        "torch": contenders.eager(case),
        "torch_fp64": lambda x: torch.sum(x, dtype=torch.float64).to(x.dtype),
    }


def run(wanted: list[Sum], device: torch.device) -> Iterator[dict]:
    for one in wanted:
        x = elements(one)
        true = true_sum(x)
        rounded = round_fraction(true, one.dtype)
        condition = x.double().abs().sum().item() / abs(float(true))
        calls = calls_for(one.case)
        found: dict[str, dict] = {name: {"ulps": 0.0, "rounded": True} for name in calls}
        x = x.to(device)
        generator = torch.Generator(device=device).manual_seed(one.n)
        for _ in range(ORDERS):
            x = x[torch.randperm(one.n, generator=generator, device=device)]
            for name, call in calls.items():
                y = call(x).cpu()
                found[name]["ulps"] = max(found[name]["ulps"], ulps(y, true))
                found[name]["rounded"] &= torch.equal(y, rounded)
        yield {
            "suite": "accuracy",
            "device": device.type,
            "op": "sum",
            "dtype": one.case.dtype_name,
            "label": one.case.label,
            "n": one.n,
            "condition": condition,
            "asked_condition": one.condition,
            "orders": ORDERS,
            "contenders": found,
        }
