"""Derivatives: first and second order against finite differences, ties and zeros as torch has them, torch.func."""

import itertools
import math

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

import torch_reduce
from torch_reduce._twins import twin_of
from torch_reduce.testing import OPS, assert_same_bits, fill, function_of, has_gradient, wants_two_elements

every_op = pytest.mark.parametrize("op", OPS)
every_derivative = pytest.mark.parametrize("op", [op for op in OPS if has_gradient(op)])
DIMS = [(None, False), (0, False), (-1, True), ([0, 2], False), ([1, 2], True), ([], False)]
every_dim = pytest.mark.parametrize("dim, keepdim", DIMS, ids=str)


def distinct(*shape, device="cpu"):
    """fp64 values from 0.5 to 1.5, all different by more than the step of finite differences."""
    n = torch.Size(shape).numel()
    order = torch.randperm(n, generator=torch.Generator().manual_seed(0))
    return (0.5 + order.double() / n).reshape(shape).to(device).requires_grad_()


@every_derivative
@every_dim
def test_gradcheck(op, dim, keepdim, device):
    x = distinct(2, 3, 4, device=device)
    assert gradcheck(lambda x: function_of(op)(x, dim, keepdim=keepdim), (x,), check_batched_grad=True)


def test_sumsq_does_not_keep_its_result(device):
    """So that the root may be taken in its place, as a norm does."""
    x = distinct(3, 4, device=device)
    torch_reduce.sumsq(x, 1).sqrt_().sum().backward()
    torch.testing.assert_close(x.grad, x.detach() / x.detach().norm(dim=1, keepdim=True))


@every_derivative
@every_dim
def test_gradgradcheck(op, dim, keepdim, device):
    x = distinct(2, 3, 2, device=device)
    assert gradgradcheck(lambda x: function_of(op)(x, dim, keepdim=keepdim), (x,), check_batched_grad=True)


@every_derivative
def test_tangents_of_gradients(op, device):
    """Forward over reverse: gradients that read the result read its tangent too."""
    x = distinct(2, 3, device=device)
    assert gradgradcheck(lambda x: function_of(op)(x, 1), (x,), check_fwd_over_rev=True)


@every_derivative
def test_strided_and_0d(op, device):
    run = function_of(op)
    x = distinct(3, 4, 2, device=device).detach()
    assert gradcheck(lambda x: run(x.transpose(0, 2)[:, ::2], [0, 2]), (x.requires_grad_(),))
    assert gradgradcheck(lambda x: run(x.transpose(0, 2)[:, ::2], [0, 2]), (x,))
    if wants_two_elements(op):
        return
    zero_d = torch.tensor(1.25, dtype=torch.float64, device=device, requires_grad=True)
    assert gradcheck(run, (zero_d,)) and gradcheck(lambda x: run(x, 0, keepdim=True), (zero_d,))


@pytest.mark.parametrize("zeros", [(), (1,), (0, 3), (0, 1, 2)], ids=str)
@pytest.mark.parametrize("dim", [None, 1, [0, 1]], ids=str)
def test_prod_with_zeros(zeros, dim, device):
    """With one zero only its own gradient survives, with two none; no division by x anywhere."""
    x = distinct(2, 4, device=device).detach()
    x[0, list(zeros)] = 0.0
    x.requires_grad_()
    assert gradcheck(lambda x: torch_reduce.prod(x, dim), (x,))
    assert gradgradcheck(lambda x: torch_reduce.prod(x, dim), (x,))
    (grad,) = torch.autograd.grad(torch_reduce.prod(x).sum(), x)
    (expected,) = torch.autograd.grad(torch.prod(x), x)
    torch.testing.assert_close(grad, expected)


TRIPLES = [v for v in itertools.product((2.0, 0.0, -math.inf, math.nan), repeat=3) if 0 in v]


