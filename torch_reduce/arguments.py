"""The arguments of the functions, as the operators take them."""

from collections.abc import Sequence

import torch

Dims = int | Sequence[int] | None
"""Which dims a function reduces: one, several, or all where it is None or empty."""


def as_dims(dim: Dims) -> Sequence[int] | None:
    """A dim that may be symbolic becomes a list of it, which torch's operators take. Dynamo shows it as an int."""
    if type(dim) is int:
        return [dim] if torch.compiler.is_compiling() else dim
    return [dim] if isinstance(dim, torch.SymInt) else dim
