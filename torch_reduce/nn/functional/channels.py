"""What a batch norm does beside its statistics, and what it refuses."""

import math

import torch
from torch import Tensor

from ...arguments import check_tensor
from ...functional.call import ops


def normalised(
    x: Tensor, mean: Tensor, var: Tensor, eps: float, weight: Tensor | None, bias: Tensor | None, of_batch: bool
) -> Tensor:
    """``(x - mean) * (1 / sqrt(var + eps)) * weight + bias``, by channel, rounded once. ``of_batch``: the mean and the
    variance are those of ``x``, and its gradient knows."""
    batch, count, *rest = x.shape
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    mean, var = (t.detach().to(wide) for t in (mean, var))
    rows = x.reshape(batch, count, math.prod(rest))
    return ops._batch_norm(rows, mean, var, weight, bias, eps, of_batch)[0].view(x.shape)


def move_running(
    running_mean: Tensor | None, running_var: Tensor | None, momentum: float, mean: Tensor, var: Tensor, count: int
) -> None:
    """Moves statistics towards those of a batch of so many elements a channel, in place. No element moves none."""
    if count == 0:
        return
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
    if 0 < x.numel() == rows:
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
