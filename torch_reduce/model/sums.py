"""Sums, means and counts, of all elements or of those that are numbers."""

import numpy as np


def positive_zero(total: np.ndarray, n: int) -> np.ndarray:
    return total + total.dtype.type(0)


def divided(total: np.ndarray, n: int) -> np.ndarray:
    quotient = np.float32 if total.dtype == np.float32 else np.float64
    return (total.astype(quotient) + quotient(0)) / quotient(n)


def as_it_is(total: np.ndarray, n: int) -> np.ndarray:
    return total


def elements(x: np.ndarray, index: np.ndarray) -> np.ndarray:
    return x


def squares(x: np.ndarray, index: np.ndarray) -> np.ndarray:
    return np.square(x)


def magnitudes(x: np.ndarray, index: np.ndarray) -> np.ndarray:
    return np.abs(x)


def counted(x: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Elements that are numbers, and how many: NaN is none. Integers are as they are."""
    if x.dtype.kind != "f":
        return x
    pairs = np.empty(x.shape, [("sum", x.dtype), ("count", np.int64)])
    pairs["count"] = ~np.isnan(x)
    pairs["sum"] = np.where(np.isnan(x), x.dtype.type(-0.0), x)
    return pairs


def added_counted(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    total = np.empty_like(a)
    for name in ("sum", "count"):
        total[name] = a[name] + b[name]
    return total


def nothing_counted(pair: np.dtype) -> tuple:
    return -0.0, 0


def sum_of_counted(total: np.ndarray, n: int) -> np.ndarray:
    return positive_zero(total if total.dtype.names is None else total["sum"], n)


def mean_of_counted(total: np.ndarray, n: int) -> np.ndarray:
    found = sum_of_counted(total, n)
    return found / total["count"].astype(found.dtype)


def is_any(count: np.ndarray, n: int) -> np.ndarray:
    return count != 0


def is_all(count: np.ndarray, n: int) -> np.ndarray:
    return count == n
