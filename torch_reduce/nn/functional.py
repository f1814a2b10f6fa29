"""Softmax and norms of rows, as ``torch.nn.functional`` has them.

The bits of a row depend on its own elements and the compute type alone: not on the batch, other rows, strides,
alignment, the device or the number of threads. fp16 and bf16 are computed in fp32, and results are rounded once. The
functions are differentiable, twice with ``create_graph=True``; gradients have the same promise, those of weight and
bias as sums over the rows in their order. They work under ``torch.func``, autocast and ``torch.compile``.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from . import channels

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


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """:func:`layer_norm` of each group of channels; then times ``weight``, plus ``bias``, by channel.

    Weight and bias are applied by elementwise operations of torch, and float16 and bfloat16 then go through a float32
    copy.

    Args:
        input: tensor of shape (batch, channels, ...), as for :func:`layer_norm`.
        num_groups: of neighbouring channels, which it divides.
        weight: of shape (channels), in any floating dtype that is not wider than the compute type; None: 1.
        bias: as ``weight``; None: nothing is added.
        eps: added to the variance, in the compute type.

    Returns:
        Contiguous tensor of the shape and dtype of ``input``.

    Raises:
        RuntimeError: a shape or a device does not fit, or the number of groups; ``weight`` or ``bias`` is of float64
            where ``input`` is not.
        ValueError: there is one group, of one element.
        NotImplementedError: the dtype is not one of those accepted.
    """
    channels.check_has_channels(input)
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if input.shape[1] % num_groups != 0:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, "
            f"but got input of shape {list(input.shape)} and num_groups={num_groups}"
        )
    channels.check_values(input, num_groups)
    channels.check_group_parameters(input, weight, bias)
    if input.is_cuda and torch.is_autocast_enabled("cuda") and input.dtype != torch.float64:
        input = input.float()  # as torch's
    x = input if weight is None and bias is None else channels.computed(input)
    groups = x.reshape(input.shape[0], num_groups, input.shape[1] // num_groups, *input.shape[2:])
    normal = layer_norm(groups, groups.shape[2:], eps=eps).reshape(input.shape)
    return channels.affine(normal, weight, bias).to(input.dtype)


def batch_norm_stats(input: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of each channel: ``var_mean`` over all other dims, with ``correction=0``.

    float16 and bfloat16 go through a float32 copy, so that the results have its digits.

    Args:
        input: tensor of shape (batch, channels, ...), as for :func:`layer_norm`.

    Returns:
        Mean and variance, of shape (channels) and the compute type.

    Raises:
        RuntimeError: ``input`` has no dim of channels.
        NotImplementedError: the dtype is not one of those accepted.
    """
    channels.check_has_channels(input)
    x = input if input.dtype not in (torch.float16, torch.bfloat16) else input.float()
    var, mean = _reduce._var_mean(x, [d for d in range(x.dim()) if d != 1], correction=0).unbind(-1)
    return mean, var


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Elements less their channel's mean, over the root of its variance and ``eps``, times ``weight``, plus ``bias``.

    In training, mean and variance are :func:`batch_norm_stats`; else the running ones. They are applied by elementwise
    operations of torch, one pass over memory each where nothing fuses them. float16 and bfloat16 go through a float32
    copy.

    Args:
        input: tensor of shape (batch, channels, ...), as for :func:`layer_norm`.
        running_mean: of shape (channels); in training it moves by ``momentum`` towards the mean, in place.
        running_var: as ``running_mean``, towards the variance of correction 1.
        weight: of shape (channels), in any floating dtype that is not wider than the compute type; None: 1.
        bias: as ``weight``; None: nothing is added.
        training: whether the batch's mean and variance count.
        momentum: from 0 to 1.
        eps: added to the variance, in the compute type.

    Returns:
        Tensor of the shape and dtype of ``input``.

    Raises:
        RuntimeError: a shape does not fit; running statistics are missing where they count; a vector is of float64
            where ``input`` is not.
        ValueError: in training, channels of one element; ``eps`` is not positive.
        NotImplementedError: the dtype is not one of those accepted.
    """
    vectors = {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}
    channels.check_batch_parameters(input, **vectors)
    if training:
        channels.check_values(input, input.shape[1])
    if eps <= 0:
        raise ValueError(f"batch_norm eps must be positive, but got {eps}")
    if training:
        mean, var = batch_norm_stats(input)
        channels.move_running(running_mean, running_var, momentum, mean, var, count=input.numel() // input.shape[1])
    elif running_mean is None or running_var is None:
        missing = "running_mean" if running_mean is None else "running_var"
        raise RuntimeError(f"{missing} must be defined in evaluation mode")
    else:
        mean, var = running_mean, running_var
    return channels.normalised(input, mean, var, eps, weight, bias)


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


__all__ = [
    "add_rms_norm",
    "batch_norm",
    "batch_norm_stats",
    "cross_entropy",
    "group_norm",
    "layer_norm",
    "log_softmax",
    "logprobs",
    "rms_norm",
    "softmax",
]
