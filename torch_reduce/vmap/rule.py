"""What batching rules share."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Rule = Callable[..., tuple[Any, Any]]
"""Of torch's description of the map, the batch's dim in each argument, and the arguments: the result, or several, and
its batch's dim."""


def batched(info: Any, t: Tensor, batch_dim: int | None) -> Tensor:
    """With the batch first."""
    return t.expand(info.batch_size, *t.shape) if batch_dim is None else t.movedim(batch_dim, 0)


def computed(t: Tensor) -> Tensor:
    """In the compute type."""
    return t if t.dtype == torch.float64 else t.float()
