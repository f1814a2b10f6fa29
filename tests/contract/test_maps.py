"""Softmax and norms beside the true values, within the bounds that docs/order.md derives."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
import torch
from map_cases import DTYPES, values

from torch_reduce.model.elementary import exp_of, exp_of_near
from torch_reduce.nn import functional

PRECISION = 60
every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)


def eps_of(dtype):
    return torch.finfo(torch.float64 if dtype == torch.float64 else torch.float32).eps


def depth(n):
    return 3 + math.ceil(math.log2(256 * math.ceil(n / 1024)))


def check(actual, true, bound, dtype):
    """``bound`` is of the compute type; then the result is rounded, and may be subnormal."""
    compute = torch.finfo(torch.float64 if dtype == torch.float64 else torch.float32)
    last, least = torch.finfo(dtype).eps / 2, torch.finfo(dtype).smallest_normal * torch.finfo(dtype).eps
    least = max(least, compute.smallest_normal * compute.eps)
    for i, (a, t, b) in enumerate(zip(actual.tolist(), true, bound, strict=True)):
        allowed = (b + Decimal(last) * (abs(t) + b) if dtype.itemsize == 2 else b) + Decimal(least)
        assert abs(Decimal(a) - t) <= allowed, f"{i}: {a}, not {t}: {abs(Decimal(a) - t) / allowed} of the bound"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exp_of_any_number(dtype):
    """Within 1 ulp, of a subnormal result 1.5; 0 and infinity beyond; the bits of the other one where both are."""
    end = 104 if dtype == np.float32 else 746
    x = np.concatenate([np.random.default_rng(3).uniform(-end, 88.5, 1000), [-end, -0.0, 0, 88.5]]).astype(dtype)
    with localcontext() as context:
        context.prec = PRECISION
        for of, y in zip(x, exp_of(x), strict=True):
            ulps = Decimal("1.5") if y < np.finfo(dtype).smallest_normal else 1
            assert abs(Decimal(float(y)) - Decimal(float(of)).exp()) <= ulps * Decimal(float(np.spacing(y))), of
    near = x[np.abs(x) <= 64]
    assert np.array_equal(exp_of(near), exp_of_near(near))
    far = np.array([-np.inf, -1e30, -10 * end, 10 * end, 1e30, np.inf, np.nan]).astype(dtype)
    assert np.array_equal(exp_of(far), np.array([0, 0, 0, np.inf, np.inf, np.inf, np.nan], dtype), equal_nan=True)


@every_dtype
@pytest.mark.parametrize("scale", [0.01, 1, 30, 1000], ids=str)
def test_softmax(dtype, scale, device):
    eps = Decimal(eps_of(dtype))
    for n in (1, 2, 255, 1100):
        x = (values(1, n, torch.float64, start=n)[0] * scale).to(dtype)
        with localcontext() as context:
            context.prec = PRECISION
            exact = [Decimal(v) for v in x.tolist()]
            log = max(exact) + sum((v - max(exact)).exp() for v in exact).ln()
            logs = [v - log for v in exact]
            share = eps * Decimal(depth(n) / 2 + 8)
            shares = [v.exp() for v in logs]
            check(functional.softmax(x.to(device), 0), shares, [share * v for v in shares], dtype)
            of_log = 2 * Decimal(torch.finfo(torch.float64).eps) * Decimal(64 + math.log(n))
            bounds = [eps * (Decimal(depth(n) / 2 + 4) + abs(v)) + of_log for v in logs]
            check(functional.log_softmax(x.to(device), 0), logs, bounds, dtype)


@every_dtype
@pytest.mark.parametrize("mean", [0, 3000], ids=str)
def test_norms(dtype, mean, device):
    eps = Decimal(eps_of(dtype))
    for n in (2, 255, 1100):
        x = (values(1, n, torch.float64, start=n)[0] + mean).to(dtype)
        weight, bias = values(2, n, dtype, start=3)
        with localcontext() as context:
            context.prec = PRECISION
            exact, w, b = ([Decimal(v) for v in t.tolist()] for t in (x, weight, bias))
            added = Decimal(float(np.float32(1e-5))) if dtype != torch.float64 else Decimal(1e-5)
            root = (sum(v * v for v in exact) / n + added).sqrt()
            true = [v / root * of for v, of in zip(exact, w, strict=True)]
            actual = functional.rms_norm(x.to(device), (n,), weight.to(device), 1e-5)
            check(actual, true, [eps * Decimal(depth(n) / 2 + 4) * abs(t) for t in true], dtype)
            of_mean = sum(exact) / n
            root = (sum((v - of_mean) ** 2 for v in exact) / n + added).sqrt()
            scaled = [(v - of_mean) / root * of for v, of in zip(exact, w, strict=True)]
            true = [s + of for s, of in zip(scaled, b, strict=True)]
            actual = functional.layer_norm(x.to(device), (n,), weight.to(device), bias.to(device))
            check(actual, true, [eps * (4 * abs(s) + abs(t)) for s, t in zip(scaled, true, strict=True)], dtype)
