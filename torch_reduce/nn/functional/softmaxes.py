"""Exponentials of a row over their sum."""

import torch
from torch import Tensor

from ...arguments import as_dtype, check_tensor
from ...functional.call import ops
from ...jagged import is_jagged, map_jagged


def softmax(
    input: Tensor, dim: int, *, dtype: torch.dtype | None = None, mask: Tensor | None = None, scale: float = 1.0
) -> Tensor:
    """The exponentials of elements, times ``scale``, over their sum along ``dim``.

    An element far below the largest one has its share, as long as that is a number of the output type. A row of nothing
    but -infinity, one with +infinity and one with NaN are NaN, as torch's.

    Args:
        input: tensor of any shape and strides, of float16, bfloat16, float32 or float64; integers where ``dtype`` is
            given, to which they convert first. It may be jagged, without a mask.
        dim: the dim of a row, in [-input.ndim, input.ndim); of a jagged tensor neither its batch nor the ragged one.
        dtype: output type, one of those four; by default that of ``input``. For float64, a narrower one is copied.
        mask: bools that broadcast to the shape of ``input``. Where they are False, an element takes no part, as one of
            -infinity: its share is 0, and so is its gradient. No masked copy of ``input`` is made.
        scale: positive and finite; each product is rounded once, in the compute type.

    Returns:
        Contiguous tensor of the shape of ``input``.

    Raises:
        IndexError: the dim is out of range.
        NotImplementedError: the dtype is not one of those accepted, or the dim not one of a jagged tensor's.
        TypeError: the mask is not of bools.
        RuntimeError: the mask does not broadcast to the shape, or is on another device.
        ValueError: the scale is not positive and finite in the compute type.
    """
    return _mapped("softmax", ops.softmax, input, dim, as_dtype(dtype), mask, scale)


def log_softmax(
    input: Tensor, dim: int, *, dtype: torch.dtype | None = None, mask: Tensor | None = None, scale: float = 1.0
) -> Tensor:
    """The logarithms of :func:`softmax`, right where they are large too.

    Args:
        input: as for :func:`softmax`.
        dim: as for :func:`softmax`.
        dtype: as for :func:`softmax`.
        mask: as for :func:`softmax`; the logarithm of what takes no part is -infinity, its gradient 0.
        scale: as for :func:`softmax`.

    Returns:
        Contiguous tensor of the shape of ``input``.

    Raises:
        IndexError, NotImplementedError, TypeError, RuntimeError, ValueError: as for :func:`softmax`.
    """
    return _mapped("log_softmax", ops.log_softmax, input, dim, as_dtype(dtype), mask, scale)


def _mapped(
    name: str,
    op: torch._ops.OpOverloadPacket,
    x: Tensor,
    dim: int,
    dtype: torch.dtype | None,
    mask: Tensor | None,
    scale: float,
) -> Tensor:
    check_tensor("input", x, takes_jagged=True)
    if mask is not None and (is_jagged(x) or is_jagged(mask)):
        raise NotImplementedError(f"reduce::{name}: no mask= for nested tensors; take each of their unbind()")
    if type(x) is not Tensor and is_jagged(x):
        return map_jagged(name, lambda x, dims: op(x, dims[0], dtype, None, scale), x, [dim])
    return op(x, dim, dtype, mask, scale)
