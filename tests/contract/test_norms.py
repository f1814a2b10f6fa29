"""Norms of every order: those that other operators are, to the bit; others beside the truth and at ends of types."""

import json
import math
from decimal import Decimal, localcontext

import pytest
import torch
from folders import TESTS

import torch_reduce
from torch_reduce.testing import FLOATING, assert_same_bits, bits, fill, model

INF, NAN = math.inf, math.nan
ORDERS = [3, 6, 0.5, -1, -5, 1.5, -2.5, 7.25, 100.0, 1e-3, -1000.0]
SHAPES = [((1,), None), ((2000,), 0), ((5, 300), 1), ((300, 7), 0), ((3, 40, 50), (0, 2)), ((0, 3), 1)]
every_float = pytest.mark.parametrize("dtype", FLOATING, ids=str)
every_order = pytest.mark.parametrize("order", ORDERS, ids=str)


def true_norm(values: list[float], order: float) -> Decimal:
    """In 60 digits, by logarithms."""
    with localcontext() as context:
        context.prec, context.Emax, context.Emin = 60, 10**15, -(10**15)
        p = Decimal(order)
        total = sum((abs(Decimal(v)).ln() * p).exp() for v in values)
        return (total.ln() / p).exp()


def bound(
    values: list[float], order: float, dtype: torch.dtype, true: Decimal, out: torch.dtype | None = None
) -> Decimal:
    """docs/order.md."""
    eps, out = Decimal(2.0**-52), torch.finfo(out or dtype)
    depth = 3 + math.ceil(math.log2(256 * math.ceil(len(values) / 1024)))
    most = max(abs(math.log2(abs(v))) for v in values)
    is_fp64 = dtype != torch.float64 and abs(order) <= 6
    of_power = 1 + 2 * abs(order) * most if is_fp64 else abs(order) * most / 2**16
    of_sum = depth / 2 + 1 + of_power
    of_root = 1 + abs(float(true.ln()) / math.log(2)) / 2**16
    relative = eps * Decimal(of_sum / abs(order) + of_root)
    relative += relative**2  # of second order
    return true * (relative + Decimal(out.eps) / 2 * (1 + relative)) + Decimal(out.smallest_normal * out.eps) / 2


@every_order
@every_float
def test_is_within_its_bound(dtype, order, device):
    for n in (1, 2, 5, 257, 1030):
        x = fill((n,), dtype, start=n)
        result = torch_reduce.norm(x.to(device), order)
        true = true_norm(x.tolist(), order)
        if true < torch.finfo(dtype).max:
            off = abs(Decimal(result.item()) - true)
            assert off <= bound(x.tolist(), order, dtype, true), f"{n}: {result.item()}, not {true}"


@every_order
def test_follows_its_model(order, device):
    for dtype in FLOATING:
        for shape, dim in SHAPES:
            x = fill(shape, dtype).to(device)
            for keywords in ({}, {"dtype": torch.float64, "keepdim": True}):
                if order < 0 and 0 in shape:
                    continue
                result = torch_reduce.norm(x, order, dim, **keywords)
                assert_same_bits(result, model(x, dim, op="norm", ord=order, **keywords), f"{dtype} {shape}")


VECTORS = json.loads((TESTS / "data" / "norm.json").read_text())["vectors"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["n"])
def test_follows_its_vectors(vector, device):
    """Bits that stay, whatever becomes of model and kernels."""
    for dtype in (torch.float32, torch.float64):
        x = fill((vector["n"],), dtype)
        if dtype == torch.float64:
            x *= 2.0**700  # whose powers fp64 does not hold
        width = 8 * dtype.itemsize
        for order, name in ((3, "3"), (0.5, "half")):
            result = bits(torch_reduce.norm(x.to(device), order)).item() % 2**width
            assert f"{result:0{width // 4}x}" == vector[f"norm_{name}_{width}"]


@every_float
def test_orders_that_are_other_operators(dtype, device):
    for shape, dim in SHAPES[:-1]:
        x = fill(shape, dtype, op="count_nonzero").to(device)
        of = {0: torch_reduce.count_nonzero(x, dim).to(dtype), 1: torch_reduce.sum(x.abs(), dim)}
        of |= {2: torch_reduce.norm2(x, dim)}
        of |= {INF: torch_reduce.amax(x.abs(), dim), -INF: torch_reduce.amin(x.abs(), dim)}
        for order, expected in of.items():
            assert_same_bits(torch_reduce.norm(x, order, dim), expected, f"{order} of {shape}")
            assert_same_bits(torch_reduce.norm(x, order, dim), model(x, dim, op="norm", ord=order))
            wide = torch_reduce.norm(x, order, dim, dtype=torch.float64)
            assert_same_bits(wide, model(x, dim, op="norm", ord=order, dtype=torch.float64), f"{order}")
    assert_same_bits(torch_reduce.norm(x, 2.0**40), torch_reduce.norm(x, INF))


