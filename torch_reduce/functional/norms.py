"""Norms of every order."""

from torch import Tensor
from typing_extensions import Unpack

from .._fast_calls import fast
from ..arguments import Dims, DType, Mode, Real, TorchNames, as_dtype, as_mode, as_real
from .call import call, ops


@fast
def norm(
    x: Tensor | None = None,
    ord: Real = 2,
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

    Of real elements no tensor of magnitudes or powers is made. Powers and their sum are float64 where it has room for
    them: of orders from -6 to 6, but for elements of float64. Others have an exponent of their own. So none overflows
    or underflows on the way; their error is in docs/order.md. An ``ord`` of 2^40 or more counts as infinite. NaN among
    the elements gives NaN, but for ``ord`` 0. The norm of no elements is 0. Gradients are those of torch.
    A complex element counts by its magnitude. Of other orders than 2 that is ``norm2`` of its parts, rounded to their
    type, in a tensor that is made first.

    Args:
        x: tensor of a floating or a complex type, of any shape and strides.
        ord: the order, any real number.
        dim: dim or dims to reduce, each in [-x.ndim, x.ndim).
        keepdim: whether reduced dims stay, with size 1.
        dtype: floating output type; by default that of ``x``, or of its parts. Elements are not rounded to it first. A
            complex ``x`` also takes a complex type, as in torch, which names that of its parts.
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
    order = as_real("ord", ord)
    return call(ops.norm, x, dim, keepdim, out, names, ord=order, dtype=as_dtype(dtype), mode=as_mode(mode))


@fast
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
    return call(ops.norm0, x, dim, keepdim, out, names, dtype=as_dtype(dtype), mode=as_mode(mode))


@fast
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
    return call(ops.norm1, x, dim, keepdim, out, names, dtype=as_dtype(dtype), mode=as_mode(mode))


@fast
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
    :func:`torch.linalg.vector_norm`. Under autocast on CUDA the result is float32, as that of :func:`torch.norm`. A
    complex number counts by its magnitude, and the result is real.

    Args:
        x: tensor of a floating or a complex type, of any shape and strides.
        dim: dim or dims to reduce, each in [-x.ndim, x.ndim).
        keepdim: whether reduced dims stay, with size 1.
        dtype: floating output type; by default that of ``x``, or of its parts. Elements are not rounded to it first. A
            complex ``x`` also takes a complex type, as in torch, which names that of its parts.
        mode: ``"deterministic"`` or ``"atomic"``, which is the same here; ``"exact"`` is for sums and means.
        out: written to and returned, as in :func:`sum`.

    Returns:
        Tensor of the output type on the device of ``x``.

    Raises:
        RuntimeError: the elements or the output type are not floating, or as in :func:`sum`.
        IndexError, ValueError, NotImplementedError: as in :func:`sum`.
    """
    return call(ops.norm2, x, dim, keepdim, out, names, dtype=as_dtype(dtype), mode=as_mode(mode))


@fast
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
    return call(ops.norm_inf, x, dim, keepdim, out, names, dtype=as_dtype(dtype), mode=as_mode(mode))


@fast
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
    return call(ops.norm_minus_inf, x, dim, keepdim, out, names, dtype=as_dtype(dtype), mode=as_mode(mode))
