"""An independent model of the contract of mode "deterministic", in NumPy, to test the kernels against.

It is written from docs/order.md alone, shares no code with the kernels, and is vectorised: a million elements take
some milliseconds.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .._twins import Dims, reduced_dims
from .extremes import extreme_of
from .meaning import APART, MAGNITUDE, MEANING, NORMS, TOGETHER, Meaning, of_order
from .order import canonical
from .rounding import FORMAT, numpy_type, round_once, to_odd
from .types import compute_dtype, is_float8, output_dtype

__all__ = [
    "APART",
    "MAGNITUDE",
    "MEANING",
    "TOGETHER",
    "Meaning",
    "canonical",
    "compute_dtype",
    "model",
    "output_dtype",
    "reduced_dims",
    "result_shape",
    "round_once",
    "rows",
]


def rows(x: Tensor, dim: Dims = None) -> Tensor:
    """``x`` on the CPU as (outputs, n): a row holds the elements of one output, in their logical order."""
    reduced = reduced_dims(x.ndim, dim)
    kept = [d for d in range(x.ndim) if d not in reduced]
    sizes = [math.prod(x.shape[d] for d in dims) for dims in (kept, reduced)]
    return x.detach().cpu().permute(kept + reduced).reshape(sizes)


def result_shape(shape: Sequence[int], dim: Dims = None, keepdim: bool = False, *, op: str = "sum") -> tuple[int, ...]:
    """The shape of the result. Of two, the last dim holds both."""
    if _reduces_none(op, dim):
        return tuple(shape)
    reduced = reduced_dims(len(shape), dim)
    kept = tuple(1 if d in reduced else s for d, s in enumerate(shape) if keepdim or d not in reduced)
    return (*kept, 2) if MEANING[op].gives_pair else kept


def _reduces_none(op: str, dim: Dims) -> bool:
    """Whether each element is a result of its own."""
    return MEANING[op].reduces_none and dim is not None and not isinstance(dim, int) and len(dim) == 0


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
    dim holds both. ``count``, of the result's shape, is what is divided by in place of the number of elements. Complex
    elements are for ``sum``, ``mean``, ``sumsq`` and norms; those of float8 convert to float32 first.
    """
    if _reduces_none(op, dim):
        return model(x.unsqueeze(-1), -1, op=op)
    if x.is_complex():
        return _of_parts(
            x, dim, keepdim, op=NORMS.get(ord, op) if op == "norm" else op, dtype=dtype, count=count, ord=ord
        )
    if is_float8(x.dtype):
        wide = model(x.float(), dim, keepdim, op=op, dtype=dtype, correction=correction, count=count, ord=ord)
        return wide.to(output_dtype(op, x.dtype, dtype))
    other = NORMS.get(ord) if op == "norm" else op
    meaning, op = (of_order(ord, x.dtype), op) if other is None else (MEANING[other], other)
    shape = result_shape(x.shape, dim, keepdim, op=op)
    elements = rows(x, dim)
    dtype = output_dtype(op, x.dtype, dtype)
    if meaning.extremes:
        elements = elements.abs() if meaning.magnitude else elements
        results = [extreme_of(elements, each) for each in meaning.extremes]
        return torch.stack(results, -1).reshape(shape).to(dtype)
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


def _of_parts(x: Tensor, dim: Dims, keepdim: bool, *, op: str, dtype: torch.dtype | None, **more: Any) -> Tensor:
    """Of complex elements: of their real and their imaginary parts, apart or together, or of their magnitudes."""
    real = (dtype or x.dtype).to_real()
    if op in APART:
        parts = torch.view_as_real(x.resolve_conj()).unbind(-1)
        return torch.complex(*(model(part, dim, keepdim, op=op, dtype=real, **more) for part in parts))
    if op in MAGNITUDE:
        return model(
            model(torch.view_as_real(x.resolve_conj()), -1, op="norm2"), dim, keepdim, op=op, dtype=real, **more
        )
    dims = [*reduced_dims(x.ndim, dim), x.ndim]
    result = model(torch.view_as_real(x.resolve_conj()), dims, keepdim, op=op, dtype=real, **more)
    return result.squeeze(-1) if keepdim else result


def _exact_sum(elements: Tensor, meaning: Meaning, count: Tensor | None) -> np.ndarray:
    """Sums or means of 64-bit integers in float64: sums are rounded to odd, so that one rounding is left; means divide
    the rounded sum."""
    n = elements.shape[1] if count is None else count.flatten().numpy()
    totals = [sum(row) for row in elements.tolist()]
    if meaning.floating:
        return np.array([float(total) for total in totals], np.float64) / np.float64(n)
    return np.array([to_odd(total) for total in totals], np.longdouble)
