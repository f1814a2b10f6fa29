"""The reductions in torch's own words, to compare with. Without NumPy, which a user may lack."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

Dims = int | Sequence[int] | None


def reduced_dims(ndim: int, dim: Dims) -> list[int]:
    """The dims to reduce as sorted non-negative numbers."""
    dims = [dim] if isinstance(dim, int) else list(dim or [])
    return sorted(d % ndim for d in dims) if dims and ndim else list(range(ndim))


def _logsumexp(x: Tensor, dim: Dims = None) -> Tensor:
    return torch.logsumexp(x, reduced_dims(x.ndim, dim))


def _norm(x: Tensor, dim: Dims = None, *, ord: float = 2) -> Tensor:
    return torch.linalg.vector_norm(x, ord, reduced_dims(x.ndim, dim))


def _flat(function: Callable[[Tensor, int], Any]) -> Callable[..., Any]:
    """A function of one dim, applied to all elements that are reduced, in their order."""

    def twin(x: Tensor, dim: Dims = None) -> Any:
        reduced = reduced_dims(x.ndim, dim)
        kept = [d for d in range(x.ndim) if d not in reduced]
        return function(x.permute(kept + reduced).flatten(len(kept)), -1)

    return twin


def _aminmax(x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    return torch.aminmax(x, dim=dim)


def _both(function: Callable[..., tuple[Tensor, Tensor]]) -> Callable[..., Tensor]:
    """A function of two results, with both in the last dim of one tensor."""
    return lambda x, dim=None: torch.stack(tuple(function(x, reduced_dims(x.ndim, dim))), -1)


def _least_and_largest(x: Tensor, dim: Dims = None) -> Tensor:
    """Differentiable, as torch.aminmax is not."""
    dims = reduced_dims(x.ndim, dim)
    return torch.stack((torch.amin(x, dims), torch.amax(x, dims)), -1)


def _sum_of_squares(x: Tensor, dim: Dims = None) -> Tensor:
    return (x if x.is_floating_point() else x.long()).square().sum(reduced_dims(x.ndim, dim))


PAIRS: dict[str, Callable[..., tuple[Tensor, Tensor]]] = {
    "var_mean": torch.var_mean,
    "std_mean": torch.std_mean,
    "aminmax": _flat(_aminmax),
}
"""Those of two results."""

TWINS: dict[str, Callable[..., Tensor]] = {
    "sumsq": _sum_of_squares,
    "argmax": _flat(torch.argmax),
    "argmin": _flat(torch.argmin),
    "logsumexp": _logsumexp,
    "norm": _norm,
    "norm0": partial(_norm, ord=0),
    "norm1": partial(_norm, ord=1),
    "norm2": partial(_norm, ord=2),
    "norm_inf": partial(_norm, ord=math.inf),
    "norm_minus_inf": partial(_norm, ord=-math.inf),
    **{op: _both(function) for op, function in PAIRS.items()},
    "aminmax": _least_and_largest,
}
"""What is not ``torch.<operator>``: functions of a tensor and dims."""


def twin_of(op: str) -> Callable[..., Tensor]:
    """The same reduction in torch."""
    return TWINS.get(op) or getattr(torch, op)


_WORDS = {
    "sumsq": "x.square().sum()",
    "dot": "(x * y).sum()",
    **{op: "torch.linalg.vector_norm" for op in TWINS if op.startswith("norm")},
}


def name_of_twin(op: str) -> str | None:
    """What torch calls an operator, a scan or a map of that name; None where torch has none."""
    if op in _WORDS:
        return _WORDS[op]
    for module in (torch, torch.nn.functional):
        if hasattr(module, op):
            return f"{module.__name__}.{op}"
    return None
