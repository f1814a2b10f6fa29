"""mode="exact" as an operator: what it refuses, `out`, gradients, transforms, compilation and the plan."""

import math
import re

import pytest
import torch
from exact_cases import every_op, finite_bits, run

import torch_reduce
from torch_reduce.exact_model import exact_model
from torch_reduce.testing import FLOATING, assert_same_bits, fill


def test_integers_are_exact_anyway(device):
    x = fill((3, 1000), torch.int32)
    assert_same_bits(run(x, 1, device=device).cpu(), torch_reduce.sum(x, 1))
    x = torch.tensor([0.5, 0.5, 3.5], device=device)
    assert run(x, dtype=torch.int64).item() == 3


def test_prod_is_refused(device):
    with pytest.raises(NotImplementedError, match="exact.*sum, mean, sumsq and dot"):
        torch_reduce.prod(torch.ones(3, device=device), mode="exact")


@every_op
def test_out(op, device):
    x = finite_bits(3000, torch.float32, 2).view(3, 1000).to(device)
    for dtype in FLOATING:
        out = torch.full((6,), math.nan, dtype=dtype, device=device)
        getattr(torch_reduce, op)(x, 1, mode="exact", out=out[::2])
        assert_same_bits(out[::2].cpu(), exact_model(x.cpu(), 1, op=op, dtype=dtype))
        assert out[1::2].isnan().all()


@every_op
def test_gradient_is_that_of_the_other_modes(op, device):
    x = fill((5, 300), torch.float32).to(device).requires_grad_()
    grads = [
        torch.autograd.grad(getattr(torch_reduce, op)(x, 1, mode=mode).square().sum(), x)[0]
        for mode in ("exact", "deterministic")
    ]
    torch.testing.assert_close(*grads)
    y = torch.randn(3, 4, dtype=torch.float64, device=device, requires_grad=True)
    run_exactly = lambda y: getattr(torch_reduce, op)(y, 1, mode="exact")  # noqa: E731
    assert torch.autograd.gradcheck(run_exactly, (y,), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(run_exactly, (y,))


@every_op
def test_compile_vmap_export(op, device):
    torch._dynamo.reset()
    f = lambda x: getattr(torch_reduce, op)(x * 2, 1, mode="exact") + 1  # noqa: E731
    x = fill((4, 300), torch.float32).to(device)
    assert_same_bits(torch.compile(f, fullgraph=True, dynamic=True, backend="aot_eager")(x), f(x))
    batched = torch.func.vmap(lambda y: getattr(torch_reduce, op)(y, mode="exact"))(x)
    assert_same_bits(batched, getattr(torch_reduce, op)(x, 1, mode="exact"))

    class Module(torch.nn.Module):
        def forward(self, x):
            return f(x)

    program = torch.export.export(Module(), (x,), dynamic_shapes={"x": {0: torch.export.Dim("rows", min=2)}})
    assert_same_bits(program.module()(x[:3]), f(x[:3]))
    overload = getattr(torch.ops.reduce, op).default
    torch.library.opcheck(overload, (x.clone().requires_grad_(), [1]), {"mode": "exact"})


def test_explain(device):
    plan = torch_reduce.explain(torch.empty(3000, 40, device=device), 0, mode="exact")
    assert plan.mode == "exact" and plan.n == 3000 and plan.outputs == 40
    assert plan.scratch_bytes <= 4 << 20
    assert "exact" in str(plan)


@pytest.mark.parametrize("op", ["sum", "mean", "sumsq", "dot", "prod", "logsumexp", "nansum", "nanmean", "norm2"])
@pytest.mark.parametrize("dtype", FLOATING, ids=str)
def test_docstrings_say_which_elements_have_it(op, dtype):
    words = re.search(r"\n +mode: (.*?)\n +\w+:", getattr(torch_reduce, op).__doc__, re.DOTALL)[1]
    x = fill((30,), dtype)
    try:
        getattr(torch_reduce, op)(*((x, x) if op == "dot" else (x,)), mode="exact")
    except NotImplementedError:
        assert '``"exact"`` is for sums and means' in words
    else:
        assert words.endswith('``"deterministic"``, ``"atomic"`` or ``"exact"``.')
