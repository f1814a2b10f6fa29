"""The arguments of the functions, as the operators take them."""

import operator
from collections.abc import Mapping, Sequence
from typing import Any, Literal, SupportsFloat, SupportsIndex, TypedDict, cast

import torch
from torch import Tensor

from .jagged import is_jagged

Dims = SupportsIndex | Sequence[SupportsIndex] | None
"""Which dims a function reduces: one, several, or all where it is None or empty. One may be anything that is an integer
to Python: an int, an integer of NumPy, a 0-d tensor of integers."""

DType = torch.dtype | type
"""An output type: ``torch.float32``, or as in torch ``float``, ``int`` or ``bool`` for their torch types."""


Real = SupportsFloat
"""An order or a correction: an int, a float or a bool, a number of NumPy, a 0-d tensor that wants no gradient."""

Mode = Literal["deterministic", "atomic", "exact"]
"""The promise about a result's bits."""


class TorchNames(TypedDict, total=False):
    """What torch calls these arguments too."""

    input: Tensor
    axis: Dims
    keepdims: bool


_REAL = (int, float, torch.SymInt, torch.SymFloat)
_OF_PYTHON: dict[type, torch.dtype] = {float: torch.float64, int: torch.int64, bool: torch.bool}


def _as_number(given: Any) -> Any:
    """The number that NumPy or a 0-d tensor holds; anything else as it is, and so what would have a gradient. Under
    Dynamo, a 0-d array or tensor stays one."""
    if torch.compiler.is_compiling() or isinstance(given, int | float) or getattr(given, "ndim", None) != 0:
        return given
    return given if getattr(given, "requires_grad", False) else given.item()


def _as_dim(dim: Any) -> int | torch.SymInt:
    """Anything that is an integer to Python. What Dynamo shows as a 0-d array or tensor becomes one in the operator.

    Raises:
        TypeError: it is none, or a bool.
        IndexError: no tensor has so many dims.
    """
    dim = _as_number(dim)
    if torch.compiler.is_compiling():
        if type(dim) is int or isinstance(dim, torch.SymInt) or getattr(dim, "ndim", None) == 0:
            return dim
    elif isinstance(dim, torch.SymInt):
        return dim
    elif type(dim) is not bool:
        index = operator.index(dim)
        if abs(index) >> 63 == 0:
            return index
        raise IndexError(f"reduce: dim {index} is out of range")
    raise TypeError


def as_dims(dim: Dims) -> Sequence[int] | int | None:
    """A dim that may be symbolic becomes a list of it, which torch's operators take. Dynamo shows it as an int.

    Raises:
        TypeError: it is neither an integer nor some of them.
        IndexError: no tensor has so many dims.
    """
    if dim is None:
        return None
    if type(dim) is int and torch.compiler.is_compiling():
        return [dim]
    try:
        if isinstance(dim, list | tuple | range):
            return [cast(int, _as_dim(each)) for each in dim]
        if hasattr(dim, "__index__") and getattr(dim, "ndim", 0) == 0:
            one = _as_dim(dim)
            return [cast(int, one)] if torch.compiler.is_compiling() or isinstance(one, torch.SymInt) else one
        if not isinstance(dim, str | bytes | dict):
            return [cast(int, _as_dim(each)) for each in cast(Sequence[Any], dim)]
    except TypeError:
        pass
    raise TypeError(f"reduce: dim is an int or several of them, got {dim!r}")


def as_scanned_dim(dim: SupportsIndex | None) -> int | torch.SymInt:
    """The one dim of a scan: anything that is an integer to Python.

    Raises:
        TypeError: it is none.
        IndexError: no tensor has so many dims.
    """
    try:
        return _as_dim(dim)
    except TypeError:
        raise TypeError(f"reduce: dim is an int, got {dim!r}") from None


def as_count(name: str, count: SupportsIndex | None) -> int | torch.SymInt:
    """How many: anything that is an integer to Python, as a dim is.

    Raises:
        TypeError: it is none.
    """
    number = _as_number(count)
    if type(number) is int or isinstance(number, torch.SymInt):
        return number
    if torch.compiler.is_compiling() and getattr(number, "ndim", None) == 0:
        return cast(int, number)
    raise TypeError(f"reduce: {name} is an int, got {count!r}")


def as_dtype(dtype: DType | None) -> torch.dtype | None:
    """A type of Python becomes torch's.

    Raises:
        TypeError: it is neither, or a type that torch does not know.
    """
    if dtype is None or isinstance(dtype, torch.dtype):
        return dtype
    if isinstance(dtype, type) and dtype in _OF_PYTHON:
        return _OF_PYTHON[dtype]
    raise TypeError(f"reduce: dtype is one of torch's, such as torch.float32, got {dtype!r}")


def as_mode(mode: Mode) -> Mode:
    """The mode, of which the operator knows whether there is one of that name.

    Raises:
        TypeError: it is no string.
    """
    if not isinstance(mode, str):
        raise TypeError(f"reduce: mode is 'deterministic', 'atomic' or 'exact', got {mode!r}")
    return mode


