"""Sums of exponentials, with a reference that powers of e are taken out by."""

import numpy as np

from .elementary import exp_of_near, log_of_normal, numbers_of_exp


def exponentials(x: np.ndarray, index: np.ndarray) -> np.ndarray:
    """exp(x) as sum * exp(reference)."""
    step, (_, magic, *_) = x.dtype.type(128), numbers_of_exp(x.dtype)
    is_far = ~(np.abs(x) < magic / x.dtype.type(1.5) * 64)
    near = np.where(is_far, x.dtype.type(0), x)
    rounded = np.rint(near / step) * step
    pairs = np.empty(x.shape, [("sum", x.dtype), ("reference", x.dtype)])
    pairs["sum"] = np.where(np.isnan(x), x, exp_of_near(near - rounded))
    pairs["reference"] = np.where(np.isnan(x), np.inf, np.where(is_far, x, rounded))
    return pairs


def added_exponentials(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    a_is_upper = a["reference"] > b["reference"]
    upper, lower = np.where(a_is_upper, a, b), np.where(a_is_upper, b, a)
    *_, factor = numbers_of_exp(upper["sum"].dtype)
    lowered = np.where(upper["reference"] - lower["reference"] == 128, lower["sum"] * factor * factor, 0)
    upper["sum"] += np.where(upper["reference"] == lower["reference"], lower["sum"], lowered)
    return upper


def no_exponential(pair: np.dtype) -> tuple:
    return 1, -np.inf


def log_of_sum(pair: np.ndarray, n: int) -> np.ndarray:
    return pair["reference"].astype(np.float64) + log_of_normal(pair["sum"].astype(np.float64))
