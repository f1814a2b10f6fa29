"""The operators as Python functions: thin typed names for ``torch.ops.reduce.*``.

In every function ``dim`` names the dims to reduce; None or an empty list means all of them, negative dims count from
the end. A dim may also be an integer of NumPy or a 0-d tensor. The result has the shape of ``x`` without these dims, or
with size 1 in their place where ``keepdim`` is true. As in torch, ``input``, ``axis`` and ``keepdims`` are other names
of ``x``, ``dim`` and ``keepdim``. Accepted are tensors of bool, every integer type, float16, bfloat16, float32 and
float64, with any strides and any alignment, 0-d and empty ones too, and jagged tensors of these; on CUDA, with at
most 32 dims that are not one dim in memory. No copy of the input is made. The functions are differentiable (twice)
and work under ``torch.func``, ``torch.compile`` and ``torch.export``; with ``out=`` they are not differentiable.

In the modes ``"deterministic"`` and ``"atomic"`` finite sums may overflow on the way: the sum of
``[3e38, 3e38, -3e38, -3e38]`` in float32 is NaN. Mode ``"exact"`` gives 0, its real value. What is promised of bits
begins at ``x``: an ``x`` that ``torch.compile`` fuses from other operations may have other elements than in eager mode,
unless ``torch._inductor.config.emulate_precision_casts`` is set (docs/order.md).
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from typing_extensions import Unpack

from ._fast_calls import fast
from ._schemas import REDUCTIONS, Operator
from .arguments import Dims, DType, Mode, TorchNames, as_correction, as_dims, as_dtype, as_order, check, renamed
from .jagged import is_jagged, reduce_jagged

if TYPE_CHECKING:
    from torch.nested._internal.nested_tensor import NestedTensor

_reduce = torch.ops.reduce


def _call(
    op: torch._ops.OpOverloadPacket,
    x: Tensor | None,
    dim: Dims,
    keepdim: bool,
    out: Tensor | None,
    names: TorchNames,
    where: Tensor | None = None,
    **options: torch.dtype | str | float | None,
) -> Tensor:
    if names:
        x, dim, keepdim = renamed(x, dim, keepdim, names)
    x, dims = check(x, keepdim), as_dims(dim)
    if where is not None:
        return _call_masked(op, x, dims, keepdim, out, options, where)
    if type(x) is not Tensor and is_jagged(x):
        return _call_jagged(op, x, dims, keepdim, out, options)
    return op.default(x, dims, keepdim, **options) if out is None else op.out(x, dims, keepdim, **options, out=out)


def _call_masked(
    op: torch._ops.OpOverloadPacket,
    x: Tensor,
    dims: Sequence[int] | int | None,
    keepdim: bool,
    out: Tensor | None,
    options: dict[str, Any],
    where: Tensor,
) -> Tensor:
    if not isinstance(where, Tensor):
        raise TypeError(f"reduce: where is a tensor of bools, got {where!r}")
    if out is None:
        return op.where(x, dims, keepdim, **options, where=where)
    return op.where_out(x, dims, keepdim, **options, where=where, out=out)


def _call_jagged(
    op: torch._ops.OpOverloadPacket,
    x: "NestedTensor",
    dims: Sequence[int] | int | None,
    keepdim: bool,
    out: Tensor | None,
    keywords: dict[str, Any],
) -> Tensor:
    name = op._qualified_op_name.removeprefix("reduce::").removeprefix("_")
    if out is not None:
        raise NotImplementedError(f"reduce::{name}: no out= for nested tensors")
    call = lambda x, dims, keepdim: op.default(x, dims, keepdim, **keywords)  # noqa: E731
    return reduce_jagged(name, call, x, dims, keepdim)


def sum(
    x: Tensor | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    mode: Mode = "deterministic",
    where: Tensor | None = None,
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """The sum of the elements of ``x`` over ``dim``.

    float16, bfloat16 and float32 accumulate in float32, float64 in float64, integers and bool in int64 with
    wrap-around. With a floating output type, sums of integers are exact: those of int64 and uint64 accumulate in 128
    bits. The result is rounded once, to the output type. A zero sum is +0. The sum of no elements is 0. Finite elements
    may overflow on the way. In mode ``"exact"`` they cannot: floating elements add without error, whatever their order
    and range, and the real-number sum is rounded once (docs/exact.md).

    Args:
        x: tensor of any shape and strides.
        dim: dim or dims to reduce, each in [-x.ndim, x.ndim).
        keepdim: whether reduced dims stay, with size 1.
        dtype: output type: by default the dtype of ``x``, int64 for integers and bool. One wider than the compute
            type widens it. Floating elements are converted one by one, first, to an integer or bool type.
        mode: ``"deterministic"``, ``"atomic"`` or ``"exact"``.
        where: bool tensor that broadcasts to the shape of ``x``. Elements where it is false do not count: the bits are
            those of ``x`` with elements in their place that change nothing. Not in mode ``"exact"``.
        out: written to and returned; its dtype is the output type where ``dtype`` is not given. It must have the
            shape of the result, or no elements, when it is resized, and must not overlap ``x``.

    Returns:
        Tensor of the output type on the device of ``x``.

    Raises:
        IndexError: a dim is out of range.
        TypeError: ``x`` is no tensor, a dim no integer, ``keepdim`` no bool.
        RuntimeError: a dim is repeated; ``out`` has another shape, device, or dtype than ``dtype``, or overlaps ``x``.
        ValueError: the mode is unknown.
        NotImplementedError: the dtype is not one of those accepted (complex, float8, quantised), or the mode is not
            available for it.
    """
    return _call(_reduce.sum, x, dim, keepdim, out, names, where, dtype=as_dtype(dtype), mode=mode)


def mean(
    x: Tensor | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    mode: Mode = "deterministic",
    where: Tensor | None = None,
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """The mean of the elements of ``x`` over ``dim``.

    The sum, as :func:`sum` accumulates it, is divided once by the number of elements, in the compute type (float64 for
    integers), and rounded once to the output type. The sum may overflow where the mean would not; in mode ``"exact"``
    it cannot, and the real-number mean of floating elements is rounded once. The mean of no elements is NaN.

    Args:
        x: tensor of any shape and strides.
        dim: dim or dims to reduce, each in [-x.ndim, x.ndim).
        keepdim: whether reduced dims stay, with size 1.
        dtype: floating output type; by default the dtype of ``x``. Integers and bool need it, or a floating ``out``.
        mode: ``"deterministic"``, ``"atomic"`` or ``"exact"``.
        where: as in :func:`sum`; the number of elements is that of those that count.
        out: written to and returned, as in :func:`sum`.

    Returns:
        Tensor of the output type on the device of ``x``.

    Raises:
        RuntimeError: the output type is not floating, or as in :func:`sum`.
        IndexError, ValueError, NotImplementedError: as in :func:`sum`.
    """
    return _call(_reduce.mean, x, dim, keepdim, out, names, where, dtype=as_dtype(dtype), mode=mode)


def nansum(
    x: Tensor | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    mode: Mode = "deterministic",
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """The sum of the elements of ``x`` over ``dim`` that are not NaN. No copy without them is made.

    Where no element is NaN it has the bits of :func:`sum`. Each NaN counts as -0, which changes nothing. The sum of no
    numbers is 0. The gradient of an element that is NaN is 0.

    Args:
        x: tensor of any shape and strides.
        dim: dim or dims to reduce, each in [-x.ndim, x.ndim).
        keepdim: whether reduced dims stay, with size 1.
        dtype: output type, as in :func:`sum`, but a floating one for floating elements.
        mode: ``"deterministic"`` or ``"atomic"``, which is the same here; ``"exact"`` is for sums and means.
        out: written to and returned, as in :func:`sum`.

    Returns:
        Tensor of the output type on the device of ``x``.

    Raises:
        IndexError, RuntimeError, ValueError, NotImplementedError: as in :func:`sum`; NotImplementedError too for
            floating elements and an output type that is not.
    """
    return _call(_reduce.nansum, x, dim, keepdim, out, names, dtype=as_dtype(dtype), mode=mode)


def nanmean(
    x: Tensor | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    mode: Mode = "deterministic",
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """The mean of the elements of ``x`` over ``dim`` that are not NaN.

    Their sum, as :func:`nansum` has it, is divided once by their number, which is counted exactly, in the compute type,
    and rounded once to the output type. Where no element is NaN it has the bits of :func:`mean`. It is NaN if there are
    no numbers. The gradient of an element that is NaN is 0, but NaN where there are no numbers, as in
    :func:`torch.nanmean`.

    Args:
        x: tensor of a floating type, of any shape and strides.
        dim: dim or dims to reduce, each in [-x.ndim, x.ndim).
        keepdim: whether reduced dims stay, with size 1.
        dtype: floating output type; by default that of ``x``.
        mode: ``"deterministic"`` or ``"atomic"``, which is the same here; ``"exact"`` is for sums and means.
        out: written to and returned, as in :func:`sum`.

    Returns:
        Tensor of the output type on the device of ``x``.

    Raises:
        RuntimeError: the elements are not floating, or as in :func:`sum`.
        IndexError, ValueError, NotImplementedError: as in :func:`nansum`.
    """
    return _call(_reduce.nanmean, x, dim, keepdim, out, names, dtype=as_dtype(dtype), mode=mode)


def prod(
    x: Tensor | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    mode: Mode = "deterministic",
    where: Tensor | None = None,
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """The product of the elements of ``x`` over ``dim``, which may be several dims, as in :func:`sum`.

    float16, bfloat16 and float32 accumulate in float32, float64 in float64, integers and bool in int64 with
    wrap-around, or in float64 for a floating output type. Exponents are integers of their own, so finite elements
    neither overflow nor underflow on the way: the product of ``[1e-30, 1e-30, 1e30, 1e30]`` is 1. A zero keeps IEEE's
    sign. The product of no elements is 1.

    Args:
        x: tensor of any shape and strides.
        dim: dim or dims to reduce, each in [-x.ndim, x.ndim).
        keepdim: whether reduced dims stay, with size 1.
        dtype: output type, as in :func:`sum`.
        mode: ``"deterministic"`` or ``"atomic"``; ``"exact"`` is for sums and means.
        where: as in :func:`sum`.
        out: written to and returned, as in :func:`sum`.

    Returns:
        Tensor of the output type on the device of ``x``.

    Raises:
        IndexError, RuntimeError, ValueError, NotImplementedError: as in :func:`sum`.
    """
    return _call(_reduce.prod, x, dim, keepdim, out, names, where, dtype=as_dtype(dtype), mode=mode)


def sumsq(
    x: Tensor | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    mode: Mode = "deterministic",
    where: Tensor | None = None,
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """The sum of the squares of the elements of ``x`` over ``dim``. No tensor of squares is made.

    Each square is rounded once, in the compute type; then they are added as in :func:`sum`. float16, bfloat16 and
    float32 accumulate in float32, float64 in float64, integers and bool in int64 with wrap-around, or in float64 for a
    floating output type. A square may overflow or underflow. The sum of no elements is 0.

    Args:
        x: tensor of any shape and strides.
        dim: dim or dims to reduce, each in [-x.ndim, x.ndim).
        keepdim: whether reduced dims stay, with size 1.
        dtype: output type, as in :func:`sum`.
        mode: ``"deterministic"`` or ``"atomic"``; ``"exact"`` is for sums and means.
        where: as in :func:`sum`.
        out: written to and returned, as in :func:`sum`.

    Returns:
        Tensor of the output type on the device of ``x``.

    Raises:
        IndexError, RuntimeError, ValueError, NotImplementedError: as in :func:`sum`.
    """
    return _call(_reduce.sumsq, x, dim, keepdim, out, names, where, dtype=as_dtype(dtype), mode=mode)


def norm(
    x: Tensor | None = None,
    ord: float = 2,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    mode: Mode = "deterministic",
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """The norm of order ``ord`` of ``x`` over ``dim``, as :func:`torch.linalg.vector_norm` has it.

    - 2: the Euclidean norm, :func:`norm2`.
    - 1: the sum of the magnitudes, ``norm1``, with the bits of ``sum(x.abs())``.
    - 0: how many elements are not zero, ``norm0``.
    - inf and -inf: the largest and the smallest magnitude, ``norm_inf`` and ``norm_minus_inf``.
    - Any other: ``(sum |x|^ord)^(1 / ord)``, by fixed sequences of IEEE operations.

    No tensor of magnitudes or powers is made. Powers and their sum have an exponent of their own, so they neither
    overflow nor underflow on the way; their error is in docs/order.md. An ``ord`` of 2^40 or more counts as infinite.
    NaN among the elements gives NaN, but for ``ord`` 0. The norm of no elements is 0. Gradients are those of torch.

    Args:
        x: tensor of a floating type, of any shape and strides.
        ord: the order, any real number.
        dim: dim or dims to reduce, each in [-x.ndim, x.ndim).
        keepdim: whether reduced dims stay, with size 1.
        dtype: floating output type; by default that of ``x``. Elements are not rounded to it first.
        mode: ``"deterministic"`` or ``"atomic"``, which is the same here; ``"exact"`` is for sums and means.
        out: written to and returned, as in :func:`sum`.

    Returns:
        Tensor of the output type on the device of ``x``.

    Raises:
        TypeError: ``ord`` is no number, or as in :func:`sum`.
        RuntimeError: the elements or the output type are not floating; a negative or infinite order of no elements; or
            as in :func:`sum`.
        IndexError, ValueError, NotImplementedError: as in :func:`sum`.
    """
    order = as_order(ord)
    return _call(_reduce.norm, x, dim, keepdim, out, names, ord=order, dtype=as_dtype(dtype), mode=mode)


def norm2(
    x: Tensor | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    mode: Mode = "deterministic",
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """The Euclidean norm of ``x`` over ``dim``: the square root of the sum of squares. No tensor of squares is made.

    Squares and their sum neither overflow nor underflow on the way: those of float16, bfloat16 and float32 are exact in
    float64 and add there, those of float64 add as in float64 with an exponent that has no end. The root rounds once in
    float64, then to the output type. The norm of no elements is 0. The gradient of a norm that is 0 is 0, as that of
    :func:`torch.linalg.vector_norm`. Under autocast on CUDA the result is float32, as that of :func:`torch.norm`.

    Args:
        x: tensor of a floating type, of any shape and strides.
        dim: dim or dims to reduce, each in [-x.ndim, x.ndim).
        keepdim: whether reduced dims stay, with size 1.
        dtype: floating output type; by default that of ``x``. Elements are not rounded to it first.
        mode: ``"deterministic"`` or ``"atomic"``, which is the same here; ``"exact"`` is for sums and means.
        out: written to and returned, as in :func:`sum`.

    Returns:
        Tensor of the output type on the device of ``x``.

    Raises:
        RuntimeError: the elements or the output type are not floating, or as in :func:`sum`.
        IndexError, ValueError, NotImplementedError: as in :func:`sum`.
    """
    return _call(_reduce.norm2, x, dim, keepdim, out, names, dtype=as_dtype(dtype), mode=mode)


def norm0(
    x: Tensor | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    mode: Mode = "deterministic",
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """How many elements of ``x`` over ``dim`` are not zero, as a floating number: :func:`norm` of order 0. NaN is not.

    Arguments, result and errors are those of :func:`norm2`.
    """
    return _call(_reduce.norm0, x, dim, keepdim, out, names, dtype=as_dtype(dtype), mode=mode)


def norm1(
    x: Tensor | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    mode: Mode = "deterministic",
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """The sum of the magnitudes of ``x`` over ``dim``: :func:`norm` of order 1, with the bits of ``sum(x.abs())``.

    Arguments, result and errors are those of :func:`norm2`.
    """
    return _call(_reduce.norm1, x, dim, keepdim, out, names, dtype=as_dtype(dtype), mode=mode)


def norm_inf(
    x: Tensor | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    mode: Mode = "deterministic",
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """The largest magnitude of ``x`` over ``dim``: :func:`norm` of infinite order. There must be an element.

    Arguments, result and errors are those of :func:`norm2`.
    """
    return _call(_reduce.norm_inf, x, dim, keepdim, out, names, dtype=as_dtype(dtype), mode=mode)


def norm_minus_inf(
    x: Tensor | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    mode: Mode = "deterministic",
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """The smallest magnitude of ``x`` over ``dim``: :func:`norm` of order -infinity. There must be an element.

    Arguments, result and errors are those of :func:`norm2`.
    """
    return _call(_reduce.norm_minus_inf, x, dim, keepdim, out, names, dtype=as_dtype(dtype), mode=mode)


def logsumexp(
    x: Tensor | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    mode: Mode = "deterministic",
    where: Tensor | None = None,
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """The logarithm of the sum of the exponentials of the elements of ``x`` over ``dim``.

    Powers of e are taken out where exponentials would overflow or underflow. float16, bfloat16 and float32 accumulate
    in float32, float64, integers and bool in float64. exp and log are sequences of IEEE operations (docs/order.md), so
    a CPU and a GPU have the same bits. The error is small beside 1, not beside a result near zero. The result is
    rounded once, to the output type. It is -inf for no elements.

    Args:
        x: tensor of any shape and strides.
        dim: dim or dims to reduce, each in [-x.ndim, x.ndim).
        keepdim: whether reduced dims stay, with size 1.
        dtype: floating output type; by default the dtype of ``x``, torch's default dtype for integers and bool.
        mode: ``"deterministic"`` or ``"atomic"``, which is the same here; ``"exact"`` is for sums and means.
        where: as in :func:`sum`.
        out: written to and returned, as in :func:`sum`.

    Returns:
        Tensor of the output type on the device of ``x``.

    Raises:
        RuntimeError: the output type is not floating, or as in :func:`sum`.
        IndexError, ValueError, NotImplementedError: as in :func:`sum`.
    """
    return _call(_reduce.logsumexp, x, dim, keepdim, out, names, where, dtype=as_dtype(dtype), mode=mode)


def amax(
    x: Tensor | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    where: Tensor | None = None,
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """The largest element of ``x`` over ``dim``. NaN wins over every number, and +0 over -0.

    Its gradient is shared equally among the elements that are equal to the result, as in :func:`torch.amax`.

    Args:
        x: tensor of any shape and strides.
        dim: dim or dims to reduce, each in [-x.ndim, x.ndim).
        keepdim: whether reduced dims stay, with size 1.
        where: as in :func:`sum`; where no element counts, the result is the smallest value of the dtype.
        out: written to and returned; of the dtype of ``x``, else as in :func:`sum`.

    Returns:
        Tensor of the dtype of ``x`` on its device.

    Raises:
        IndexError: a dim is out of range, or has no elements.
        RuntimeError: ``x`` has no elements and no dim is given; a dim is repeated; ``out`` has another shape, dtype or
            device, or overlaps ``x``.
        NotImplementedError: the dtype is not one of those accepted.
    """
    return _call(_reduce.amax, x, dim, keepdim, out, names, where)


def amin(
    x: Tensor | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    where: Tensor | None = None,
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """The smallest element of ``x`` over ``dim``. NaN wins over every number, and -0 over +0.

    Arguments, result and errors are those of :func:`amax`.
    """
    return _call(_reduce.amin, x, dim, keepdim, out, names, where)


def aminmax(
    x: Tensor | None = None, dim: Dims = None, keepdim: bool = False, **names: Unpack[TorchNames]
) -> tuple[Tensor, Tensor]:
    """The smallest element of ``x`` over ``dim``, as :func:`amin` gives it, and the largest, from one read of ``x``.

    Arguments and errors are those of :func:`amax`, without ``out``: several dims may be reduced, and all are where
    ``dim`` is None. The gradient of each result is that of :func:`amin` or :func:`amax`.

    Returns:
        Two tensors on the device of ``x``, of its dtype, views of one piece of memory.

    Examples:
        >>> torch_reduce.aminmax(torch.tensor([[3, 1], [2, 5]]), 1)
        (tensor([1, 2]), tensor([3, 5]))
    """
    both = _call(_reduce._aminmax, x, dim, keepdim, None, names)
    return both.select(-1, 0), both.select(-1, 1)


def argmax(
    x: Tensor | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """The index of the first largest element of ``x`` over ``dim``. NaN is larger than every number, +0 equals -0.

    Where several dims are reduced, elements are counted in row-major order of these dims as they stand in ``x``. An
    integer has no gradient.

    Args:
        x: tensor of any shape and strides.
        dim: dim or dims to reduce, each in [-x.ndim, x.ndim).
        keepdim: whether reduced dims stay, with size 1.
        out: written to and returned; int64, else as in :func:`sum`.

    Returns:
        int64 tensor on the device of ``x``.

    Raises:
        IndexError, RuntimeError, NotImplementedError: as in :func:`amax`.
    """
    return _call(_reduce.argmax, x, dim, keepdim, out, names)


def argmin(
    x: Tensor | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """The index of the first smallest element of ``x`` over ``dim``. NaN is smaller than every number, +0 equals -0.

    Arguments, result and errors are those of :func:`argmax`.
    """
    return _call(_reduce.argmin, x, dim, keepdim, out, names)


def count_nonzero(
    x: Tensor | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """The number of elements of ``x`` over ``dim`` that are not zero. NaN is not, -0 is. It has no gradient.

    Args:
        x: tensor of any shape and strides.
        dim: dim or dims to reduce, each in [-x.ndim, x.ndim).
        keepdim: whether reduced dims stay, with size 1.
        out: written to and returned; int64, else as in :func:`sum`.

    Returns:
        int64 tensor on the device of ``x``. 0 for no elements.

    Raises:
        IndexError, RuntimeError, NotImplementedError: as in :func:`sum`.
    """
    return _call(_reduce.count_nonzero, x, dim, keepdim, out, names)


def any(
    x: Tensor | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """Whether an element of ``x`` over ``dim`` is not zero. NaN is not, -0 is. It has no gradient.

    Args:
        x: tensor of any shape and strides.
        dim: dim or dims to reduce, each in [-x.ndim, x.ndim).
        keepdim: whether reduced dims stay, with size 1.
        out: written to and returned; of the result's dtype, else as in :func:`sum`.

    Returns:
        bool tensor on the device of ``x``, uint8 of 0 and 1 where ``x`` is uint8, as torch has it. False for no
        elements.

    Raises:
        IndexError, RuntimeError, NotImplementedError: as in :func:`sum`.
    """
    return _call(_reduce.any, x, dim, keepdim, out, names)


def all(
    x: Tensor | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """Whether all elements of ``x`` over ``dim`` are not zero. NaN is not, -0 is. True for no elements.

    Arguments, result and errors are those of :func:`any`.
    """
    return _call(_reduce.all, x, dim, keepdim, out, names)


def var(
    x: Tensor | None = None,
    dim: Dims = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    unbiased: bool | None = None,
    where: Tensor | None = None,
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """The variance of the elements of ``x`` over ``dim``: the squared differences from the mean, summed and divided.

    One read, and as good as two passes: the sums of the elements and of their squares are kept in twice the precision,
    float64 for what is narrower. NaN for one element less its correction, and for none. Of float64, elements beyond
    1e154, whose squares overflow, give infinity.

    Args:
        x: the tensor to reduce, float16, bfloat16, float32 or float64.
        dim: the dim or dims to reduce; None or an empty list for all of them.
        correction: taken off the number of elements that divides; None for 1. What is left is at the least 0.
        keepdim: whether the reduced dims stay, with size 1. By its name alone: in torch's function the third argument
            may be ``unbiased``.
        unbiased: torch's older name: True for a correction of 1, False for 0.
        where: as in :func:`sum`; the number of elements is that of those that count.
        out: written to and returned; of the dtype of ``x``, else as in :func:`sum`.

    Returns:
        Tensor on the device of ``x``, of its dtype. Its bits never change, as those of mode ``"deterministic"``.

    Raises:
        TypeError: both ``correction`` and ``unbiased`` are given.
        RuntimeError: ``x`` is not floating; else as in :func:`sum`.
        IndexError, NotImplementedError: as in :func:`sum`.

    Examples:
        >>> torch_reduce.var(torch.tensor([1e8, 1e8 + 8.0]))
        tensor(32.)
    """
    return _call(_reduce.var, x, dim, keepdim, out, names, where, correction=as_correction(correction, unbiased))


def std(
    x: Tensor | None = None,
    dim: Dims = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    unbiased: bool | None = None,
    where: Tensor | None = None,
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """The standard deviation: the square root of :func:`var`, taken in float64, then rounded to the type of ``x``.

    Arguments, result and errors are those of :func:`var`.
    """
    return _call(_reduce.std, x, dim, keepdim, out, names, where, correction=as_correction(correction, unbiased))


def var_mean(
    x: Tensor | None = None,
    dim: Dims = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    unbiased: bool | None = None,
    **names: Unpack[TorchNames],
) -> tuple[Tensor, Tensor]:
    """The variance, as :func:`var` gives it, and the mean, from one read of ``x``.

    The mean is the sum of the elements in twice their precision, divided by their number there, and rounded once to the
    type of ``x``. It is at least as good as that of :func:`mean`, whose bits it need not have.

    Arguments and errors are those of :func:`var`, without ``out``.

    Returns:
        Two tensors on the device of ``x``, of its dtype, views of one piece of memory.

    Examples:
        >>> torch_reduce.var_mean(torch.tensor([1.0, 2.0, 4.0, 5.0]))
        (tensor(3.3333), tensor(3.))
    """
    both = _call(_reduce._var_mean, x, dim, keepdim, None, names, correction=as_correction(correction, unbiased))
    return both.select(-1, 0), both.select(-1, 1)


def std_mean(
    x: Tensor | None = None,
    dim: Dims = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    unbiased: bool | None = None,
    **names: Unpack[TorchNames],
) -> tuple[Tensor, Tensor]:
    """The standard deviation, as :func:`std` gives it, and the mean, as :func:`var_mean` does.

    Arguments, results and errors are those of :func:`var_mean`.
    """
    both = _call(_reduce._std_mean, x, dim, keepdim, None, names, correction=as_correction(correction, unbiased))
    return both.select(-1, 0), both.select(-1, 1)


def function_of(operator: Operator) -> Callable[..., Tensor]:
    """A function of a registered operator, in one tensor where it has two results. Those without a text above are made
    so."""

    def typed(
        x: Tensor | None = None,
        dim: Dims = None,
        keepdim: bool = False,
        *,
        dtype: DType | None = None,
        mode: Mode = "deterministic",
        out: Tensor | None = None,
        **names: Unpack[TorchNames],
    ) -> Tensor:
        return _call(operator.packet, x, dim, keepdim, out, names, dtype=as_dtype(dtype), mode=mode)

    def plain(
        x: Tensor | None = None,
        dim: Dims = None,
        keepdim: bool = False,
        *,
        out: Tensor | None = None,
        **names: Unpack[TorchNames],
    ) -> Tensor:
        return _call(operator.packet, x, dim, keepdim, out, names)

    def spread(
        x: Tensor | None = None,
        dim: Dims = None,
        *,
        correction: float | None = None,
        keepdim: bool = False,
        unbiased: bool | None = None,
        out: Tensor | None = None,
        **names: Unpack[TorchNames],
    ) -> Tensor:
        return _call(operator.packet, x, dim, keepdim, out, names, correction=as_correction(correction, unbiased))

    def of_order(
        x: Tensor | None = None,
        dim: Dims = None,
        keepdim: bool = False,
        *,
        ord: float = 2,
        dtype: DType | None = None,
        mode: Mode = "deterministic",
        out: Tensor | None = None,
        **names: Unpack[TorchNames],
    ) -> Tensor:
        order = as_order(ord)
        return _call(operator.packet, x, dim, keepdim, out, names, ord=order, dtype=as_dtype(dtype), mode=mode)

    function, like = (
        (of_order, norm)
        if operator.takes_order
        else (typed, sum)
        if operator.takes_dtype
        else (spread, var)
        if operator.takes_correction
        else (plain, amax)
    )
    function.__name__ = function.__qualname__ = operator.name
    function.__doc__ = (
        f"``torch.ops.reduce.{operator.name}``. Arguments, result and errors are as in :func:`{like.__name__}`."
    )
    return function


# By name, for those who check types; and what else is registered.
__all__ = [
    "all",
    "amax",
    "amin",
    "aminmax",
    "any",
    "argmax",
    "argmin",
    "count_nonzero",
    "logsumexp",
    "mean",
    "nanmean",
    "nansum",
    "norm",
    "norm0",
    "norm1",
    "norm2",
    "norm_inf",
    "norm_minus_inf",
    "prod",
    "std",
    "std_mean",
    "sum",
    "sumsq",
    "var",
    "var_mean",
]
__all__.extend(sorted(REDUCTIONS.keys() - set(__all__)))
for _name in REDUCTIONS:
    globals()[_name] = fast(_name, globals().get(_name) or function_of(REDUCTIONS[_name]))
