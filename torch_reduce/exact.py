"""Superaccumulators as tensors: exact sums in parts, merged by integer addition (docs/exact.md).

An accumulator is the last dim of an int64 tensor: 13 words for float16, bfloat16 and float32 elements, 70 for float64;
their number names the format. Adding two accumulators adds their sums, so ``a + b``, ``acc.sum(0)`` and
``torch.distributed.all_reduce(acc)`` merge parts, in any order. Accumulators of :func:`exact_accumulate` and
:func:`exact_normalize` may be added 2**20 times before they need :func:`exact_normalize` again.
"""

import torch
from torch import Tensor

from .arguments import Dims, as_dims, as_dtype, check, check_strided, check_tensor

_reduce = torch.ops.reduce


def exact_accumulate(x: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """The exact sum of the elements of ``x`` over ``dim`` as a superaccumulator.

    Args:
        x: tensor of float16, bfloat16, float32 or float64, of any shape and strides.
        dim: dim or dims to reduce, each in [-x.ndim, x.ndim); None or an empty list for all of them.
        keepdim: whether reduced dims stay, with size 1.

    Returns:
        int64 tensor of the shape of the sum with one dim more, the normalised words. Equal sums have equal words. The
        last three count the elements that are +Inf, -Inf and NaN. Not differentiable.

    Raises:
        NotImplementedError: the dtype is not one of the four.
        IndexError, RuntimeError: a dim is out of range, or repeated.
    """
    check(check_strided("x", x), keepdim)
    return _reduce.exact_accumulate(x, as_dims(dim), keepdim)


def exact_round(acc: Tensor, *, dtype: torch.dtype, divisor: int = 1) -> Tensor:
    """The value of each accumulator divided by ``divisor``, rounded once to ``dtype``, to nearest, ties to even.

    Any words are a value: word d stands for ``acc[..., d] * 2**(32 * d + lowest)``, lowest being -149 in the format of
    13 words and -1074 in that of 70; they need not be normalised. A zero is +0. Where the counts say so (where they
    are not zero), the result is NaN for a NaN or Infs of both signs, else the Inf.

    Args:
        acc: int64 tensor (..., 13) or (..., 70).
        dtype: float16, bfloat16, float32 or float64.
        divisor: a positive integer; the number of elements for a mean.

    Returns:
        Tensor of ``dtype`` and of the shape of ``acc`` without the last dim.

    Raises:
        TypeError: ``acc`` is no tensor, or ``dtype`` no type of torch's.
        RuntimeError: ``acc`` is not int64 or its last dim holds no accumulator, or ``dtype`` is another.
        ValueError: the divisor is not positive.
    """
    check_tensor("acc", acc)
    return _reduce.exact_round(acc, dtype=as_dtype(dtype), divisor=divisor)


def exact_normalize(acc: Tensor) -> Tensor:
    """The same values in normalised words: digits in [0, 2**32), the last one signed.

    The last digit takes what is left over; a value beyond its 64 bits, which no sum of fewer than 2**60 elements has,
    wraps around. Counts stay as they are.

    Args:
        acc: int64 tensor (..., 13) or (..., 70).

    Returns:
        A new tensor of the same shape.

    Raises:
        TypeError: ``acc`` is no tensor.
        RuntimeError: ``acc`` is not int64, or its last dim holds no accumulator.
    """
    check_tensor("acc", acc)
    return _reduce.exact_normalize(acc)
