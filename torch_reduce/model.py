"""An independent model of the contract of mode "deterministic", in NumPy, to test the kernels against.

It is written from docs/order.md alone, shares no code with the kernels, and is vectorised: a million elements take
some milliseconds.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ._twins import Dims, reduced_dims
from .elementary import exp_of_near, log_of_normal, numbers_of_exp
from .power_model import powers, root
from .variance_model import added_moments, deviation, mean, moments, no_moments, variance

# Significant bits and the exponent of the smallest normal number.
FORMAT = {torch.float16: (11, -14), torch.bfloat16: (8, -126)}


def _positive_zero(total: np.ndarray, n: int) -> np.ndarray:
    return total + total.dtype.type(0)


def _divided(total: np.ndarray, n: int) -> np.ndarray:
    quotient = np.float32 if total.dtype == np.float32 else np.float64
    return (total.astype(quotient) + quotient(0)) / quotient(n)


def _as_it_is(total: np.ndarray, n: int) -> np.ndarray:
    return total


def _elements(x: np.ndarray, index: np.ndarray) -> np.ndarray:
    return x


def _squares(x: np.ndarray, index: np.ndarray) -> np.ndarray:
    return np.square(x)


def _counted(x: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Elements that are numbers, and how many: NaN is none. Integers are as they are."""
    if x.dtype.kind != "f":
        return x
    pairs = np.empty(x.shape, [("sum", x.dtype), ("count", np.int64)])
    pairs["count"] = ~np.isnan(x)
    pairs["sum"] = np.where(np.isnan(x), x.dtype.type(-0.0), x)
    return pairs


