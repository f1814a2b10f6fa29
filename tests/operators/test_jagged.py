"""Reductions of jagged tensors: as of each tensor, and where the ragged dim or the batch is reduced."""

import pytest
import torch

import torch_reduce
from torch_reduce.testing import (
    OPS,
    assert_same_bits,
    fill,
    function_of,
    reduces_none,
    wants_elements,
)

every_op = pytest.mark.parametrize("op", OPS)
PARTS = [(5, 3, 2), (0, 3, 2), (1030, 3, 2)]


@every_op
@pytest.mark.filterwarnings("ignore")  # torch says that its nested tensors are a prototype
@pytest.mark.parametrize("keepdim", [False, True])
def test_jagged_tensors(op, keepdim, device):
    """Each tensor of the batch alone, or all of them after one another."""
    call = function_of(op)
    shapes = [PARTS[0], PARTS[2]] if wants_elements(op) else PARTS  # nothing has no maximum
    parts = [fill(shape, torch.float32, op=op).to(device) for shape in shapes]
    x = torch.nested.nested_tensor(parts, layout=torch.jagged)
    for dims in ([1], [1, 2], [-1, 1], [1, 2, 3]):  # the ragged dim goes
        inner = [d % 4 - 1 for d in dims]
        assert_same_bits(
            call(x, dims, keepdim=keepdim), torch.stack([call(part, inner, keepdim=keepdim) for part in parts])
        )
    for dims in ([2], [-1], [2, 3]):  # it stays
        inner = [d % 4 - 1 for d in dims]
        for found, part in zip(call(x, dims, keepdim=keepdim).unbind(), parts, strict=True):
            assert_same_bits(found, call(part, inner, keepdim=keepdim))
    together = torch.cat(parts)
    for dims in (None, *([] if reduces_none(op) else [[]]), [0, 1], [0, 1, 3]):  # the batch goes too
        inner = [d - 1 for d in dims or range(4) if d > 0]
        expected = call(together, inner, keepdim=keepdim)
        assert_same_bits(call(x, dims, keepdim=keepdim), expected.unsqueeze(0) if keepdim else expected)


@every_op
@pytest.mark.filterwarnings("ignore")
def test_jagged_tensors_that_are_refused(op):
    call = function_of(op)
    x = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=torch.jagged)
    with pytest.raises(NotImplementedError, match="over its batch a nested tensor is reduced with its ragged dim"):
        call(x, 0)
    with pytest.raises(NotImplementedError, match="over its batch a nested tensor is reduced with its ragged dim"):
        call(x.transpose(1, 2))
    with pytest.raises(NotImplementedError, match="no out= for nested tensors"):
        call(x, 1, out=torch.empty(0))
    with pytest.raises(IndexError, match="dim 3 is out of range for a tensor of 3 dims"):
        call(x, 3)
    with pytest.raises(RuntimeError, match="a dim appears more than once"):
        call(x, [1, -2])


@pytest.mark.filterwarnings("ignore")
def test_jagged_tensors_with_the_ragged_dim_elsewhere():
    parts = [fill((n, 3), torch.float32) for n in (5, 1030)]
    x = torch.nested.nested_tensor(parts, layout=torch.jagged).transpose(1, 2)
    assert_same_bits(torch_reduce.sum(x, 2), torch.stack([torch_reduce.sum(part, 0) for part in parts]))
    for found, part in zip(torch_reduce.sum(x, 1).unbind(), parts, strict=True):
        assert_same_bits(found, torch_reduce.sum(part, 1))


@pytest.mark.filterwarnings("ignore")
def test_gradients_of_jagged_tensors():
    parts = [fill((n, 3), torch.float32).requires_grad_() for n in (5, 7)]
    weights = fill((2, 3), torch.float32)
    for dim in (1, 2, [0, 1]):
        x = torch.nested.as_nested_tensor(parts, layout=torch.jagged)
        result = torch_reduce.sum(x, dim)
        result = result.values() if result.is_nested else result
        scale = weights if dim == 1 else weights[0] if dim == [0, 1] else torch.arange(12.0)
        found = torch.autograd.grad((result * scale).sum(), parts)
        spread = (weights[0].expand(5, 3), weights[1].expand(7, 3))
        if dim == 2:
            spread = torch.arange(12.0)[:, None].expand(12, 3).split((5, 7))
        elif dim == [0, 1]:
            spread = [weights[0].expand(n, 3) for n in (5, 7)]
        for one, expected in zip(found, spread, strict=True):
            assert torch.equal(one, expected)
