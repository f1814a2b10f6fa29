"""Which modules are an RMS norm, whatever their class: by what they have, and by what they compute."""

import copy
import inspect
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from . import functional


@dataclass(frozen=True)
class RMSNormForm:
    """How a module that is an RMS norm uses its weight."""

    eps: float
    offset: bool
    """The weight is one more than the parameter."""
    promotes: bool
    """The result has the wider type of input and weight, and else that of the input."""
    narrows: bool
    """Where the weight has 16 bits, its type is the result's."""


def rms_norm_form(module: torch.nn.Module) -> RMSNormForm | None:
    """The form of an RMS norm of the last dim, or None where the module is anything else.

    It has one parameter, ``weight``, of one dim; a number ``eps`` or ``variance_epsilon``; no buffer and no module. And
    its ``forward`` computes an RMS norm of rows of three dims, no two of which are alike, of values near 1 and near the
    root of ``eps``; the types of results follow a form where elements, the weight or both have 16 bits. That is tried
    on a shallow copy with a weight of its own, so neither the module's parameters nor its hooks take part.
    """
    weight, eps = module._parameters.get("weight"), _eps_of(module)
    alone = len(module._parameters) == 1 and not module._buffers and not module._modules
    if not alone or weight is None or weight.dim() != 1 or eps is None or eps < 0:
        return None
    n = len(weight)
    fp32: dict[str, Any] = {"dtype": torch.float32, "device": "cpu"}
    x = torch.linspace(-1, 1, n, **fp32).add(0.25) * torch.tensor([[[1.0], [0.75], [2.0]]], **fp32)
    x = x * torch.tensor([[[1.0]], [[eps**0.5]]], **fp32)
    own = torch.linspace(-0.5, 1.5, n, **fp32)
    bound = (n + 8) * torch.finfo(torch.float32).eps  # of a sum in any order, a root and some products
    actual = _tried(module, x, own)
    if actual is None or actual.shape != x.shape:
        return None
    for offset in (False, True):
        expected = functional.rms_norm(x, (n,), own + 1 if offset else own, eps)
        if torch.allclose(actual.float(), expected, rtol=bound, atol=bound, equal_nan=True):
            return _with_types(RMSNormForm(eps, offset, promotes=False, narrows=False), module, x, own)
    return None


def _with_types(form: RMSNormForm, module: torch.nn.Module, x: Tensor, weight: Tensor) -> RMSNormForm | None:
    """The form as the types of results have it, or None where they are others. A module may refuse to mix types."""
    wide, low = torch.float32, torch.bfloat16
    found = {(a, b): _tried(module, x.to(a), weight.to(b)) for a, b in ((low, wide), (wide, low), (low, low))}
    types = {key: result.dtype for key, result in found.items() if result is not None}
    form = replace(form, promotes=types.get((low, wide)) == wide, narrows=types.get((wide, low)) == low)
    return form if set(types.values()) <= {wide, low} and types.get((low, low), low) == low else None


def apply_rms_norm(form: RMSNormForm, module: torch.nn.Module, hidden_states: Tensor) -> Tensor:
    """The ``forward`` of a module of that form."""
    weight: Tensor = module.weight  # type: ignore[assignment]
    narrow = weight.dtype if form.narrows and weight.dtype in (torch.float16, torch.bfloat16) else None
    if form.promotes:
        hidden_states = hidden_states.to(torch.promote_types(hidden_states.dtype, weight.dtype))
    if form.offset:
        weight = weight.to(torch.promote_types(weight.dtype, torch.float32)) + 1
    result = functional.rms_norm(hidden_states, weight.shape, weight, form.eps)
    return result if narrow is None else result.to(narrow)


def _eps_of(module: torch.nn.Module) -> float | None:
    found = [
        getattr(module, name) for name in ("variance_epsilon", "eps") if isinstance(getattr(module, name, None), float)
    ]
    return found[0] if found else None


def _tried(module: torch.nn.Module, x: Tensor, weight: Tensor) -> Tensor | None:
    if len(inspect.signature(type(module).forward).parameters) != 2:  # a gated norm may be called with its gate
        return None
    probe = copy.copy(module)
    probe.__dict__["_parameters"] = {"weight": weight}
    try:
        with torch.no_grad():
            result = type(module).forward(probe, x)
    except Exception:  # whatever a module raises that is not called with one tensor of rows
        return None
    return result if isinstance(result, Tensor) else None
