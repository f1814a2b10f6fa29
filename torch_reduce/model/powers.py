"""Powers of any order and their roots in NumPy, as docs/order.md defines them: in float64, or by logarithms in twice
that precision."""

from __future__ import annotations

import math

import numpy as np
import torch

from .elementary import _polynomial, exp_of, exp_of_near, fused, log_of_normal, two_sum

Two = tuple[np.ndarray, np.ndarray]


def _times(a: Two, b: Two) -> Two:
    high = a[0] * b[0]
    return high, fused(a[0], b[0], -high) + (a[0] * b[1] + a[1] * b[0])


def _plus(a: Two, b: Two) -> Two:
    high, low = two_sum(a[0], b[0])
    return two_sum(high, low + (a[1] + b[1]))


def _constant(high: str, low: str, like: np.ndarray) -> Two:
    return np.full_like(like, float.fromhex(high)), np.full_like(like, float.fromhex(low))


def _log2(significand: np.ndarray, exponent: np.ndarray) -> Two:
    """Of significands in [0.5, 1), or 0 in place of what has no logarithm, with an exponent."""
    is_low = significand < math.sqrt(0.5)
    m = np.where(significand > 0, np.where(is_low, 2 * significand, significand), 1.0)
    k = (exponent - is_low).astype(np.float64)
    zero, one = np.zeros_like(m), np.ones_like(m)
    below, low = two_sum(one, m)
    above = m - 1
    high = above / below
    t = high, (fused(-high, below, above) - high * low) / below
    w = _times(t, t)
    rest = _polynomial([(1 / n).hex() for n in range(27, 5, -2)], w[0])
    total = _plus(_constant("0x1.999999999999ap-3", "-0x1.999999999999ap-57", m), (w[0] * rest, zero))
    total = _plus(_constant("0x1.5555555555555p-2", "0x1.5555555555555p-56", m), _times(w, total))
    total = _plus((one, zero), _times(w, total))
    log = _times(_constant("0x1.71547652b82fep+1", "0x1.777d0ffda0d24p-55", m), _times(t, total))
    return _plus((k, zero), log)


def _exp2(y: Two) -> tuple[np.ndarray, np.ndarray]:
    """A number, and the exponent of the power of two that it is to be multiplied by."""
    ln2, ln2_low = _constant("0x1.62e42fefa39efp-1", "0x1.abc9e3b39803fp-56", y[0])
    k = np.rint(y[0])
    fraction = (y[0] - k) + y[1]
    power = fraction * ln2
    rest = fused(fraction, ln2, -power) + fraction * ln2_low
    exponential = exp_of_near(power)
    return fused(exponential, rest, exponential), k.astype(np.int64)


def powers(x: np.ndarray, order: float, dtype: torch.dtype) -> tuple[np.ndarray, np.ndarray]:
    """|x|^order of elements of a type, as a number and an exponent."""
    magnitude = np.abs(x)
    usual = (magnitude > 0) & np.isfinite(magnitude)
    in_range = np.where(usual, magnitude, 1.0)
    value, exponent = _power_in_range(in_range, order, dtype)
    ends = np.where((magnitude == 0) == (order > 0), 0.0, np.inf)
    ends = np.where(np.isnan(magnitude) | np.isnan(order), np.nan, ends)
    return np.where(usual & ~np.isnan(order), value, ends), np.where(usual, exponent, 0)


def _power_in_range(x: np.ndarray, order: float, dtype: torch.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Of positive finite numbers."""
    p = np.float64(order)
    if dtype == torch.float64 or not abs(p) <= 6:
        log = _log2(*np.frexp(x))
        high = log[0] * p
        return _exp2((high, fused(log[0], p, -high) + log[1] * p))
    none = np.zeros(x.shape, np.int64)
    if p != np.rint(p):
        return exp_of(p * log_of_normal(x)), none
    square, power = x * x, np.ones_like(x)
    for bit, factor in ((1, x), (2, square), (4, square * square)):
        power = power * factor if int(abs(p)) & bit else power
    return (1 / power if p < 0 else power), none


def root(significand: np.ndarray, exponent: np.ndarray, order: float, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Its 1/order-th power, likewise."""
    usual, p = (significand > 0) & np.isfinite(significand), np.float64(order)
    log = _log2(np.where(usual, significand, 0.5), np.where(usual, exponent, 1))
    high = log[0] / p
    far = ~(np.abs(high) < 2000)
    near = np.where(far, 0.0, high)
    value, k = _exp2((near, np.where(far, 0.0, (fused(-high, p, log[0]) + log[1]) / p)))
    value = np.where(far, np.where(high > 0, np.inf, 0.0), value)
    ends = np.where((significand == 0) == (order > 0), 0.0, np.inf)
    ends = np.where(np.isnan(significand) | np.isnan(p), 0.0 if n == 0 else np.nan, ends)
    usual &= not np.isnan(p)
    return np.where(usual, value, ends), np.where(usual, k, 0)