def as_correction(correction: Real | None, unbiased: bool | None) -> float | None:
    """The correction, which torch's older name may give.

    Raises:
        TypeError: both are given, or the correction is no real number.
    """
    if unbiased is None:
        return correction if correction is None else as_real("correction", correction)
    if correction is not None:
        raise TypeError("reduce: correction and unbiased are one argument, and both are given")
    return int(unbiased)


def as_real(name: str, number: Real) -> float:
    """The order of a norm, or a correction: as torch has it, any real number, of NumPy and in a 0-d tensor too.

    Raises:
        TypeError: it is no real number.
    """
    real = _as_number(number)
    if not isinstance(real, _REAL) and torch.compiler.is_compiling() and getattr(real, "ndim", None) == 0:
        real = real.item()  # the operator takes no tensor for it: the graph ends here
    if isinstance(real, _REAL):
        return cast(float, int(real) if isinstance(real, bool) else real)
    raise TypeError(f"reduce: {name} is a real number, got {number!r}")


def renamed(x: Tensor | None, dim: Dims, keepdim: bool, names: Mapping[str, Any]) -> tuple[Tensor | None, Any, bool]:
    """The tensor, dim and keepdim of a call that gives some of them by torch's other names.

    Their types are those that the function's own annotations give.

    Raises:
        TypeError: there is no such argument, or it is given twice.
    """
    given: dict[str, Any] = {"x": x, "dim": dim, "keepdim": keepdim}
    missing = {"x": None, "dim": None, "keepdim": False}
    for name, value in names.items():
        ours = {"input": "x", "axis": "dim", "keepdims": "keepdim"}.get(name)
        if ours is None:
            raise TypeError(f"reduce: there is no argument {name!r}")
        if given[ours] is not missing[ours]:
            raise TypeError(f"reduce: {ours} and {name} are one argument, and both are given")
        given[ours] = value
    return given["x"], given["dim"], given["keepdim"]


def check_tensor(name: str, x: Any, takes_jagged: bool = False) -> Tensor:
    """The tensor. Refuses what is no tensor, nor stands for one, and kinds of tensors that are not supported.

    Raises:
        TypeError: it is none.
        NotImplementedError: it is masked or, unless that is taken, jagged.
    """
    if isinstance(x, Tensor):
        if type(x) is not Tensor:
            _refuse_kind(name, x, takes_jagged)
        return x
    if hasattr(type(x), "__torch_function__"):
        return x
    if x is None:
        raise TypeError(f"reduce: {name}, a tensor, is missing")
    holds_numbers = isinstance(x, list | tuple | int | float | complex) or hasattr(x, "__array__")
    advice = "; torch.as_tensor makes one of it" if holds_numbers else ""
    raise TypeError(f"reduce: {name} is a tensor, got {type(x).__name__}{advice}")


def _refuse_kind(name: str, x: Tensor, takes_jagged: bool) -> None:
    if isinstance(x, torch.masked.MaskedTensor):
        raise NotImplementedError("reduce: masked tensors are not supported; fill what is masked, by torch.where")
    if not takes_jagged and is_jagged(x):
        raise NotImplementedError(
            f"reduce: {name} is a nested tensor, which is not supported here; take each of its unbind()"
        )


def check_strided(name: str, x: Any) -> Tensor:
    """The same, where the operator is for strided tensors alone and would not say so.

    Raises:
        TypeError, NotImplementedError: as :func:`check_tensor`; or the tensor is nested or sparse.
    """
    x = check_tensor(name, x)
    if isinstance(x, Tensor) and (x.is_nested or x.layout != torch.strided):
        kind = "nested" if x.is_nested else f"of layout {x.layout}"
        raise NotImplementedError(f"reduce: {name} is {kind}, which is not supported here")
    return x


def check(x: Tensor | None, keepdim: bool, takes_jagged: bool = False) -> Tensor:
    """The tensor of a call, as :func:`check_tensor`. Refuses a keepdim that is neither True nor False.

    Raises:
        TypeError: x is no tensor, or keepdim no bool.
        NotImplementedError: as :func:`check_tensor`.
    """
    if type(x) is not Tensor:
        x = check_tensor("x", x, takes_jagged)
    if type(keepdim) is not bool:
        raise TypeError(f"reduce: keepdim is True or False, got {keepdim!r}")
    return x


def read(
    x: Tensor | None, dim: Dims, keepdim: bool, names: Mapping[str, Any], takes_jagged: bool = False
) -> tuple[Tensor, Sequence[int] | int | None, bool]:
    """The tensor, the dims and keepdim of a call, some of them perhaps by torch's other names.

    Raises:
        TypeError: as :func:`renamed`, :func:`check` and :func:`as_dims`.
        NotImplementedError: as :func:`check`.
    """
    if names:
        x, dim, keepdim = renamed(x, dim, keepdim, names)
    return check(x, keepdim, takes_jagged), as_dims(dim), keepdim
