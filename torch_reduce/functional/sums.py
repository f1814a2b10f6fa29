"""Sums and means, and the sum of exponentials by its logarithm."""

from torch import Tensor
from typing_extensions import Unpack

from .._fast_calls import fast
from ..arguments import Dims, DType, Mode, TorchNames, as_dtype, as_mode
from .call import call, ops


@fast
def sum(
    x: Tensor | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    mode: Mode = "deterministic",
    where: Tensor | None = None,
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """The sum of the elements of ``x`` over ``dim``.

    float16, bfloat16 and float32 accumulate in float32, float64 in float64, integers and bool in int64 with
    wrap-around. With a floating output type, sums of integers are exact: those of int64 and uint64 accumulate in 128
    bits. The result is rounded once, to the output type. A zero sum is +0. The sum of no elements is 0. Finite elements
    may overflow on the way. In mode ``"exact"`` they cannot: floating elements add without error, whatever their order
    and range, and the real-number sum is rounded once (docs/exact.md). The real and the imaginary part of a complex sum
    are the sums of real and of imaginary parts; a complex ``x`` has a complex result.

    Args:
        x: tensor of any shape and strides.
        dim: dim or dims to reduce, each in [-x.ndim, x.ndim).
        keepdim: whether reduced dims stay, with size 1.
        dtype: output type: by default the dtype of ``x``, int64 for integers and bool, float32 for float8. One wider
            than the compute type widens it. Floating elements are converted one by one, first, to an integer or bool
            type.
        mode: ``"deterministic"``, ``"atomic"`` or ``"exact"``.
        where: bool tensor that broadcasts to the shape of ``x``. Elements where it is false do not count: the bits are
            those of ``x`` with elements in their place that change nothing. Not in mode ``"exact"``.
        out: written to and returned; its dtype is the output type where ``dtype`` is not given. It must have the
            shape of the result, or no elements, when it is resized, and must not overlap ``x``.

    Returns:
        Tensor of the output type on the device of ``x``.

    Raises:
        IndexError: a dim is out of range.
        TypeError: ``x`` is no tensor, a dim no integer, ``keepdim`` no bool.
        RuntimeError: a dim is repeated; ``out`` has another shape, device, or dtype than ``dtype``, or overlaps ``x``.
        ValueError: the mode is unknown.
        NotImplementedError: the dtype is not one of those accepted (quantised), or the mode is not available
            for it; a complex ``x`` and a result that is not.
    """
    return call(ops.sum, x, dim, keepdim, out, names, where, dtype=as_dtype(dtype), mode=as_mode(mode))


@fast
def mean(
    x: Tensor | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    mode: Mode = "deterministic",
    where: Tensor | None = None,
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """The mean of the elements of ``x`` over ``dim``.

    The sum, as :func:`sum` accumulates it, is divided once by the number of elements, in the compute type (float64 for
    integers), and rounded once to the output type. The sum may overflow where the mean would not; in mode ``"exact"``
    it cannot, and the real-number mean of floating elements is rounded once. The mean of no elements is NaN. Complex
    elements are as in :func:`sum`.

    Args:
        x: tensor of any shape and strides.
        dim: dim or dims to reduce, each in [-x.ndim, x.ndim).
        keepdim: whether reduced dims stay, with size 1.
        dtype: floating output type; by default the dtype of ``x``. Integers and bool need it, or a floating ``out``.
        mode: ``"deterministic"``, ``"atomic"`` or ``"exact"``.
        where: as in :func:`sum`; the number of elements is that of those that count.
        out: written to and returned, as in :func:`sum`.

    Returns:
        Tensor of the output type on the device of ``x``.

    Raises:
        RuntimeError: the output type is not floating, or as in :func:`sum`.
        IndexError, ValueError, NotImplementedError: as in :func:`sum`.
    """
    return call(ops.mean, x, dim, keepdim, out, names, where, dtype=as_dtype(dtype), mode=as_mode(mode))


@fast
def nansum(
    x: Tensor | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    mode: Mode = "deterministic",
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """The sum of the elements of ``x`` over ``dim`` that are not NaN. No copy without them is made.

    Where no element is NaN it has the bits of :func:`sum`. Each NaN counts as -0, which changes nothing. The sum of no
    numbers is 0. The gradient of an element that is NaN is 0.

    Args:
        x: tensor of any shape and strides.
        dim: dim or dims to reduce, each in [-x.ndim, x.ndim).
        keepdim: whether reduced dims stay, with size 1.
        dtype: output type, as in :func:`sum`, but a floating one for floating elements.
        mode: ``"deterministic"`` or ``"atomic"``, which is the same here; ``"exact"`` is for sums and means.
        out: written to and returned, as in :func:`sum`.

    Returns:
        Tensor of the output type on the device of ``x``.

    Raises:
        IndexError, RuntimeError, ValueError, NotImplementedError: as in :func:`sum`; NotImplementedError too for
            floating elements and an output type that is not.
    """
    return call(ops.nansum, x, dim, keepdim, out, names, dtype=as_dtype(dtype), mode=as_mode(mode))


@fast
def nanmean(
    x: Tensor | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    mode: Mode = "deterministic",
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """The mean of the elements of ``x`` over ``dim`` that are not NaN.

    Their sum, as :func:`nansum` has it, is divided once by their number, which is counted exactly, in the compute type,
    and rounded once to the output type. Where no element is NaN it has the bits of :func:`mean`. It is NaN if there are
    no numbers. The gradient of an element that is NaN is 0, but NaN where there are no numbers, as in
    :func:`torch.nanmean`.

    Args:
        x: tensor of a floating type, of any shape and strides.
        dim: dim or dims to reduce, each in [-x.ndim, x.ndim).
        keepdim: whether reduced dims stay, with size 1.
        dtype: floating output type; by default that of ``x``.
        mode: ``"deterministic"`` or ``"atomic"``, which is the same here; ``"exact"`` is for sums and means.
        out: written to and returned, as in :func:`sum`.

    Returns:
        Tensor of the output type on the device of ``x``.

    Raises:
        RuntimeError: the elements are not floating, or as in :func:`sum`.
        IndexError, ValueError, NotImplementedError: as in :func:`nansum`.
    """
    return call(ops.nanmean, x, dim, keepdim, out, names, dtype=as_dtype(dtype), mode=as_mode(mode))


@fast
def logsumexp(
    x: Tensor | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    mode: Mode = "deterministic",
    where: Tensor | None = None,
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """The logarithm of the sum of the exponentials of the elements of ``x`` over ``dim``.

    Powers of e are taken out where exponentials would overflow or underflow. float16, bfloat16 and float32 accumulate
    in float32, float64, integers and bool in float64. exp and log are sequences of IEEE operations (docs/order.md), so
    a CPU and a GPU have the same bits. The error is small beside 1, not beside a result near zero. The result is
    rounded once, to the output type. It is -inf for no elements.

    Args:
        x: tensor of any shape and strides.
        dim: dim or dims to reduce, each in [-x.ndim, x.ndim).
        keepdim: whether reduced dims stay, with size 1.
        dtype: floating output type; by default the dtype of ``x``, torch's default dtype for integers and bool.
        mode: ``"deterministic"`` or ``"atomic"``, which is the same here; ``"exact"`` is for sums and means.
        where: as in :func:`sum`.
        out: written to and returned, as in :func:`sum`.

    Returns:
        Tensor of the output type on the device of ``x``.

    Raises:
        RuntimeError: the output type is not floating, or as in :func:`sum`.
        IndexError, ValueError, NotImplementedError: as in :func:`sum`.
    """
    return call(ops.logsumexp, x, dim, keepdim, out, names, where, dtype=as_dtype(dtype), mode=as_mode(mode))
