"""Logits and the targets of their losses."""

import math

import torch
from map_cases import values

SHAPES = [(7, 50), (50,), (3, 50, 4), (2, 1500, 3)]


def case(shape, dtype, device):
    """Logits and targets, of which one is ignored."""
    x = values(1, math.prod(shape), dtype)[0].reshape(shape)
    classes = shape[1] if len(shape) > 1 else shape[0]
    rows = shape[:1] + shape[2:] if len(shape) > 1 else ()
    target = torch.arange(math.prod(rows)).mul(37).remainder(classes).reshape(rows)
    if rows:
        target.view(-1)[1] = -100
    return x.to(device), target.to(device)
