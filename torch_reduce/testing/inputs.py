"""Test values by formula: the same ones everywhere."""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from ..model import MEANING
from .operators import FLOAT8, INTEGERS


def splitmix(n: int, start: int = 0) -> np.ndarray:
    """The upper halves (uint32) of SplitMix64 outputs start+1 .. start+n, as tests/data/vectors.json defines them."""
    z = np.arange(start + 1, start + n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(32)).astype(np.uint32)


def order_fill(n: int, start: int = 0) -> np.ndarray:
    """float32 values of both signs and of magnitudes 2^-8 to 2^8, for sums."""
    h = splitmix(n, start)
    magnitude = np.ldexp(1 + (h & 0x7FFF) / 32768, ((h >> 15) & 15).astype(np.int32) - 8)
    return np.where(h >> 31, -magnitude, magnitude).astype(np.float32)


def unit_fill(n: int, start: int = 0) -> np.ndarray:
    """float32 values of both signs in [0.5, 2), for products: odd elements are reciprocals of such values."""
    h = splitmix(n, start)
    u = (1 + (h & 0x7FFF) / 32768).astype(np.float32)
    u = np.where(h >> 31, -u, u)
    return np.where(np.arange(n) % 2 == 0, u, np.float32(1) / u).astype(np.float32)


def fill(shape: Sequence[int], dtype: torch.dtype, *, op: str = "sum", device: str = "cpu", start: int = 0) -> Tensor:
    """A contiguous tensor of test values: :func:`unit_fill` for products, else :func:`order_fill`, rounded to
    ``dtype``; all bits of the type for integers; bool half and half. What tests elements gets hundreds of zeros, of
    others, and of both in turn; what skips NaN, hundreds of which half are; what adds exponentials, thousands for which
    all count, and then wide ones."""
    n = math.prod(shape)
    if dtype == torch.bool or dtype in INTEGERS:
        values = splitmix(n, start).astype(np.int64) * np.int64(0x100000001)
        values = (values >> 8) & 1 if dtype == torch.bool else values
    else:
        values = unit_fill(n, start) if op == "prod" else order_fill(n, start)
        values = values * (1 + 2.0**-40) if dtype == torch.float64 else values
        if MEANING[op].skips_nan:
            values[((np.arange(n) + start) // 300 % 3 == 2) & (splitmix(n, start) >> 9 & 1 == 1)] = np.nan
        if op == "logsumexp":
            values = np.where((np.arange(n) + start) // 3000 % 3 == 2, values, values / 64)
    if MEANING[op].tests:
        kind, is_odd = (np.arange(n) + start) // 300 % 3, splitmix(n, start) >> 9 & 1
        values[(kind == 0) | ((kind == 2) & (is_odd == 1))] = 0
    if dtype in FLOAT8:  # what is beyond the type would be NaN
        values = values.clip(-torch.finfo(dtype).max, torch.finfo(dtype).max)
    return torch.from_numpy(values).to(dtype).reshape(tuple(shape)).to(device)
