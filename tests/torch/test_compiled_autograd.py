"""Compiled autograd: the backward pass of an eager forward as one graph, through every node of the library."""

import contextlib

import pytest
import torch
from torch._dynamo import compiled_autograd

import torch_reduce
from torch_reduce.testing import OPS, assert_same_bits, fill, has_gradient, operator_of


def with_autograd():
    """Every registered operator that has a kernel for autograd, by its name; not those of torch.compile's graphs, which
    are told the name of another one that they call (by_name.h)."""
    for full in sorted(torch._C._dispatch_get_all_op_names()):
        name = full.removeprefix("reduce::")
        if name == full or "." in name or not torch._C._dispatch_has_kernel_for_dispatch_key(full, "Autograd"):
            continue
        op = getattr(torch.ops.reduce, name).default
        falls_through = torch._C._dispatch_kernel_for_dispatch_key_is_fallthrough(full, "Autograd")
        if not falls_through and "str" not in required(op) and name not in WITHOUT_NODE:
            yield name, op


WITHOUT_NODE = ("_linear_recurrence", "_product_of_others")  # of gradients: torch's operators, where differentiated


def required(op):
    """The types of the arguments that have no default."""
    return [str(argument.type) for argument in op._schema.arguments if not argument.has_default_value()]


def differentiable():
    """Those that want nothing but tensors, and have a gradient."""
    for name, op in with_autograd():
        wanted = required(op)
        x = torch.ones(2, 3).requires_grad_()
        if set(wanted) == {"Tensor"} and op(*[x] * len(wanted)).requires_grad:
            yield name


DIFFERENTIABLE = list(differentiable())


@pytest.fixture(autouse=True)
def fresh_compiler():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def compiled(backend="aot_eager", **options):
    return compiled_autograd._enable(torch.compile(backend=backend, fullgraph=True, **options))


def gradient(run, x, context=None):
    """Of a sum of squares of a result, whose gradient no formula takes for ones."""
    leaf = x.detach().clone().requires_grad_()
    loss = run(leaf).double().square().sum()
    if context is None:
        loss.backward()
    else:
        with context:
            loss.backward()
    return leaf.grad


def test_every_operator_is_looked_at():
    assert {operator_of(op).__name__ for op in OPS if has_gradient(op)} <= set(DIFFERENTIABLE)
    assert {"cumsum", "softmax", "_rms_norm", "_layer_norm", "_cross_entropy"} <= set(OF_ROWS)


@pytest.mark.parametrize("op", DIFFERENTIABLE)
def test_every_node(op, device):
    run = getattr(torch.ops.reduce, op)
    x = fill((5, 40), torch.float32, op="prod").to(device)
    assert run(x.requires_grad_(), [1]).grad_fn.name().startswith("Reduce")
    first = DIFFERENTIABLE.index(op) % 2  # the other half for the next operator
    for dim, keepdim in (([1], False), (None, False), ([0], True), ([], True))[first::2]:
        expected = gradient(lambda x: run(x, dim, keepdim=keepdim), x)  # noqa: B023
        actual = gradient(lambda x: run(x, dim, keepdim=keepdim), x, compiled("aot_eager"))  # noqa: B023
        assert_same_bits(actual, expected, f"{dim} {keepdim}")


# Every third operator: what differs by operator, test_every_node sees.
@pytest.mark.parametrize("op", DIFFERENTIABLE[::3])
def test_inductor(op, device):
    run = getattr(torch.ops.reduce, op)
    x = fill((5, 40), torch.float32, op="prod").to(device)
    actual = gradient(lambda x: run(x, [1]), x, compiled("inductor"))
    torch.testing.assert_close(actual, gradient(lambda x: run(x, [1]), x))


@pytest.mark.parametrize("op", ["sum", "mean", "prod"])
def test_types_and_modes(op, device):
    """What is part of a graph's key: two calls that differ in it have two graphs."""
    for dtype, out, mode in (
        (torch.bfloat16, None, "atomic"),
        (torch.float32, torch.float64, "deterministic"),
        (torch.float64, torch.float32, "deterministic"),
        (torch.float16, torch.float32, "deterministic"),
    ):
        x = fill((3, 30), dtype, op="prod").to(device)

        def run(x, mode=mode, out=out):
            return getattr(torch_reduce, op)(x, 1, mode=mode, dtype=out)

        assert_same_bits(gradient(run, x, compiled()), gradient(run, x), f"{dtype} {out} {mode}")


# Every second operator, the others in the next test.
@pytest.mark.parametrize("op", DIFFERENTIABLE[::2])
def test_many_sizes(op, device):
    """Sizes are inputs of the graph, not constants of it."""
    run = getattr(torch.ops.reduce, op)
    for rows in (3, 7, 12):
        x = fill((rows, 20), torch.float32, op="prod").to(device)
        actual = gradient(lambda x: run(x, [0]), x, compiled(dynamic=True))
        assert_same_bits(actual, gradient(lambda x: run(x, [0]), x), f"{rows}")