def _added_counted(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    total = np.empty_like(a)
    for name in ("sum", "count"):
        total[name] = a[name] + b[name]
    return total


def _nothing_counted(pair: np.dtype) -> tuple:
    return -0.0, 0


def _sum_of_counted(total: np.ndarray, n: int) -> np.ndarray:
    return _positive_zero(total if total.dtype.names is None else total["sum"], n)


def _mean_of_counted(total: np.ndarray, n: int) -> np.ndarray:
    found = _sum_of_counted(total, n)
    return found / total["count"].astype(found.dtype)


def _scaled(x: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """A significand in [0.5, 1), or what has none, and an exponent that is an integer of its own."""
    pairs = np.empty(x.shape, [("significand", x.dtype), ("exponent", np.int64)])
    pairs["significand"], more = np.frexp(x)
    pairs["exponent"] = exponent + more
    return pairs


def _factors(x: np.ndarray, index: np.ndarray) -> np.ndarray:
    return x if x.dtype.kind in "iu" else _scaled(x, np.zeros(x.shape, np.int64))


def _multiplied(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return _scaled(a["significand"] * b["significand"], a["exponent"] + b["exponent"])


def _scaled_squares(x: np.ndarray, index: np.ndarray) -> np.ndarray:
    factors = _scaled(x, np.zeros(x.shape, np.int64))
    return _multiplied(factors, factors)


def _added_scaled(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Rounded as if exponents had no end: of what is shifted out, nothing would be seen."""
    exponent = np.maximum(*(np.where(v["significand"] == 0, _FAR_BELOW, v["exponent"]) for v in (a, b)))
    shifts = (np.clip(v["exponent"] - exponent, -2000, 0).astype(np.int32) for v in (a, b))
    return _scaled(sum(np.ldexp(v["significand"], shift) for v, shift in zip((a, b), shifts, strict=True)), exponent)


_FAR_BELOW = -(1 << 40)


def _no_square(pair: np.dtype) -> tuple:
    return 0.0, _FAR_BELOW


def _root(pair: np.ndarray, n: int) -> np.ndarray:
    """Rounded to float64 as if exponents had no end, which those of a long double are."""
    odd = pair["exponent"] & 1
    root = np.sqrt(np.ldexp(pair["significand"], odd.astype(np.int32)))
    return _unscaled(_scaled(root, (pair["exponent"] - odd) // 2), n)


def _magnitudes(x: np.ndarray, index: np.ndarray) -> np.ndarray:
    return np.abs(x)


def _one(pair: np.dtype) -> tuple:
    return 1.0, 0


def _unscaled(pair: np.ndarray, n: int) -> np.ndarray:
    """Exact: a long double has the exponents of all results that a type of PyTorch has."""
    if pair.dtype.names is None:
        return pair
    far = 8000
    return np.ldexp(pair["significand"].astype(np.longdouble), np.clip(pair["exponent"], -far, far).astype(np.int32))


def _indexed(x: np.ndarray, index: np.ndarray) -> np.ndarray:
    pairs = np.empty(x.shape, [("value", x.dtype), ("index", np.int64)])
    pairs["value"], pairs["index"] = x, index
    return pairs


def _index_of(pair: np.ndarray, n: int) -> np.ndarray:
    return pair["index"]


def _first_of(better: np.ufunc) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """The pair whose value is better, NaN being better than all, or that of the lower index."""

    def combine(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        a, b = left["value"], right["value"]
        a_nan, b_nan = a != a, b != b
        is_better = better(b, a) | (b_nan & ~a_nan)
        ties = (a == b) | (a_nan & b_nan)
        return np.where(is_better | (ties & (right["index"] < left["index"])), right, left)

    return combine


_NO_INDEX = np.iinfo(np.int64).max


def _end_of_range(end: str) -> Callable[[np.dtype], tuple]:
    """The smallest ("min") or the largest ("max") value of a type, at no element's index."""

    def identity(pair: np.dtype) -> tuple:
        value = pair["value"]
        by_kind: dict[str, dict[str, float]] = {"f": {"min": -np.inf, "max": np.inf}, "b": {"min": False, "max": True}}
        limits = by_kind.get(value.kind)
        return limits[end] if limits else getattr(np.iinfo(value), end), _NO_INDEX

    return identity


def _is_any(count: np.ndarray, n: int) -> np.ndarray:
    return count != 0


def _is_all(count: np.ndarray, n: int) -> np.ndarray:
    return count == n


def _same(dtype: torch.dtype) -> torch.dtype:
    return dtype


def _int64(dtype: torch.dtype) -> torch.dtype:
    return torch.int64


def _truth(dtype: torch.dtype) -> torch.dtype:
    return torch.uint8 if dtype == torch.uint8 else torch.bool


def _exponentials(x: np.ndarray, index: np.ndarray) -> np.ndarray:
    """exp(x) as sum * exp(reference)."""
    step, (_, magic, *_) = x.dtype.type(128), numbers_of_exp(x.dtype)
    is_far = ~(np.abs(x) < magic / x.dtype.type(1.5) * 64)
    near = np.where(is_far, x.dtype.type(0), x)
    rounded = np.rint(near / step) * step
    pairs = np.empty(x.shape, [("sum", x.dtype), ("reference", x.dtype)])
    pairs["sum"] = np.where(np.isnan(x), x, exp_of_near(near - rounded))
    pairs["reference"] = np.where(np.isnan(x), np.inf, np.where(is_far, x, rounded))
    return pairs


def _added_exponentials(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    a_is_upper = a["reference"] > b["reference"]
    upper, lower = np.where(a_is_upper, a, b), np.where(a_is_upper, b, a)
    *_, factor = numbers_of_exp(upper["sum"].dtype)
    lowered = np.where(upper["reference"] - lower["reference"] == 128, lower["sum"] * factor * factor, 0)
    upper["sum"] += np.where(upper["reference"] == lower["reference"], lower["sum"], lowered)
    return upper


def _no_exponential(pair: np.dtype) -> tuple:
    return 1, -np.inf


def _log_of_sum(pair: np.ndarray, n: int) -> np.ndarray:
    return pair["reference"].astype(np.float64) + log_of_normal(pair["sum"].astype(np.float64))


def _real(dtype: torch.dtype) -> torch.dtype:
    return dtype if dtype.is_floating_point else torch.get_default_dtype()


@dataclass(frozen=True)
class Meaning:
    """What an operator computes: ``finish(tree of combine over lift(x, index), n)``.

    What is combined is a number of the compute type, or several: an array of a structured type.
    """

    lift: Callable[[np.ndarray, np.ndarray], np.ndarray] = _elements  # of elements in the compute type
    combine: Callable[[np.ndarray, np.ndarray], np.ndarray] = np.add
    identity: float | Callable[[np.dtype], tuple] = -0.0
    finish: Callable[[np.ndarray, int], np.ndarray] = _positive_zero
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
    def gives_pair(self) -> bool:
        """Whether there are two results, in the last dim."""
        return self.second is not None or len(self.extremes) == 2


def _of_moments(spread: Callable[[np.ndarray, int, float], np.ndarray], **more: Any) -> Meaning:
    return Meaning(
        lift=moments,
        combine=added_moments,
        identity=no_moments,
        spread=spread,
        integers=False,
        result=_same,
        **more,
    )


MEANING = {
    "sum": Meaning(),
    "mean": Meaning(finish=_divided, floating=True),
    "prod": Meaning(
        lift=_factors,
        combine=_multiplied,
        identity=_one,
        finish=_unscaled,
        wrapping=np.multiply,
        outgrows_integers=True,
    ),
    "sumsq": Meaning(lift=_squares, identity=0.0, finish=_as_it_is, outgrows_integers=True),
    "amax": Meaning(extremes=(np.maximum,), result=_same),
    "amin": Meaning(extremes=(np.minimum,), result=_same),
    "aminmax": Meaning(extremes=(np.minimum, np.maximum), result=_same),
    "argmax": Meaning(
        lift=_indexed,
        combine=_first_of(np.greater),
        identity=_end_of_range("min"),
        finish=_index_of,
        index=True,
        result=_int64,
    ),
    "argmin": Meaning(
        lift=_indexed,
        combine=_first_of(np.less),
        identity=_end_of_range("max"),
        finish=_index_of,
        index=True,
        result=_int64,
    ),
    "count_nonzero": Meaning(tests=True, finish=_as_it_is, result=_int64),
    "logsumexp": Meaning(
        lift=_exponentials,
        combine=_added_exponentials,
        identity=_no_exponential,
        finish=_log_of_sum,
        outgrows_integers=True,
        natural=_real,
    ),
    "var": _of_moments(variance),
    "std": _of_moments(deviation),
    "var_mean": _of_moments(variance, second=mean),
    "std_mean": _of_moments(deviation, second=mean),
    "norm2": Meaning(
        lift=_scaled_squares,
        combine=_added_scaled,
        identity=_no_square,
        finish=_root,
        integers=False,
        wider=True,
    ),
    "nansum": Meaning(
        lift=_counted, combine=_added_counted, identity=_nothing_counted, finish=_sum_of_counted, skips_nan=True
    ),
    "nanmean": Meaning(
        lift=_counted,
        combine=_added_counted,
        identity=_nothing_counted,
        finish=_mean_of_counted,
        integers=False,
        skips_nan=True,
    ),
    "norm0": Meaning(tests=True, finish=_as_it_is, integers=False),
    "norm1": Meaning(lift=_magnitudes, integers=False),
    "norm_inf": Meaning(extremes=(np.maximum,), magnitude=True, integers=False),
    "norm_minus_inf": Meaning(extremes=(np.minimum,), magnitude=True, integers=False),
    "any": Meaning(tests=True, finish=_is_any, result=_truth),
    "all": Meaning(tests=True, finish=_is_all, result=_truth),
}

MEANING["norm"] = MEANING["norm2"]
NORMS: dict[float, str] = {0: "norm0", 1: "norm1", 2: "norm2", math.inf: "norm_inf", -math.inf: "norm_minus_inf"}
"""Operators that are the norm of an order."""


def _of_order(order: float) -> Meaning:
    """The norm of any other one."""

    def lift(x: np.ndarray, index: np.ndarray) -> np.ndarray:
        return _scaled(*powers(x, order))

    def finish(total: np.ndarray, n: int) -> np.ndarray:
        return _unscaled(_scaled(*root(total["significand"], total["exponent"], order, n)), n)

    return replace(MEANING["norm2"], lift=lift, finish=finish)


def canonical(x: np.ndarray, op: str = "sum") -> np.ndarray:
    """Combines the last axis of ``x``, lifted elements of ``op``, in the canonical order, in the type of ``x``."""
    combine, identity = MEANING[op].combine, MEANING[op].identity_in(x.dtype)
    n = x.shape[-1]
    chunks = max(1, -(-n // 1024))
    padded = np.full((*x.shape[:-1], chunks * 1024), identity, x.dtype)
    padded[..., :n] = x
    steps = padded.reshape(*x.shape[:-1], chunks, 4, 256)
    leaves = steps[..., 0, :]
    for step in range(1, 4):
        leaves = combine(leaves, steps[..., step, :])
    chunk_results = tree(leaves, combine)
    width = 1 << (chunks - 1).bit_length()
    all_chunks = np.full((*x.shape[:-1], width), identity, x.dtype)
    all_chunks[..., :chunks] = chunk_results
    return tree(all_chunks, combine)


def tree(v: np.ndarray, combine: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
    while v.shape[-1] > 1:
        v = combine(v[..., 0::2], v[..., 1::2])
    return v[..., 0]


def output_dtype(op: str, dtype_in: torch.dtype, dtype: torch.dtype | None = None) -> torch.dtype:
    """The type of a result where ``dtype`` may or may not be given."""
    meaning = MEANING[op]
    if meaning.result is not None:
        return meaning.result(dtype_in)
    if meaning.natural is not None:
        return dtype or meaning.natural(dtype_in)
    keeps = meaning.floating or dtype_in.is_floating_point
    return dtype or (dtype_in if keeps else torch.int64)


def compute_dtype(op: str, dtype_in: torch.dtype, dtype_out: torch.dtype) -> torch.dtype:
    """The type in which an operator that accumulates does so."""
    if not dtype_out.is_floating_point:
        return torch.int64
    if not dtype_in.is_floating_point:
        return torch.float64 if MEANING[op].outgrows_integers else torch.int64
    return torch.float64 if MEANING[op].wider or torch.float64 in (dtype_in, dtype_out) else torch.float32


def rows(x: Tensor, dim: Dims = None) -> Tensor:
    """``x`` on the CPU as (outputs, n): a row holds the elements of one output, in their logical order."""
    reduced = reduced_dims(x.ndim, dim)
    kept = [d for d in range(x.ndim) if d not in reduced]
    sizes = [math.prod(x.shape[d] for d in dims) for dims in (kept, reduced)]
    return x.detach().cpu().permute(kept + reduced).reshape(sizes)


def result_shape(shape: Sequence[int], dim: Dims = None, keepdim: bool = False, *, op: str = "sum") -> tuple[int, ...]:
    """The shape of the result. Of two, the last dim holds both."""
    reduced = reduced_dims(len(shape), dim)
    kept = tuple(1 if d in reduced else s for d, s in enumerate(shape) if keepdim or d not in reduced)
    return (*kept, 2) if MEANING[op].gives_pair else kept


def round_once(values: np.ndarray, dtype: torch.dtype) -> Tensor:
    """float32, float64, long double or int64 values as ``dtype``, rounded once to nearest, ties to even. Integers wrap
    around.

    Exact in between because a long double holds every float64 and every int64."""
    if dtype == torch.bool:
        return torch.from_numpy(np.asarray(values != 0))
    if dtype not in FORMAT:
        return torch.from_numpy(np.asarray(values).astype(numpy_type(dtype)))
    precision, min_exponent = FORMAT[dtype]
    wide = np.asarray(values).astype(np.longdouble)
    exponent = np.frexp(wide)[1] - 1
    quantum = np.maximum(exponent, min_exponent) - (precision - 1)
    rounded = np.ldexp(np.rint(np.ldexp(wide, -quantum)), quantum)
    overflow = np.isfinite(wide) & (np.abs(rounded) > torch.finfo(dtype).max)
    return torch.from_numpy(np.where(overflow, np.copysign(np.inf, wide), rounded).astype(np.float64)).to(dtype)


def numpy_type(dtype: torch.dtype) -> np.dtype:
    return torch.empty(0, dtype=dtype).numpy().dtype


def model(
    x: Tensor,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    op: str = "sum",
    dtype: torch.dtype | None = None,
    correction: float | None = None,
    count: Tensor | None = None,
    ord: float = 2,
) -> Tensor:
    """What mode "deterministic" must give, to the bit (NaN payloads aside), as a CPU tensor. Of two results, the last
    dim holds both. ``count``, of the result's shape, is what is divided by in place of the number of elements.
    """
    other = NORMS.get(ord) if op == "norm" else op
    meaning, op = (_of_order(ord), op) if other is None else (MEANING[other], other)
    shape = result_shape(x.shape, dim, keepdim, op=op)
    elements = rows(x, dim)
    dtype = output_dtype(op, x.dtype, dtype)
    if meaning.extremes:
        elements = elements.abs() if meaning.magnitude else elements
        return torch.stack([_extreme(elements, each) for each in meaning.extremes], -1).reshape(shape).to(dtype)
    if dtype == torch.bool or meaning.tests:
        elements = elements != 0
    if elements.dtype in FORMAT:
        elements = elements.float()
    if dtype.is_floating_point and x.dtype in (torch.int64, torch.uint64) and not meaning.outgrows_integers:
        return round_once(_exact_sum(elements, meaning, count), dtype).reshape(shape)
    compute = elements.dtype if meaning.selects else torch.int64 if meaning.tests else compute_dtype(op, x.dtype, dtype)
    with np.errstate(all="ignore"):
        values = meaning.lift(elements.numpy().astype(numpy_type(compute)), np.arange(elements.shape[1]))
        if compute == torch.int64 and not meaning.index:
            total = meaning.wrapping.reduce(values, 1)  # they wrap around, so any order gives their bits
        else:
            total = canonical(values, op)
        n: Any = values.shape[1] if count is None else count.flatten().numpy()  # an array as good as a number
        result = (
            meaning.finish(total, n)
            if meaning.spread is None
            else meaning.spread(total, n, 1 if correction is None else correction)
        )
        if meaning.second is not None:
            result = np.stack([result, meaning.second(total, n)], -1)
        return round_once(result, dtype).reshape(shape)


def _exact_sum(elements: Tensor, meaning: Meaning, count: Tensor | None) -> np.ndarray:
    """Sums or means of 64-bit integers in float64: sums are rounded to odd, so that one rounding is left; means divide
    the rounded sum."""
    n = elements.shape[1] if count is None else count.flatten().numpy()
    totals = [sum(row) for row in elements.tolist()]
    if meaning.floating:
        return np.array([float(total) for total in totals], np.float64) / np.float64(n)
    return np.array([to_odd(total) for total in totals], np.longdouble)


def to_odd(total: int) -> np.longdouble:
    """The upper 62 bits of an integer, the last one set if another below it is: a long double has room for 64."""
    shift = max(abs(total).bit_length() - 62, 0)
    upper = abs(total) >> shift
    upper |= (upper << shift) != abs(total)
    return np.ldexp(np.longdouble(upper if total >= 0 else -upper), shift)


def _extreme(elements: Tensor, extreme: np.ufunc) -> Tensor:
    values = elements.float().numpy() if elements.dtype in FORMAT else elements.numpy()
    largest = extreme is np.maximum
    result = torch.from_numpy(np.asarray(extreme.reduce(values, axis=1))).to(elements.dtype)
    if not elements.is_floating_point():
        return result
    # NumPy does not order the zeros.
    wins = (elements == 0) & (elements.signbit() != largest)
    zero = torch.where(wins.any(1) == largest, 0.0, -0.0).to(elements.dtype)
    return torch.where(result == 0, zero, result)
