"""Rules of reductions, scans, selections, accumulators and softmax."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload

from .._schemas import reduces_none
from .rule import Rule, batched


def _refuse_wrong_dims(
    op: OpOverload, batch: Tensor, dims: Sequence[int] | None, options: dict[str, Any], *keepdim: bool
) -> None:
    """Lets the operator refuse dims, with the numbers that the caller gave, which the batch would move."""
    size = max(batch.dim() - 1, 1)  # a 0-d tensor has the dims 0 and -1
    if dims and (any(not -size <= d < size for d in dims) or len({d % size for d in dims}) < len(dims)):
        given = dims if keepdim else dims[0]
        op(torch.empty(batch.shape[1:], dtype=batch.dtype, device="meta"), given, *keepdim, **options)


def reduction_rule(op: OpOverload) -> Rule:
    takes_none = reduces_none(op)

    def rule(
        info: Any,
        in_dims: Sequence[int],
        self: Tensor,
        dim: Sequence[int] | None = None,
        keepdim: bool = False,
        **options: Any,
    ) -> tuple[Tensor, int]:
        (batch_dim, *_) = in_dims
        self = self.movedim(batch_dim, 0)
        rank = self.dim() - 1
        _refuse_wrong_dims(op, self, dim, options, keepdim)
        if rank == 0:  # an empty list would mean every dim, the batch included
            self, dims, keepdim = self.unsqueeze(1), [1], False
        else:
            chosen = range(rank) if dim is None or (len(dim) == 0 and not takes_none) else dim
            dims = [d + 1 if d >= 0 else d for d in chosen]
        return op(self, dims, keepdim, **options), 0

    return rule


def by_name_rule(op: OpOverload) -> Rule:
    def rule(
        info: Any, in_dims: Sequence[int], self: Tensor, name: str, dim: Sequence[int], *options: Any
    ) -> tuple[Tensor, int]:
        self = self.movedim(in_dims[0], 0)
        rank = self.dim() - 1
        if rank == 0:  # each is its own element
            return op(self.unsqueeze(1), name, [1], False, *options[1:]), 0
        return op(self, name, [d % rank + 1 for d in dim], *options), 0

    return rule


def scan_rule(op: OpOverload) -> Rule:
    def rule(info: Any, in_dims: Sequence[int], self: Tensor, dim: int, **options: Any) -> tuple[Tensor, int]:
        self = self.movedim(in_dims[0], 0)
        rank = self.dim() - 1
        _refuse_wrong_dims(op, self, [dim], options)
        if rank == 0:  # each is its own scan
            return op(self.unsqueeze(1), 1, **options).squeeze(1), 0
        return op(self, dim % rank + 1, **options), 0

    return rule


def selection_rule(op: OpOverload) -> Rule:
    def rule(info: Any, in_dims: Sequence[int], self: Tensor, k: int, dim: int, largest: bool) -> tuple[Tensor, int]:
        self = self.movedim(in_dims[0], 0)
        rank = self.dim() - 1
        if not -max(rank, 1) <= dim < max(rank, 1):  # refused, with the number that the caller gave
            return op(torch.empty(self.shape[1:], dtype=self.dtype, device="meta"), k, dim, largest), 0
        if rank == 0:  # each is its own row
            return op(self.unsqueeze(1), k, 1, largest).squeeze(1), 0
        return op(self, k, dim % rank + 1, largest), 0

    return rule


def rule_of_two(op: OpOverload) -> Rule:
    def rule(
        info: Any,
        in_dims: Sequence[int | None],
        self: Tensor,
        other: Tensor,
        name: str,
        dim: Sequence[int],
        keepdim: bool,
        *options: Any,
        **more: Any,
    ) -> tuple[Tensor, int]:
        of_self, of_other, *_ = in_dims
        self, other = (
            t.unsqueeze(0).expand(info.batch_size, *t.shape) if d is None else t.movedim(d, 0)
            for t, d in ((self, of_self), (other, of_other))
        )
        rank = self.dim() - 1
        if rank == 0:  # a scalar has a dim 0
            self, other, dims, keepdim = self.unsqueeze(1), other.unsqueeze(1), [1], False
        else:
            dims = [d % rank + 1 for d in dim]
        return op(self, other, name, dims, keepdim, *options, **more), 0

    return rule


def accumulator_rule(op: OpOverload) -> Rule:
    def rule(info: Any, in_dims: Sequence[int], acc: Tensor, **options: Any) -> tuple[Tensor, int]:
        return op(acc.movedim(in_dims[0], 0), **options), 0  # the words stay last

    return rule


def softmax_rule(op: OpOverload) -> Rule:
    # Of a tensor, or of a gradient and a result; then the dim, the dtype, the mask and the scale.
    def rule(info: Any, in_dims: Sequence[int | None], *args: Any) -> tuple[Tensor, int]:
        count = next(i for i, a in enumerate(args) if not isinstance(a, Tensor))
        dim, *rest = args[count:]
        first, *others = (batched(info, t, d) for t, d in zip(args[:count], in_dims, strict=False))
        rank = first.dim() - 1
        _refuse_wrong_dims(op, first, [dim], {}) if not others else None
        if len(rest) > 1 and rest[1] is not None:
            mask = batched(info, rest[1], in_dims[count + 2])
            missing = [1] * (first.dim() - mask.dim())  # of the dims of one example, which broadcast
            rest[1] = mask.reshape(mask.shape[0], *missing, *mask.shape[1:])
        if rank > 0:
            return op(first, *others, dim % rank + 1, *rest), 0
        if len(rest) > 1 and rest[1] is not None:
            rest[1] = rest[1].unsqueeze(1)
        return op(first.unsqueeze(1), *(t.unsqueeze(1) for t in others), 1, *rest).squeeze(1), 0

    return rule


def elementwise_rule(op: OpOverload) -> Rule:
    # Of tensors that have as many dims as each other: element by element, or row by row along the last dim.
    def rule(info: Any, in_dims: Sequence[int | None], *tensors: Tensor) -> tuple[Tensor, int]:
        return op(*(batched(info, t, d) for t, d in zip(tensors, in_dims, strict=True))), 0

    return rule
