"""The largest and the smallest elements, and where they are."""

from torch import Tensor
from typing_extensions import Unpack

from .._fast_calls import fast
from ..arguments import Dims, TorchNames
from ..results import MinAndMax
from .call import call, call_pair, ops


@fast
def amax(
    x: Tensor | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    where: Tensor | None = None,
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """The largest element of ``x`` over ``dim``. NaN wins over every number, and +0 over -0.

    Its gradient is shared equally among the elements that are equal to the result, as in :func:`torch.amax`.

    Args:
        x: tensor of any shape and strides.
        dim: dim or dims to reduce, each in [-x.ndim, x.ndim).
        keepdim: whether reduced dims stay, with size 1.
        where: as in :func:`sum`; where no element counts, the result is the smallest value of the dtype.
        out: written to and returned; of the dtype of ``x``, else as in :func:`sum`.

    Returns:
        Tensor of the dtype of ``x`` on its device.

    Raises:
        IndexError: a dim is out of range, or has no elements.
        RuntimeError: ``x`` has no elements and no dim is given; a dim is repeated; ``out`` has another shape, dtype or
            device, or overlaps ``x``.
        NotImplementedError: the dtype is not one of those accepted.
    """
    return call(ops.amax, x, dim, keepdim, out, names, where)


@fast
def amin(
    x: Tensor | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    where: Tensor | None = None,
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """The smallest element of ``x`` over ``dim``. NaN wins over every number, and -0 over +0.

    Arguments, result and errors are those of :func:`amax`.
    """
    return call(ops.amin, x, dim, keepdim, out, names, where)


@fast
def aminmax(
    x: Tensor | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    out: tuple[Tensor, Tensor] | None = None,
    **names: Unpack[TorchNames],
) -> MinAndMax:
    """The smallest element of ``x`` over ``dim``, as :func:`amin` gives it, and the largest, from one read of ``x``.

    Arguments and errors are those of :func:`amax`: several dims may be reduced, and all are where ``dim`` is None. The
    gradient of each result is that of :func:`amin` or :func:`amax`. ``out`` are two tensors, which are written to, by a
    copy of the results, and returned.

    Returns:
        ``min`` and ``max``: a named tuple of two tensors on the device of ``x``, of its dtype, views of one piece of
        memory.

    Examples:
        >>> torch_reduce.aminmax(torch.tensor([[3, 1], [2, 5]]), 1)
        MinAndMax(min=tensor([1, 2]), max=tensor([3, 5]))
    """
    return call_pair(MinAndMax, ops.aminmax, ops._aminmax, x, dim, keepdim, out, names)


@fast
def argmax(
    x: Tensor | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """The index of the first largest element of ``x`` over ``dim``. NaN is larger than every number, +0 equals -0.

    Where several dims are reduced, elements are counted in row-major order of these dims as they stand in ``x``. An
    integer has no gradient.

    Args:
        x: tensor of any shape and strides.
        dim: dim or dims to reduce, each in [-x.ndim, x.ndim).
        keepdim: whether reduced dims stay, with size 1.
        out: written to and returned; int64, else as in :func:`sum`.

    Returns:
        int64 tensor on the device of ``x``.

    Raises:
        IndexError: as in :func:`amax`; or ``x`` has no elements and no dim is given.
        RuntimeError, NotImplementedError: as in :func:`amax`.
    """
    return call(ops.argmax, x, dim, keepdim, out, names)


@fast
def argmin(
    x: Tensor | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    **names: Unpack[TorchNames],
) -> Tensor:
    """The index of the first smallest element of ``x`` over ``dim``. NaN is smaller than every number, +0 equals -0.

    Arguments, result and errors are those of :func:`argmax`.
    """
    return call(ops.argmin, x, dim, keepdim, out, names)