def test_ends_of_a_type(device):
    """Powers neither overflow nor underflow on the way; a result is rounded once, to a subnormal number too."""
    for value in (1.7e308, 1e200, 1e-200, 5e-324, 3e-310):
        x = torch.tensor([value], dtype=torch.float64, device=device)
        for order in (3, 0.5, -3, 50):
            result = torch_reduce.norm(x, order).item()
            limit = bound([value], order, torch.float64, Decimal(value))
            assert abs(Decimal(result) - Decimal(value)) <= limit, f"{order} of {value}: {result}"
    x = torch.tensor([1e300, 1e300, -1e300], dtype=torch.float64, device=device)
    assert torch_reduce.norm(x, 3).item() == pytest.approx(1e300 * 3 ** (1 / 3), rel=2**-50)
    assert torch_reduce.norm(torch.ones(2, dtype=torch.float64, device=device), 1e-3).item() == pytest.approx(
        2.0**1000, rel=2**-40
    )
    assert torch_reduce.norm(torch.ones(2, device=device), 1e-9).item() == INF


@pytest.mark.parametrize("order", [3, 6, 5.9, 0.5, -1, -6, -5.9, 6.1, -7], ids=str)
def test_ends_of_narrow_types(order, device):
    """On both sides of the orders whose powers, and sums of them, are numbers of fp64."""
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        info = torch.finfo(dtype)
        for value in (info.max, info.smallest_normal, info.smallest_normal * info.eps):
            for n in (1, 5000):
                x = torch.full((n,), value, dtype=dtype, device=device)
                result = torch_reduce.norm(x, order, dtype=torch.float64)
                assert_same_bits(result, model(x, op="norm", ord=order, dtype=torch.float64), f"{value} {n}")
                true = true_norm([value], order) * (Decimal(n).ln() / Decimal(order)).exp()
                if true < Decimal(torch.finfo(torch.float64).max):
                    limit = bound([value] * n, order, dtype, true, out=torch.float64)
                    assert abs(Decimal(result.item()) - true) <= limit, f"{dtype} {value} {n}"


SPECIAL = [
    [],
    [0.0],
    [-0.0, 0.0],
    [0.0, 2.0],
    [INF, 1.0],
    [-INF, 0.0],
    [NAN, 1.0],
    [NAN, INF],
    [-NAN, 0.0],
    [1.0, -2.0],
]


@pytest.mark.parametrize("order", [0, 1, 2, INF, -INF, NAN, *ORDERS], ids=str)
def test_special_values_are_those_of_torch(order, device):
    for dtype in FLOATING:
        for values in SPECIAL:
            x = torch.tensor(values, dtype=dtype, device=device)
            if not values and (order < 0 or order == INF):
                for run in (torch_reduce.norm, torch.linalg.vector_norm):
                    with pytest.raises(RuntimeError):
                        run(x, order)
                    with pytest.raises(RuntimeError):
                        run(x.expand(2, 0), order, 1)
                continue
            if math.isnan(order) and len(values) == 1:
                continue  # torch gives the magnitude
            expected = torch.linalg.vector_norm(x.double(), order).to(dtype)
            actual = torch_reduce.norm(x, order)
            numbers = [v for v in values if v != 0]
            if order in ORDERS and expected.isfinite() and expected != 0:
                true = true_norm(numbers, order)
                limit = bound(numbers, order, dtype, true)
                assert abs(Decimal(actual.item()) - true) <= limit, f"{values}: {actual}, not {true}"
            else:
                assert actual == expected or (actual.isnan() and expected.isnan()), f"{values}: {actual}"
            assert_same_bits(actual, model(x, op="norm", ord=order), f"{values}")


def bound_of_gradient(values: list[float], order: float) -> float:
    """Of the squared norm, relative to each, ours or torch's: 2 x |x|^(p - 2) N^(2 - p) by at most eight operations, of
    which powers are two, and with the error of N, that of |p - 1| + 1 factors. None where all that is exact."""
    numbers = [v for v in values if v != 0]
    if order in (0, 1, 2, INF, -INF) or not numbers:
        return 0.0
    true = true_norm(numbers, order)
    of_norm = float(bound(numbers, order, torch.float64, true) / true)
    return 8 * torch.finfo(torch.float64).eps + (abs(order - 1) + 1) * of_norm


