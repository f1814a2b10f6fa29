"""Functions that leave ordinary calls to C++ (csrc/python/fast_calls.cpp), where the module for it loads."""

import functools
import importlib
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar, cast

import torch

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _load() -> ModuleType | None:
    """The module, which a build without Python's headers lacks. It is not for a Python whose objects look otherwise."""
    try:
        fast_calls = importlib.import_module(f"{__package__}.lib.fast_calls")
    except ImportError:
        return None
    return fast_calls if fast_calls.tells_tensors(torch.empty(0)) else None


_module = _load()


def fast(function: _Function) -> _Function:
    """A function that calls the operator of its name in ``torch.ops.reduce`` itself where nothing is out of the
    ordinary: plain tensors, arguments of the types that stand in their schema, and no mode, transform or compiler that
    is to see the call. All else it leaves to ``function``, whose signature and results it has: two of them in the class
    that it is annotated with."""
    if _module is None:
        return function
    result = inspect.signature(function).return_annotation
    named = (result,) if isinstance(result, type) and issubclass(result, tuple) else ()
    call = _module.bind(function.__name__, function, *named)

    @functools.wraps(function)
    def either(*arguments: Any, **options: Any) -> Any:
        if torch.compiler.is_dynamo_compiling():  # which cannot look into C++
            return function(*arguments, **options)
        return call(*arguments, **options)

    return cast(_Function, either)
