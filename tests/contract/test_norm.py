"""norm2 beside the true value, and at the ends of types."""

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


def norm(values, of, device, **keywords) -> torch.Tensor:
    """Of elements of that type, to the bit as the model has it."""
    x = torch.tensor(values, dtype=of, device=device)
    result = torch_reduce.norm2(x, **keywords)
    assert_same_bits(result, model(x, op="norm2", **keywords), f"{values} {of}")
    return result


def assert_within_bound(result: float, values: list[float], dtype: torch.dtype) -> None:
    """docs/order.md. Of the squares, so that the truth is a fraction."""
    depth = 3 + math.ceil(math.log2(256 * math.ceil(len(values) / 1024)))
    eps, eps_out = (Fraction(torch.finfo(t).eps) for t in (torch.float64, dtype))
    relative = (depth + (dtype == torch.float64)) * eps / 4 + eps / 2 + eps_out / 2
    relative += relative**2  # of second order
    least = Fraction(torch.finfo(dtype).smallest_normal) * eps_out / 2  # half a step of subnormal results
    true = sum(Fraction(v) ** 2 for v in values)
    lower, upper = ((Fraction(result) + side * least) / (1 - side * relative) for side in (-1, 1))
    assert max(lower, 0) ** 2 <= true <= upper**2, f"{result} of {values}"


@every_type
@pytest.mark.parametrize("n", [1, 2, 3, 255, 1025, 3000])
def test_is_within_its_bound(dtype, n, device):
    x = fill((n,), dtype)
    x = x[x.abs() < torch.finfo(dtype).max / 64].contiguous()
    assert_within_bound(torch_reduce.norm2(x.to(device)).item(), x.tolist(), dtype)


@every_type
@pytest.mark.parametrize("exponent", ["largest", "smallest", "subnormal", "mixed"])
def test_nothing_leaves_the_range_on_the_way(dtype, exponent, device):
    """Squares of these overflow in their type, or vanish there."""
    info = torch.finfo(dtype)
    units = {
        "largest": [info.max / 1024],
        "smallest": [info.tiny],
        "subnormal": [info.smallest_normal * info.eps],
        "mixed": [info.max / 1024, 1.0, info.tiny, info.smallest_normal * info.eps],
    }[exponent]
    values = [unit * k for k in range(1, 40) for unit in units if abs(unit * k) < info.max / 16]
    values = torch.tensor(values, dtype=dtype).tolist()
    for row in (values, values[::-1], values * 40):
        assert_within_bound(norm(row, dtype, device).item(), row, dtype)


@every_type
def test_of_one_element_is_its_magnitude(dtype, device):
    info = torch.finfo(dtype)
    ends = [0.0, info.max, info.tiny, info.smallest_normal * info.eps, 3 * info.smallest_normal * info.eps, 1 / 3]
    x = torch.cat([torch.tensor(ends, dtype=dtype), fill((500,), dtype)])
    assert_same_bits(torch_reduce.norm2(x[:, None].to(device), 1), x.abs())
    assert_same_bits(torch_reduce.norm2(-x[:, None].to(device), 1), x.abs())


@every_type
def test_exact_roots(dtype, device):
    assert norm([3, 4], dtype, device).item() == 5
    assert norm([[3, 4], [-5, 12]], dtype, device, dim=1).tolist() == [5, 13]
    assert norm([3 * 2.0**-9, 4 * 2.0**-9], dtype, device, keepdim=True).tolist() == [5 * 2.0**-9]
    assert norm([1.0] * 2500, dtype, device).item() == 50


def test_exact_roots_of_far_numbers(device):
    for exponent in (-1060, -1000, -600, -511, -300, 300, 511, 600, 1000, 1020):
        assert norm([math.ldexp(3, exponent), math.ldexp(4, exponent)], torch.float64, device).item() == math.ldexp(
            5, exponent
        )
    assert norm([1e300] * 4, torch.float64, device).item() == 2e300
    assert norm([1.5e308] * 4, torch.float64, device).item() == INF


