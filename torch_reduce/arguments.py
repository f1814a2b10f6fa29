"""The arguments of the functions, as the operators take them."""

import operator
from collections.abc import Sequence
from typing import SupportsIndex

import torch
from torch import Tensor

Dims = SupportsIndex | Sequence[SupportsIndex] | None
"""Which dims a function reduces: one, several, or all where it is None or empty. One may be anything that is an integer
to Python: an int, an integer of NumPy, a 0-d tensor of integers."""

DType = torch.dtype | type
"""An output type: ``torch.float32``, or as in torch ``float``, ``int`` or ``bool`` for their torch types."""

_OF_PYTHON = {float: torch.float64, int: torch.int64, bool: torch.bool}


def as_dims(dim: Dims) -> Sequence[int] | int | None:
    """A dim that may be symbolic becomes a list of it, which torch's operators take. Dynamo shows it as an int.

    Raises:
        TypeError: it is neither an integer nor some of them.
    """
    kind = type(dim)
    if kind is int:
        return [dim] if torch.compiler.is_compiling() else dim
    if dim is None or kind is list or kind is tuple:
        return dim
    if isinstance(dim, torch.SymInt):
        return [dim]
    if kind is not bool and not isinstance(dim, str | bytes | dict):
        for read in (operator.index, list):
            try:
                return read(dim)
            except TypeError:
                continue
    raise TypeError(f"reduce: dim is an int or several of them, got {dim!r}")


def as_dtype(dtype: DType | None) -> torch.dtype | None:
    """A type of Python becomes torch's."""
    return _OF_PYTHON.get(dtype, dtype) if type(dtype) is type else dtype


def check(x: Tensor, keepdim: bool) -> None:
    """Refuses what is no tensor, nor stands for one, and what is neither True nor False.

    Raises:
        TypeError: x is no tensor, or keepdim no bool.
        NotImplementedError: x is a kind of tensor whose elements are not all there: nested, masked.
    """
    if type(x) is not Tensor:
        if not hasattr(type(x), "__torch_function__"):
            raise TypeError(f"reduce: x is a tensor, got {type(x).__name__}; torch.as_tensor makes one of it")
        if isinstance(x, torch.masked.MaskedTensor):
            raise NotImplementedError("reduce: masked tensors are not supported; fill what is masked, by torch.where")
        if isinstance(x, Tensor) and x.is_nested:
            raise NotImplementedError("reduce: nested tensors are not supported; reduce each of x.unbind()")
    if type(keepdim) is not bool:
        raise TypeError(f"reduce: keepdim is True or False, got {keepdim!r}")
