"""Jagged tensors: batches of tensors whose sizes differ in one dim, the ragged one (``torch.nested``)."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from typing_extensions import TypeIs

if TYPE_CHECKING:  # the class of every tensor with that layout, private to torch
    from torch.nested._internal.nested_tensor import NestedTensor


def is_jagged(x: Tensor) -> "TypeIs[NestedTensor]":
    return isinstance(x, Tensor) and x.layout == torch.jagged


def reduce_jagged(
    name: str, call: Callable[..., Tensor], x: "NestedTensor", dim: Sequence[int] | int | None, keepdim: bool
) -> Tensor:
    """Reduces a jagged tensor by reductions of strided ones. What is promised of bits holds for each of them.

    Args:
        name: the operator's, for messages.
        call: ``call(tensor, dims, keepdim)`` reduces a strided tensor.
        x: of shape (batch, ...), with one ragged dim.
        dim: as for other tensors.
        keepdim: whether reduced dims stay, with size 1.

    Returns:
        Jagged, where the ragged dim stays. Strided where it goes, alone or with others: a result for each tensor of the
        batch; or with the batch: the reduction of all elements that share the other indices, tensor after tensor.

    Raises:
        NotImplementedError: the batch goes and the ragged dim stays, or both go and the tensors do not follow one
            another in memory.
        IndexError, RuntimeError: a dim is out of range, or repeated.
    """
    given = [dim] if isinstance(dim, int) else list(dim or range(x.dim()))
    if wrong := [d for d in given if not -x.dim() <= d < x.dim()]:
        raise IndexError(f"reduce::{name}: dim {wrong[0]} is out of range for a tensor of {x.dim()} dims")
    dims = sorted(d % x.dim() for d in given)
    if len(set(dims)) < len(dims):
        raise RuntimeError(f"reduce::{name}: a dim appears more than once in {given}")
    ragged, inner = x._ragged_idx, [d - 1 for d in dims if d > 0]
    if dims[0] == 0:
        if ragged not in dims or ragged != 1 or x._lengths is not None:
            raise NotImplementedError(
                f"reduce::{name}: over its batch a nested tensor is reduced with its ragged dim, which must follow the "
                "batch, without holes; else reduce each of x.unbind()"
            )
        result = call(x.values(), inner, keepdim)
        return result.unsqueeze(0) if keepdim else result
    if ragged in dims:
        return torch.stack([call(part, inner, keepdim) for part in x.unbind()])
    left = ragged if keepdim else ragged - sum(d < ragged for d in dims)
    values = call(x.values(), inner, keepdim)
    return torch.nested.nested_tensor_from_jagged(values, x.offsets(), x.lengths(), left)
