"""Selections as Python functions: elements of a row, chosen and put in order."""

from typing import SupportsIndex

import torch
from torch import Tensor
from typing_extensions import Unpack

from .arguments import as_count, as_scanned_dim, check
from .functional.call import as_pair
from .results import ValuesAndIndices
from .scans import TorchNames, with_torch_names

__all__ = ["topk"]


def topk(
    x: Tensor | None = None,
    k: SupportsIndex | None = None,
    dim: SupportsIndex | None = None,
    largest: bool = True,
    sorted: bool = True,
    *,
    out: tuple[Tensor, Tensor] | None = None,
    **names: Unpack[TorchNames],
) -> ValuesAndIndices:
    """The ``k`` largest elements of ``x`` along ``dim``, in descending order, and where they stand.

    Of equal elements the first one comes first, and zeros of both signs are equal; NaN is larger than every number. So
    the result of a row depends on its elements alone: on no other row, device, thread or run. ``torch.topk`` leaves
    open which of equal elements it takes. The gradient of a value goes to its element.

    Args:
        x: tensor of any shape and strides. No copy of it is made, but by the sort of a CUDA tensor where ``k`` is over
            1024 and the dim over 2048.
        k: how many, at most the size of the dim.
        dim: the dim, in [-x.ndim, x.ndim); by default the last one.
        largest: False for the smallest elements, in ascending order, NaN last.
        sorted: torch's argument; they are in order either way.
        out: two tensors, for the values and the indices, which are written to and returned.

    Returns:
        ``values``, of the dtype of ``x``, and ``indices``, int64: a named tuple of two tensors on the device of ``x``,
        of its shape but for ``k`` at ``dim``.

    Raises:
        IndexError: the dim is out of range.
        TypeError: ``x`` is no tensor, the dim or ``k`` no integer, or ``out`` no pair of tensors.
        RuntimeError: ``k`` is negative or over the size of the dim, or ``out`` has other devices, dtypes or shapes than
            the results.
        NotImplementedError: the dtype is complex or quantised.

    Examples:
        >>> torch_reduce.topk(torch.tensor([1, 3, 2, 3]), 3)
        ValuesAndIndices(values=tensor([3, 3, 2]), indices=tensor([1, 3, 2]))
    """
    x, dim = with_torch_names(x, dim, names)
    k = as_count("k", k)
    x, dim = check(x, False), -1 if dim is None else as_scanned_dim(dim)
    if out is None:
        return ValuesAndIndices(*torch.ops.reduce.topk(x, k, dim, largest))
    values, indices = as_pair(out)
    return ValuesAndIndices(*torch.ops.reduce.topk.out(x, k, dim, largest, values=values, indices=indices))
