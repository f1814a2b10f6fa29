"""Complex elements: each is two real numbers, whose reductions fix the bits; all else is as torch's own operators
have it."""

import math
from fractions import Fraction

import pytest
import torch
from drawn import drawn
from torch.autograd import forward_ad, gradcheck, gradgradcheck

import torch_reduce
from torch_reduce.model import APART, MEANING, NORMS, result_shape
from torch_reduce.testing import (
    OPS,
    assert_same_bits,
    fill,
    function_of,
    legal_plans,
    model,
    num_threads,
    takes_complex,
)

TAKEN = [op for op in OPS if takes_complex(op)]
ORDERS = {name: order for order, name in NORMS.items()}
COMPLEX = (torch.complex64, torch.complex128)
every_op = pytest.mark.parametrize("op", TAKEN)
every_kind = pytest.mark.parametrize("op", [op for op in TAKEN if op != "norm"])  # which is norm2
every_differentiable = pytest.mark.parametrize("op", [op for op in TAKEN if op not in ("norm", "norm0")])
every_type = pytest.mark.parametrize("dtype", COMPLEX, ids=str)
DIMS = [(None, False), (0, False), (-1, True), ([2, 0], False), ([1, 2], True), ([], False)]


def numbers(shape, dtype, device="cpu"):
    """Complex values whose parts are those of fill()."""
    return torch.view_as_complex(fill((*shape, 2), dtype.to_real(), device=device)).clone()  # not a view


def twin_of(op):
    """torch's function of a tensor, a dim and keepdim."""
    if op in APART:
        return getattr(torch, op)
    norm, order = torch.linalg.vector_norm, ORDERS.get(op, 2)
    if op == "sumsq":
        return lambda x, dim=None, keepdim=False: torch.view_as_real(x).square().sum(-1).sum(dim, keepdim=keepdim)
    return lambda x, dim=None, keepdim=False: norm(x, order, None if dim == [] else dim, keepdim=keepdim)


VIEWS = {
    "whole": lambda x: x,
    "transposed": lambda x: x.transpose(0, 1),
    "strided": lambda x: x[:, 1::2, 1:],
    "expanded": lambda x: x[:, :1].expand(2, 300, 3),
    "flipped": lambda x: x.flip(1),
    "a part": lambda x: x[:, :1],
}


@drawn("op, dtype, view, given", [op for op in TAKEN if op != "norm"], COMPLEX, list(VIEWS), DIMS)
def test_bits(op, dtype, view, given, device):
    """Those of the model, and the types and shapes of torch."""
    x, (dim, keepdim) = VIEWS[view](numbers((2, 1100, 3), dtype, device)), given
    actual, expected = (run(x, dim, keepdim=keepdim) for run in (function_of(op), twin_of(op)))
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    assert_same_bits(actual.cpu(), model(x, dim, keepdim, op=op))


@every_kind
def test_plans_and_threads(op, device):
    x = numbers((4, 3000), torch.complex64, device)
    expected = model(x, 1, op=op)
    for threads in (1, 3):
        with num_threads(threads):
            assert_same_bits(function_of(op)(x, 1).cpu(), expected)
    if device == "cuda":
        for plan in legal_plans(x, 1, op=op):
            assert_same_bits(function_of(op)(x, 1).cpu(), expected, plan)


@every_op
@every_type
@pytest.mark.parametrize("shape, dim", [((), None), ((), -1), ((0,), None), ((0, 3), 0), ((3, 0), 0), ((1, 1), 1)])
def test_scalars_and_empty_tensors(op, dtype, shape, dim, device):
    x = numbers(shape, dtype, device)
    for keepdim in (False, True):
        given = () if dim is None else (dim, keepdim)
        if MEANING[op].selects and math.prod(result_shape(shape, dim)) != 0 and x.numel() == 0:
            with pytest.raises((IndexError, RuntimeError), match="at least one element|an empty tensor has no"):
                function_of(op)(x, *given)
            continue
        actual, expected = function_of(op)(x, *given), twin_of(op)(x, *given)
        assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
        torch.testing.assert_close(actual, expected, equal_nan=True)
        out = torch.empty_like(expected)
        assert function_of(op)(x, *given, out=out) is out
        assert_same_bits(out, actual)


