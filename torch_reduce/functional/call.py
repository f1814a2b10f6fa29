"""From the arguments of a function to a call of its operator."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

import torch
from torch import Tensor

from .._schemas import reduces_none
from ..arguments import Dims, TorchNames, read
from ..jagged import is_jagged, reduce_jagged

if TYPE_CHECKING:
    from torch.nested._internal.nested_tensor import NestedTensor

ops = torch.ops.reduce
_Pair = TypeVar("_Pair")


def run(op: torch._ops.OpOverloadPacket, out: Tensor | None, *arguments: Any, **options: Any) -> Tensor:
    """The operator's result, new or in ``out``."""
    return op.default(*arguments, **options) if out is None else op.out(*arguments, **options, out=out)


def call(
    op: torch._ops.OpOverloadPacket,
    x: Tensor | None,
    dim: Dims,
    keepdim: bool,
    out: Tensor | None,
    names: TorchNames,
    where: Tensor | None = None,
    **options: torch.dtype | str | float | None,
) -> Tensor:
    """Reduces a tensor, strided or jagged, with or without a mask."""
    x, dims, keepdim = read(x, dim, keepdim, names, takes_jagged=True)
    if where is not None:
        return _call_masked(op, x, dims, keepdim, out, options, where)
    if type(x) is not Tensor and is_jagged(x):
        return _call_jagged(op, x, dims, keepdim, out, options)
    return run(op, out, x, dims, keepdim, **options)


def call_pair(
    kind: Callable[[Tensor, Tensor], _Pair],
    op: torch._ops.OpOverloadPacket,
    both_op: torch._ops.OpOverloadPacket,
    x: Tensor | None,
    dim: Dims,
    keepdim: bool,
    out: tuple[Tensor, Tensor] | None,
    names: TorchNames,
    **options: Any,
) -> _Pair:
    """The same of an operator of two results; ``both_op`` gives both in the last dim of one tensor."""
    if out is not None:
        first, second = as_pair(out)
        x, dims, keepdim = read(x, dim, keepdim, names, takes_jagged=True)
        if x.is_nested:
            raise NotImplementedError(f"{_name_of(op)}: no out= for nested tensors")
        return kind(*op.out(x, dims, keepdim, **options, out0=first, out1=second))
    both = call(both_op, x, dim, keepdim, None, names, **options)
    return kind(both.select(-1, 0), both.select(-1, 1))


def as_pair(out: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """The two of ``out=``.

    Raises:
        TypeError: they are no two tensors.
    """
    if not isinstance(out, (tuple, list)) or len(out) != 2 or not all(isinstance(t, Tensor) for t in out):
        raise TypeError(f"reduce: out is a tuple of two tensors, got {type(out).__name__}")
    return out[0], out[1]


def _call_masked(
    op: torch._ops.OpOverloadPacket,
    x: Tensor,
    dims: Sequence[int] | int | None,
    keepdim: bool,
    out: Tensor | None,
    options: dict[str, Any],
    where: Tensor,
) -> Tensor:
    if not isinstance(where, Tensor):
        raise TypeError(f"reduce: where is a tensor of bools, got {where!r}")
    if x.is_nested or where.is_nested:
        raise NotImplementedError(f"{_name_of(op)}: no where= for nested tensors; reduce each of their unbind()")
    if where.layout != torch.strided:
        raise NotImplementedError(f"{_name_of(op)}: no where= of layout {where.layout}; where.to_dense() is strided")
    if out is None:
        return op.where(x, dims, keepdim, **options, where=where)
    return op.where_out(x, dims, keepdim, **options, where=where, out=out)


def _call_jagged(
    op: torch._ops.OpOverloadPacket,
    x: "NestedTensor",
    dims: Sequence[int] | int | None,
    keepdim: bool,
    out: Tensor | None,
    keywords: dict[str, Any],
) -> Tensor:
    if out is not None:
        raise NotImplementedError(f"{_name_of(op)}: no out= for nested tensors")
    if dims is not None and not isinstance(dims, int) and len(dims) == 0 and reduces_none(op.default):
        return _call_jagged(op, cast("NestedTensor", x.unsqueeze(-1)), [-1], False, out, keywords)
    call = lambda x, dims, keepdim: op.default(x, dims, keepdim, **keywords)  # noqa: E731
    return reduce_jagged(_name_of(op).removeprefix("reduce::"), call, x, dims, keepdim)


def _name_of(op: torch._ops.OpOverloadPacket) -> str:
    return op._qualified_op_name.replace("::_", "::")
