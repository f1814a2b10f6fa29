"""torch.compile, torch.export, fake tensors with symbolic shapes, opcheck, autocast."""

import pytest
import torch
import torch._dynamo.testing
from torch._subclasses.fake_tensor import FakeTensorMode

import torch_reduce
from torch_reduce._schemas import SCANS
from torch_reduce._twins import twin_of
from torch_reduce.testing import (
    DTYPES,
    OPS,
    assert_same_bits,
    fill,
    function_of,
    gives_pair,
    has_gradient,
    operator_of,
    output_dtype,
    result_shape,
    scan_function,
    takes_dtype,
    wants_floating,
    wants_two_elements,
)

every_op = pytest.mark.parametrize("op", OPS)


@pytest.fixture(autouse=True)
def fresh_compiler():
    torch._dynamo.reset()


def run_of(op):
    return function_of(op)


@every_op
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compile_without_graph_breaks(op, dynamic, backend, device):
    if backend == "inductor" and not dynamic and op != "sum":
        pytest.skip("inductor is slow to start; with dynamic shapes it runs every operator")
    compiled = torch.compile(
        lambda x: run_of(op)(x * 2, -1, keepdim=True) + 1, fullgraph=True, dynamic=dynamic, backend=backend
    )
    for shape in ((4, 300), (5, 1025)) if dynamic else ((4, 300),):
        x = fill(shape, torch.float32, op=op).to(device)
        assert_same_bits(compiled(x), run_of(op)(x * 2, -1, keepdim=True) + 1, str(shape))


@pytest.mark.parametrize("op", [op for op in OPS if has_gradient(op)])
def test_compile_backward(op, device):
    compiled = torch.compile(lambda x: run_of(op)(x, 1), fullgraph=True, backend="aot_eager")
    x = fill((3, 40), torch.float32, op=op).to(device).requires_grad_()
    actual = torch.autograd.grad(compiled(x).sum(), x)[0]
    torch.testing.assert_close(actual, torch.autograd.grad(run_of(op)(x, 1).sum(), x)[0])


def test_compile_every_argument(device):
    """Modes, types and dims are traced, not only defaults."""

    def f(x):
        a = torch_reduce.mean(x, [0, 1], True, dtype=torch.float64, mode="atomic")
        return a, torch_reduce.prod(x, dtype=torch.int64), torch_reduce.amax(x, []), torch.ops.reduce.sum(x, [0])

    x = (fill((3, 40), torch.float32).abs() + 1).to(device)
    compiled = torch.compile(f, fullgraph=True, backend="aot_eager")
    for actual, expected in zip(compiled(x), f(x), strict=True):
        torch.testing.assert_close(actual, expected, rtol=40 * 2.0**-52, atol=0)


@every_op
def test_compile_with_out(op, device):
    """out= is written in a compiled program too, and is what is returned."""

    def f(x):
        out = torch.empty(result_shape(x.shape, 1, op=op), dtype=output_dtype(op, x.dtype), device=x.device)
        result = run_of(op)(x, 1, out=out)
        return out * 2, result

    x = fill((3, 40), torch.float32, op=op).to(device)
    for actual, expected in zip(torch.compile(f, fullgraph=True, backend="aot_eager")(x), f(x), strict=True):
        assert_same_bits(actual, expected)


def test_compiled_once_for_many_sizes(device):
    counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(lambda x: torch_reduce.sum(x, 0), fullgraph=True, dynamic=True, backend=counter)
    for rows in (7, 50, 1025, 3000):
        x = fill((rows, 33), torch.float32).to(device)
        assert_same_bits(compiled(x), torch_reduce.sum(x, 0))
    assert counter.frame_count == 1


