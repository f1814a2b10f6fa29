"""Inputs of tests in more than one file."""

import torch


def factors(shape, dtype):
    """Near 1, so that no product leaves the type."""
    return (1 + (torch.rand(shape, generator=torch.Generator().manual_seed(3)) - 0.5) / 32).to(dtype)
