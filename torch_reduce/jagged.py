"""Jagged tensors: batches of tensors whose sizes differ in one dim, the ragged one (``torch.nested``)."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

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
    dims = sorted(_wrapped(name, x, given))
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
    return _with_values(x, call(x.values(), inner, keepdim), left)


def map_jagged(
    name: str, call: Callable[..., Any], x: "NestedTensor", dims: Sequence[int], residual: Tensor | None = None
) -> Any:
    """Maps the rows of a jagged tensor as those of a strided one. What is promised of bits holds for each of them.

    Args:
        name: the operator's, for messages.
        call: ``call(tensor, dims)``, or ``call(tensor, dims, residual)``, maps strided tensors.
        x: of shape (batch, ...), with one ragged dim.
        dims: those of a row.
        residual: jagged as ``x``.

    Returns:
        What ``call`` gives, a tensor or several, jagged as ``x``.

    Raises:
        NotImplementedError: the batch or the ragged dim belongs to a row.
        IndexError: a dim is out of range.
        RuntimeError: the residual has another shape, of which a ragged dim is a part.
    """
    ragged, wrapped = x._ragged_idx, _wrapped(name, x, dims)
    if 0 in wrapped or ragged in wrapped:
        raise NotImplementedError(
            f"reduce::{name}: a row of a nested tensor has neither its batch nor its ragged dim; take each of its "
            "unbind()"
        )
    inner, tensors = [d - 1 for d in wrapped], [_filled(x)]
    if residual is not None:
        if not is_jagged(residual) or residual.shape != x.shape:
            raise RuntimeError(f"reduce::{name}: the residual has another shape than the nested input, {x.shape}")
        tensors.append(_filled(residual))
    first, *others = tensors
    result = call(first, inner, *others)
    if isinstance(result, Tensor):
        return _with_values(x, result, ragged)
    return tuple(_with_values(x, each, ragged) for each in result)


def _wrapped(name: str, x: Tensor, dims: Sequence[int]) -> list[int]:
    """The dims, from 0 on."""
    if wrong := [d for d in dims if not -x.dim() <= d < x.dim()]:
        raise IndexError(f"reduce::{name}: dim {wrong[0]} is out of range for a tensor of {x.dim()} dims")
    return [d % x.dim() for d in dims]


def _filled(x: "NestedTensor") -> Tensor:
    """The values; where there are holes, a copy with zeros in them, so that no gradient has what lies there."""
    values, offsets, lengths = x.values(), x.offsets(), x.lengths()
    if lengths is None:
        return values
    ragged = x._ragged_idx - 1
    place = torch.arange(values.shape[ragged], device=values.device)
    of = torch.searchsorted(offsets[:-1], place, right=True) - 1  # -1: before the first tensor
    is_hole = (of < 0) | (place >= (offsets[:-1] + lengths)[of])
    return values.masked_fill(is_hole.view(-1, *[1] * (values.dim() - ragged - 1)), 0)


def _with_values(x: "NestedTensor", values: Tensor, ragged: int) -> Tensor:
    """Jagged as ``x``, with other values. It knows the shortest and the longest of its tensors where ``x`` does."""
    of_tensors = x._maybe_min_seqlen, x._maybe_max_seqlen
    return torch.nested.nested_tensor_from_jagged(values, x.offsets(), x.lengths(), ragged, *of_tensors)
