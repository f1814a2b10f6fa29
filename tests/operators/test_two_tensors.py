"""Reductions of two tensors: `dot`, and `where=` of every operator that takes it. To the bit, by the model of one
tensor; against real numbers; in every layout and plan; and what bad input gets."""

import itertools
import math
from fractions import Fraction

import pytest
import torch

import torch_reduce
from torch_reduce._schemas import REDUCTIONS
from torch_reduce.testing import (
    DTYPES,
    FLOATING,
    INTEGERS,
    assert_same_bits,
    fill,
    legal_plans,
    num_threads,
    output_dtype,
    takes_dtype,
    takes_integers,
    wants_floating,
)
from torch_reduce.two_model import model_of_dot, model_of_masked

MASKED = [op for op, operator in REDUCTIONS.items() if operator.takes_mask]
every_masked = pytest.mark.parametrize("op", MASKED)
# Shape, the order of its dims in memory, and the reduced dims.
LAYOUTS = [
    ((), (), None),
    ((1,), (0,), 0),
    ((300_007,), (0,), 0),
    ((3, 5000), (0, 1), 1),
    ((5000, 33), (0, 1), 0),
    ((2050, 64), (1, 0), 0),
    ((40, 7), (1, 0), 1),
    ((7, 33, 129), (0, 1, 2), (0, 2)),
    ((7, 33, 129), (2, 0, 1), (0, 2)),
    ((65, 3, 2, 40), (0, 1, 2, 3), (1,)),
    ((300, 64), (0, 1), 1),
    ((4, 0), (0, 1), 1),
    ((0, 4), (0, 1), 1),
]


def laid_out(x, order):
    """The same elements, with dims in memory in this order, outermost first."""
    inverse = [order.index(d) for d in range(x.dim())]
    return x.permute(order).contiguous().permute(inverse)


def masks(shape, device, seed=0):
    """Of half of the elements, of all, of none, and one that is broadcast."""
    torch.manual_seed(seed)
    yield torch.rand(shape, device=device) < 0.5
    yield torch.ones(shape, dtype=torch.bool, device=device)
    yield torch.zeros((), dtype=torch.bool, device=device)
    if len(shape) > 1:
        yield torch.rand(shape[1:], device=device) < 0.7


def options_of(op, dtype):
    if takes_dtype(op) and wants_floating(op) and dtype not in FLOATING:
        return {"dtype": torch.float32}
    return {}


@every_masked
def test_mask_to_the_bit(op, device):
    run = getattr(torch_reduce, op)
    for i, (shape, order, dim) in enumerate(LAYOUTS):
        dtype = (*FLOATING, torch.int32, torch.float32, torch.int64, torch.bool, torch.uint8)[i % 9]
        if (not takes_integers(op) and dtype not in FLOATING) or (0 in shape and op in ("amax", "amin")):
            continue
        x = laid_out(fill(shape, dtype, op=op, device=device, start=i), order)
        options = options_of(op, dtype)
        for mask in masks(shape, device, seed=i):
            expected = model_of_masked(x, mask, dim, op=op, **options)
            assert_same_bits(run(x, dim, where=mask, **options), expected, f"{shape} {order} {dtype} {mask.shape}")


@every_masked
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_mask_of_every_type(op, dtype, device):
    if not takes_integers(op) and dtype not in FLOATING:
        pytest.skip("integers are refused")
    run, x = getattr(torch_reduce, op), fill((9, 700), dtype, op=op, device=device)
    mask = fill((9, 700), torch.bool, device=device, start=5)
    results = {output_dtype(op, dtype)}
    if takes_dtype(op):
        results = {torch.float64, torch.bfloat16} | (
            set() if wants_floating(op) or op == "logsumexp" else {torch.int64, torch.bool}
        )
    for result in results:
        options = {"dtype": result} if takes_dtype(op) else {}
        expected = model_of_masked(x, mask, 1, op=op, **options)
        assert_same_bits(run(x, 1, where=mask, **options), expected, f"{result}")


def test_dot_to_the_bit(device):
    for i, (shape, order, dim) in enumerate(LAYOUTS):
        for dtype in (FLOATING[i % 4], INTEGERS[i % 8]):
            x = laid_out(fill(shape, dtype, device=device, start=i), order)
            y = fill(shape, dtype, device=device, start=i + 7)
            for other in (y, laid_out(y, order), x):
                assert_same_bits(
                    torch_reduce.dot(x, other, dim), model_of_dot(x, other, dim), f"{shape} {order} {dtype}"
                )
    x, y = fill((6, 1, 500), torch.float32, device=device), fill((40, 500), torch.float32, device=device, start=3)
    assert_same_bits(torch_reduce.dot(x, y, -1), model_of_dot(x, y, -1), "broadcast")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dot_of_every_type(dtype, device):
    x, y = (fill((9, 700), dtype, device=device, start=i) for i in (0, 4))
    for result in (torch.float64, torch.bfloat16, torch.int64, torch.bool):
        assert_same_bits(torch_reduce.dot(x, y, 1, dtype=result), model_of_dot(x, y, 1, dtype=result), f"{result}")


