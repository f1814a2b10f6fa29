"""The scans as Python functions: thin typed names for ``torch.ops.reduce.*``.

Every result is that of a reduction of the elements up to its own, in mode ``"deterministic"``: ``cumsum(x, 1)[:, i]``
has the bits of ``sum(x[:, : i + 1], 1)``. So a prefix depends on its own elements alone, whatever comes after it, and
the last result is the whole reduction's. Accepted are the tensors that reductions accept, but for jagged ones, and no
copy of the input is made. As in torch, ``input`` and ``axis`` are other names of ``x`` and ``dim``. The functions are
differentiable (twice) and work under ``torch.func``, ``torch.compile`` and ``torch.export``; with ``out=`` they are not
differentiable.
"""

from typing import SupportsIndex, TypedDict

import torch
from torch import Tensor
from typing_extensions import Unpack

from ._fast_calls import fast
from .arguments import DType, as_dtype, as_scanned_dim, check, renamed
from .functional.call import as_pair, ops, run
from .results import ValuesAndIndices

__all__ = ["cummax", "cummin", "cumprod", "cumsum", "logcumsumexp"]


class TorchNames(TypedDict, total=False):
    """What torch calls these arguments too."""

    input: Tensor
    axis: SupportsIndex


def with_torch_names(
    x: Tensor | None, dim: SupportsIndex | None, names: TorchNames
) -> tuple[Tensor | None, SupportsIndex | None]:
    if not names:
        return x, dim
    if "keepdims" in names:
        raise TypeError("reduce: there is no argument 'keepdims'")
    x, dim, _ = renamed(x, dim, False, names)
    return x, dim


def _call(
    op: torch._ops.OpOverloadPacket,
    x: Tensor | None,
    dim: SupportsIndex | None,
    out: Tensor | None,
    names: TorchNames,
    **options: torch.dtype | None,
) -> Tensor:
    x, dim = with_torch_names(x, dim, names)
    x, scanned = check(x, False), as_scanned_dim(dim)
    return run(op, out, x, scanned, **options)


def _call_pair(
    op: torch._ops.OpOverloadPacket,
    x: Tensor | None,
    dim: SupportsIndex | None,
    out: tuple[Tensor, Tensor] | None,
    names: TorchNames,
) -> ValuesAndIndices:
    x, dim = with_torch_names(x, dim, names)
    x, scanned = check(x, False), as_scanned_dim(dim)
    if out is None:
        return ValuesAndIndices(*op.default(x, scanned))
    values, indices = as_pair(out)
    return ValuesAndIndices(*op.out(x, scanned, values=values, indices=indices))


