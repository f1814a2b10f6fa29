"""var, std and the mean beside them: by the true value, and at the ends of types, counts and corrections."""

import json
import math
from fractions import Fraction

import pytest
import torch
from folders import TESTS

import torch_reduce
from torch_reduce.testing import FLOATING, assert_same_bits, bits, fill, model

INF, NAN = math.inf, math.nan
every_type = pytest.mark.parametrize("dtype", FLOATING)


def true_variance(values: list[float], correction: int) -> Fraction:
    exact = [Fraction(v) for v in values]
    mean = sum(exact) / len(exact)
    return sum((v - mean) ** 2 for v in exact) / (len(exact) - correction)


def bound(values: list[float], correction: int, dtype: torch.dtype, true: float) -> float:
    """docs/order.md."""
    n, double = len(values), torch.finfo(torch.float64)
    depth = 3 + math.ceil(math.log2(256 * math.ceil(n / 1024)))
    squares = math.fsum(v * v for v in values) * (1 + double.eps) / (n - correction)
    of_sums = (3 * depth**2 + 20) * double.eps**2 if dtype == torch.float64 else (3 * depth + 2) * double.eps / 2
    error = of_sums * squares + double.eps * true
    return error + torch.finfo(dtype).eps * (true + error) / 2 + torch.finfo(dtype).tiny * torch.finfo(dtype).eps


def data(n: int, mean: float, dtype: torch.dtype) -> torch.Tensor:
    generator = torch.Generator().manual_seed(n)
    return (torch.randn(n, generator=generator, dtype=torch.float64) + mean).to(dtype)


@every_type
@pytest.mark.parametrize("mean", [0, 10, 1000, 60000], ids=str)
def test_is_within_its_bound(dtype, mean, device):
    for n in (2, 3, 255, 1030, 3000):
        x = data(n, mean, dtype)
        for correction in (0, 1):
            true = true_variance(x.tolist(), correction)
            result = torch_reduce.var(x.to(device), correction=correction).item()
            limit = bound(x.tolist(), correction, dtype, float(true))
            assert abs(Fraction(result) - true) <= limit, f"{n}: {result}, not {float(true)}"
            # |sqrt(a) - sqrt(b)| is |a - b| / (sqrt(a) + sqrt(b)).
            root = math.sqrt(float(true))
            deviation = torch_reduce.std(x.to(device), correction=correction).item()
            off = min(limit / root if root else INF, math.sqrt(limit)) + torch.finfo(dtype).eps * root
            assert abs(deviation - root) <= off, f"{n}: {deviation}, not {root}"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_is_as_good_as_two_passes(dtype):
    """In the elements' own precision, where the mean is a thousand deviations away."""
    x = data(3000, 1000, dtype)
    true = true_variance(x.tolist(), 1)
    mean = x.sum() / len(x)
    two_passes = Fraction(((x - mean).square().sum() / (len(x) - 1)).item())
    ours = abs(Fraction(torch_reduce.var(x).item()) - true)
    assert ours <= max(abs(two_passes - true), Fraction(torch.finfo(dtype).eps) * true)
    assert bound(x.tolist(), 1, dtype, float(true)) < 2 * torch.finfo(dtype).eps * float(true)


VECTORS = json.loads((TESTS / "data" / "var.json").read_text())["vectors"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["n"])
def test_follows_its_vectors(vector, device):
    """Bits that stay, whatever becomes of model and kernels."""
    for dtype in (torch.float32, torch.float64):
        result = torch_reduce.var(fill((vector["n"],), dtype, op="var").to(device))
        digits = 2 * dtype.itemsize
        assert f"{bits(result.cpu()).item() & (16**digits - 1):0{digits}x}" == vector[f"var_{digits * 4}"]


