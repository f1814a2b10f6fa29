"""Norms whose parameters belong to channels, dim 1 of a tensor."""

from torch import Tensor

from ...arguments import check_tensor
from ...functional.call import ops
from . import channels


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """:func:`layer_norm` of each group of channels, times ``weight``, plus ``bias``, by channel.

    Args:
        input: tensor of shape (batch, channels, ...), as for :func:`layer_norm`.
        num_groups: of neighbouring channels, which it divides.
        weight: of shape (channels), in any floating dtype that is not wider than the compute type; None: 1.
        bias: as ``weight``; None: nothing is added.
        eps: added to the variance, in the compute type.

    Returns:
        Contiguous tensor of the shape and dtype of ``input``. A channels-last ``input`` is copied first, and the result
        does not have its memory format.

    Raises:
        RuntimeError: a shape or a device does not fit, or the number of groups; ``weight`` or ``bias`` is of float64
            where ``input`` is not.
        ValueError: there is one group, of one element.
        NotImplementedError: the dtype is not one of those accepted.
    """
    check_tensor("input", input)
    return ops.group_norm(input, num_groups, weight, bias, eps)


def batch_norm_stats(input: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of each channel: ``var_mean`` over all other dims, with ``correction=0``.

    Args:
        input: tensor of shape (batch, channels, ...), as for :func:`layer_norm`.

    Returns:
        Mean and variance, of shape (channels) and the compute type.

    Raises:
        RuntimeError: ``input`` has no dim of channels.
        NotImplementedError: the dtype is not one of those accepted.
    """
    check_tensor("input", input)
    return ops.batch_norm_stats(input)


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

    In training, mean and variance are :func:`batch_norm_stats`; else the running ones, through which no gradient goes.

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
        Tensor of the shape and dtype of ``input``, and of its memory format.

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
        mean, var = batch_norm_stats(input.detach())
        count = input.numel() // max(input.shape[1], 1)
        channels.move_running(running_mean, running_var, momentum, mean, var, count)
    elif running_mean is None or running_var is None:
        missing = "running_mean" if running_mean is None else "running_var"
        raise RuntimeError(f"{missing} must be defined in evaluation mode")
    else:
        mean, var = running_mean, running_var
    return channels.normalised(input, mean, var, eps, weight, bias, of_batch=training)
