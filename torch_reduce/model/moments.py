"""The variance in NumPy, as docs/order.md defines it: by sums in twice the precision of the compute type."""

from __future__ import annotations

import numpy as np

from .elementary import two_sum


def _lacks(a: np.ndarray, b: np.ndarray, product: np.ndarray) -> np.ndarray:
    """``a * b - product``, the rounded product, rounded once: T. J. Dekker, with the exponents of a long double."""
    halves = []
    for x in (a, b):
        upper = (x.view(np.int64) & ~np.int64((1 << 26) - 1)).view(np.float64)
        halves.append((upper.astype(np.longdouble), (x - upper).astype(np.longdouble)))
    (ah, al), (bh, bl) = halves
    return (((ah * bh - product) + ah * bl) + al * bh + al * bl).astype(np.float64)


def moments(x: np.ndarray, index: np.ndarray) -> np.ndarray:
    """An element and its square: in float64 of float32, else as sums of two."""
    if x.dtype == np.float32:
        found = np.empty(x.shape, [("sum", np.float64), ("squares", np.float64)])
        found["sum"], found["squares"] = x, x.astype(np.float64) ** 2
        return found
    found = np.zeros(x.shape, [(name, np.float64) for name in ("sum", "sum_low", "squares", "squares_low")])
    found["sum"], found["squares"] = x, x * x
    found["squares_low"] = _lacks(x, x, found["squares"])
    return found


def _numbers(moments: np.dtype) -> int:
    """How many there are: a sum and one of squares, or both as sums of two."""
    return len(moments.names or ())


def no_moments(pair: np.dtype) -> tuple:
    return (0.0,) * _numbers(pair)


def added_moments(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    found = np.empty_like(a)
    for name in ("sum", "squares"):
        if _numbers(a.dtype) == 2:
            found[name] = a[name] + b[name]
        else:
            found[name], rest = two_sum(a[name], b[name])
            found[f"{name}_low"] = (a[f"{name}_low"] + b[f"{name}_low"]) + rest
    return found


def mean(found: np.ndarray, n: int) -> np.ndarray:
    count, total = np.float64(n), found["sum"]
    if _numbers(found.dtype) == 2:
        return total / count + 0.0
    high, low = _divided(found, n)
    return np.where(np.isfinite(total), (high + low) + 0.0, total / count)


def mean_of_two(found: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The mean of fp64 as a sum of two: the rounded one, and what that lacks."""
    high = mean(found, n)
    upper, lower = _divided(found, n)
    return high, (upper - high) + lower


def _divided(found: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The mean as a sum of two."""
    count, total = np.float64(n), found["sum"]
    high = total / count
    scaled = high * count
    rest = (total.astype(np.longdouble) - scaled - _lacks(high, np.full_like(high, count), scaled)).astype(np.float64)
    return high, (rest + found["sum_low"]) / count


def _squared_differences(found: np.ndarray, n: int) -> np.ndarray:
    count, total = np.float64(n), found["sum"]
    if _numbers(found.dtype) == 2:
        return found["squares"] - total / count * total
    upper, lower = _divided(found, n)
    product = upper * total
    product_low = _lacks(upper, total, product) + (upper * found["sum_low"] + lower * total)
    high, low = two_sum(found["squares"], -product)
    differences = high + ((found["squares_low"] - product_low) + low)
    overflows = np.where(np.isfinite(total), np.inf, np.nan)
    return np.where(found["squares"] == np.inf, overflows, differences)


def variance(found: np.ndarray, n: int, correction: float) -> np.ndarray:
    differences = _squared_differences(found, n)
    return np.where(differences < 0, 0.0, differences) / np.float64(np.maximum(n - correction, 0))


def deviation(found: np.ndarray, n: int, correction: float) -> np.ndarray:
    return np.sqrt(variance(found, n, correction))
