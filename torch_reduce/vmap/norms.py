"""Rules of the norms and their gradients."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload

from .rule import Rule, batched, computed


def norm_rule(op: OpOverload) -> Rule:
    # Parameters of a batch are applied here, in the compute type: the same operations, and one rounding.
    def rule(
        info: Any, in_dims: Sequence[int | None], self: Tensor, dims: int, *rest: Any
    ) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
        *parameters, eps = rest
        self = batched(info, self, in_dims[0])
        batch_dims = in_dims[2:-1]
        if all(d is None for d in batch_dims):
            return op(self, dims, *parameters, eps), (0, 0)
        result, row = op(computed(self), dims, *(None for _ in parameters), eps)
        weight, *bias = (
            p if p is None else _inside(batched(info, p, d), self) for p, d in zip(parameters, batch_dims, strict=True)
        )
        result = result if weight is None else result * weight
        for b in bias:
            result = result if b is None else result + b
        return (result.to(self.dtype), row), (0, 0)

    return rule


def add_norm_rule(op: OpOverload) -> Rule:
    def rule(
        info: Any,
        in_dims: Sequence[int | None],
        self: Tensor,
        residual: Tensor,
        dims: int,
        weight: Tensor | None,
        eps: float,
    ) -> tuple[tuple[Tensor, Tensor, Tensor], tuple[int, int, int]]:
        self, residual = (batched(info, t, d) for t, d in zip((self, residual), in_dims[:2], strict=True))
        if in_dims[3] is None:
            return op(self, residual, dims, weight, eps), (0, 0, 0)
        total = self + residual
        norm = torch.ops.reduce._rms_norm.default
        (result, row), _ = norm_rule(norm)(info, (0, None, in_dims[3], None), total, dims, weight, eps)
        return (result, total, row), (0, 0, 0)

    return rule


def norm_gradient_rule(op: OpOverload) -> Rule:
    def rule(
        info: Any,
        in_dims: Sequence[int | None],
        grad: Tensor,
        self: Tensor,
        row: Tensor,
        dims: int,
        weight: Tensor | None,
    ) -> tuple[Tensor, int]:
        grad, self, row = (batched(info, t, d) for t, d in zip((grad, self, row), in_dims[:3], strict=True))
        if weight is None or in_dims[4] is None:
            return op(grad, self, row, dims, weight), 0
        scaled = computed(grad) * _inside(batched(info, weight, in_dims[4]), grad)
        return op(scaled, computed(self), row, dims, None).to(self.dtype), 0

    return rule


def group_norm_rule(op: OpOverload) -> Rule:
    # Parameters of a batch are applied here, as by norm_rule; else the batch is more samples.
    def rule(
        info: Any,
        in_dims: Sequence[int | None],
        self: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        eps: float,
    ) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
        self = batched(info, self, in_dims[0])
        is_shared = in_dims[1] is None and in_dims[2] is None
        given = (weight, bias) if is_shared else (None, None)
        result, row = op((self if is_shared else computed(self)).flatten(0, 1), *given, eps)
        result, row = (t.unflatten(0, self.shape[:2]) for t in (result, row))
        if not is_shared:
            weight, bias = (
                p if p is None else _beside_groups(batched(info, p, d), self)
                for p, d in zip((weight, bias), in_dims[1:3], strict=True)
            )
            result = result if weight is None else result * weight
            result = (result if bias is None else result + bias).to(self.dtype)
        return (result, row), (0, 0)

    return rule


def group_norm_gradient_rule(op: OpOverload) -> Rule:
    def rule(
        info: Any, in_dims: Sequence[int | None], grad: Tensor, self: Tensor, row: Tensor, weight: Tensor | None
    ) -> tuple[Tensor, int]:
        tensors = [batched(info, t, d) for t, d in zip((grad, self, row), in_dims[:3], strict=True)]
        batch, dtype = tensors[1].shape[:2], self.dtype
        if weight is not None and in_dims[3] is not None:
            scaled = computed(tensors[0]) * _beside_groups(batched(info, weight, in_dims[3]), tensors[0])
            tensors[:2], weight = [scaled, computed(tensors[1])], None
        return op(*(t.flatten(0, 1) for t in tensors), weight).unflatten(0, batch).to(dtype), 0

    return rule


def batch_norm_rule(op: OpOverload) -> Rule:
    # The batch is more channels.
    def rule(info: Any, in_dims: Sequence[int | None], *args: Any) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
        self, *of_channels, eps, of_batch = args
        flat = _of_all_channels(info, of_channels, in_dims[1:5])
        results = op(_as_channels(batched(info, self, in_dims[0])), *flat, eps, of_batch)
        result, row = (t.unflatten(1, (info.batch_size, -1)) for t in results)
        return (result, row), (1, 1)

    return rule


def batch_norm_gradient_rule(op: OpOverload) -> Rule:
    def rule(info: Any, in_dims: Sequence[int | None], *given: Any) -> tuple[Tensor, int]:
        *of_samples, sums, weight = given
        channels = (_as_channels(batched(info, t, d)) for t, d in zip(of_samples, in_dims[:3], strict=True))
        flat = _of_all_channels(info, [sums, weight], in_dims[3:])
        return op(*channels, *flat).unflatten(1, (info.batch_size, -1)), 1

    return rule


def normal_products_rule(op: OpOverload) -> Rule:
    def rule(info: Any, in_dims: Sequence[int | None], *given: Tensor) -> tuple[Tensor, int]:
        channels = (_as_channels(batched(info, t, d)) for t, d in zip(given, in_dims, strict=True))
        return op(*channels).unflatten(1, (info.batch_size, -1)), 1

    return rule


def _of_all_channels(info: Any, given: Sequence[Tensor | None], in_dims: Sequence[int | None]) -> list[Tensor | None]:
    """What a batch of channels has, one batch after the other."""
    return [t if t is None else batched(info, t, d).flatten(0, 1) for t, d in zip(given, in_dims, strict=True)]


def _as_channels(t: Tensor) -> Tensor:
    """Of a batch of (samples, channels, rest), the channels of all."""
    return t.movedim(0, 1).flatten(1, 2)


def channel_sums_rule(op: OpOverload) -> Rule:
    def rule(info: Any, in_dims: Sequence[int | None], *args: Any) -> tuple[Tensor, int]:
        *tensors, channels = args
        tensors = [batched(info, t, d) for t, d in zip(tensors, in_dims[:3], strict=True)]
        return op(*(t.flatten(0, 1) for t in tensors), channels).unflatten(0, tensors[0].shape[:2]), 0

    return rule


def _beside_groups(parameter: Tensor, t: Tensor) -> Tensor:
    """A batch of parameters of channels beside a batch of (sample, group, row)."""
    _, _, groups, size = t.shape
    of_groups = computed(parameter).unflatten(1, (groups, -1))
    return of_groups.repeat_interleave(size // of_groups.shape[-1], -1).unsqueeze(1)


def norm_weight_rule(op: OpOverload) -> Rule:
    # Element by element of the batch: a row's words are found by its number among all rows.
    def rule(
        info: Any, in_dims: Sequence[int | None], grad: Tensor, self: Tensor, row: Tensor, dims: int
    ) -> tuple[Tensor, int]:
        grad, self, row = (batched(info, t, d) for t, d in zip((grad, self, row), in_dims[:3], strict=True))
        sums = row.new_empty((grad.shape[0], *grad.shape[grad.dim() - dims :]))
        for i in range(grad.shape[0]):
            sums[i] = op(grad[i], self[i], row[i], dims)
        return sums, 0

    return rule


def norm_gradients_rule(op: OpOverload) -> Rule:
    # As norm_weight_rule, but for weights of a batch.
    def rule(info: Any, in_dims: Sequence[int | None], *args: Any) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
        *tensors, dims, weight = args
        batches = [batched(info, t, d) for t, d in zip(tensors, in_dims[:3], strict=True)]
        weights = batched(info, weight, in_dims[4]) if weight is not None else [None] * info.batch_size
        pairs = [op(*of_one, dims, w) for *of_one, w in zip(*batches, weights, strict=True)]
        if pairs:
            of_x, sums = (torch.stack(t) for t in zip(*pairs, strict=True))
            return (of_x, sums), (0, 0)
        _, self, row = batches
        sums = row.new_empty((0, 1 + (row.shape[-1] == 3), *self.shape[self.dim() - dims :]))
        return (torch.empty_like(self), sums), (0, 0)

    return rule


def _inside(parameter: Tensor, t: Tensor) -> Tensor:
    """A batch of parameters beside a batch of rows."""
    between = [1] * (t.dim() - parameter.dim())
    return computed(parameter).reshape(parameter.shape[0], *between, *parameter.shape[1:])
