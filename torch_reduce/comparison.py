"""A reduction by torch's own function and by each mode of torch_reduce, side by side: error, bits, time."""

import contextlib
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from . import functional
from ._schemas import REDUCTIONS
from ._side_by_side import (
    Call,
    Result,
    in_other_layout,
    largest_error,
    median_times,
    reference,
    repeats,
    same_alone,
    same_bits,
)
from ._twins import PAIRS, TWINS, name_of_twin, reduced_dims
from .arguments import Dims, DType, as_dims, as_dtype, check

_NUMBERS = ("error, ulp", "us", "GB/s")
_Found = tuple[float | None, int, bool | None, bool | None, bool | None]  # of a row, from error_ulp to same_alone


@dataclass(frozen=True)
class ComparisonRow:
    """What one function did. None stands for what there is not.

    Attributes:
        name: torch's function, such as ``"torch.sum"``, or a mode of ``torch_reduce``.
        error_ulp: the largest error of all outputs, in units in the last place of the output type at the exact value;
            0.5 or less is correctly rounded. Infinity where only one of both is finite.
        calls: how many calls the bits of the next were compared of.
        repeats: whether all of them had the same bits.
        same_in_other_layout: whether the same elements in other places of memory have the same bits.
        same_alone: whether outputs whose elements are reduced alone, as a tensor of their own, have the same bits as
            among the others.
        microseconds: the median time of a call.
        gigabytes_per_second: bytes of input and output over that time, in units of 1e9.
    """

    name: str
    error_ulp: float | None
    calls: int
    repeats: bool | None
    same_in_other_layout: bool | None
    same_alone: bool | None
    microseconds: float | None
    gigabytes_per_second: float | None


@dataclass(frozen=True)
class Comparison:
    """What :func:`compare` found. Printing it gives a table.

    Attributes:
        op: the operator's name, such as ``"sum"``.
        shape: the shape of the tensor.
        dims: the reduced dims, in their order.
        dtype_in: the dtype of the tensor.
        dtype: the dtype of the result.
        device: where it was, such as ``"cpu"`` or ``"cuda:0"``.
        nbytes: bytes of input and output.
        rows: torch's function first, then each mode.
    """

    op: str
    shape: tuple[int, ...]
    dims: tuple[int, ...]
    dtype_in: torch.dtype
    dtype: torch.dtype
    device: str
    nbytes: int
    rows: tuple[ComparisonRow, ...]

    def __str__(self) -> str:
        name_in, name_out = (str(t).removeprefix("torch.") for t in (self.dtype_in, self.dtype))
        to = "" if name_in == name_out else f" to {name_out}"
        sizes, dims = " x ".join(map(str, self.shape)) or "one element", ", ".join(map(str, self.dims))
        over = f" over dim {dims}" if dims else ""
        columns = {
            "": [row.name for row in self.rows],
            "error, ulp": [_number(row.error_ulp, 3) for row in self.rows],
            "repeats": [f"{_word(row.repeats)}, {row.calls} calls" if row.calls else "-" for row in self.rows],
            "other layout": [_word(row.same_in_other_layout) for row in self.rows],
            "alone": [_word(row.same_alone) for row in self.rows],
            "us": [_number(row.microseconds, 1) for row in self.rows],
            "GB/s": [_number(row.gigabytes_per_second, 2) for row in self.rows],
        }
        shown = {head: cells for head, cells in columns.items() if not head or any(cell != "-" for cell in cells)}
        widths = {head: max(len(head), *map(len, cells)) for head, cells in shown.items()}
        table = [
            "  ".join(_aligned(head, cell, widths[head]) for head, cell in zip(shown, cells, strict=True)).rstrip()
            for cells in [tuple(shown), *zip(*shown.values(), strict=True)]
        ]
        return "\n".join([f"{self.op} of {sizes} {name_in}{over}{to}, on {self.device}", *table])


def _aligned(head: str, cell: str, width: int) -> str:
    return cell.rjust(width) if head in _NUMBERS else cell.ljust(width)


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}" if value < 1e6 else f"{value:.2e}"


def _word(value: bool | None) -> str:
    return "-" if value is None else "same" if value else "differs"


