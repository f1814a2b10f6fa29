"""Finite elements whose partial sums overflow: what the order makes of them, and what mode "exact" does."""

import math

import pytest
import torch

import torch_reduce
from torch_reduce.testing import assert_same_bits


@pytest.mark.parametrize("op", ["sum", "mean"])
def test_overflow_on_the_way(op, device):
    run = getattr(torch_reduce, op)
    x = torch.tensor([3e38, 3e38, -3e38, -3e38], device=device)
    assert math.isnan(run(x))
    assert_same_bits(run(x, mode="exact"), torch.zeros(()))
    assert_same_bits(run(x, dtype=torch.float64), torch.zeros((), dtype=torch.float64))
