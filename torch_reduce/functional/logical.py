"""What elements are beside zero: how many are not, whether any or all are not."""

from torch import Tensor
from typing_extensions import Unpack

from .._fast_calls import fast
from ..arguments import Dims, TorchNames
from .call import call, ops


@fast
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
    return call(ops.count_nonzero, x, dim, keepdim, out, names)


@fast
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
        dim: dim or dims to reduce, each in [-x.ndim, x.ndim). None for all of them. An empty list, as in torch, for
            none: the result has the shape of ``x``.
        keepdim: whether reduced dims stay, with size 1.
        out: written to and returned; of the result's dtype, else as in :func:`sum`.

    Returns:
        bool tensor on the device of ``x``, uint8 of 0 and 1 where ``x`` is uint8, as torch has it. False for no
        elements.

    Raises:
        IndexError, RuntimeError, NotImplementedError: as in :func:`sum`.
    """
    return call(ops.any, x, dim, keepdim, out, names)


@fast
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
    return call(ops.all, x, dim, keepdim, out, names)
