"""A function of any operator that is registered, by its schema."""

from collections.abc import Callable

from torch import Tensor
from typing_extensions import Unpack

from .._schemas import Operator
from ..arguments import Dims, DType, Mode, Real, TorchNames, as_correction, as_dtype, as_mode, as_real
from .call import call
from .extremes import amax
from .moments import var
from .norms import norm
from .sums import sum


def function_of(operator: Operator) -> Callable[..., Tensor]:
    """A function of a registered operator, in one tensor where it has two results. Those without a text of their own
    have this one."""

    def typed(
        x: Tensor | None = None,
        dim: Dims = None,
        keepdim: bool = False,
        *,
        dtype: DType | None = None,
        mode: Mode = "deterministic",
        out: Tensor | None = None,
        **names: Unpack[TorchNames],
    ) -> Tensor:
        return call(operator.packet, x, dim, keepdim, out, names, dtype=as_dtype(dtype), mode=as_mode(mode))

    def plain(
        x: Tensor | None = None,
        dim: Dims = None,
        keepdim: bool = False,
        *,
        out: Tensor | None = None,
        **names: Unpack[TorchNames],
    ) -> Tensor:
        return call(operator.packet, x, dim, keepdim, out, names)

    def spread(
        x: Tensor | None = None,
        dim: Dims = None,
        *,
        correction: Real | None = None,
        keepdim: bool = False,
        unbiased: bool | None = None,
        out: Tensor | None = None,
        **names: Unpack[TorchNames],
    ) -> Tensor:
        return call(operator.packet, x, dim, keepdim, out, names, correction=as_correction(correction, unbiased))

    def of_order(
        x: Tensor | None = None,
        dim: Dims = None,
        keepdim: bool = False,
        *,
        ord: Real = 2,
        dtype: DType | None = None,
        mode: Mode = "deterministic",
        out: Tensor | None = None,
        **names: Unpack[TorchNames],
    ) -> Tensor:
        order = as_real("ord", ord)
        return call(operator.packet, x, dim, keepdim, out, names, ord=order, dtype=as_dtype(dtype), mode=as_mode(mode))

    function, like = (
        (of_order, norm)
        if operator.takes_order
        else (typed, sum)
        if operator.takes_dtype
        else (spread, var)
        if operator.takes_correction
        else (plain, amax)
    )
    function.__name__ = function.__qualname__ = operator.name
    function.__doc__ = (
        f"``torch.ops.reduce.{operator.name}``. Arguments, result and errors are as in :func:`{like.__name__}`."
    )
    return function
