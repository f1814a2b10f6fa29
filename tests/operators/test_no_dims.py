"""An empty list of dims: all of them, but none to what gives a truth, as to torch's functions."""

import math

import pytest
import torch

import torch_reduce
from torch_reduce.testing import (
    OPS,
    assert_same_bits,
    fill,
    function_of,
    gives_pair,
    model,
    reduces_none,
)

every_op = pytest.mark.parametrize("op", OPS)


def of_no_dims(op, x, keepdim):
    """What torch's twin makes of an empty list of dims; None where it has no result, or there is no twin."""
    norms = {f"norm{order}".replace("-", "_minus_"): order for order in (0, 1, 2)}
    norms |= {"norm": 2, "norm_inf": math.inf, "norm_minus_inf": -math.inf}
    try:
        if op in norms:
            return torch.linalg.vector_norm(x, norms[op], [], keepdim)
        if op == "count_nonzero":  # has no keepdim
            return None if keepdim else torch.count_nonzero(x, [])
        result = getattr(torch, op)(x, dim=[], keepdim=keepdim)
    except (AttributeError, TypeError, RuntimeError):  # logsumexp fails without keepdim
        return None
    return torch.stack(result, -1) if gives_pair(op) else result


@every_op
@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("shape", [(2, 3), (2, 0), (1, 4, 1), (5,), ()], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8], ids=str)
def test_no_dims_are_those_of_torch(op, shape, keepdim, dtype, device):
    """All dims, as None; but any and all reduce none, and give the truth of each element."""
    x, call = (torch.arange(float(math.prod(shape))) % 3).reshape(shape).to(dtype).to(device), function_of(op)
    expected = of_no_dims(op, x, keepdim)
    if expected is None:
        assert not reduces_none(op)
        if dtype.is_floating_point and x.numel() > 0:
            assert_same_bits(call(x, [], keepdim=keepdim), call(x, None, keepdim=keepdim))
        return
    for none in ([], ()):
        found = call(x, none, keepdim=keepdim)
        torch.testing.assert_close(found, expected, equal_nan=True)
        assert_same_bits(call(x, none, keepdim=keepdim, out=torch.empty_like(found)), found, "out")
        assert call(x.to("meta"), none, keepdim=keepdim).shape == found.shape
        assert_same_bits(model(x, none, keepdim, op=op), found, "model")
        assert torch_reduce.explain(x, none, op=op).outputs == found.numel() // (2 if gives_pair(op) else 1)
        if shape != (2, 3):
            continue
        torch._dynamo.reset()
        compiled = torch.compile(lambda x: call(x, none, keepdim=keepdim), backend="aot_eager", fullgraph=True)  # noqa: B023
        assert_same_bits(compiled(x), found, "compile")
        batch = torch.stack((x, x + 1))
        each = torch.stack([call(one, none, keepdim=keepdim) for one in batch])
        assert_same_bits(torch.vmap(lambda x: call(x, none, keepdim=keepdim))(batch), each, "vmap")  # noqa: B023


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", [op for op in OPS if reduces_none(op)])
def test_no_dims_of_jagged_tensors(op):
    parts = [fill((n, 3), torch.bool) for n in (5, 7)]
    x = torch.nested.nested_tensor(parts, layout=torch.jagged)
    for keepdim in (False, True):
        for found, part in zip(function_of(op)(x, [], keepdim).unbind(), parts, strict=True):
            assert torch.equal(found, part)
