"""Losses of rows of logits."""

import torch
from torch import Tensor

from ...arguments import as_dtype, check_tensor
from ...functional.call import ops


def cross_entropy(
    input: Tensor,
    target: Tensor,
    *,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
    z_loss: float = 0.0,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """The negative logarithms of the targets' shares (:func:`softmax`), over all classes.

    A row of logits is read once, and once more for its gradient; no copy of them is made. Losses are computed in the
    compute type, add up in the canonical order and are rounded at the end.

    Args:
        input: logits of shape (classes), (rows, classes) or (rows, classes, ...), as for :func:`softmax`.
        target: classes, of int64 or uint8 and the shape of ``input`` without its classes.
        ignore_index: a target whose row does not count.
        label_smoothing: the part of each row's loss that all classes share, from 0 to 1.
        reduction: ``"mean"`` over the rows that count, ``"sum"`` or ``"none"``.
        z_loss: times the squared logarithm of each row's sum of exponentials, added to its loss.
        dtype: output type, one of those of :func:`softmax`; by default that of ``input``. For float64, narrower logits
            are copied.

    Returns:
        Tensor, 0-d or of the shape of ``target``.

    Raises:
        IndexError: on a CPU, a target is out of range. On a GPU the device fails, as with torch.
        ValueError: a shape does not fit, or the reduction is unknown.
        RuntimeError: the target is of another type of integers, or the smoothing is out of range.
        NotImplementedError: the dtype is not one of those accepted, or targets are floating.
    """
    check_tensor("input", input)
    check_tensor("target", target)
    return ops.cross_entropy(
        input,
        target,
        ignore_index=ignore_index,
        label_smoothing=label_smoothing,
        reduction=reduction,
        z_loss=z_loss,
        dtype=as_dtype(dtype),
    )


def logprobs(
    input: Tensor, target: Tensor, *, dtype: torch.dtype | None = None, ignore_index: int | None = None
) -> Tensor:
    """What :func:`log_softmax` of the last dim has at the targets, which is all that is computed.

    With ``dtype=torch.float32``, logits of 16 bits have the logarithms in the compute type, without a copy: ratios of
    probabilities, as in reinforcement learning, need that.

    Args:
        input: logits, as for :func:`softmax`, of classes in the last dim.
        target: classes, of int64 or uint8 and the shape of ``input`` without its last dim.
        dtype: as for :func:`cross_entropy`.
        ignore_index: a target, such as -100, whose result and gradient are 0, so that padding adds nothing to a sum.
            None: every target is a class.

    Returns:
        Tensor of the shape of ``target``.

    Raises:
        IndexError, ValueError, RuntimeError, NotImplementedError: as for :func:`cross_entropy`.
    """
    check_tensor("input", input)
    check_tensor("target", target)
    return ops.logprobs(input, target, dtype=as_dtype(dtype), ignore_index=ignore_index)