@every_type
def test_equal_elements(dtype, device):
    """Their variance is 0 if their sums need no rounding, and else that of roundings in twice the precision."""
    for value in (0.0, 3.0, -(2.0**-8)):
        for n in (2, 1000, 1025):
            assert torch_reduce.var(torch.full((n,), value, dtype=dtype, device=device)).item() == 0
    third = torch.full((1000,), 1 / 3, dtype=dtype, device=device)
    assert torch_reduce.var(third).item() <= bound(third.tolist(), 1, dtype, 0.0)


@every_type
def test_few_degrees_of_freedom(dtype, device):
    x = torch.tensor([1.0, 2.0, 4.0], dtype=dtype, device=device)
    cases = [(x, 0, 14 / 9), (x, 1, 7 / 3), (x, 2, 14 / 3), (x, 2.5, 28 / 3), (x, -1, 7 / 6), (x, 3, INF), (x, 9, INF)]
    cases += [(x[:1], 0, 0.0), (x[:1], 1, NAN), (x[:0], 0, NAN), (x[:0], 1, NAN), (x[:1].expand(3), 3, NAN)]
    for values, correction, expected in cases:
        result = torch_reduce.var(values, correction=correction)
        expected = torch.tensor(expected, dtype=torch.float64)
        torch.testing.assert_close(result.cpu().double(), expected, rtol=torch.finfo(dtype).eps, atol=0, equal_nan=True)
        assert_same_bits(result, model(values, op="var", correction=correction), f"{values.tolist()}, {correction}")


@every_type
def test_nan_and_infinity(dtype, device):
    for values in ([1, NAN], [INF, 1, 2], [-INF, INF], [INF], [NAN]):
        for op in (torch_reduce.var, torch_reduce.std):
            assert op(torch.tensor(values, dtype=dtype, device=device), correction=0).isnan()


def test_ends_of_a_type(device):
    """Squares of float32 neither overflow nor underflow; those of float64 overflow to infinity."""

    def variance(*values, dtype=torch.float32):
        x = torch.tensor(values, dtype=dtype, device=device)
        assert_same_bits(torch_reduce.var(x, correction=0), model(x, op="var", correction=0), str(values))
        return torch_reduce.var(x, correction=0).item()

    assert variance(3e38, 3e38) == 0
    assert variance(3e38, -3e38) == INF
    assert variance(1e-22, -1e-22) == pytest.approx(1e-44, abs=2e-45)
    assert torch_reduce.std(torch.tensor([1e-30, -1e-30], device=device), correction=0).item() == pytest.approx(
        1e-30, rel=2**-23
    )
    assert variance(1e153, -1e153, dtype=torch.float64) == pytest.approx(1e306, rel=2**-51)
    assert variance(1e200, 1e200, dtype=torch.float64) == INF
    assert math.isnan(variance(1e200, INF, dtype=torch.float64))
    assert variance(1e-160, -1e-160, dtype=torch.float64) == pytest.approx(1e-320, abs=1e-323)


def bound_of_mean(values: list[float], dtype: torch.dtype, true: float) -> float:
    """docs/order.md."""
    n, double = len(values), torch.finfo(torch.float64)
    depth = 3 + math.ceil(math.log2(256 * math.ceil(n / 1024)))
    magnitude = math.fsum(map(abs, values)) * (1 + double.eps) / n
    of_sum = (depth**2 + 4) * double.eps**2 if dtype == torch.float64 else depth * double.eps / 2
    error = of_sum * magnitude + double.eps * abs(true)
    return error + torch.finfo(dtype).eps * (abs(true) + error) / 2 + torch.finfo(dtype).tiny * torch.finfo(dtype).eps


@every_type
@pytest.mark.parametrize("mean", [0, 1000], ids=str)
def test_mean_beside_it_is_within_its_bound(dtype, mean, device):
    for n in (1, 3, 255, 1030, 3000):
        x = data(n, mean, dtype)
        true = sum(map(Fraction, x.tolist())) / n
        for op in (torch_reduce.var_mean, torch_reduce.std_mean):
            _, result = op(x.to(device))
            limit = bound_of_mean(x.tolist(), dtype, float(true))
            assert abs(Fraction(result.item()) - true) <= limit, f"{n}: {result.item()}, not {float(true)}"


