"""Softmax and norms of rows, as ``torch.nn.functional`` has them.

The bits of a row depend on its own elements and the compute type alone: not on the batch, other rows, strides,
alignment, the device or the number of threads. fp16 and bf16 are computed in fp32, and results are rounded once. The
functions are differentiable, twice with ``create_graph=True``; gradients have the same promise, those of weight and
bias as sums over the rows in their order. They work under ``torch.func``, autocast and ``torch.compile``.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

_reduce = torch.ops.reduce


def softmax(input: Tensor, dim: int, *, dtype: torch.dtype | None = None) -> Tensor:
    """The exponentials of elements over their sum along ``dim``.

    An element far below the largest one has its share, as long as that is a number of the output type. A row of nothing
    but -infinity, one with +infinity and one with NaN are NaN, as torch's.

    Args:
        input: tensor of any shape and strides, of float16, bfloat16, float32 or float64; integers where ``dtype`` is
            given, to which they convert first.
        dim: the dim of a row, in [-input.ndim, input.ndim).
        dtype: output type, one of those four; by default that of ``input``.

    Returns:
        Contiguous tensor of the shape of ``input``.

    Raises:
        IndexError: the dim is out of range.
        NotImplementedError: the dtype is not one of those accepted.
    """
    return _reduce.softmax(input, dim, dtype=dtype)


def log_softmax(input: Tensor, dim: int, *, dtype: torch.dtype | None = None) -> Tensor:
    """The logarithms of :func:`softmax`, right where they are large too.

    Args:
        input: as for :func:`softmax`.
        dim: as for :func:`softmax`.
        dtype: as for :func:`softmax`.

    Returns:
        Contiguous tensor of the shape of ``input``.

    Raises:
        IndexError, NotImplementedError: as for :func:`softmax`.
    """
    return _reduce.log_softmax(input, dim, dtype=dtype)


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Elements over the root of the mean of their squares and ``eps``, times ``weight``.

    Args:
        input: tensor of any strides, of float16, bfloat16, float32 or float64; its last dims are ``normalized_shape``.
        normalized_shape: of a row.
        weight: of that shape, in any floating dtype that is not wider than the compute type; None: 1.
        eps: by default the ``eps`` of the compute type, as in torch.

    Returns:
        Contiguous tensor of the shape and dtype of ``input``.

    Raises:
        RuntimeError: a shape or a device does not fit; ``weight`` is of float64 where ``input`` is not.
        NotImplementedError: the dtype is not one of those accepted.
    """
    return _reduce.rms_norm(input, normalized_shape, weight, eps)


def add_rms_norm(
    input: Tensor,
    residual: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> tuple[Tensor, Tensor]:
    """:func:`rms_norm` of ``input + residual``, and that sum, which is rounded first.

    Args:
        input: as for :func:`rms_norm`.
        residual: of the shape and dtype of ``input``.
        normalized_shape: as for :func:`rms_norm`.
        weight: as for :func:`rms_norm`.
        eps: as for :func:`rms_norm`.

    Returns:
        The norm, and the new residual.

    Raises:
        RuntimeError, NotImplementedError: as for :func:`rms_norm`.
    """
    return _reduce.add_rms_norm(input, residual, normalized_shape, weight, eps)


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Elements less their mean, over the root of their variance and ``eps``, times ``weight``, plus ``bias``.

    Mean and variance are as accurate as two passes in twice the precision, so a large mean costs no digits.

    Args:
        input: as for :func:`rms_norm`.
        normalized_shape: of a row.
        weight: as for :func:`rms_norm`.
        bias: as ``weight``; None: nothing is added.
        eps: added to the variance, in the compute type.

    Returns:
        Contiguous tensor of the shape and dtype of ``input``.

    Raises:
        RuntimeError, NotImplementedError: as for :func:`rms_norm`.
    """
    return _reduce.layer_norm(input, normalized_shape, weight, bias, eps)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    *,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
    z_loss: float = 0.0,
) -> Tensor:
    """The negative logarithms of the targets' shares (:func:`softmax`), over all classes.

    A row of logits is read once, and once more for its gradient; no copy of them is made. Losses are computed in the
    compute type, add up in the canonical order and are rounded at the end.

    Args:
        input: logits of shape (classes), (rows, classes) or (rows, classes, ...), as for :func:`softmax`.
        target: classes, of int64 and the shape of ``input`` without its classes.
        ignore_index: a target whose row does not count.
        label_smoothing: the part of each row's loss that all classes share, from 0 to 1.
        reduction: ``"mean"`` over the rows that count, ``"sum"`` or ``"none"``.
        z_loss: times the squared logarithm of each row's sum of exponentials, added to its loss.

    Returns:
        Tensor of the dtype of ``input``, 0-d or of the shape of ``target``.

    Raises:
        IndexError: on a CPU, a target is out of range. On a GPU the device fails, as with torch.
        ValueError: a shape does not fit, or the reduction is unknown.
        RuntimeError: the target is not of int64, or the smoothing is out of range.
        NotImplementedError: the dtype is not one of those accepted, or targets are floating.
    """
    return _reduce.cross_entropy(
        input,
        target,
        ignore_index=ignore_index,
        label_smoothing=label_smoothing,
        reduction=reduction,
        z_loss=z_loss,
    )


def logprobs(input: Tensor, target: Tensor) -> Tensor:
    """What :func:`log_softmax` of the last dim has at the targets, which is all that is computed.

    Args:
        input: logits, as for :func:`softmax`, of classes in the last dim.
        target: classes, of int64 and the shape of ``input`` without its last dim.

    Returns:
        Tensor of the shape of ``target`` and the dtype of ``input``.

    Raises:
        IndexError, ValueError, RuntimeError, NotImplementedError: as for :func:`cross_entropy`.
    """
    return _reduce.logprobs(input, target)


__all__ = ["add_rms_norm", "cross_entropy", "layer_norm", "log_softmax", "logprobs", "rms_norm", "softmax"]