@fast
def cumsum(
    x: Tensor | None = None,
    dim: SupportsIndex | None = None,
    *,
    dtype: DType | None = None,
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """The sums of the elements of ``x`` along ``dim`` up to each of them.

    They accumulate as those of :func:`sum` do, and each is rounded once, to the output type.

    Args:
        x: tensor of any shape and strides.
        dim: the dim to scan, in [-x.ndim, x.ndim); 0 or -1 where ``x`` has none.
        dtype: output type: by default the dtype of ``x``, int64 for integers and bool. One wider than the compute
            type widens it. Floating elements are converted one by one, first, to an integer or bool type.
        out: written to and returned; its dtype is the output type where ``dtype`` is not given. It must have the
            shape of ``x``, or no elements, when it is resized. It may be ``x`` itself, and must not overlap it
            otherwise.

    Returns:
        Tensor of the shape of ``x``, contiguous, on its device.

    Raises:
        IndexError: the dim is out of range.
        TypeError: ``x`` is no tensor, or the dim no integer.
        RuntimeError: ``out`` has another shape, device, or dtype than ``dtype``, or overlaps ``x`` and is not the same.
        NotImplementedError: the dtype is not one of those accepted (complex, quantised).
    """
    return _call(ops.cumsum, x, dim, out, names, dtype=as_dtype(dtype))


@fast
def cumprod(
    x: Tensor | None = None,
    dim: SupportsIndex | None = None,
    *,
    dtype: DType | None = None,
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """The products of the elements of ``x`` along ``dim`` up to each of them.

    They accumulate as those of :func:`prod` do, so finite elements neither overflow nor underflow on the way: a product
    that is beyond the output type is infinity or zero there, and those behind it are right again. Integers wrap around.
    Gradients divide by no element, so zeros are as good as others. But they multiply products that were rounded, of the
    elements before one and of those behind it, and are wrong where one of these is infinity or zero. Those of
    ``torch.cumprod`` are wrong where a product of the first elements is.

    Args:
        x: tensor of any shape and strides.
        dim: the dim to scan, as in :func:`cumsum`.
        dtype: output type, as in :func:`cumsum`.
        out: written to and returned, as in :func:`cumsum`.

    Returns:
        Tensor of the shape of ``x``, contiguous, on its device.

    Raises:
        IndexError, TypeError, RuntimeError, NotImplementedError: as in :func:`cumsum`.
    """
    return _call(ops.cumprod, x, dim, out, names, dtype=as_dtype(dtype))


@fast
def logcumsumexp(
    x: Tensor | None = None,
    dim: SupportsIndex | None = None,
    *,
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """The logarithms of the sums of exponentials of the elements of ``x`` along ``dim`` up to each of them.

    They accumulate as those of :func:`logsumexp` do: nothing overflows on the way. Where all elements up to one are
    -infinity, so is the result, and its gradient is 0.

    Args:
        x: tensor of any shape and strides.
        dim: the dim to scan, as in :func:`cumsum`.
        out: written to and returned, as in :func:`cumsum`; it has the dtype of the result.

    Returns:
        Tensor of the shape of ``x``, contiguous, on its device. It has the dtype of ``x``, or torch's default dtype for
        integers and bool.

    Raises:
        IndexError, TypeError, RuntimeError, NotImplementedError: as in :func:`cumsum`.
    """
    return _call(ops.logcumsumexp, x, dim, out, names)


@fast
def cummax(
    x: Tensor | None = None,
    dim: SupportsIndex | None = None,
    *,
    out: tuple[Tensor, Tensor] | None = None,
    **names: Unpack[TorchNames],
) -> ValuesAndIndices:
    """The largest of the elements of ``x`` along ``dim`` up to each of them, and where it stands.

    A value is that of :func:`amax`: NaN wins over every number, and +0 over -0. An index is that of the last of the
    elements that are equal to the value, as torch's, and of zeros of both signs. The gradient of a value goes to the
    element at its index; those of several values are summed in a fixed order.

    Args:
        x: tensor of any shape and strides.
        dim: the dim to scan, as in :func:`cumsum`.
        out: two tensors, for the values and the indices, which are written to and returned; otherwise as in
            :func:`cumsum`. That of the values may be ``x`` itself.

    Returns:
        ``values``, of the dtype of ``x``, and ``indices``, int64: a named tuple of two tensors of the shape of ``x``,
        contiguous, on its device.

    Raises:
        IndexError, TypeError, RuntimeError, NotImplementedError: as in :func:`cumsum`.

    Examples:
        >>> torch_reduce.cummax(torch.tensor([1, 3, 2, 3]), 0)
        ValuesAndIndices(values=tensor([1, 3, 3, 3]), indices=tensor([0, 1, 1, 3]))
    """
    return _call_pair(ops.cummax, x, dim, out, names)


@fast
def cummin(
    x: Tensor | None = None,
    dim: SupportsIndex | None = None,
    *,
    out: tuple[Tensor, Tensor] | None = None,
    **names: Unpack[TorchNames],
) -> ValuesAndIndices:
    """The smallest of the elements of ``x`` along ``dim`` up to each of them, and where it stands.

    A value is that of :func:`amin`: NaN wins over every number, and -0 over +0. All else is as in :func:`cummax`.
    """
    return _call_pair(ops.cummin, x, dim, out, names)
