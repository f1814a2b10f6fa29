"""logprobs: beside log_softmax to the bit, of padded targets, and their derivatives."""

import math

import pytest
import torch
from logits import case
from map_cases import DTYPES, values

from torch_reduce.nn import functional
from torch_reduce.testing import assert_same_bits

every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)


@every_dtype
def test_logprobs_are_those_of_log_softmax(device, dtype):
    for shape in ((5, 70), (1, 3000), (2, 3, 1), (70,)):
        x = values(1, math.prod(shape), dtype, start=5)[0].reshape(shape).to(device)
        target = torch.arange(math.prod(shape[:-1]), device=device).mul(11).remainder(shape[-1]).reshape(shape[:-1])
        expected = functional.log_softmax(x, -1).gather(-1, target.unsqueeze(-1)).squeeze(-1)
        assert_same_bits(functional.logprobs(x, target) + 0, expected + 0, f"{shape}")


@every_dtype
def test_logprobs_of_padded_targets(device, dtype):
    """They are 0, whatever the row has, and give it no gradient; without an ignore_index they are out of range."""
    x, target = case((7, 50), dtype, device)
    counts = target != -100
    y = functional.logprobs(torch.where(counts[:, None], x, torch.nan), target, ignore_index=-100)
    assert_same_bits(y[~counts], torch.zeros_like(x[1:2, 0]))
    leaf = x.detach().requires_grad_()
    y = functional.logprobs(leaf, target, ignore_index=-100)
    assert_same_bits(y[counts].detach(), functional.logprobs(x[counts], target[counts]))
    assert_same_bits(y[~counts].detach(), torch.zeros_like(x[1:2, 0]))
    (gradient,) = torch.autograd.grad(y, leaf, torch.full_like(y, torch.inf).where(~counts, 1))
    assert not gradient[1].any() and gradient[counts].any(1).all()
    assert_same_bits(functional.logprobs(x, target.where(counts, 3), ignore_index=3)[1], torch.zeros_like(x[1, 0]))
    single = functional.logprobs(x[2], target[2], ignore_index=int(target[2]))
    assert single.shape == () and single == 0
    if device == "cpu":
        for ignored in (None, 7):
            with pytest.raises(IndexError, match="Target -100 is out of bounds"):
                functional.logprobs(x, target, ignore_index=ignored)


def test_derivatives_of_padded_logprobs(device):
    x, target = case((4, 6), torch.float64, device)
    run = lambda x: functional.logprobs(x, target, ignore_index=-100)  # noqa: E731
    everything = {"check_forward_ad": True, "check_batched_grad": True, "check_batched_forward_grad": True}
    assert torch.autograd.gradcheck(run, x.requires_grad_(), **everything)
    assert torch.autograd.gradgradcheck(run, x, check_fwd_over_rev=True, check_batched_grad=True)
    low = x.detach().float()
    run = lambda x: functional.logprobs(x, target, dtype=torch.float64, ignore_index=-100).square().sum()  # noqa: E731
    assert_same_bits(torch.func.grad(run)(low), torch.func.grad(run)(low.double()).float())
