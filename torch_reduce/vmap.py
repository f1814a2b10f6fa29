"""Batching rules for ``torch.vmap``: a batch is one more kept dim, so the bits of each result stay what they are.

Here and not in the native library: vmap exists in Python alone, and torch's C++ headers for it are not installed whole.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload

from ._schemas import REDUCTIONS, SCANS

Rule = Callable[..., tuple[Any, Any]]
"""Of torch's description of the map, the batch's dim in each argument, and the arguments: the result, or several, and
its batch's dim."""


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


def _selection_rule(op: OpOverload) -> Rule:
    def rule(info: Any, in_dims: Sequence[int], self: Tensor, k: int, dim: int, largest: bool) -> tuple[Tensor, int]:
        self = self.movedim(in_dims[0], 0)
        rank = self.dim() - 1
        if not -max(rank, 1) <= dim < max(rank, 1):  # refused, with the number that the caller gave
            return op(torch.empty(self.shape[1:], dtype=self.dtype, device="meta"), k, dim, largest), 0
        if rank == 0:  # each is its own row
            return op(self.unsqueeze(1), k, 1, largest).squeeze(1), 0
        return op(self, k, dim % rank + 1, largest), 0

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


def _softmax_rule(op: OpOverload) -> Rule:
    # Of a tensor, or of a gradient and a result; then the dim, the dtype, the mask and the scale.
    def rule(info: Any, in_dims: Sequence[int | None], *args: Any) -> tuple[Tensor, int]:
        count = next(i for i, a in enumerate(args) if not isinstance(a, Tensor))
        dim, *rest = args[count:]
        first, *others = (_batched(info, t, d) for t, d in zip(args[:count], in_dims, strict=False))
        rank = first.dim() - 1
        _refuse_wrong_dims(op, first, [dim], {}) if not others else None
        if len(rest) > 1 and rest[1] is not None:
            mask = _batched(info, rest[1], in_dims[count + 2])
            missing = [1] * (first.dim() - mask.dim())  # of the dims of one example, which broadcast
            rest[1] = mask.reshape(mask.shape[0], *missing, *mask.shape[1:])
        if rank > 0:
            return op(first, *others, dim % rank + 1, *rest), 0
        if len(rest) > 1 and rest[1] is not None:
            rest[1] = rest[1].unsqueeze(1)
        return op(first.unsqueeze(1), *(t.unsqueeze(1) for t in others), 1, *rest).squeeze(1), 0

    return rule


def _batched(info: Any, t: Tensor, batch_dim: int | None) -> Tensor:
    return t.expand(info.batch_size, *t.shape) if batch_dim is None else t.movedim(batch_dim, 0)


def _norm_rule(op: OpOverload) -> Rule:
    # Parameters of a batch are applied here, in the compute type: the same operations, and one rounding.
    def rule(
        info: Any, in_dims: Sequence[int | None], self: Tensor, dims: int, *rest: Any
    ) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
        *parameters, eps = rest
        self = _batched(info, self, in_dims[0])
        batch_dims = in_dims[2:-1]
        if all(d is None for d in batch_dims):
            return op(self, dims, *parameters, eps), (0, 0)
        result, row = op(_computed(self), dims, *(None for _ in parameters), eps)
        weight, *bias = (
            p if p is None else _inside(_batched(info, p, d), self) for p, d in zip(parameters, batch_dims, strict=True)
        )
        result = result if weight is None else result * weight
        for b in bias:
            result = result if b is None else result + b
        return (result.to(self.dtype), row), (0, 0)

    return rule


def _add_norm_rule(op: OpOverload) -> Rule:
    def rule(
        info: Any,
        in_dims: Sequence[int | None],
        self: Tensor,
        residual: Tensor,
        dims: int,
        weight: Tensor | None,
        eps: float,
    ) -> tuple[tuple[Tensor, Tensor, Tensor], tuple[int, int, int]]:
        self, residual = (_batched(info, t, d) for t, d in zip((self, residual), in_dims[:2], strict=True))
        if in_dims[3] is None:
            return op(self, residual, dims, weight, eps), (0, 0, 0)
        total = self + residual
        norm = torch.ops.reduce._rms_norm.default
        (result, row), _ = _norm_rule(norm)(info, (0, None, in_dims[3], None), total, dims, weight, eps)
        return (result, total, row), (0, 0, 0)

    return rule


def _norm_gradient_rule(op: OpOverload) -> Rule:
    def rule(
        info: Any,
        in_dims: Sequence[int | None],
        grad: Tensor,
        self: Tensor,
        row: Tensor,
        dims: int,
        weight: Tensor | None,
    ) -> tuple[Tensor, int]:
        grad, self, row = (_batched(info, t, d) for t, d in zip((grad, self, row), in_dims[:3], strict=True))
        if weight is None or in_dims[4] is None:
            return op(grad, self, row, dims, weight), 0
        scaled = _computed(grad) * _inside(_batched(info, weight, in_dims[4]), grad)
        return op(scaled, _computed(self), row, dims, None).to(self.dtype), 0

    return rule


def _norm_products_rule(op: OpOverload) -> Rule:
    def rule(info: Any, in_dims: Sequence[int | None], *args: Any) -> tuple[Tensor, int]:
        *tensors, dims = args
        return op(*(_batched(info, t, d) for t, d in zip(tensors, in_dims[:3], strict=True)), dims), 0

    return rule


def _computed(t: Tensor) -> Tensor:
    """In the compute type."""
    return t if t.dtype == torch.float64 else t.float()


def _inside(parameter: Tensor, t: Tensor) -> Tensor:
    """A batch of parameters beside a batch of rows."""
    between = [1] * (t.dim() - parameter.dim())
    return _computed(parameter).reshape(parameter.shape[0], *between, *parameter.shape[1:])


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
    for scan in (*(operator.packet for operator in SCANS.values()), ops._cumargmax, ops._cumargmin):
        torch.library.register_vmap(scan.default, _scan_rule(scan.default))
    for rounding in (ops.exact_round, ops.exact_normalize):
        torch.library.register_vmap(rounding.default, _accumulator_rule(rounding.default))
    torch.library.register_vmap(ops._topk_indices.default, _selection_rule(ops._topk_indices.default))
    torch.library.register_vmap(ops._of_two.default, _rule_of_two(ops._of_two.default))
    for softmax in (ops.softmax, ops.log_softmax, ops._softmax_backward, ops._log_softmax_backward):
        torch.library.register_vmap(softmax.default, _softmax_rule(softmax.default))
    for norm in (ops._rms_norm, ops._layer_norm):
        torch.library.register_vmap(norm.default, _norm_rule(norm.default))
    torch.library.register_vmap(ops._add_rms_norm.default, _add_norm_rule(ops._add_rms_norm.default))
    for gradient in (ops._rms_norm_backward, ops._layer_norm_backward):
        torch.library.register_vmap(gradient.default, _norm_gradient_rule(gradient.default))
    for products in (ops._rms_norm_products, ops._layer_norm_products):
        torch.library.register_vmap(products.default, _norm_products_rule(products.default))
    ties = ops._ties.default  # what gradients call
    torch.library.register_vmap(ties, _elementwise_rule(ties))
