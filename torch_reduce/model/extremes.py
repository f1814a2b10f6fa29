"""The largest and the smallest elements, and their indices."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from .rounding import FORMAT


def extreme_of(elements: Tensor, extreme: np.ufunc) -> Tensor:
    values = elements.float().numpy() if elements.dtype in FORMAT else elements.numpy()
    largest = extreme is np.maximum
    result = torch.from_numpy(np.asarray(extreme.reduce(values, axis=1))).to(elements.dtype)
    if not elements.is_floating_point():
        return result
    # NumPy does not order the zeros.
    wins = (elements == 0) & (elements.signbit() != largest)
    zero = torch.where(wins.any(1) == largest, 0.0, -0.0).to(elements.dtype)
    return torch.where(result == 0, zero, result)


def indexed(x: np.ndarray, index: np.ndarray) -> np.ndarray:
    pairs = np.empty(x.shape, [("value", x.dtype), ("index", np.int64)])
    pairs["value"], pairs["index"] = x, index
    return pairs


def first_of(better: np.ufunc) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """The pair whose value is better, NaN being better than all, or that of the lower index."""

    def combine(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        a, b = left["value"], right["value"]
        a_nan, b_nan = a != a, b != b
        is_better = better(b, a) | (b_nan & ~a_nan)
        ties = (a == b) | (a_nan & b_nan)
        return np.where(is_better | (ties & (right["index"] < left["index"])), right, left)

    return combine


NO_INDEX = np.iinfo(np.int64).max


def end_of_range(end: str) -> Callable[[np.dtype], tuple]:
    """The smallest ("min") or the largest ("max") value of a type, at no element's index."""

    def identity(pair: np.dtype) -> tuple:
        value = pair["value"]
        by_kind: dict[str, dict[str, float]] = {"f": {"min": -np.inf, "max": np.inf}, "b": {"min": False, "max": True}}
        limits = by_kind.get(value.kind)
        return limits[end] if limits else getattr(np.iinfo(value), end), NO_INDEX

    return identity


def index_of(pair: np.ndarray, n: int) -> np.ndarray:
    return pair["index"]
