"""What a mask leaves out has no derivative, of every operator that takes one: not backwards, not forwards, not of a
derivative; nor where it leaves nothing."""

import itertools

import pytest
import torch
from differentiated import SHAPE, calls
from torch.func import jacfwd, jacrev, jvp

import torch_reduce

MASKED = [call for call in calls() if call.mask and "parameters" not in call.name]
every_masked = pytest.mark.parametrize("call", MASKED, ids=str)


def test_all_are_there():
    names = {call.name for call in MASKED}
    assert {"reduce::softmax", "functional.log_softmax", "reduce::sum.where"} <= names and len(names) >= 13


def masked_case(call, device):
    """The vector of tensors, and a mask of the first: along dim 1, nothing of a row counts, and two rows lack one."""
    mask = torch.ones(SHAPE, dtype=torch.bool)
    mask[0, :, 1] = False
    mask[1, 1, :2] = False
    x = call.values()
    return x.to(device), mask.to(device)


def rows_that_count(call, x, mask):
    """A loss of what is there for elements that count, or for rows of at least two."""
    total = 0
    for t in call.results(x, mask):
        total = total + t[mask if t.shape == mask.shape else mask.sum(1) > 1].pow(3).sum()
    return total


@every_masked
def test_no_gradient_of_what_a_mask_leaves_out(call, device):
    """Whatever is read of the results. Forwards, the NaN of a row that is read is in every tangent of a sum."""
    x, mask = masked_case(call, device)
    torch.compiler.reset()  # its limit of programs of one function
    left_out = torch.nonzero(~mask.flatten()).squeeze(1)
    of_rows, of_all = lambda x: rows_that_count(call, x, mask), lambda x: call.loss(x, mask)
    compiled = torch.compile(torch.func.grad(of_all), backend="aot_eager", fullgraph=True)
    assert torch.func.grad(of_rows)(x).isfinite().all() and jacrev(jacrev(of_rows))(x).isfinite().all()
    for gradient in (torch.func.grad(of_rows), torch.func.grad(of_all), jacfwd(of_rows), compiled):
        assert not gradient(x)[left_out].any()
    orders = list(itertools.product((jacrev, jacfwd), repeat=2))
    for second in (*(outer(inner(of_rows)) for outer, inner in orders), jacrev(jacrev(of_all))):
        assert not second(x)[left_out].any() and not second(x)[:, left_out].any()
    batch = torch.stack((x, x.flip(0))), torch.stack((mask, mask))
    of_each = torch.vmap(torch.func.grad(lambda x, mask: call.loss(x, mask)))(*batch)
    assert not of_each[:, left_out].any()
    leaf = x.clone().requires_grad_()
    assert not torch.autograd.grad(of_all(leaf), leaf)[0][left_out].any()


@every_masked
def test_no_tangent_of_what_a_mask_leaves_out(call, device):
    """And a row without an element that counts keeps its own values."""
    x, mask = masked_case(call, device)
    direction = call.values().flip(0).to(device)
    wild = direction.clone()
    wild[: mask.numel()][~mask.flatten()] = torch.nan
    run = lambda x: call.results(x, mask)  # noqa: E731
    for plain, same in zip(jvp(run, (x,), (direction,)), jvp(run, (x,), (wild,)), strict=True):
        for a, b in zip(plain, same, strict=True):
            torch.testing.assert_close(a, b, equal_nan=True, rtol=0, atol=0)
    for value, tangent in zip(*jvp(run, (x,), (direction,)), strict=True):
        if value.shape == mask.shape:
            assert value[0, :, 1].isnan().all() and not tangent[~mask].any()


@pytest.mark.parametrize(
    "op, infinity", [("amax", -torch.inf), ("amax", torch.inf), ("amin", -torch.inf), ("amin", torch.inf)]
)
def test_infinities_that_count_tie_with_no_other(op, infinity, device):
    """Nor with what stands for elements that do not count."""
    x = torch.tensor([[infinity, 5.0, infinity, 7.0], [1.0, 2.0, 3.0, 4.0]], device=device, requires_grad=True)
    mask = torch.tensor([[True, False, True, False], [False] * 4], device=device)
    run = lambda x: getattr(torch_reduce, op)(x, 1, where=mask)  # noqa: E731
    (grad,) = torch.autograd.grad(run(x).sum(), x)
    assert torch.equal(grad.cpu(), torch.tensor([[0.5, 0, 0.5, 0], [0] * 4]))
    assert jvp(run, (x.detach(),), (torch.ones_like(x),))[1].tolist() == [1, 0]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("keepdim", [False, True])
def test_a_sum_of_no_exponentials_has_no_derivative(dtype, keepdim, device):
    """Its logarithm is -infinity, and constant: by its elements, by what is given backwards, and of any order."""
    x = torch.tensor([[1.0, 2.0], [-torch.inf, 3.0]], dtype=dtype, device=device)
    mask = torch.tensor([[False, False], [True, True]], device=device)
    run = lambda x: torch_reduce.logsumexp(x, 1, keepdim=keepdim, where=mask)  # noqa: E731
    value, tangent = jvp(run, (x,), (torch.ones_like(x),))
    assert value.flatten().tolist() == [-torch.inf, 3] and tangent.flatten().tolist() == [0, 1]
    leaf, upstream = x.clone().requires_grad_(), torch.ones_like(value).requires_grad_()
    (grad,) = torch.autograd.grad(run(leaf), leaf, upstream, create_graph=True)
    assert grad.tolist() == [[0, 0], [0, 1]]
    by_leaf, by_upstream = torch.autograd.grad(grad.sum(), (leaf, upstream))
    assert not by_leaf.any() and by_upstream.flatten().tolist() == [0, 1]
    for outer, inner in itertools.product((jacrev, jacfwd), repeat=2):
        assert not outer(inner(run))(x).any()
