"""Inputs, runs and checks that the tests of mode="exact" share."""

import math

import numpy as np
import pytest
import torch

import torch_reduce
from torch_reduce.exact_model import exact_model
from torch_reduce.testing import FLOATING, assert_same_bits

every_dtype = pytest.mark.parametrize("dtype", FLOATING, ids=str)
every_op = pytest.mark.parametrize("op", ["sum", "mean"])

_INT = {torch.float16: np.int16, torch.bfloat16: np.int16, torch.float32: np.int32, torch.float64: np.int64}


def run(x, dim=None, *, op="sum", device="cpu", **keywords):
    return getattr(torch_reduce, op)(x.to(device), dim, mode="exact", **keywords)


def of_bits(patterns: np.ndarray, dtype: torch.dtype) -> torch.Tensor:
    """Elements whose bits are the low bits of ``patterns``."""
    return torch.from_numpy(patterns.astype(_INT[dtype])).view(dtype)


def finite_bits(n: int, dtype: torch.dtype, seed: int) -> torch.Tensor:
    """n finite elements with uniform bits: every sign, exponent and fraction."""
    patterns = np.random.default_rng(seed).integers(-(2**63), 2**63, n, dtype=np.int64)
    x = of_bits(patterns, dtype)
    return torch.where(x.isfinite(), x, torch.zeros((), dtype=dtype))


def check(x, device, dim=None, out_types=FLOATING, ops=("sum", "mean")):
    for op in ops:
        for dtype in out_types:
            expected = exact_model(x, dim, op=op, dtype=dtype)
            assert_same_bits(run(x, dim, op=op, device=device, dtype=dtype).cpu(), expected, f"{op} to {dtype}")


def far_ties(dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Half-way cases that one more element decides, from every distance: rows of three, and their sums."""
    finfo = torch.finfo(dtype)
    top, low = math.frexp(finfo.max)[1] - 2, round(math.log2(finfo.smallest_normal * finfo.eps))
    big = 2.0**top
    small = [2.0**e for e in range(low, top - 60 if top > 60 else top - 15)]
    rows = [[big, big * finfo.eps / 2, sign * s] for s in small for sign in (1, -1)]
    sums = [big * (1 + finfo.eps) if row[2] > 0 else big for row in rows]
    return tuple(torch.tensor(t, dtype=torch.float64).to(dtype) for t in (rows, sums))