@pytest.mark.parametrize("op", APART)
@pytest.mark.parametrize("mode", ["deterministic", "atomic", "exact"])
def test_modes(op, mode, device):
    """Each part is the reduction of parts in that mode."""
    x = numbers((3, 5000), torch.complex64, device)
    x[0, :3] = torch.tensor([1e30 + 3e38j, 1 + 3e38j, -1e30 - 3e38j], device=device)
    run = function_of(op)
    actual = run(x, 1, mode=mode)
    if mode != "atomic":
        assert_same_bits(actual.real, run(x.real, 1, mode=mode))
        assert_same_bits(actual.imag, run(x.imag, 1, mode=mode))
    if mode == "exact":
        for part, found in ((x.real, actual.real), (x.imag, actual.imag)):
            for row, value in zip(part.tolist(), found, strict=True):
                true = sum(map(Fraction, row)) / (len(row) if op == "mean" else 1)
                assert_same_bits(value.cpu(), torch.tensor(float(true), dtype=torch.float32))
    torch.testing.assert_close(actual[1:], twin_of(op)(x, 1)[1:], rtol=1e-4, atol=1e-3)


def test_norms_do_not_overflow_on_the_way(device):
    x = torch.tensor([3e200 + 4e200j, 1e200j], dtype=torch.complex128, device=device)
    assert float(torch_reduce.norm2(x)) == pytest.approx(math.sqrt(26) * 1e200, rel=1e-15)


@every_op
def test_output_types(op, device):
    x = numbers((4, 300), torch.complex64, device)
    run = function_of(op)
    for dtype in COMPLEX:
        result = dtype if op in APART else dtype.to_real()
        actual = run(x, 1, dtype=dtype)
        assert_same_bits(actual.cpu(), model(x, 1, op=op, dtype=dtype))
        out = torch.empty(4, dtype=result, device=device)
        assert_same_bits(run(x, 1, out=out), actual)
        assert_same_bits(run(x, 1, out=out[:0].clone()), actual)
        assert_same_bits(run(x, 1, True, out=torch.empty(4, 1, dtype=result, device=device)), actual[:, None])
        spread = torch.zeros(8, dtype=result, device=device)
        assert_same_bits(run(x, 1, out=spread[::2]), actual)
        assert not spread[1::2].any()
    if op not in APART:
        for dtype in (torch.float16, torch.bfloat16, torch.float64):
            assert_same_bits(run(x, 1, dtype=dtype).cpu(), model(x, 1, op=op, dtype=dtype))


@every_op
def test_refused_output_types(op, device):
    x = numbers((4, 300), torch.complex64, device)
    run = function_of(op)
    error, words = (NotImplementedError, "complex") if op in APART else (RuntimeError, "floating")
    for dtype in (torch.int64, torch.bool, *([torch.float32] if op in APART else [])):
        with pytest.raises(error, match=words):
            run(x, 1, dtype=dtype)
        with pytest.raises(error, match=words):
            run(x, 1, out=torch.empty(4, dtype=dtype, device=device))
        with pytest.raises(error, match=words):
            run(x.to("meta"), 1, dtype=dtype)
    with pytest.raises(RuntimeError, match="dtype"):
        run(x, 1, dtype=torch.complex128, out=torch.empty_like(twin_of(op)(x, 1)))
    with pytest.raises(RuntimeError, match="shares memory"):
        run(x, 1, out=x[:, 0] if op in APART else x.real[:, 0])
    with pytest.raises(ValueError, match="mode"):
        run(x, 1, mode="fast")


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128], ids=str)
def test_exact_squares(dtype, device):
    x = numbers((4, 300), dtype, device)
    parts = torch_reduce.sumsq(torch.view_as_real(x), [1, 2], mode="exact")
    assert_same_bits(torch_reduce.sumsq(x, 1, mode="exact"), parts)


@pytest.mark.parametrize("op", [op for op in OPS if op not in TAKEN])
def test_others_refuse(op, device):
    """In a sentence that names what works."""
    x = numbers((2, 3), torch.complex64, device)
    for given in (x, x.to("meta"), x.requires_grad_()):
        with pytest.raises(NotImplementedError, match="ComplexFloat.*sum, mean, sumsq, norm2, .* and norm"):
            function_of(op)(given, 0)


