"""Reductions of two tensors: `dot`, and `where=` of every operator that takes it. To the bit, by the model of one
tensor; against real numbers; in every layout and plan."""

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
