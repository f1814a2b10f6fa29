"""Gradients of sums of exponentials: of what was rounded, and where a gradient is 0."""

import pytest
import torch

import torch_reduce

NARROW = [torch.float16, torch.bfloat16]


def shares_of_prefixes(x):
    """Row j, element k: the share of element k in the sum of exponentials up to j, the derivative of its logarithm."""
    counts = torch.ones(len(x), len(x), dtype=torch.bool).tril()
    return torch.softmax(x.double().expand(len(x), -1).masked_fill(~counts, -torch.inf), 1)


@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("values", [[1000.0] * 4, [100, 101, 99.5, 100], [-3, 0.5, 2, -40]], ids=str)
def test_gradients_of_16_bits(dtype, values, device):
    """Within the rounding of the result, of a share in (0, 1], whatever the logarithm is rounded to."""
    x = torch.tensor(values, dtype=dtype, device=device, requires_grad=True)
    bound = torch.finfo(dtype).eps * torch.ones(())
    (grad,) = torch.autograd.grad(torch_reduce.logsumexp(x, 0), x)
    torch.testing.assert_close(
        grad.cpu().double(), torch.softmax(x.detach().cpu().double(), 0), rtol=0, atol=bound.item()
    )
    tangent = torch.func.jvp(lambda x: torch_reduce.logsumexp(x, 0), (x.detach(),), (torch.ones_like(x),))[1]
    torch.testing.assert_close(tangent.item(), 1.0, rtol=0, atol=bound.item())
    jacobian = torch.func.jacrev(lambda x: torch_reduce.logcumsumexp(x, 0))(x.detach())
    expected = shares_of_prefixes(x.detach().cpu())
    torch.testing.assert_close(jacobian.cpu().double(), expected, rtol=0, atol=bound.item())
    forwards = torch.func.jacfwd(lambda x: torch_reduce.logcumsumexp(x, 0))(x.detach())
    torch.testing.assert_close(forwards.cpu().double(), expected, rtol=0, atol=bound.item())


@pytest.mark.parametrize("values", [[0, 1, 2], [-torch.inf, -torch.inf, 1, 700, -700], [-1000, -2000, 3]], ids=str)
def test_a_gradient_of_zero_has_a_derivative(values, device):
    """The Hessian of half the squared distance to what is there is J^T J."""
    x = torch.tensor(values, dtype=torch.float64, device=device)
    there = torch_reduce.logcumsumexp(x, 0)
    finite = there.isfinite()
    run = lambda x: 0.5 * (torch_reduce.logcumsumexp(x, 0) - there)[finite].square().sum()  # noqa: E731
    jacobian = shares_of_prefixes(x.cpu())[finite.cpu()].to(device)
    torch.testing.assert_close(torch.autograd.functional.hessian(run, x), jacobian.T @ jacobian)
    tangent = torch.autograd.functional.jvp(lambda x: torch_reduce.logcumsumexp(x, 0)[finite], x, torch.ones_like(x))[1]
    torch.testing.assert_close(tangent, torch.ones_like(tangent))
