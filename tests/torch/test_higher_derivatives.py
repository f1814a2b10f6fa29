"""Derivatives of derivatives, of every operator that is registered, in each order of forward and reverse mode."""

import itertools

import pytest
import torch
from differentiated import calls
from torch.autograd import forward_ad
from torch.func import jacfwd, jacrev

CALLS = calls()
every_call = pytest.mark.parametrize("call", CALLS, ids=str)


def test_all_are_there():
    names = {call.name for call in CALLS}
    for name in ("sum", "sum.where", "dot", "cumprod", "topk", "softmax", "layer_norm with parameters", "logprobs"):
        assert f"reduce::{name}" in names
    assert "functional.batch_norm with parameters" in names
    assert "reduce::argmax" not in names


@every_call
def test_orders_of_both_modes_agree(call, device):
    """Of the second derivative by all tensors, the parameters among them."""
    x = call.values().to(device)
    expected = jacrev(jacrev(call.loss))(x)
    for outer, inner in itertools.product((jacrev, jacfwd), repeat=2):
        found = outer(inner(call.loss))(x)
        torch.testing.assert_close(found, expected, msg=lambda m: f"{outer.__name__}({inner.__name__}): {m}")  # noqa: B023


@every_call
def test_gradients_of_tangents(call, device):
    """Without torch.func: a tangent of a tensor that requires a gradient."""
    x, direction = call.values().to(device).requires_grad_(), call.values().flip(0).to(device)
    with forward_ad.dual_level():
        tangent = forward_ad.unpack_dual(call.loss(forward_ad.make_dual(x, direction))).tangent
        (found,) = torch.autograd.grad(tangent, x)
    (gradient,) = torch.autograd.grad(call.loss(x), x, create_graph=True)
    torch.testing.assert_close(found, torch.autograd.grad(gradient, x, direction)[0])


@every_call
def test_a_gradient_of_zero_has_derivatives(call, device):
    """Half the squared distance to what is there has the gradient 0 and, of the Jacobian J, the Hessian J^T J."""
    x = call.values().to(device)
    there = call.results(x)
    jacobian = jacfwd(lambda x: torch.cat([t.flatten() for t in call.results(x)]))(x)

    def distance(x):
        parts = zip(call.results(x), there, strict=True)
        return torch.stack([(found - t).square().sum() for found, t in parts]).sum() / 2

    assert not jacrev(distance)(x).any()
    found = {f"{a.__name__}({b.__name__})": a(b(distance))(x) for a, b in itertools.product((jacrev, jacfwd), repeat=2)}
    found["hessian"] = torch.autograd.functional.hessian(distance, x)
    for name, second in found.items():
        torch.testing.assert_close(second, jacobian.T @ jacobian, msg=lambda m: f"{name}: {m}")  # noqa: B023
