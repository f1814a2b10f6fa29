"""The bits of tensors, for comparing them."""

import math

import torch
from torch import Tensor

_INTEGER = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def bits(x: Tensor) -> Tensor:
    """As integers on the device of ``x``, every NaN made the same one."""
    if x.is_floating_point():
        x = x.float() if x.element_size() == 1 else x  # float8, of which torch has no functions
        x = torch.where(x.isnan(), torch.full_like(x, math.nan), x)
    return x.contiguous().view(_INTEGER[x.element_size()])