@pytest.mark.parametrize("dtype", FLOATING, ids=str)
def test_dot_against_real_numbers(dtype, device):
    """Within eps for each product, and the bound of a sum of them."""
    x, y = (fill((5, 3000), dtype, device=device, start=i) for i in (0, 9))
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    eps = torch.finfo(wide).eps
    for row, (a, b) in enumerate(zip(x.double().tolist(), y.double().tolist(), strict=True)):
        products = [Fraction(p) * Fraction(q) for p, q in zip(a, b, strict=True)]
        depth = 4 + math.ceil(math.log2(256 * 3))
        error = abs(Fraction(torch_reduce.dot(x, y, 1, dtype=wide)[row].item()) - sum(products))
        assert error <= depth * Fraction(eps) * sum(map(abs, products))


def test_dot_of_itself_is_sumsq(device):
    x = fill((17, 4099), torch.float32, device=device)
    assert_same_bits(torch_reduce.dot(x, x, 1), torch_reduce.sumsq(x, 1), "sumsq")
    bits = torch_reduce.dot(x, x, 1)
    for rows in (1, 7):  # a row's bits do not depend on the others
        assert_same_bits(torch_reduce.dot(x[:rows], x[:rows], 1), bits[:rows], f"{rows}")


@pytest.mark.parametrize("op", [*MASKED, "dot"])
def test_every_plan_has_the_same_bits(op):
    """Of the shapes that a plan can be forced on; kernels on the CPU have none of these."""
    x = fill((3, 5, 2048), torch.float32, op="sum" if op == "dot" else op)
    other = fill((3, 5, 2048), torch.float32 if op == "dot" else torch.bool, start=3)
    keywords = {"other" if op == "dot" else "where": other}
    plans = {dim: set(legal_plans(x, dim, op=op, device="cuda", **keywords)) for dim in (0, 2, (0, 2), None)}
    assert all(plans.values())
    families = {plan.split(",")[0] for found in plans.values() for plan in found}
    assert families == {"rows", "short_rows", "columns"}


@pytest.mark.parametrize("op", [*MASKED, "dot"])
def test_forced_plans_on_a_gpu(op):
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    for shape, dim in (((3, 5, 2048), 2), ((3, 5, 2048), 0), ((2050, 48), 0), ((65, 9, 33), (0, 2)), ((70_000,), 0)):
        x = fill(shape, torch.bfloat16, op="sum" if op == "dot" else op)
        other = fill(shape, torch.bfloat16 if op == "dot" else torch.bool, start=3)
        expected = model_of_dot(x, other, dim) if op == "dot" else model_of_masked(x, other, dim, op=op)
        x, other = x.cuda(), other.cuda()
        keywords = {"other" if op == "dot" else "where": other}
        for plan in legal_plans(x, dim, op=op, **keywords):
            result = getattr(torch_reduce, op)(x, **({"dim": dim} | keywords))
            assert_same_bits(result, expected, f"{shape}/{dim}: {plan}")


@pytest.mark.parametrize("op", [*MASKED, "dot"])
def test_threads_and_instruction_sets(op, capability):
    x = fill((3, 40_000), torch.float32, op="sum" if op == "dot" else op)
    other = fill((3, 40_000), torch.float32 if op == "dot" else torch.bool, start=3)
    expected = model_of_dot(x, other, 1) if op == "dot" else model_of_masked(x, other, 1, op=op)
    for threads, layout in itertools.product((1, 3), (x, laid_out(x, (1, 0)))):
        with num_threads(threads):
            result = getattr(torch_reduce, op)(layout, **{"dim": 1, "other" if op == "dot" else "where": other})
            assert_same_bits(result, expected, f"{threads} threads")


def test_alignment(device):
    x, y = (fill((40, 1031), torch.bfloat16, device=device, start=i) for i in (0, 5))
    mask = fill((40, 1031), torch.bool, device=device, start=9)
    for a, b, c in itertools.product((0, 1, 3), (0, 2), (0, 1)):
        part = x[:, a : a + 1024]
        other, where = y[:, b : b + 1024], mask[:, c : c + 1024]
        for dim in (0, 1):
            assert_same_bits(torch_reduce.dot(part, other, dim), model_of_dot(part, other, dim), f"{a} {b} {dim}")
            expected = model_of_masked(part, where, dim, op="sum")
            assert_same_bits(torch_reduce.sum(part, dim, where=where), expected, f"{a} {c} {dim}")


@every_masked
def test_what_does_not_count_is_not_seen(op, device):
    x = fill((4, 600), torch.float32, op=op, device=device)
    mask = fill((4, 600), torch.bool, device=device, start=2)
    mask[3] = False
    expected = getattr(torch_reduce, op)(x, 1, where=mask)
    for value in (math.nan, math.inf, -math.inf, 0.0):
        spoilt = torch.where(mask, x, torch.tensor(value, device=device))
        assert_same_bits(getattr(torch_reduce, op)(spoilt, 1, where=mask), expected, f"{value}")
    nothing = {"sum": 0, "mean": math.nan, "prod": 1, "sumsq": 0, "var": math.nan, "std": math.nan}
    value = nothing.get(op, math.inf if op == "amin" else -math.inf)
    assert_same_bits(expected[3].cpu(), torch.tensor(float(value)), "none counts")


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
