"""Batching rules for ``torch.vmap``: a batch is one more kept dim, so the bits of each result stay what they are.

Here and not in the native library: vmap exists in Python alone, and torch's C++ headers for it are not installed whole.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload

from ._schemas import REDUCTIONS, SCANS

Rule = Callable[..., tuple[Tensor, int]]
"""Of torch's description of the map, the batch's dim in each argument, and the arguments: the result, and its batch's
dim."""


def _refuse_wrong_dims(
    op: OpOverload, batch: Tensor, dims: Sequence[int] | None, options: dict[str, Any], *keepdim: bool
) -> None:
    """Lets the operator refuse dims, with the numbers that the caller gave, which the batch would move."""
    size = max(batch.dim() - 1, 1)  # a 0-d tensor has the dims 0 and -1
    if dims and (any(not -size <= d < size for d in dims) or len({d % size for d in dims}) < len(dims)):
        given = dims if keepdim else dims[0]
        op(torch.empty(batch.shape[1:], dtype=batch.dtype, device="meta"), given, *keepdim, **options)


def _reduction_rule(op: OpOverload) -> Rule:
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
            chosen = range(rank) if dim is None or len(dim) == 0 else dim
            dims = [d + 1 if d >= 0 else d for d in chosen]
        return op(self, dims, keepdim, **options), 0

    return rule


def _scan_rule(op: OpOverload) -> Rule:
    def rule(info: Any, in_dims: Sequence[int], self: Tensor, dim: int, **options: Any) -> tuple[Tensor, int]:
        self = self.movedim(in_dims[0], 0)
        rank = self.dim() - 1
        _refuse_wrong_dims(op, self, [dim], options)
        if rank == 0:  # each is its own scan
            return op(self.unsqueeze(1), 1, **options).squeeze(1), 0
        return op(self, dim % rank + 1, **options), 0

    return rule


def _rule_of_two(op: OpOverload) -> Rule:
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


def _accumulator_rule(op: OpOverload) -> Rule:
    def rule(info: Any, in_dims: Sequence[int], acc: Tensor, **options: Any) -> tuple[Tensor, int]:
        return op(acc.movedim(in_dims[0], 0), **options), 0  # the words stay last

    return rule


def _elementwise_rule(op: OpOverload) -> Rule:
    # Of tensors that have as many dims as each other.
    def rule(info: Any, in_dims: Sequence[int | None], *tensors: Tensor) -> tuple[Tensor, int]:
        batched = (t.unsqueeze(0) if d is None else t.movedim(d, 0) for t, d in zip(tensors, in_dims, strict=True))
        return op(*batched), 0

    return rule


def register() -> None:
    """Registers the rules of every operator; once, after the native library is loaded."""
    ops = torch.ops.reduce
    for reduction in (*(operator.packet for operator in REDUCTIONS.values()), ops.exact_accumulate):
        torch.library.register_vmap(reduction.default, _reduction_rule(reduction.default))
    for scan in SCANS.values():
        torch.library.register_vmap(scan.packet.default, _scan_rule(scan.packet.default))
    for rounding in (ops.exact_round, ops.exact_normalize):
        torch.library.register_vmap(rounding.default, _accumulator_rule(rounding.default))
    torch.library.register_vmap(ops._of_two.default, _rule_of_two(ops._of_two.default))
    ties = ops._ties.default  # what gradients call
    torch.library.register_vmap(ties, _elementwise_rule(ties))
