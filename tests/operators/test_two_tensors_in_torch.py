"""Reductions of two tensors among torch's own: gradients, transforms, compilation, autocast, what bad input gets."""

import pytest
import torch

import torch_reduce
from torch_reduce._schemas import REDUCTIONS
from torch_reduce.testing import assert_same_bits

MASKED = [op for op, operator in REDUCTIONS.items() if operator.takes_mask]
every_masked = pytest.mark.parametrize("op", MASKED)


@every_masked
def test_gradients(op, device):
    torch.manual_seed(1)
    x = torch.randn(5, 6, dtype=torch.float64, device=device).requires_grad_()
    mask = torch.rand(5, 6, device=device) < 0.7
    mask[:, :2] = mask[:2] = True  # var wants two
    run = getattr(torch_reduce, op)
    for dim, keepdim in ((1, False), (0, True), (None, False)):
        call = lambda x: run(x, dim=dim, keepdim=keepdim, where=mask)  # noqa: E731, B023
        assert torch.autograd.gradcheck(call, x, check_forward_ad=True, check_batched_grad=True)
        assert torch.autograd.gradgradcheck(call, x, check_fwd_over_rev=True)
    gradient = torch.autograd.grad(run(x, where=mask), x)[0]
    assert not gradient[~mask].any()
    of_rest = torch.autograd.grad(run(torch.where(mask, x, torch.inf).masked_fill(~mask, 0.5), where=mask), x)[0]
    assert_same_bits(of_rest, gradient, "what does not count")


def test_gradients_of_dot(device):
    torch.manual_seed(2)
    x = torch.randn(4, 1, 5, dtype=torch.float64, device=device).requires_grad_()
    y = torch.randn(3, 5, dtype=torch.float64, device=device).requires_grad_()
    for dim in (-1, 0, None):
        call = lambda x, y: torch_reduce.dot(x, y, dim)  # noqa: E731, B023
        assert torch.autograd.gradcheck(call, (x, y), check_forward_ad=True, check_batched_grad=True)
        assert torch.autograd.gradgradcheck(call, (x, y), check_fwd_over_rev=True)
    torch_reduce.dot(x, y.detach(), -1).sum().backward()
    assert x.grad is not None and y.grad is None


@pytest.mark.parametrize("op", [*MASKED, "dot"])
def test_citizens_of_torch(op, device):
    """opcheck, vmap, compile, meta, out=."""
    torch.manual_seed(3)
    x = torch.randn(4, 6, device=device)
    other = torch.randn(4, 6, device=device) if op == "dot" else torch.rand(4, 6, device=device) < 0.6
    key = "other" if op == "dot" else "where"
    run = lambda x, other: getattr(torch_reduce, op)(x, **{"dim": -1, key: other})  # noqa: E731
    expected = run(x, other)
    arguments = (op, [1], False, "", "deterministic", 1.0)
    torch.library.opcheck(torch.ops.reduce._of_two.default, (x.requires_grad_(), other, *arguments))
    x = x.detach()
    assert_same_bits(torch.vmap(run)(x, other), expected, "vmap")
    assert_same_bits(torch.vmap(run, (0, None))(x, other[0]), run(x, other[:1]), "vmap of one")
    torch._dynamo.reset()
    assert_same_bits(torch.compile(run, fullgraph=True)(x, other), expected, "compile")
    out = torch.empty_like(expected)
    assert getattr(torch_reduce, op)(x, **{"dim": -1, key: other, "out": out}) is out
    assert_same_bits(out, expected, "out")
    meta = run(x.to("meta"), other.to("meta"))
    assert meta.shape == expected.shape and meta.dtype == expected.dtype


@pytest.mark.parametrize("op", [*MASKED, "dot"])
def test_sizes_that_depend_on_data(op, device):
    """Equal ones need no guard."""

    def run(x):
        y = x[x > 0.2]
        return torch_reduce.dot(y, y + 1) if op == "dot" else getattr(torch_reduce, op)(y, where=y > 0.5)

    x = torch.rand(400, device=device)
    torch._dynamo.reset()
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        compiled = torch.compile(run, fullgraph=True, backend="aot_eager")
        for n in (400, 300):
            assert_same_bits(compiled(x[:n]), run(x[:n]))


def test_autocast(device):
    x, y = torch.randn(3, 5, device=device).bfloat16(), torch.randn(3, 5, device=device)
    mask = x > 0
    with torch.autocast(device, dtype=torch.bfloat16):
        assert torch_reduce.dot(x, y, 1).dtype == torch.float32
        for op in MASKED:
            with_mask, without = getattr(torch_reduce, op)(x, 1, where=mask), getattr(torch_reduce, op)(x, 1)
            assert with_mask.dtype == without.dtype, op


def test_refusals(device):
    x, mask = torch.ones(2, 3, device=device), torch.ones(2, 3, dtype=torch.bool, device=device)
    refused = [
        (RuntimeError, "where must have the dtype Bool", lambda: torch_reduce.sum(x, where=x)),
        (RuntimeError, "does not broadcast", lambda: torch_reduce.sum(x, where=mask[:, :2])),
        (RuntimeError, "does not broadcast", lambda: torch_reduce.sum(x[0], where=mask)),
        (TypeError, "where is a tensor of bools", lambda: torch_reduce.sum(x, where=True)),
        (NotImplementedError, "takes no mask", lambda: torch_reduce.sum(x, where=mask, mode="exact")),
        (IndexError, "out of range", lambda: torch_reduce.sum(x, 2, where=mask)),
        (RuntimeError, "appears multiple times", lambda: torch_reduce.sum(x, (0, 0), where=mask)),
        (ValueError, "unknown mode", lambda: torch_reduce.sum(x, where=mask, mode="fast")),
        (RuntimeError, "floating", lambda: torch_reduce.mean(x.int(), where=mask)),
        (RuntimeError, "out has shape", lambda: torch_reduce.sum(x, 1, where=mask, out=x.new_empty(3))),
        (RuntimeError, "out has dtype", lambda: torch_reduce.amax(x, 1, where=mask, out=x.new_empty(2).int())),
        (RuntimeError, "one dtype", lambda: torch_reduce.dot(x, x.double())),
        (RuntimeError, "size of tensor", lambda: torch_reduce.dot(x, x[:, :2])),
        (TypeError, "two tensors", lambda: torch_reduce.dot(x, 2)),
        (NotImplementedError, "not supported", lambda: torch_reduce.dot(x + 0j, x + 0j)),
        (ValueError, "takes no mask", lambda: torch.ops.reduce._of_two(x, mask, "argmax", [0], False, "", "")),
        (ValueError, "takes two tensors", lambda: torch.ops.reduce._by_name(x, "dot", [0], False, "", "")),
    ]
    for error, words, call in refused:
        with pytest.raises(error, match=words):
            call()