@pytest.mark.parametrize("op", DIFFERENTIABLE[1::2])
def test_among_other_nodes(op, device):
    """Before, after and beside nodes of torch's own, twice in one graph, with hooks; of every other one of these
    operators also on saved tensors with hooks."""

    def run(x):
        reduce = getattr(torch.ops.reduce, op)
        first = reduce(x * 1.5, [1], True)
        first.register_hook(lambda grad: grad * 2)
        size = 1 + first.abs().reshape(len(x), 1, -1).sum(-1)  # of two results, of both
        return reduce(x / size, [0]) + first.sum()

    x = fill((4, 9), torch.float32, op="prod").to(device)
    expected = gradient(run, x)
    is_other = DIFFERENTIABLE.index(op) % 4 == 1
    on_saved = torch.autograd.graph.saved_tensors_hooks(torch.neg, torch.neg) if is_other else contextlib.nullcontext()
    with on_saved:
        assert_same_bits(gradient(run, x, compiled()), expected)


@pytest.mark.parametrize("op", DIFFERENTIABLE)
def test_backward_twice(op, device):
    """A graph that is kept gives the same gradient again; one that is not says so."""
    x = fill((4, 9), torch.float32, op="prod").to(device).requires_grad_()
    result = getattr(torch.ops.reduce, op)(x, [1]).sum()
    with compiled():
        result.backward(retain_graph=True)
        first, x.grad = x.grad, None
        result.backward()
    assert_same_bits(x.grad, first)


# ---- operators of rows, which want a dim and more --------------------------------------------------------------------


def of_rows(name, x):
    """An operator's first result for the rows of a matrix, and the parameters that it was given, wanting gradients."""
    # Of one group, and of channels.
    given, parameters = [{"_group_norm": x.unsqueeze(1), "_batch_norm": x.unsqueeze(2)}.get(name, x)], []
    for argument in getattr(torch.ops.reduce, name).default._schema.arguments[1:]:
        kind = str(argument.type)
        if argument.has_default_value():
            break
        if argument.name == "target":
            given.append(torch.arange(len(x), device=x.device).mul(3).remainder(x.shape[1]))
        elif argument.name in ("mean", "variance"):
            given.append(torch.linspace(0.5, 1.5, x.shape[1], device=x.device))
        elif kind == "Tensor":
            parameters.append(fill(x.shape, x.dtype, op="prod", start=9).to(x.device).requires_grad_())
            given.append(parameters[-1])
        elif kind == "Optional[Tensor]":
            parameters.append(torch.linspace(0.5, 1.5 + len(given), x.shape[1], device=x.device).requires_grad_())
            given.append(parameters[-1])
        else:
            given.append({"int": 1, "float": 0.1, "bool": True}[kind])
    result = getattr(torch.ops.reduce, name)(*given)
    return (result[0] if isinstance(result, tuple) else result), parameters


OF_ROWS = [  # scans, maps, losses, that have a gradient
    name
    for name, op in with_autograd()
    if set(required(op)) != {"Tensor"} and of_rows(name, torch.ones(2, 3).requires_grad_())[0].is_floating_point()
]


def gradients_of_rows(name, x, context=None, frozen=False):
    """Of the matrix and the parameters; or of the parameters alone, where the matrix is frozen."""
    leaf = x.detach().clone().requires_grad_(not frozen)
    result, parameters = of_rows(name, leaf)
    loss = result.square().sum()
    with context or contextlib.nullcontext():
        loss.backward()
    return [t.grad for t in (leaf, *parameters) if t.requires_grad]


@pytest.mark.parametrize("name", OF_ROWS)
def test_every_node_of_rows(name, device):
    x = fill((5, 40), torch.float32, op="prod").to(device)
    result, parameters = of_rows(name, x.requires_grad_())
    assert result.grad_fn.name().startswith("Reduce")
    for backend in ("eager", "aot_eager"):
        for frozen in (False, True)[: 1 + bool(parameters)]:
            expected = gradients_of_rows(name, x, frozen=frozen)
            actual = gradients_of_rows(name, x, compiled(backend), frozen=frozen)
            for a, e in zip(actual, expected, strict=True):
                assert_same_bits(a, e, f"{backend}, frozen={frozen}")


@pytest.mark.parametrize("name", OF_ROWS)
def test_many_sizes_of_rows(name, device):
    for rows, dtype in ((3, torch.float32), (7, torch.float32), (12, torch.bfloat16)):
        x = fill((rows, 20), dtype, op="prod").to(device)
        actual = gradients_of_rows(name, x, compiled(dynamic=True))
        for a, e in zip(actual, gradients_of_rows(name, x), strict=True):
            assert_same_bits(a, e, f"{rows}")