@pytest.mark.parametrize("op", [*(op for op in OPS if has_gradient(op)), *SCANS, "prod.where"])
def test_gradients_are_compiled_once_for_many_lengths(op, device):
    """No derivative depends on the length."""

    def run(x):
        if op == "prod.where":
            return torch_reduce.prod(x, 1, where=x > 1)
        return scan_function(op)(x, 1) if op in SCANS else run_of(op)(x, 1)

    counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(run, fullgraph=True, dynamic=True, backend=counter)
    for n in (3, 5, 9, 17, 33, 65, 129, 257, 513, 1025, 2049):
        x = (torch.rand(2, n, device=device) + 0.5).requires_grad_()
        found, expected = (torch.autograd.grad(f(x).sum(), x)[0] for f in (compiled, run))
        assert_same_bits(found, expected, f"{n}")
    assert counter.frame_count == 1


class Reductions(torch.nn.Module):
    def forward(self, x):
        return [run_of(op)(x, -1) for op in OPS] + [torch_reduce.sum(x, mode="atomic", dtype=torch.float64)]


@pytest.mark.parametrize("strict", [False, True])
def test_export(strict, device):
    x = fill((6, 50), torch.float32, op="prod").to(device)
    shapes = {"x": {0: torch.export.Dim("rows", min=2, max=1000)}}
    program = torch.export.export(Reductions(), (x,), dynamic_shapes=shapes, strict=strict)
    called = [str(node.target) for node in program.graph.nodes if "reduce" in str(node.target)]
    assert called == [f"reduce.{operator_of(op).__name__}.default" for op in OPS] + ["reduce.sum.default"]
    y = fill((9, 50), torch.float32, op="prod").to(device)
    for actual, expected in zip(program.module()(y), Reductions()(y), strict=True):
        torch.testing.assert_close(actual, expected, rtol=0 if device == "cpu" else 1e-12, atol=0)


def opcheck_samples(op, device):
    """Every second one wants a gradient, the others of the next operator."""
    samples = (
        (fill((3, 40), torch.float32, op=op), [1], False),
        (fill((40, 3, 5), torch.float64, op=op).transpose(0, 2), [0, -1], True),
        # No result that is NaN, as the mean of nothing: opcheck holds it different from itself.
        (fill((2,) if wants_two_elements(op) else (), torch.float32, op=op), None, False),
        (fill((0 if op in ("sum", "prod") else 2, 4), torch.float32, op=op), [0], False),
        (fill((4, 6), torch.bfloat16, op=op), [], True),
    )
    for i, (x, dim, keepdim) in enumerate(samples, OPS.index(op)):
        yield x.to(device).detach().requires_grad_(i % 2 == 0), dim, keepdim


@every_op
def test_opcheck(op, device):
    overload = operator_of(op)
    for x, dim, keepdim in opcheck_samples(op, device):
        torch.library.opcheck(overload.default, (x, dim, keepdim))
        if takes_dtype(op):
            torch.library.opcheck(
                overload.default, (x, dim, keepdim), {"dtype": torch.float64, "mode": "deterministic"}
            )
        if x.requires_grad:  # out= is not differentiable
            continue
        out = torch.empty(result_shape(x.shape, dim, keepdim, op=op), dtype=output_dtype(op, x.dtype), device=device)
        utils = ("test_schema", "test_faketensor")
        torch.library.opcheck(overload.out, (x, dim, keepdim), {"out": out}, test_utils=utils)


@every_op
def test_tags(op):
    """The operators are pure functions of their arguments, so compilers may reorder and drop them."""
    overload = operator_of(op)
    assert torch.Tag.pt2_compliant_tag in overload.default.tags
    assert not overload.default._schema.is_mutable and overload.out._schema.is_mutable


@every_op
def test_meta_tensors(op):
    for dtype in DTYPES:
        if wants_floating(op) and not dtype.is_floating_point:
            continue
        for shape, dim, keepdim in (
            ((3, 4, 5), [0, 2], False),
            ((3, 4, 5), -2, True),
            ((2**20, 2**15), 0, False),
            ((), None, True),
        ):
            y = run_of(op)(torch.empty(shape, dtype=dtype, device="meta"), dim, keepdim=keepdim)
            dtype_out = output_dtype(op, dtype)
            of_meta = ("meta", dtype_out, result_shape(shape, dim, keepdim, op=op))
            assert (y.device.type, y.dtype, tuple(y.shape)) == of_meta
            assert (y.movedim(-1, 0) if gives_pair(op) else y).is_contiguous()


