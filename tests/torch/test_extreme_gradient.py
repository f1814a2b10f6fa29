"""Gradients of amax and amin where a compiler fuses what comes before them: ties are those of the rounded input."""

import warnings

import pytest
import torch
import torch._inductor.config
from torch._functorch.aot_autograd import aot_export_joint_simple

import torch_reduce
from torch_reduce.testing import assert_same_bits, fill

every_extreme = pytest.mark.parametrize("op", ["amax", "amin"])

# Each is computed in fp32 by a compiler, which need not round on the way.
PRODUCERS = {
    "sin(t) t": lambda t: torch.sin(t) * t,
    "gelu": torch.nn.functional.gelu,
    "t / sqrt(3)": lambda t: t / 3**0.5,
    "matmul + bias": lambda t: t @ t.mT[:, :40] + t[0, :40],
}
PAIRS = [("amax", torch.bfloat16), ("amin", torch.float16)]


def every_producer(first: int) -> pytest.MarkDecorator:
    """One of the pairs of an operator and a type for each, the other for the next; beginning with this one."""
    cases = [(*PAIRS[(first + i) % 2], producer) for i, producer in enumerate(PRODUCERS)]
    return pytest.mark.parametrize("op, dtype, producer", cases, ids=str)


@pytest.fixture(autouse=True)
def fresh_compiler():
    """A cache on disk knows nothing of what these operators' derivatives are made of."""
    torch._dynamo.reset()
    with torch._inductor.config.patch(force_disable_caches=True):
        yield


def prepared(producer, dtype, device):
    t = (fill((60, 60), torch.float32) * 2.0**-3).to(dtype).to(device).requires_grad_()
    return t, PRODUCERS[producer]


def gradients(result, *inputs):
    weights = torch.linspace(0.5, 2, result.numel(), device=result.device).reshape(result.shape)
    return torch.autograd.grad(result, inputs, weights.to(result.dtype))


@every_producer(0)
def test_fused_producers_have_finite_gradients(op, dtype, producer, device):
    t, make = prepared(producer, dtype, device)
    result = torch.compile(lambda t: getattr(torch_reduce, op)(make(t), 1), fullgraph=True)(t)
    (grad,) = gradients(result, t)
    assert grad.isfinite().all() and grad.any()


@every_producer(1)
def test_the_gradient_of_a_fused_input_is_the_eager_one(op, dtype, producer, device):
    """Bit for bit. It is that of a summand of the input."""
    reduce = getattr(torch_reduce, op)
    t, make = prepared(producer, dtype, device)
    summand = torch.zeros_like(make(t)).requires_grad_()
    result = torch.compile(lambda t, s: reduce(make(t) + s, 1), fullgraph=True)(t, summand)
    (grad,) = gradients(result, summand)
    with torch.no_grad():
        x = torch.compile(lambda t, s: make(t) + s, fullgraph=True)(t, summand)
    x.requires_grad_()
    assert_same_bits(grad, *gradients(reduce(x, 1), x))


@every_extreme
def test_ties_are_one_operator(op, device):
    """What a compiler is given: it reads the input where nothing can be fused, and depends on no gradient, so it is
    found in the forward pass, of the very tensor that was reduced."""
    x = fill((4, 30), torch.bfloat16).to(device).requires_grad_()
    graph = aot_export_joint_simple(lambda x: [getattr(torch_reduce, op)(x, 1)], (x,), trace_joint=True)
    (primal, _) = (node for node in graph.graph.nodes if node.op == "placeholder")
    assert {str(node.target) for node in primal.users} == {"reduce._by_name.default", "reduce._ties.default"}
    assert op in {node.args[1] for node in primal.users}


@every_extreme
def test_batched_without_a_loop(op, device):
    """vmap has a rule of ours for whatever a gradient calls: torch's fallback would warn."""
    run = getattr(torch_reduce, op)
    x = torch.arange(24.0, device=device).remainder(5).reshape(2, 3, 4)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="There is a performance drop")
        grads = torch.func.vmap(torch.func.grad(lambda y: run(y, 0).square().sum()))(x)
        along = torch.func.vmap(lambda y, t: torch.func.jvp(lambda y: run(y, 0), (y,), (t,))[1])(x, x)
        rows = torch.func.vmap(lambda t: torch.func.jvp(lambda y: run(y, 0), (x[0],), (t,))[1])(x)
    for i in range(2):
        y = x[i].clone().requires_grad_()
        assert_same_bits(grads[i], torch.autograd.grad(run(y, 0).square().sum(), y)[0])
        assert_same_bits(along[i], torch.func.jvp(lambda y: run(y, 0), (x[i],), (x[i],))[1])
        assert_same_bits(rows[i], torch.func.jvp(lambda y: run(y, 0), (x[0],), (x[i],))[1])


def test_the_operator(device):
    ties = torch.ops.reduce._ties
    x = torch.tensor([[1.0, 3.0, 3.0], [float("nan"), 0.0, -0.0]], device=device, requires_grad=True)
    result = torch.amax(x, 1, keepdim=True)
    found = ties(x, result)
    assert found.tolist() == [[False, True, True], [False, False, False]] and not found.requires_grad
    torch.library.opcheck(ties.default, (x.detach(), result.detach()))
    torch.library.opcheck(ties.default, (x, result))
    assert ties(x.to("meta"), result.to("meta")).shape == (2, 3)
