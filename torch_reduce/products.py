"""Reductions of two tensors."""

import torch
from torch import Tensor
from typing_extensions import Unpack

from .arguments import Dims, DType, Mode, TorchNames, as_dims, as_dtype, check, renamed

__all__ = ["dot"]


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
    numbers are multiplied as they are; there is no complex conjugate. Products may overflow or underflow on the way.

    Args:
        x: tensor of any shape and strides.
        other: tensor of the dtype of ``x``, on its device, of a shape that broadcasts with that of ``x``.
        dim: dim or dims of the broadcast shape to reduce, each in [-ndim, ndim).
        keepdim: whether reduced dims stay, with size 1.
        dtype: output type, as in :func:`sum`.
        mode: ``"deterministic"`` or ``"atomic"``.
        out: written to and returned, as in :func:`sum`. It costs a copy of the result.

    Returns:
        Tensor of the output type on the device of ``x``. 0 for no elements.

    Raises:
        TypeError: ``other`` is no tensor, or as in :func:`sum`.
        RuntimeError: dtypes or devices differ, or the shapes do not broadcast; or as in :func:`sum`.
        IndexError, ValueError: as in :func:`sum`.
        NotImplementedError: mode ``"exact"``, or as in :func:`sum`.
    """
    if names:
        x, dim, keepdim = renamed(x, dim, keepdim, names)
    x, dims = check(x, keepdim), as_dims(dim)
    if not isinstance(other, Tensor):
        raise TypeError(f"reduce: dot takes two tensors, got {other!r}")
    op, options = torch.ops.reduce.dot, {"dtype": as_dtype(dtype), "mode": mode}
    if out is None:
        return op.default(x, other, dims, keepdim, **options)
    return op.out(x, other, dims, keepdim, **options, out=out)