@pytest.mark.parametrize("values", TRIPLES, ids=str)
def test_prod_of_zeros_and_what_is_not_finite(values, device):
    """A zero times an Inf among the other elements is NaN, whether the gradient is differentiated again or not."""
    x = torch.tensor(values, dtype=torch.float64, device=device, requires_grad=True)
    for create_graph in (False, True):
        (grad,) = torch.autograd.grad(torch_reduce.prod(x, 0), x, create_graph=create_graph)
        (expected,) = torch.autograd.grad(torch.prod(x, 0), x, create_graph=create_graph)
        assert torch.equal(grad.isnan(), expected.isnan()), (create_graph, grad, expected)
        assert torch.equal(grad.nan_to_num(), expected.nan_to_num())


def test_prod_hessian_at_two_zeros(device):
    """Where two elements are zero, the second derivative for the pair is the product of the others."""
    x = torch.tensor([2.0, 0.0, 3.0, 0.0], dtype=torch.float64, device=device)
    hessian = torch.autograd.functional.hessian(torch_reduce.prod, x)
    expected = torch.zeros(4, 4, dtype=torch.float64, device=device)
    expected[1, 3] = expected[3, 1] = 6.0
    assert torch.equal(hessian, expected)
    assert torch.equal(torch.func.hessian(torch_reduce.prod)(x), expected)


@pytest.mark.parametrize("op", ["amax", "amin"])
@every_dim
def test_ties_share_as_in_torch(op, dim, keepdim, device):
    x = (fill((3, 4, 5), torch.int8).abs() % 3).double().to(device).requires_grad_()
    results = [run(x, dim, keepdim=keepdim) for run in (function_of(op), getattr(torch, op))]
    weights = torch.arange(1.0, 1 + results[0].numel(), device=device, dtype=x.dtype).reshape(results[0].shape)
    grad, expected = (torch.autograd.grad(r, x, weights)[0] for r in results)
    # One multiplication and one division, each off by half an eps.
    torch.testing.assert_close(grad, expected, rtol=2 * torch.finfo(x.dtype).eps, atol=0)


