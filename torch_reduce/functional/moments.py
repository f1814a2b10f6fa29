"""Variances and standard deviations, alone or with the mean."""

from torch import Tensor
from typing_extensions import Unpack

from .._fast_calls import fast
from ..arguments import Dims, Real, TorchNames, as_correction
from ..results import DeviationAndMean, VarianceAndMean
from .call import call, call_pair, ops


@fast
def var(
    x: Tensor | None = None,
    dim: Dims = None,
    *,
    correction: Real | None = None,
    keepdim: bool = False,
    unbiased: bool | None = None,
    where: Tensor | None = None,
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """The variance of the elements of ``x`` over ``dim``: the squared differences from the mean, summed and divided.

    One read, and as good as two passes: the sums of the elements and of their squares are kept in twice the precision,
    float64 for what is narrower. NaN for one element less its correction, and for none. Of float64, elements beyond
    1e154, whose squares overflow, give infinity.

    Args:
        x: the tensor to reduce, float16, bfloat16, float32 or float64.
        dim: the dim or dims to reduce; None or an empty list for all of them.
        correction: taken off the number of elements that divides; None for 1. What is left is at the least 0.
        keepdim: whether the reduced dims stay, with size 1. By its name alone: in torch's function the third argument
            may be ``unbiased``.
        unbiased: torch's older name: True for a correction of 1, False for 0.
        where: as in :func:`sum`; the number of elements is that of those that count.
        out: written to and returned; of the dtype of ``x``, else as in :func:`sum`.

    Returns:
        Tensor on the device of ``x``, of its dtype. Its bits never change, as those of mode ``"deterministic"``.

    Raises:
        TypeError: both ``correction`` and ``unbiased`` are given.
        RuntimeError: ``x`` is not floating; else as in :func:`sum`.
        IndexError, NotImplementedError: as in :func:`sum`.

    Examples:
        >>> torch_reduce.var(torch.tensor([1e8, 1e8 + 8.0]))
        tensor(32.)
    """
    return call(ops.var, x, dim, keepdim, out, names, where, correction=as_correction(correction, unbiased))


@fast
def std(
    x: Tensor | None = None,
    dim: Dims = None,
    *,
    correction: Real | None = None,
    keepdim: bool = False,
    unbiased: bool | None = None,
    where: Tensor | None = None,
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """The standard deviation: the square root of :func:`var`, taken in float64, then rounded to the type of ``x``.

    Arguments, result and errors are those of :func:`var`.
    """
    return call(ops.std, x, dim, keepdim, out, names, where, correction=as_correction(correction, unbiased))


@fast
def var_mean(
    x: Tensor | None = None,
    dim: Dims = None,
    *,
    correction: Real | None = None,
    keepdim: bool = False,
    unbiased: bool | None = None,
    out: tuple[Tensor, Tensor] | None = None,
    **names: Unpack[TorchNames],
) -> VarianceAndMean:
    """The variance, as :func:`var` gives it, and the mean, from one read of ``x``.

    The mean is the sum of the elements in twice their precision, divided by their number there, and rounded once to the
    type of ``x``. It is at least as good as that of :func:`mean`, whose bits it need not have.

    Arguments and errors are those of :func:`var`, without ``where``. ``out`` are two tensors, which are written to, by
    a copy of the results, and returned.

    Returns:
        ``var`` and ``mean``: a named tuple of two tensors on the device of ``x``, of its dtype, views of one piece of
        memory.

    Examples:
        >>> torch_reduce.var_mean(torch.tensor([1.0, 2.0, 4.0, 5.0]))
        VarianceAndMean(var=tensor(3.3333), mean=tensor(3.))
    """
    less = as_correction(correction, unbiased)
    return call_pair(VarianceAndMean, ops.var_mean, ops._var_mean, x, dim, keepdim, out, names, correction=less)


@fast
def std_mean(
    x: Tensor | None = None,
    dim: Dims = None,
    *,
    correction: Real | None = None,
    keepdim: bool = False,
    unbiased: bool | None = None,
    out: tuple[Tensor, Tensor] | None = None,
    **names: Unpack[TorchNames],
) -> DeviationAndMean:
    """The standard deviation, as :func:`std` gives it, and the mean, as :func:`var_mean` does: ``std`` and ``mean``.

    Arguments, results and errors are those of :func:`var_mean`.
    """
    less = as_correction(correction, unbiased)
    return call_pair(DeviationAndMean, ops.std_mean, ops._std_mean, x, dim, keepdim, out, names, correction=less)
