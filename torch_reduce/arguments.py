"""The arguments of the functions, as the operators take them."""

from collections.abc import Sequence

import torch

Dims = int | Sequence[int] | None
"""Which dims a function reduces: one, several, or all where it is None or empty."""


def as_dims(dim: Dims) -> Sequence[int] | None:
    """One dim becomes a list of it: torch's operators take a symbolic integer only so."""
    return [dim] if type(dim) is int or isinstance(dim, torch.SymInt) else dim