@every_op
def test_symbolic_shapes(op, device):
    """The fake kernel keeps sizes symbolic: the kept size of the result is the input's own symbol, without a guard."""
    from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

    env = ShapeEnv()
    mode = FakeTensorMode(shape_env=env)
    x = mode.from_tensor(
        torch.empty(6, 50, device=device),
        symbolic_context=StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC] * 2),
    )
    with mode:
        y = run_of(op)(x, 1, keepdim=True)
        z = run_of(op)(x)
    assert isinstance(y.shape[0], torch.SymInt) and y.shape[0].node.expr == x.shape[0].node.expr
    assert y.shape[1] == 1 and z.shape == result_shape((), op=op) and y.device.type == device
    assert not env.guards


# What torch.autocast does to the operator of the same name, by device.
@every_op
@pytest.mark.parametrize("low", [torch.bfloat16, torch.float16], ids=str)
def test_autocast_follows_torch(op, low, device):
    twin = twin_of(op)
    x = fill((4, 30), low, op=op).to(device)
    with torch.autocast(device, dtype=low):
        for y in (x, x.float(), x.double()):
            # torch's prod takes one dim and is on the list of each device under both signatures.
            ours, theirs = run_of(op)(y, 1), twin(y, 1)
            assert ours.dtype == theirs.dtype, f"{y.dtype} gives {ours.dtype}, torch {theirs.dtype}"
        if takes_dtype(op):
            assert run_of(op)(x, 1, dtype=low).dtype == low
    assert run_of(op)(x, 1).dtype == output_dtype(op, low)


def test_functional_tensors_and_subclasses(device):
    class Tagged(torch.Tensor):
        pass

    x = fill((4, 30), torch.float32).to(device)
    result = torch_reduce.sum(x.as_subclass(Tagged), 1)
    assert isinstance(result, Tagged)
    assert_same_bits(result.as_subclass(torch.Tensor), torch_reduce.sum(x, 1))
    functional = torch.func.functionalize(lambda x: torch_reduce.sum(x, 1, out=torch.empty(4, device=device)))
    assert_same_bits(functional(x), torch_reduce.sum(x, 1))


@pytest.mark.parametrize("of_bools", [False, True])
def test_operators_of_gradients(of_bools, device):
    """Those that have a length's tree within: opcheck, vmap, and derivatives of every order by the tree itself."""
    ops = torch.ops.reduce
    x, b = (torch.rand(3, n, 7, dtype=torch.float64, device=device) + 0.5 for n in (2, 2))
    a = x > 1 if of_bools else x
    recurrence, others = ops._linear_recurrence.default, ops._product_of_others.default
    for op, arguments in ((recurrence, (a, b)), *(() if of_bools else ((others, (b,)),))):
        torch.library.opcheck(op, arguments)
        torch.library.opcheck(op, tuple(t.clone().requires_grad_(t.is_floating_point()) for t in arguments))
        assert_same_bits(torch.vmap(op)(*arguments), op(*arguments))
        assert_same_bits(torch.vmap(op, 1, 1)(*arguments), op(*arguments))
        wanted = [t.clone().requires_grad_() if t.is_floating_point() else t for t in arguments]
        assert torch.autograd.gradcheck(op, wanted, check_forward_ad=True, check_batched_grad=True)
        assert torch.autograd.gradgradcheck(op, wanted)
        empty = [t[..., :0] for t in arguments]
        assert op(*empty).shape == (3, 2, 0)
    one_batch = torch.vmap(recurrence, (0, None))(a, b[0])
    assert_same_bits(one_batch, torch.stack([recurrence(each, b[0]) for each in a]))