@pytest.mark.parametrize("order", [0, 1, 2, INF, -INF, 1.5, 3, 0.5, -1, 4.0], ids=str)
def test_derivatives_are_those_of_torch(order, device):
    x = torch.tensor([[1.0, -2.5, 3.0, -3.0], [0.75, 2.0, 0.5, -0.5]], dtype=torch.float64, device=device)
    with_zeros = torch.tensor([[0.0, -2.5, 3.0, 0.0], [0.0, 0.0, 0.0, 0.0]], dtype=torch.float64, device=device)
    runs = (torch_reduce.norm, torch.linalg.vector_norm)
    for values in (x, with_zeros):
        y = values.clone().requires_grad_()
        grads = [
            torch.autograd.grad(run(y, order, 1).square().sum(), y, materialize_grads=True)[0] for run in runs
        ]  # torch has none of order 0, which is 0
        ours, theirs = (grad.nan_to_num(-7) for grad in grads)
        relative = torch.tensor([[bound_of_gradient(row, order)] for row in values.tolist()], dtype=torch.float64)
        assert ((ours - theirs).abs() <= 2 * relative.to(device) * theirs.abs()).all(), f"{values}: {grads}"
    if order != 0:
        y = x.clone().requires_grad_()
        assert torch.autograd.gradcheck(lambda y: torch_reduce.norm(y[:, 1:3], order, 1), (y,), check_forward_ad=True)
        assert torch.autograd.gradgradcheck(lambda y: torch_reduce.norm(y[:, 1:3], order, 1), (y,))


def test_arguments(device):
    x = torch.randn(4, 5, 6, device=device)
    for keywords in ({"dim": (0, 2)}, {"ord": 3, "dim": 1, "keepdim": True}, {"ord": INF}, {"ord": 0.5, "dim": -1}):
        assert torch_reduce.norm(x, **keywords).shape == torch.linalg.vector_norm(x, **keywords).shape
        assert_same_bits(torch_reduce.norm(x, **keywords), model(x, op="norm", **keywords))
        by_name = torch.ops.reduce.norm(
            x, keywords.get("dim"), keywords.get("keepdim", False), ord=keywords.get("ord", 2)
        )
        assert_same_bits(by_name, torch_reduce.norm(x, **keywords))
        out = torch.empty(0, device=device)
        torch_reduce.norm(x, **keywords, out=out)
        assert_same_bits(out, by_name)
        compiled = torch.compile(lambda y: torch_reduce.norm(y, **keywords), fullgraph=True, backend="aot_eager")  # noqa: B023
        assert_same_bits(compiled(x), by_name)
        batched = torch.vmap(lambda y: torch_reduce.norm(y, keywords.get("ord", 2), 0))(x)  # noqa: B023
        assert_same_bits(batched, torch_reduce.norm(x, keywords.get("ord", 2), 1))
    assert_same_bits(torch_reduce.norm(x, 1, 0), torch_reduce.norm(x, 1, axis=0))
    for wrong in ("fro", None, [1], 1j):
        with pytest.raises(TypeError, match="ord is a real number"):
            torch_reduce.norm(x, wrong)
    for order in (0, 1, 2, INF, 3):
        for dtype in (torch.int32, torch.bool):
            with pytest.raises(RuntimeError, match="needs a floating dtype"):
                torch_reduce.norm(x.to(dtype), order)
            with pytest.raises(RuntimeError, match="needs a floating dtype"):
                torch_reduce.norm(x, order, dtype=dtype)
        with pytest.raises(NotImplementedError, match="exact"):
            torch_reduce.norm(x, order, mode="exact")


@pytest.mark.parametrize(
    "order, special", [(p, 0.0) for p in (0.5, 1.5, 1.9, 2.5, 3, 4)] + [(p, INF) for p in (-1, -2.5)]
)
def test_one_element_leaves_the_derivatives_of_others(order, special, device):
    """A zero, or an infinity where it does not count: others have those that they have without it."""
    x = torch.tensor([-1.0, 1, 2], dtype=torch.float64, device=device)
    run = lambda x: torch_reduce.norm(x, order)  # noqa: E731
    beside = lambda x: torch_reduce.norm(torch.cat([x, x.new_full((1,), special)]), order)  # noqa: E731
    torch.testing.assert_close(torch.func.grad(beside)(x), torch.func.grad(run)(x))
    torch.testing.assert_close(torch.func.hessian(beside)(x), torch.func.hessian(run)(x))
    everywhere = torch.cat([x, x.new_full((1,), special)])
    jacobian = torch.func.jacrev(torch.func.grad(run))(everywhere)
    assert jacobian[:3, :3].isfinite().all()


@pytest.mark.parametrize("dtype, values", [(torch.float32, [1e30, 1e-30]), (torch.float64, [1e300, 1e-300])], ids=str)
def test_a_large_derivative_of_a_small_element(dtype, values, device):
    """(norm / x) ** 0.5, of a quotient that leaves the range."""
    x = torch.tensor(values, dtype=dtype, device=device)
    grad = torch.func.grad(lambda x: torch_reduce.norm(x, 0.5))(x).cpu()
    torch.testing.assert_close(grad, torch.tensor([1.0, values[0]], dtype=dtype))
