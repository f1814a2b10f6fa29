"""Tensors of channels, with a parameter of each."""

import torch
from map_cases import values


def tensors(shape, dtype, device):
    x = values(1, max(1, torch.Size(shape).numel()), dtype)[0][: torch.Size(shape).numel()].reshape(shape)
    weight, bias = (values(1, shape[1], dtype, start=s)[0] for s in (3, 5))
    return x.to(device), weight.to(device), bias.to(device)