@every_type
def test_nan_and_infinity(dtype, device):
    tiny = torch.finfo(dtype).smallest_normal
    for values in ([INF], [-INF, 1], [tiny, INF], [INF, -INF]):
        assert norm(values, dtype, device).item() == INF
    for values in ([NAN], [NAN, INF], [1, NAN], [NAN, torch.finfo(dtype).max], [tiny, NAN]):
        assert norm(values, dtype, device).isnan()


@every_type
def test_of_nothing_is_zero(dtype, device):
    for shape, dim in (((0,), None), ((3, 0), 1), ((0, 3), 0)):
        result = torch_reduce.norm2(torch.empty(shape, dtype=dtype, device=device), dim)
        assert result.count_nonzero() == 0 and not result.signbit().any()
    assert not norm([-0.0, -0.0], dtype, device).signbit()


def test_output_types(device):
    """Elements do not round to the output type first."""
    x = [1.0, 2.0**-20]
    assert norm(x, torch.float32, device, dtype=torch.float64).item() == math.sqrt(1 + 2.0**-40)
    assert norm([60000.0, 60000.0], torch.float16, device, dtype=torch.float32).item() == torch.tensor(
        60000 * math.sqrt(2), dtype=torch.float32
    )
    assert norm([1e300, 1e300], torch.float64, device, dtype=torch.float32).item() == INF
    for dtype in (torch.int64, torch.bool):
        with pytest.raises(RuntimeError, match="needs a floating dtype"):
            torch_reduce.norm2(torch.ones(3, device=device), dtype=dtype)
        with pytest.raises(RuntimeError, match="needs a floating dtype"):
            torch_reduce.norm2(torch.ones(3, device=device).to(dtype))
        with pytest.raises(RuntimeError):
            torch.linalg.vector_norm(torch.ones(3, device=device).to(dtype))


def test_gradient_of_zeros_is_zero(device):
    """As torch's; and that of a norm whose inverse overflows is finite."""
    for values in ([0.0, 0.0], [1e-42, 0.0], [1e38, 2e38]):
        x = torch.tensor(values, device=device, requires_grad=True)
        (grad,) = torch.autograd.grad(torch_reduce.norm2(x), x)
        exact = torch.tensor(values, dtype=torch.float64)
        expected = exact / max(exact.norm().item(), 1e-300)
        torch.testing.assert_close(grad.cpu(), expected.float(), rtol=2**-20, atol=0)
    x = torch.zeros(3, 2, dtype=torch.float64, device=device, requires_grad=True)
    (grad,) = torch.autograd.grad(torch_reduce.norm2(x, 1).sum(), x, create_graph=True)
    assert not torch.autograd.grad(grad.sum(), x)[0].isnan().any()


def test_many_infinities(device):
    """Of float64, whose squares have exponents of their own."""
    for n in (3, 4, 300, 1024, 5000):
        x = torch.full((n,), -math.inf, dtype=torch.float64)
        for y, dim in ((x, None), (x[:, None].expand(-1, 3), 0), (x.expand(2, -1), 1)):
            assert torch_reduce.norm2(y.to(device), dim).eq(math.inf).all()
            assert torch_reduce.norm(y.to(device), 3, dim).eq(math.inf).all()
        x[n // 2] = math.nan
        assert torch_reduce.norm2(x.to(device)).isnan() and torch_reduce.norm(x.to(device), 3).isnan()


VECTORS = json.loads((TESTS / "data" / "norm2.json").read_text())["vectors"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["n"])
def test_follows_its_vectors(vector, device):
    for dtype in (torch.float32, torch.float64):
        x = fill((vector["n"],), dtype)
        if dtype == torch.float64:
            x *= 2.0**520  # whose squares fp64 does not hold
        width = 8 * x.element_size()
        result = bits(torch_reduce.norm2(x.to(device))).item() % 2**width
        assert f"{result:0{width // 4}x}" == vector[f"norm2_{width}"]