@every_type
@pytest.mark.parametrize("order", [*NORMS, 3, 0.5, -2])
def test_norms_of_every_order(order, dtype, device):
    """Of magnitudes, which norm2 makes of the parts; none overflows on the way."""
    x = numbers((3, 700), dtype, device)
    for view in (x, x.mT[1:], x.conj(), x[:, ::2]):
        for dim, keepdim in ((None, False), (0, True), (1, False)):
            actual = torch_reduce.norm(view, order, dim, keepdim)
            assert_same_bits(actual.cpu(), model(view, dim, keepdim, op="norm", ord=order))
            true = torch.linalg.vector_norm(view.to(torch.complex128), order, dim, keepdim)
            rounding = 2 * x.numel() * torch.finfo(dtype).eps  # of sums in any order, and roots of order 1/2
            torch.testing.assert_close(actual.double(), true, rtol=rounding, atol=0)
    power = 2.0 ** (math.frexp(torch.finfo(dtype).max)[1] - 24)
    large, small = (torch_reduce.norm(x[:, :7] * factor, order, 1) for factor in (power, 1))
    assert_same_bits(large / (power if order else 1), small)


@every_type
@pytest.mark.parametrize("order", [1, 3, math.inf])
def test_gradients_of_every_order(order, dtype, device):
    x = numbers((3, 5), dtype, device).requires_grad_()
    found = [
        torch.autograd.grad(norm(x, order, 1).sum(), x)[0] for norm in (torch_reduce.norm, torch.linalg.vector_norm)
    ]
    torch.testing.assert_close(*found)
    if dtype == torch.complex128:
        run = lambda x: torch_reduce.norm(x, order, 1)  # noqa: E731
        assert gradcheck(run, (x,), check_batched_grad=True, check_forward_ad=True)
        assert gradgradcheck(run, (x,), check_batched_grad=True)


@every_op
def test_lazy_views(op, device):
    """Conjugated and negated tensors, and their parts, give what their copies give."""
    x, run = numbers((3, 40), torch.complex64, device), function_of(op)
    for view in (x.conj(), torch._neg_view(x), torch._neg_view(x.conj()), x.mT.conj()):
        copy = view.resolve_conj().resolve_neg().clone()
        assert_same_bits(run(view, 0), run(copy, 0))
        out = torch.empty_like(run(copy, 0))
        assert_same_bits(run(view, 0, out=out), run(copy, 0))
    if op in APART:
        lazy = torch.empty(40, dtype=x.dtype, device=device).conj()
        assert_same_bits(run(x, 0, out=lazy), run(x, 0))
    assert_same_bits(function_of("sum")(x.conj().imag, 0), function_of("sum")(-x.imag, 0))


@pytest.mark.parametrize("op", ["sum", "mean", "sumsq"])
def test_masks(op, device):
    x = numbers((3, 50), torch.complex64, device)
    for where in (fill((3, 50), torch.bool, device=device), fill((50,), torch.bool, device=device)):
        actual = function_of(op)(x, 1, where=where)
        parts = torch.view_as_real(x)
        mask = where.unsqueeze(-1)
        expected = function_of(op)(parts, 1 if op in APART else [1, 2], where=mask)
        if op in APART:
            expected = torch.view_as_complex(expected)
        assert_same_bits(actual, expected)
        assert_same_bits(function_of(op)(x, 1, where=where, out=torch.empty_like(actual)), actual)
    one = torch.tensor(True, device=device)
    assert_same_bits(function_of(op)(x[0, 0], where=one), function_of(op)(x[0, 0]))


@every_differentiable
@pytest.mark.parametrize("dim, keepdim", DIMS, ids=str)
def test_gradients(op, dim, keepdim, device):
    """To both orders and in both directions; and torch's convention of gradients."""
    x = numbers((2, 3, 2), torch.complex128, device).requires_grad_()
    ours, theirs = (lambda x, run=run: run(x, dim, keepdim=keepdim) for run in (function_of(op), twin_of(op)))
    assert gradcheck(ours, (x,), check_batched_grad=True, check_forward_ad=True)
    assert gradgradcheck(ours, (x,), check_batched_grad=True, check_fwd_over_rev=True)
    results = [run(x) for run in (ours, theirs)]
    weights = torch.linspace(0.5, 1.5, results[0].numel(), device=device).to(results[0].dtype)
    if op in APART:
        weights = weights * (1 + 2j)
    grads = [torch.autograd.grad(r, x, weights.reshape(r.shape))[0] for r in results]
    torch.testing.assert_close(*grads)


@every_differentiable
def test_tangents(op, device):
    x, tangent = numbers((2, 4, 3), torch.complex128, device).unbind(0)
    for direction in (tangent, tangent.conj()):
        with forward_ad.dual_level():
            found = [
                forward_ad.unpack_dual(run(forward_ad.make_dual(x, direction), 0)).tangent
                for run in (function_of(op), twin_of(op))
            ]
            torch.testing.assert_close(*found)


