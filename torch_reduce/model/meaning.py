"""What each operator computes: a row for each, made of what the modules of its family have."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from . import exponentials, extremes, moments, powers, scaling, sums


def _same(dtype: torch.dtype) -> torch.dtype:
    return dtype


def _int64(dtype: torch.dtype) -> torch.dtype:
    return torch.int64


def _truth(dtype: torch.dtype) -> torch.dtype:
    return torch.uint8 if dtype == torch.uint8 else torch.bool


def _real(dtype: torch.dtype) -> torch.dtype:
    return dtype if dtype.is_floating_point else torch.get_default_dtype()


@dataclass(frozen=True)
class Meaning:
    """What an operator computes: ``finish(tree of combine over lift(x, index), n)``.

    What is combined is a number of the compute type, or several: an array of a structured type.
    """

    lift: Callable[[np.ndarray, np.ndarray], np.ndarray] = sums.elements  # of elements in the compute type
    combine: Callable[[np.ndarray, np.ndarray], np.ndarray] = np.add
    identity: float | Callable[[np.dtype], tuple] = -0.0
    finish: Callable[[np.ndarray, int], np.ndarray] = sums.positive_zero
    floating: bool = False  # the result is, whatever the elements are
    outgrows_integers: bool = False  # integers with a floating result accumulate in fp64
    spread: Callable[[np.ndarray, int, float], np.ndarray] | None = None  # as finish, but with a correction of n
    second: Callable[[np.ndarray, int], np.ndarray] | None = None  # as finish: another result, in the last dim
    integers: bool = True  # elements may be
    wider: bool = False  # computes in fp64, whatever the elements are
    wrapping: np.ufunc = np.add  # combines integers, in any order
    extremes: tuple[np.ufunc, ...] = ()  # in place of all that: each result is one of the elements
    index: bool = False  # the result is the index of an element
    skips_nan: bool = False  # NaN counts as nothing
    magnitude: bool = False  # extremes are those of magnitudes
    tests: bool = False  # elements convert to bool first
    result: Callable[[torch.dtype], torch.dtype] | None = None  # its type; None: as dtype= has it
    natural: Callable[[torch.dtype], torch.dtype] | None = None  # its type without dtype=; None: that of torch.sum

    def identity_in(self, dtype: np.dtype) -> np.ndarray:
        """The identity as a 0-d array."""
        return np.array(self.identity(dtype) if callable(self.identity) else self.identity, dtype)

    @property
    def selects(self) -> bool:
        """Whether the result is an element, or the index of one: there must be one, and no result is rounded."""
        return self.index or bool(self.extremes)

    @property
    def reduces_none(self) -> bool:
        """Whether an empty list of dims means none of them, as in torch's function, and not all."""
        return self.result is _truth

    @property
    def gives_pair(self) -> bool:
        """Whether there are two results, in the last dim."""
        return self.second is not None or len(self.extremes) == 2


def _of_moments(spread: Callable[[np.ndarray, int, float], np.ndarray], **more: Any) -> Meaning:
    return Meaning(
        lift=moments.moments,
        combine=moments.added_moments,
        identity=moments.no_moments,
        spread=spread,
        integers=False,
        result=_same,
        **more,
    )


MEANING = {
    "sum": Meaning(),
    "mean": Meaning(finish=sums.divided, floating=True),
    "prod": Meaning(
        lift=scaling.factors,
        combine=scaling.multiplied,
        identity=scaling.one,
        finish=scaling.unscaled,
        wrapping=np.multiply,
        outgrows_integers=True,
    ),
    "sumsq": Meaning(lift=sums.squares, identity=0.0, finish=sums.as_it_is, outgrows_integers=True),
    "amax": Meaning(extremes=(np.maximum,), result=_same),
    "amin": Meaning(extremes=(np.minimum,), result=_same),
    "aminmax": Meaning(extremes=(np.minimum, np.maximum), result=_same),
    "argmax": Meaning(
        lift=extremes.indexed,
        combine=extremes.first_of(np.greater),
        identity=extremes.end_of_range("min"),
        finish=extremes.index_of,
        index=True,
        result=_int64,
    ),
    "argmin": Meaning(
        lift=extremes.indexed,
        combine=extremes.first_of(np.less),
        identity=extremes.end_of_range("max"),
        finish=extremes.index_of,
        index=True,
        result=_int64,
    ),
    "count_nonzero": Meaning(tests=True, finish=sums.as_it_is, result=_int64),
    "logsumexp": Meaning(
        lift=exponentials.exponentials,
        combine=exponentials.added_exponentials,
        identity=exponentials.no_exponential,
        finish=exponentials.log_of_sum,
        outgrows_integers=True,
        natural=_real,
    ),
    "var": _of_moments(moments.variance),
    "std": _of_moments(moments.deviation),
    "var_mean": _of_moments(moments.variance, second=moments.mean),
    "std_mean": _of_moments(moments.deviation, second=moments.mean),
    "norm2": Meaning(
        lift=scaling.scaled_squares,
        combine=scaling.added_scaled,
        identity=scaling.no_square,
        finish=scaling.root,
        integers=False,
        wider=True,
    ),
    "nansum": Meaning(
        lift=sums.counted,
        combine=sums.added_counted,
        identity=sums.nothing_counted,
        finish=sums.sum_of_counted,
        skips_nan=True,
    ),
    "nanmean": Meaning(
        lift=sums.counted,
        combine=sums.added_counted,
        identity=sums.nothing_counted,
        finish=sums.mean_of_counted,
        integers=False,
        skips_nan=True,
    ),
    "norm0": Meaning(tests=True, finish=sums.as_it_is, integers=False),
    "norm1": Meaning(lift=sums.magnitudes, integers=False),
    "norm_inf": Meaning(extremes=(np.maximum,), magnitude=True, integers=False),
    "norm_minus_inf": Meaning(extremes=(np.minimum,), magnitude=True, integers=False),
    "any": Meaning(tests=True, finish=sums.is_any, result=_truth),
    "all": Meaning(tests=True, finish=sums.is_all, result=_truth),
}


MEANING["norm"] = MEANING["norm2"]
NORMS: dict[float, str] = {0: "norm0", 1: "norm1", 2: "norm2", math.inf: "norm_inf", -math.inf: "norm_minus_inf"}
"""Operators that are the norm of an order."""

APART, TOGETHER = ("sum", "mean"), ("sumsq", "norm2")
"""Operators that take complex elements: both parts of a number have a result each, or are reduced together. Of other
norms each number has a magnitude, which is ``norm2`` of both."""

MAGNITUDE = ("norm", *(norm for norm in NORMS.values() if norm not in TOGETHER))


def of_order(order: float, dtype: torch.dtype) -> Meaning:
    """The norm of any other one, of elements of a type."""

    def lift(x: np.ndarray, index: np.ndarray) -> np.ndarray:
        return scaling.scaled(*powers.powers(x, order, dtype))

    def finish(total: np.ndarray, n: int) -> np.ndarray:
        return scaling.unscaled(scaling.scaled(*powers.root(total["significand"], total["exponent"], order, n)), n)

    return replace(MEANING["norm2"], lift=lift, finish=finish)