@pytest.mark.parametrize("op", ["sum", "mean", "amax", "amin"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
def test_gradients_of_every_type_are_those_of_torch(op, dtype, device):
    x = fill((6, 50), dtype).to(device).requires_grad_()
    for dim in (0, 1, None):
        grads = []
        for run in (function_of(op), getattr(torch, op)):
            grads.append(torch.autograd.grad(run(x, dim).float().square().sum() * 2.0**-6, x)[0])
            assert grads[-1].dtype == dtype and grads[-1].shape == x.shape
        torch.testing.assert_close(*grads)


@pytest.mark.parametrize("op", ["sum", "mean", "prod"])
def test_gradient_through_dtype(op, device):
    """The gradient returns in the type of the input, whatever the output type."""
    x = fill((4, 5), torch.float32, op="prod").to(device).requires_grad_()
    y = function_of(op)(x, 1, dtype=torch.float64)
    assert y.dtype == torch.float64
    (grad,) = torch.autograd.grad(y.sum(), x)
    (expected,) = torch.autograd.grad(getattr(torch, op)(x, 1, dtype=torch.float64).sum(), x)
    assert grad.dtype == torch.float32
    torch.testing.assert_close(grad, expected)
    whole = torch_reduce.sum(x, dtype=torch.int64)
    assert not whole.requires_grad


@every_derivative
def test_gradients_repeat(op, device, deterministic_algorithms):
    x = fill((300, 70), torch.float32, op=op).to(device).requires_grad_()
    for dim in (0, 1):
        grads = [torch.autograd.grad(function_of(op)(x, dim).sum(), x)[0] for _ in range(3)]
        assert_same_bits(grads[1], grads[0])
        assert_same_bits(grads[2], grads[0])


@pytest.mark.parametrize("op", ["sum", "mean", "prod"])
def test_atomic_has_the_same_gradient(op, device):
    x = distinct(3, 4, device=device)
    results = [function_of(op)(x, 1, mode=mode) for mode in ("atomic", "deterministic")]
    assert_same_bits(*(torch.autograd.grad(result.sum(), x)[0] for result in results))


@every_derivative
def test_torch_func(op, device):
    run = function_of(op)
    theirs = twin_of(op)
    x = distinct(4, 3, device=device).detach()
    close = torch.testing.assert_close
    grads = [torch.func.grad(lambda x, f=f: f(x).sum()) for f in (run, theirs)]
    close(*(grad(x) for grad in grads))
    close(torch.func.jacrev(lambda x: run(x, 1))(x), torch.func.jacrev(lambda x: theirs(x, 1))(x))
    close(torch.func.hessian(run)(x), torch.func.hessian(theirs)(x))
    close(*(torch.func.vmap(grad)(x) for grad in grads))
    close(torch.func.grad(lambda x: torch.func.vmap(run)(x).sum())(x), torch.func.grad(lambda x: theirs(x, 1).sum())(x))


@every_op
def test_vmap_refuses_dims_as_without_it(op, device):
    """With the same words, and the numbers that the caller gave."""
    run = function_of(op)
    for x in (torch.ones(3, device=device), torch.ones(3, 4, 5, device=device)):
        for dim in (7, -9, [0, 0], [0, -x[0].dim()], x[0].dim() or 1):
            with pytest.raises((IndexError, RuntimeError)) as plain:
                run(x[0], dim)
            with pytest.raises(type(plain.value)) as batched:
                torch.func.vmap(lambda y: run(y, dim))(x)  # noqa: B023
            first = [str(error.value).split("\nException raised from")[0] for error in (plain, batched)]
            assert first[0] == first[1]


@every_op
def test_vmap(op, device):
    """Over any dim, nested, and with the bits of a loop."""
    run = function_of(op)
    x = fill((3, 4, 5, 6), torch.float32, op=op).to(device)
    for in_dim in (0, 1, 3, -1):
        for dim, keepdim in ((None, False), (0, True), ([-1, 0], False), ([], False)):
            actual = torch.func.vmap(lambda y: run(y, dim, keepdim=keepdim), in_dims=in_dim)(x)  # noqa: B023
            expected = torch.stack([run(y, dim, keepdim=keepdim) for y in x.unbind(in_dim)])
            assert_same_bits(actual, expected, f"{in_dim} {dim}")
    nested = torch.func.vmap(torch.func.vmap(lambda y: run(y, 0), in_dims=1), in_dims=2)(x)
    assert_same_bits(nested, torch.stack([torch.stack([run(z, 0) for z in y.unbind(1)]) for y in x.unbind(2)]))


@every_derivative
def test_forward_mode(op, device):
    x = distinct(3, 4, device=device)
    assert gradcheck(lambda x: function_of(op)(x, 1), (x,), check_forward_ad=True)


@pytest.mark.parametrize("op", [op for op in OPS if not has_gradient(op)])
def test_no_gradient_of_indices_and_counts(op, device):
    x = distinct(3, 4, device=device)
    assert not function_of(op)(x, 1).requires_grad
    _, tangent = torch.func.jvp(lambda x: function_of(op)(x, 1), (x.detach(),), (x.detach(),))
    assert not tangent.any()


@every_op
def test_no_graph_without_need(op, device):
    x = torch.ones(3, device=device)
    assert function_of(op)(x).grad_fn is None
    with torch.no_grad():
        assert function_of(op)(x.requires_grad_()).grad_fn is None
    with torch.inference_mode():
        assert function_of(op)(torch.ones(3, device=device)).is_inference()


def test_empty_gradients(device):
    for op in ("sum", "mean", "prod"):
        x = torch.empty(0, 3, device=device, requires_grad=True)
        (grad,) = torch.autograd.grad(function_of(op)(x, 0).sum(), x)
        assert grad.shape == (0, 3)
