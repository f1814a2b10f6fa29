"""Parameters of channels, dim 1 of a tensor, applied to its elements with gradients in the canonical order."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ...arguments import check_tensor
from ...functional.call import ops


class _Spread(torch.autograd.Function):
    """A vector as a tensor of some sizes that has it along dim 1. Its gradient is the ``sum`` over all other dims."""

    generate_vmap_rule = True

    @staticmethod
    def forward(vector: Tensor, sizes: Sequence[int]) -> Tensor:
        return along_channels(vector, len(sizes)).expand(sizes)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Sequence[int]], output: Tensor) -> None:
        ctx.sizes = inputs[1]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return sum_over_channels(grad), None


class _SpreadWithTangent(_Spread):
    """The same in forward mode too; torch.compile refuses functions that have a jvp."""

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor, _: None) -> Tensor:
        return along_channels(tangent, len(ctx.sizes)).expand(ctx.sizes)


def spread(vector: Tensor, x: Tensor) -> Tensor:
    """A vector beside a tensor of the compute type, along its dim 1."""
    kind = _Spread if torch.compiler.is_compiling() else _SpreadWithTangent
    return kind.apply(vector.to(x.dtype), x.shape)


def along_channels(vector: Tensor, dims: int) -> Tensor:
    """A vector of channels, to stand beside a tensor of so many dims."""
    return vector.view(1, len(vector), *(1 for _ in range(dims - 2)))


def sum_over_channels(x: Tensor) -> Tensor:
    """Of each channel."""
    return ops.sum(x, other_dims(x))


def other_dims(x: Tensor) -> list[int]:
    """The dims along which a channel has its elements."""
    return [d for d in range(x.dim()) if d != 1]


def computed(x: Tensor) -> Tensor:
    """In the compute type."""
    return x if x.dtype == torch.float64 else x.float()


def affine(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """``x * weight + bias``, by channel: each operation one of the compute type, which ``x`` has. ``x`` may change."""
    if weight is not None:
        x = _with_channels(x, "mul", weight)
    return x if bias is None else _with_channels(x, "add", bias)


def normalised(x: Tensor, mean: Tensor, var: Tensor, eps: float, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """``(x - mean) * (1 / sqrt(var + eps)) * weight + bias``, by channel, rounded to the type of ``x`` at the end."""
    wide = computed(x)
    inverse = _root(var.to(wide.dtype) + eps).reciprocal()
    return affine(_with_channels(wide - spread(mean, wide), "mul", inverse), weight, bias).to(x.dtype)


def _root(x: Tensor) -> Tensor:
    """Rounded as IEEE has it, which torch's own is not on every CPU. Of float64 it is torch's."""
    return x.double().sqrt().to(x.dtype)


def _with_channels(x: Tensor, operation: str, vector: Tensor) -> Tensor:
    """An operation of a tensor and a vector; in place where nothing records it, as fresh memory costs more than it."""
    records = torch.is_grad_enabled() or torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active()
    return getattr(x, operation if records else operation + "_")(spread(vector, x))


def move_running(
    running_mean: Tensor | None, running_var: Tensor | None, momentum: float, mean: Tensor, var: Tensor, count: int
) -> None:
    """Moves statistics towards those of a batch of so many elements a channel, in place."""
    unbiased = var * (count / (count - 1)) if count > 1 else var
    for running, new in ((running_mean, mean), (running_var, unbiased)):
        if running is not None:
            with torch.no_grad():
                running.copy_(running.to(new.dtype) * (1 - momentum) + new.detach() * momentum)


def check_has_channels(x: Tensor) -> None:
    """torch's sentence, of what is a tensor."""
    check_tensor("input", x)
    if x.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {x.dim()}")


def check_batch_parameters(x: Tensor, **vectors: Tensor | None) -> None:
    """The sentences of torch's batch_norm."""
    check_tensor("input", x)
    count = x.shape[1] if x.dim() > 1 else 0
    for which, vector in vectors.items():
        if vector is not None and vector.numel() != count:
            raise RuntimeError(f"{which} should contain {count} elements not {vector.numel()}")
    check_has_channels(x)
    check_types("batch_norm", x, *vectors.values())


def check_values(x: Tensor, rows: int) -> None:
    """So many rows, of one element each, have no deviation. torch's sentence."""
    if x.numel() == rows:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {list(x.shape)}")


def check_types(name: str, x: Tensor, *vectors: Tensor | None) -> None:
    """Of the input, and of parameters beside it."""
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise NotImplementedError(
            f"reduce::{name}: the dtype {x.dtype} of the input is not supported; "
            "accepted are float16, bfloat16, float32 and float64"
        )
    for vector in vectors:
        if vector is not None and vector.dtype == torch.float64 != x.dtype:
            raise RuntimeError(f"reduce::{name}: parameters of Double need an input of Double, got {x.dtype}")
