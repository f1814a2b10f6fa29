"""logsumexp beside the true value, and where exponentials leave the range of a type."""

import json
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
import torch
from folders import TESTS

import torch_reduce
from torch_reduce.model.elementary import exp_of_near, log_of_normal
from torch_reduce.testing import assert_same_bits, bits, fill, model

INF, NAN = math.inf, math.nan


def true_value(values: list[float]) -> Decimal:
    """With 40 digits."""
    with localcontext() as context:
        context.prec = 40
        largest = Decimal(max(values))
        return largest + sum((Decimal(v) - largest).exp() for v in values).ln()


def bound(n: int, dtype: torch.dtype, result: float) -> float:
    """docs/order.md; the rounding of the result comes last."""
    double = torch.finfo(torch.float64).eps
    compute = double if dtype == torch.float64 else torch.finfo(torch.float32).eps
    depth = 3 + math.ceil(math.log2(256 * math.ceil(n / 1024)))
    return (depth / 2 + 3) * compute + 2 * double * (64 + math.log(n)) + torch.finfo(dtype).eps * abs(result)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exp_and_log_are_within_their_ulps(dtype):
    """As docs/order.md says; the operator has the model's bits."""
    x = np.concatenate([np.random.default_rng(7).uniform(-64, 64, 1000), [-64, -0.0, 0, 64]]).astype(dtype)
    with localcontext() as context:
        context.prec = 40
        for of, y in zip(x, exp_of_near(x), strict=True):
            assert abs(Decimal(float(y)) - Decimal(float(of)).exp()) <= Decimal(float(np.spacing(y))), of
        z = np.exp(x.astype(np.float64))
        for of, y in zip(z, log_of_normal(z), strict=True):
            assert abs(Decimal(float(y)) - Decimal(float(of)).ln()) <= 2 * Decimal(float(np.spacing(abs(y)))), of


VECTORS = json.loads((TESTS / "data" / "logsumexp.json").read_text())["vectors"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["n"])
def test_follows_its_vectors(vector, device):
    """Bits that stay, whatever becomes of model and kernels."""
    for dtype in (torch.float32, torch.float64):
        result = torch_reduce.logsumexp(fill((vector["n"],), dtype, op="logsumexp").to(device))
        digits = 2 * dtype.itemsize
        assert f"{bits(result.cpu()).item() & (16**digits - 1):0{digits}x}" == vector[f"logsumexp_{digits * 4}"]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("scale", [0.01, 1, 30], ids=str)
def test_is_within_its_bound(dtype, scale, device):
    for n in (1, 2, 255, 1100):
        x = (torch.randn(n, generator=torch.Generator().manual_seed(n)) * scale).to(dtype)
        result = torch_reduce.logsumexp(x.to(device)).item()
        error = abs(Decimal(result) - true_value(x.tolist()))
        assert error <= Decimal(bound(n, dtype, result)), f"{n}: {result}, error {error}"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "values", [(63, 65), (-63.5, -64.5, -65), (64, 191.75, 192.25), (-64, 0, 64), (100, 400)], ids=str
)
def test_both_sides_of_a_change_of_reference(values, dtype, device):
    """References are multiples of 128, so that one changes between 64 and 65, for example."""
    x = torch.tensor(values, dtype=dtype).repeat(100)
    result = torch_reduce.logsumexp(x.to(device)).item()
    assert abs(Decimal(result) - true_value(x.tolist())) <= Decimal(bound(len(x), dtype, result)), result


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_many_small_exponentials_count(dtype, device):
    """As many as are as large together as the largest: each is close to where exp becomes zero."""
    n = 1 << 16
    far = math.log(n)
    x = torch.full((n + 1,), -far, dtype=dtype)
    x[777] = 0
    result = torch_reduce.logsumexp(x.to(device)).item()
    assert abs(result - math.log(1 + n * math.exp(float(x[0])))) <= bound(n + 1, dtype, result)


SPECIAL = {
    "nothing": ([], -INF),
    "zero": ([0.0], 0.0),
    "no exponential": ([-INF, -INF, -INF], -INF),
    "one beside none": ([-INF, 3.0, -INF], 3.0),
    "infinite": ([INF, 0.0], INF),
    "twice infinite": ([INF, INF, -INF], INF),
    "NaN": ([0.0, NAN, INF], NAN),
    "NaN first": ([NAN, -INF], NAN),
    "beyond exp": ([1000.0, 1000.0], 1000 + math.log(2)),
    "below exp": ([-1000.0, -1000.0], -1000 + math.log(2)),
    "far beyond exp": ([1e30, -1e30, 1e30], 1e30),
}


@pytest.mark.parametrize("values, expected", SPECIAL.values(), ids=SPECIAL)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_special_values(values, expected, dtype, device):
    x = torch.tensor(values, dtype=dtype)
    result = torch_reduce.logsumexp(x.to(device))
    if math.isfinite(expected):
        assert abs(result.item() - expected) <= bound(len(values), dtype, expected)
    else:
        assert_same_bits(result.cpu(), torch.tensor(expected, dtype=dtype))
    assert_same_bits(result.cpu(), model(x, op="logsumexp"))


def test_integers_give_the_default_type(device):
    x = torch.tensor([1, 2, 3], device=device)
    assert torch_reduce.logsumexp(x).dtype == torch.logsumexp(x, 0).dtype == torch.float32
    result = torch_reduce.logsumexp(x, dtype=torch.float64).item()
    assert abs(Decimal(result) - true_value([1, 2, 3])) <= Decimal(bound(3, torch.float64, result))
    with pytest.raises(RuntimeError, match="floating"):
        torch_reduce.logsumexp(x, dtype=torch.int64)


def test_gradient_is_a_softmax(device):
    x = torch.tensor([[0.0, 1.0, -INF], [500.0, -500.0, 3.0]], dtype=torch.float64, device=device, requires_grad=True)
    torch_reduce.logsumexp(x, 1).sum().backward()
    torch.testing.assert_close(x.grad, torch.softmax(x.detach(), 1))
