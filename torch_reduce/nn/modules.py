"""Modules in place of torch's, with its parameters, arguments and state dicts, by :mod:`torch_reduce.nn.functional`."""

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


class CrossEntropyLoss(torch.nn.CrossEntropyLoss):
    """``torch.nn.CrossEntropyLoss`` by :func:`torch_reduce.nn.functional.cross_entropy`, without weights of classes."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        if self.weight is not None:
            raise NotImplementedError("torch_reduce: cross_entropy takes no weights of classes")
        return functional.cross_entropy(
            input,
            target,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            reduction=self.reduction,
        )


def _given(dim: int | None) -> int:
    if dim is None:
        raise TypeError("torch_reduce: a softmax needs a dim; torch, which guesses one, has deprecated that")
    return dim


__all__ = ["CrossEntropyLoss", "LayerNorm", "LogSoftmax", "RMSNorm", "Softmax"]
