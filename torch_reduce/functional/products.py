"""Products, and sums of products: those of squares, and of two tensors."""

from torch import Tensor
from typing_extensions import Unpack

from .._fast_calls import fast
from ..arguments import Dims, DType, Mode, TorchNames, as_dtype, as_mode, check_tensor, read
from .call import call, ops, run


@fast
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
    sign. The product of no elements is 1. Its gradient is right in the same way, and so are second derivatives forward
    over reverse (``torch.func.hessian``). Two passes backward may overflow on the way, as those of ``torch.prod`` may.

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
    return call(ops.prod, x, dim, keepdim, out, names, where, dtype=as_dtype(dtype), mode=as_mode(mode))


@fast
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
    floating output type. A square may overflow or underflow. In mode ``"exact"`` no square does: the
    real-number sum is rounded once (docs/exact.md). The sum of no elements is 0. A complex number counts by its squared
    magnitude, as the squares of its two parts, and the result is real.

    Args:
        x: tensor of any shape and strides.
        dim: dim or dims to reduce, each in [-x.ndim, x.ndim).
        keepdim: whether reduced dims stay, with size 1.
        dtype: output type, as in :func:`sum`; of complex elements a floating one, or the complex one of such parts.
        mode: ``"deterministic"``, ``"atomic"`` or ``"exact"``.
        where: as in :func:`sum`.
        out: written to and returned, as in :func:`sum`.

    Returns:
        Tensor of the output type on the device of ``x``.

    Raises:
        NotImplementedError: as in :func:`sum`.
        IndexError, RuntimeError, ValueError: as in :func:`sum`.
    """
    return call(ops.sumsq, x, dim, keepdim, out, names, where, dtype=as_dtype(dtype), mode=as_mode(mode))


def dot(
    x: Tensor | None = None,
    other: Tensor | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    mode: Mode = "deterministic",
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """The sum of the products of the elements of ``x`` and ``other`` over ``dim``. The products are never stored.

    Each product is rounded once, in the compute type of :func:`sum` (float64 for integers with a floating output type),
    and the products are added as :func:`sum` adds elements: the bits are those of the sum of these products. Real
    numbers are multiplied as they are; there is no complex conjugate. Products may overflow or underflow on the way. In
    mode ``"exact"`` they do not: the real-number sum of products is rounded once (docs/exact.md).

    Args:
        x: tensor of any shape and strides.
        other: tensor of the dtype of ``x``, on its device, of a shape that broadcasts with that of ``x``.
        dim: dim or dims of the broadcast shape to reduce, each in [-ndim, ndim).
        keepdim: whether reduced dims stay, with size 1.
        dtype: output type, as in :func:`sum`.
        mode: ``"deterministic"``, ``"atomic"`` or ``"exact"``.
        out: written to and returned, as in :func:`sum`. It costs a copy of the result.

    Returns:
        Tensor of the output type on the device of ``x``. 0 for no elements.

    Raises:
        TypeError: ``other`` is no tensor, or as in :func:`sum`.
        RuntimeError: dtypes or devices differ, or the shapes do not broadcast; or as in :func:`sum`.
        IndexError, ValueError: as in :func:`sum`.
        NotImplementedError: as in :func:`sum`.
    """
    x, dims, keepdim = read(x, dim, keepdim, names)
    if not isinstance(other, Tensor):
        raise TypeError(f"reduce: dot takes two tensors, got {other!r}")
    check_tensor("other", other)
    return run(ops.dot, out, x, other, dims, keepdim, dtype=as_dtype(dtype), mode=as_mode(mode))