def test_no_gradient_at_zero(device):
    x = torch.zeros(3, dtype=torch.complex64, device=device, requires_grad=True)
    torch_reduce.norm2(x).backward()
    assert not x.grad.any()


@every_op
def test_transforms(op, device):
    x, run = numbers((3, 4, 5), torch.complex64, device), function_of(op)
    for batch_dim, dim in ((0, 1), (1, 0), (2, None)):
        expected = torch.stack([run(part, dim) for part in x.unbind(batch_dim)])
        assert_same_bits(torch.vmap(lambda x, dim=dim: run(x, dim), in_dims=batch_dim)(x), expected)
    assert_same_bits(torch.vmap(run)(x[0, 0]), torch.stack([run(part) for part in x[0, 0]]))
    norm = lambda x: run(x).abs()  # noqa: E731
    wanted = torch.stack([torch.autograd.grad(norm(part), part)[0] for part in x.clone().requires_grad_().unbind(0)])
    torch.testing.assert_close(torch.vmap(torch.func.grad(norm))(x), wanted)
    assert_same_bits(torch.func.functionalize(lambda x: run(x, 1))(x), run(x, 1))


@every_op
def test_inference_and_meta(op, device):
    x, run = numbers((3, 40), torch.complex64, device), function_of(op)
    with torch.inference_mode():
        assert_same_bits(run(x, 1), run(x, 1).clone())
    expected = run(x, 1)
    with torch.inference_mode():
        assert_same_bits(run(x, 1), expected)
        assert_same_bits(run(x, 1, out=torch.empty_like(expected)), expected)
    for keepdim in (False, True):
        meta = run(x.to("meta"), 1, keepdim)
        assert (meta.dtype, meta.shape) == (expected.dtype, run(x, 1, keepdim).shape)


@every_op
def test_the_dispatcher(op, device):
    x = numbers((3, 40), torch.complex64, device).requires_grad_()
    torch.library.opcheck(getattr(torch.ops.reduce, op).default, (x, [1]))


@pytest.mark.parametrize("op", ["sum", "norm2", "norm1"])
def test_compile_and_export(op, device):
    x, run = numbers((3, 40), torch.complex64, device), function_of(op)

    def program(x):
        return run(x, 1), run(x.conj(), 0, keepdim=True)

    for backend in ("aot_eager", "inductor"):
        torch._dynamo.reset()
        compiled = torch.compile(program, fullgraph=True, backend=backend)
        for actual, expected in zip(compiled(x), program(x), strict=True):
            assert_same_bits(actual, expected)
        with torch.inference_mode():
            assert_same_bits(compiled(x)[0], program(x)[0])
        leaf = x.clone().requires_grad_()
        grads = [torch.autograd.grad(f(leaf)[0].abs().sum(), leaf)[0] for f in (compiled, program)]
        torch.testing.assert_close(*grads)

    class Module(torch.nn.Module):
        def forward(self, x):
            return program(x)

    exported = torch.export.export(Module(), (x,)).module()
    for actual, expected in zip(exported(x), program(x), strict=True):
        assert_same_bits(actual, expected)


@every_op
def test_autocast(op, device):
    x, run = numbers((3, 40), torch.complex64, device), function_of(op)
    with torch.autocast(device):
        assert_same_bits(run(x, 1), run(x, 1).clone())
        actual = run(x, 1)
    assert_same_bits(actual, run(x, 1))


def test_explain(device):
    x = numbers((30, 4000), torch.complex64, device)
    for op, outputs, n in (("sum", 60, 4000), ("norm2", 30, 8000), ("norm1", 30, 4000)):
        plan = torch_reduce.explain(x, 1, op=op, dtype=torch.complex64)
        assert (plan.op, plan.outputs, plan.n) == (op, outputs, n)
    assert torch_reduce.explain(x.to("meta"), device="cuda", mode="exact").outputs == 2
    with_mask = torch_reduce.explain(x, 1, where=torch.ones(4000, dtype=torch.bool, device=device))
    assert with_mask.outputs == 60


def test_jagged(device):
    x = torch.nested.nested_tensor(
        [numbers((n, 3), torch.complex64) for n in (2, 5)], layout=torch.jagged, device=device
    )
    for part, row in zip(x.unbind(), torch_reduce.sum(x, 1), strict=True):
        assert_same_bits(row, torch_reduce.sum(part, 0))