def compare(
    x: Tensor, dim: Dims = None, *, op: str = "sum", dtype: DType | None = None, seconds: float = 1.0
) -> Comparison:
    """Runs a reduction of ``x`` by torch's own function and by each mode of ``torch_reduce``, and compares them.

    Errors are against a reference in float64. Of ``sum`` and ``mean`` it is mode ``"exact"``, whose own rounding hides
    errors of up to half an ulp in a float64 result and none in a narrower one. Of ``sumsq`` and ``norm2`` of elements
    narrower than float64 it is made of their squares, which are exact in float64, and their exact sum. There is none
    for other operators and for results that are not floating.

    The other layout is a copy whose dims lie in memory in the reverse order, or a contiguous one where those of ``x``
    do; of one dim, a copy with a gap behind each element. Of several outputs, up to 8 are reduced alone, each from
    a contiguous copy of its elements.

    Times on CUDA are those between two events of the current stream, on the CPU those of ``time.perf_counter``; all
    functions are sampled in turn, after a call that warms them up. A sample takes many calls of a small tensor one
    after the other, so there the time on CUDA is what the host takes for a call. Nothing empties the caches.

    Args:
        x: tensor on the CPU or on CUDA, of any shape, strides and dtype that the operator accepts. It is only read, and
            no gradient is recorded.
        dim: the dim or dims to reduce; None or an empty list for all of them.
        op: a reduction of ``torch.ops.reduce`` by its name, such as ``"sum"``.
        dtype: the output type, as in the operator.
        seconds: how long it goes on, about. Each function is called seven times in any case. A copy of ``x`` is made,
            for ``sumsq`` and ``norm2`` one in float64 too, and a reference; they are not counted.

    Returns:
        A :class:`Comparison`, in which torch's function has None everywhere if it refuses the tensor.

    Raises:
        ValueError: the operator is no reduction; a dtype is given for an operator without one; ``seconds`` is not a
            positive, finite number.
        NotImplementedError: ``x`` is neither on the CPU nor on CUDA, or not strided; its elements
            are complex.
        TypeError, IndexError, RuntimeError: as the operator raises them.

    Example:
        >>> print(torch_reduce.compare(torch.randn(4096, 64), 0))
    """
    check(x, False)
    operator = REDUCTIONS.get(op)
    if operator is None:
        raise ValueError(f"reduce: op is a reduction ({', '.join(REDUCTIONS)}), got {op!r}")
    if dtype is not None and not operator.takes_dtype:
        raise ValueError(f"reduce: {op} has no dtype=, its result has that of the tensor; got {dtype}")
    if type(seconds) not in (int, float) or not 0 < seconds < math.inf:
        raise ValueError(f"reduce: seconds is a positive, finite number, got {seconds!r}")
    if x.layout != torch.strided or x.device.type not in ("cpu", "cuda"):
        place = f"of {x.layout}" if x.layout != torch.strided else f"on {x.device}"
        raise NotImplementedError(f"reduce: compare takes strided tensors on the CPU or CUDA, got one {place}")
    if x.is_complex():
        raise NotImplementedError(f"reduce: compare takes real elements, got {x.dtype}; compare torch.view_as_real(x)")
    x, wanted, out_type = x.detach(), as_dims(dim), as_dtype(dtype)
    options: dict[str, object] = {} if out_type is None else {"dtype": out_type}
    has_exact = operator.has_exact(x.dtype)
    modes = ["deterministic", *(["atomic"] if operator.takes_dtype else []), *(["exact"] if has_exact else [])]
    with torch.no_grad(), torch.cuda.device(x.device) if x.is_cuda else contextlib.nullcontext():
        if operator.reduces_none and wanted is not None and not isinstance(wanted, int) and len(wanted) == 0:
            x, wanted = x.unsqueeze(-1), [-1]
        ours = {mode: _of_mode(op, mode, wanted, options) for mode in modes}
        result = _as_one(ours["deterministic"](x))  # which refuses what is wrong
        dims = [int(d) for d in reduced_dims(x.ndim, wanted)]
        own = name_of_twin(op) or f"torch.{op}"
        calls = {own: _of_torch(op, PAIRS.get(op) or TWINS.get(op), dims, out_type), **ours}
        exact = reference(x, wanted, op, result.dtype, has_exact)
        nbytes = x.numel() * x.element_size() + result.numel() * result.element_size()
        rows = _rows(calls, x, dims, exact, nbytes, seconds)
    return Comparison(op, tuple(x.shape), tuple(dims), x.dtype, result.dtype, str(x.device), nbytes, rows)


def _rows(
    calls: dict[str, Call], x: Tensor, dims: Sequence[int], exact: Tensor | None, nbytes: int, seconds: float
) -> tuple[ComparisonRow, ...]:
    """Bits are compared for up to half of the time."""
    begin, other = time.perf_counter(), in_other_layout(x)
    found: dict[str, _Found] = {}
    for i, (name, call) in enumerate(calls.items()):
        whole = _whole(call)
        try:
            first = whole(x)
        except (RuntimeError, NotImplementedError, TypeError):
            if i > 0:  # not torch's own
                raise
            continue
        error = None if exact is None else largest_error(first, exact)
        until = begin + seconds / 2 * (i + 1) / len(calls)
        found[name] = (
            error,
            *repeats(whole, x, first, until),
            same_bits(whole(other), first),
            same_alone(whole, x, dims, first),
        )
    times = median_times({name: calls[name] for name in found}, x, begin + seconds)
    nothing: _Found = (None, 0, None, None, None)
    return tuple(
        ComparisonRow(
            name,
            *found.get(name, nothing),
            times[name] * 1e6 if name in times else None,
            nbytes / times[name] / 1e9 if name in times else None,
        )
        for name in calls
    )


def _as_one(result: Result) -> Tensor:
    return result if isinstance(result, Tensor) else torch.stack(result, -1)


def _whole(call: Call) -> Callable[[Tensor], Tensor]:
    return lambda x: _as_one(call(x))


def _of_mode(op: str, mode: str, dim: Sequence[int] | int | None, options: dict[str, object]) -> Call:
    """The default mode is not named: it is called as one writes it."""
    function = getattr(functional, op)
    options = options if mode == "deterministic" else {**options, "mode": mode}
    return lambda x: function(x, dim=dim, **options)


def _of_torch(op: str, twin: Callable[..., Any] | None, dims: Sequence[int], dtype: torch.dtype | None) -> Call:
    """torch's own function. One that takes no dtype gets elements of the wider of both types."""
    function: Callable[..., Any] = twin or getattr(torch, op)

    def call(x: Tensor) -> Result:
        over = list(dims)
        if x.ndim == 0:
            x, over = x.reshape(1), [0]
        if twin is not None:
            if dtype is None:
                return function(x, over)
            return function(x.to(torch.promote_types(x.dtype, dtype)), over).to(dtype)
        options = {} if dtype is None else {"dtype": dtype}
        if op != "prod":
            return function(x, over, **options)
        if len(over) != 1:  # torch.prod takes one dim
            kept = [d for d in range(x.ndim) if d not in over]
            x, over = x.permute(kept + over).flatten(len(kept)), [-1]
        return function(x, over[0], **options)

    return call
