"""Modules in place of torch's, with its parameters, arguments and state dicts, by :mod:`torch_reduce.nn.functional`."""

from typing import Any

import torch
from torch import Tensor

from . import functional


class Softmax(torch.nn.Softmax):
    """``torch.nn.Softmax`` by :func:`torch_reduce.nn.functional.softmax`. ``dim`` is to be given."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.softmax(input, _given(self.dim))


class LogSoftmax(torch.nn.LogSoftmax):
    """``torch.nn.LogSoftmax`` by :func:`torch_reduce.nn.functional.log_softmax`. ``dim`` is to be given."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.log_softmax(input, _given(self.dim))


class RMSNorm(torch.nn.RMSNorm):
    """``torch.nn.RMSNorm`` by :func:`torch_reduce.nn.functional.rms_norm`."""

    def forward(self, x: Tensor) -> Tensor:
        return functional.rms_norm(x, self.normalized_shape, self.weight, self.eps)


class LayerNorm(torch.nn.LayerNorm):
    """``torch.nn.LayerNorm`` by :func:`torch_reduce.nn.functional.layer_norm`."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class GroupNorm(torch.nn.GroupNorm):
    """``torch.nn.GroupNorm`` by :func:`torch_reduce.nn.functional.group_norm`."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


class _BatchNorm(torch.nn.modules.batchnorm._BatchNorm):
    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        tracked = self.training and self.track_running_stats
        if tracked and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the mean of all batches
                momentum = 1.0 / float(self.num_batches_tracked)
        counts = tracked or not self.training
        return functional.batch_norm(
            input,
            self.running_mean if counts else None,
            self.running_var if counts else None,
            self.weight,
            self.bias,
            self.training or (self.running_mean is None and self.running_var is None),
            momentum,
            self.eps,
        )


class BatchNorm1d(_BatchNorm, torch.nn.BatchNorm1d):
    """``torch.nn.BatchNorm1d`` by :func:`torch_reduce.nn.functional.batch_norm`."""


class BatchNorm2d(_BatchNorm, torch.nn.BatchNorm2d):
    """``torch.nn.BatchNorm2d`` by :func:`torch_reduce.nn.functional.batch_norm`."""


class BatchNorm3d(_BatchNorm, torch.nn.BatchNorm3d):
    """``torch.nn.BatchNorm3d`` by :func:`torch_reduce.nn.functional.batch_norm`."""


class CrossEntropyLoss(torch.nn.CrossEntropyLoss):
    """``torch.nn.CrossEntropyLoss`` by :func:`torch_reduce.nn.functional.cross_entropy`, without weights of classes.

    ``z_loss`` is an argument of its own, as of that function.
    """

    def __init__(self, *args: Any, z_loss: float = 0.0, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        self.z_loss = z_loss

    def extra_repr(self) -> str:
        return f"z_loss={self.z_loss}" if self.z_loss else ""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        if self.weight is not None:
            raise NotImplementedError("torch_reduce: cross_entropy takes no weights of classes")
        return functional.cross_entropy(
            input,
            target,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            reduction=self.reduction,
            z_loss=getattr(self, "z_loss", 0.0),
        )


def _given(dim: int | None) -> int:
    if dim is None:
        raise TypeError("torch_reduce: a softmax needs a dim; torch, which guesses one, has deprecated that")
    return dim


__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "CrossEntropyLoss",
    "GroupNorm",
    "LayerNorm",
    "LogSoftmax",
    "RMSNorm",
    "Softmax",
]
