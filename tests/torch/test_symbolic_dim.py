"""A dim that is a symbolic integer, where torch's operators take one: in functions compiled for dynamic shapes."""

import numpy as np
import pytest
import torch

import torch_reduce
from torch_reduce.testing import OPS, assert_same_bits, fill, function_of, has_gradient, operator_of

every_op = pytest.mark.parametrize("op", OPS)
CALLS = {
    "operator": lambda op, x, d, keepdim: operator_of(op)(x, d, keepdim),
    "operator, by name": lambda op, x, d, keepdim: operator_of(op)(x, dim=d, keepdim=keepdim),
    "operator, list": lambda op, x, d, keepdim: operator_of(op)(x, [d], keepdim),
    "function": lambda op, x, d, keepdim: function_of(op)(x, d, keepdim=keepdim),
    "function, list": lambda op, x, d, keepdim: function_of(op)(x, [d, 1], keepdim=keepdim),
}
# Of the other ways one operator that takes a dtype, one that does not, and one with an argument of its own.
EVERY_WAY = ("sum", "amax", "var")


@pytest.mark.parametrize(
    "op, call", [(op, call) for op in OPS for call in CALLS if op in EVERY_WAY or call in ("operator", "function")]
)
def test_compiled_for_dynamic_shapes(op, call, device):
    torch._dynamo.reset()

    def run(x, d, keepdim):
        return CALLS[call](op, x, d, keepdim)

    compiled = torch.compile(run, dynamic=True, fullgraph=True, backend="aot_eager")
    x = fill((4, 5, 6), torch.float32, op="prod").to(device)
    kept = bool((OPS.index(op) + list(CALLS).index(call)) % 2)  # it is part of a graph's key: each has one of its own
    for d, keepdim in ((2, kept), (0, kept), (-1, kept)) + ((0, not kept),) * (op in EVERY_WAY):
        assert_same_bits(compiled(x, d, keepdim), run(x, d, keepdim), f"{d} {keepdim}")


@pytest.mark.parametrize("dynamic", [None, True])
def test_other_integers_and_sequences(dynamic, device):
    """Dynamo shows an integer of NumPy and a 0-d tensor as tensors."""
    x = fill((4, 5), torch.float32).to(device)
    runs = [
        lambda x: torch_reduce.sum(x, np.int64(1)),
        lambda x: torch_reduce.sum(x, [np.int64(1)]),
        lambda x: torch_reduce.sum(x, torch.tensor(1)),
        lambda x: torch_reduce.sum(x, torch.Size([1])),
        lambda x: torch_reduce.sum(x, range(1, 2)),
    ]
    calls = [(run, ()) for run in runs]
    calls += [(lambda x, d: torch_reduce.sum(x, d), (dim,)) for dim in (np.int64(1), torch.tensor(1))]
    for run, arguments in calls:
        torch._dynamo.reset()
        compiled = torch.compile(run, dynamic=dynamic, fullgraph=True, backend="eager")
        assert_same_bits(compiled(x, *arguments), torch_reduce.sum(x, 1))


@pytest.mark.parametrize("op", [op for op in OPS if has_gradient(op)])
def test_gradients(op, device):
    torch._dynamo.reset()
    run = operator_of(op)
    x = fill((4, 5), torch.float32, op="prod").to(device).requires_grad_()
    compiled = torch.compile(run, dynamic=True, fullgraph=True, backend="aot_eager")
    for d in (1, 0):
        assert_same_bits(*(torch.autograd.grad(f(x, d).sum(), x)[0] for f in (compiled, run)))


@pytest.mark.parametrize("op", ["sum", "mean", "prod"])
def test_types_and_modes(op, device):
    torch._dynamo.reset()

    def run(x, d):
        return operator_of(op)(x, d, dtype=torch.float64, mode="atomic")

    x = fill((4, 5), torch.float32, op="prod").to(device)
    compiled = torch.compile(run, dynamic=True, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x, 1), run(x, 1))


@every_op
def test_the_overload(op, device):
    """It takes plain numbers too, and refuses them as the operator does."""
    overload = operator_of(op).dim
    x = fill((4, 5), torch.float32, op="prod").to(device)
    assert_same_bits(overload(x, -1, True), operator_of(op)(x, [-1], True))
    with pytest.raises(IndexError, match="out of range"):
        overload(x, 2)
    torch.library.opcheck(overload, (x, 1))


@pytest.mark.parametrize("run", [torch.ops.reduce.exact_accumulate, torch_reduce.exact_accumulate])
def test_accumulators(run, device):
    torch._dynamo.reset()
    x = fill((4, 5), torch.float32).to(device)
    compiled = torch.compile(lambda x, d: run(x, d), dynamic=True, fullgraph=True, backend="aot_eager")
    for d in (1, 0):
        assert compiled(x, d).equal(run(x, d))