@every_type
def test_means_of_infinity_zero_and_nothing(dtype, device):
    for values, expected in (
        ([INF, 1], INF),
        ([-INF, 1], -INF),
        ([INF, -INF], NAN),
        ([NAN, 1], NAN),
        ([-0.0, -0.0], 0.0),
        ([], NAN),
    ):
        for op in (torch_reduce.var_mean, torch_reduce.std_mean):
            _, mean = op(torch.tensor(values, dtype=dtype, device=device))
            assert_same_bits(mean.cpu(), torch.tensor(expected, dtype=dtype), str(values))


def test_two_results(device):
    """Have the bits of each alone, and are differentiable, each and both, as torch's are."""
    x = torch.randn(4, 33, 5, dtype=torch.float64, device=device, requires_grad=True)
    for op, alone in (("var_mean", torch_reduce.var), ("std_mean", torch_reduce.std)):
        ours, theirs = getattr(torch_reduce, op), getattr(torch, op)
        for run in (ours, getattr(torch.ops.reduce, op)):
            first, second = run(x, [1], keepdim=True, correction=0.5)
            assert_same_bits(first, alone(x, 1, keepdim=True, correction=0.5), op)
            assert first.shape == second.shape == (4, 1, 5) and first.is_contiguous() and second.is_contiguous()
        for chosen in ([0], [1], [0, 1]):
            grads = [
                torch.autograd.grad(sum(run(x, (0, 2))[i].sin().sum() for i in chosen), x)[0] for run in (ours, theirs)
            ]
            torch.testing.assert_close(*grads)
        batched = torch.vmap(lambda y: ours(y, 0), in_dims=2)(x)  # noqa: B023
        for one, other in zip(batched, ours(x, 0), strict=True):
            assert_same_bits(one, other.t())
        compiled = torch.compile(lambda y: ours(y * 2, -1), fullgraph=True, backend="aot_eager")  # noqa: B023
        for one, other in zip(compiled(x), ours(x * 2, -1), strict=True):
            assert_same_bits(one, other)
        with pytest.raises(TypeError):
            ours(x, out=torch.empty(()))
        parts = [torch.arange(6.0, device=device).view(n, -1) for n in (2, 3)]
        jagged = torch.nested.nested_tensor([p[:, :2] for p in parts], layout=torch.jagged)
        for dim, each in ((1, 0), (2, 1)):
            for one, other in zip(
                ours(jagged, dim), zip(*(ours(p[:, :2], each) for p in parts), strict=True), strict=True
            ):
                for a, b in zip(one.unbind(), other, strict=True):
                    assert_same_bits(a, b)


@pytest.mark.parametrize("op", ["var", "std"])
def test_arguments(op, device):
    """As torch.var has them."""
    ours, theirs = getattr(torch_reduce, op), getattr(torch, op)
    x = torch.randn(4, 5, 6, device=device)
    for keywords in ({"unbiased": False}, {"correction": 0.5}, {"correction": None}, {"keepdim": True}):
        torch.testing.assert_close(ours(x, (0, 2), **keywords), theirs(x, (0, 2), **keywords))
    with pytest.raises(TypeError, match="are one argument"):
        ours(x, correction=1, unbiased=True)
    with pytest.raises(TypeError):
        ours(x, 0, True)  # which torch takes for unbiased
    for dtype in (torch.int32, torch.bool):
        with pytest.raises(RuntimeError, match="needs a floating dtype"):
            ours(x.to(dtype))
        with pytest.raises(RuntimeError):
            theirs(x.to(dtype))
    with pytest.raises(RuntimeError, match="out must have the dtype"):
        ours(x, out=torch.empty((), dtype=torch.float64, device=device))
