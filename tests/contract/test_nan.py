"""nansum and nanmean: without NaN the bits of sum and mean, and with it those of what is left."""

import json
from fractions import Fraction

import pytest
import torch
from folders import TESTS

import torch_reduce
from torch_reduce.testing import DTYPES, FLOATING, INTEGERS, assert_same_bits, bits, fill, model

NAN, INF = float("nan"), float("inf")
every_float = pytest.mark.parametrize("dtype", FLOATING, ids=str)
SHAPES = [((1,), None), ((2000,), 0), ((5, 300), 1), ((300, 7), 0), ((3, 40, 50), (0, 2)), ((2500, 3), 0), ((0, 3), 0)]


def twins(x, dim, **options):
    """Pairs of results: of these operators, and of sum and mean."""
    yield torch_reduce.nansum(x, dim, **options), torch_reduce.sum(x, dim, **options)
    if x.is_floating_point():
        yield torch_reduce.nanmean(x, dim, **options), torch_reduce.mean(x, dim, **options)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_without_nan_they_are_sum_and_mean(dtype, device):
    for shape, dim in SHAPES:
        x = fill(shape, dtype).to(device)
        for options in ({}, {"dtype": torch.float64}, {"dtype": torch.float16}, {"keepdim": True}):
            for actual, expected in twins(x, dim, **options):
                assert_same_bits(actual, expected, f"{shape} {options}")


@every_float
def test_nan_counts_as_nothing(dtype, device):
    """The sum is that of -0 in place of each NaN, and the mean divides that by the number of the others."""
    for shape, dim in SHAPES:
        x = fill(shape, dtype, op="nansum", start=500).to(device)
        if x.numel() > 1:
            x.view(-1)[x.numel() // 2] = NAN
            x.view(-1)[0] = -NAN
        left = torch.where(x.isnan(), -0.0, x)
        assert_same_bits(torch_reduce.nansum(x, dim), torch_reduce.sum(left, dim), f"{shape}")
        wide = torch.float64 if dtype == torch.float64 else torch.float32
        total, count = torch_reduce.sum(left, dim, dtype=wide), torch_reduce.sum(~x.isnan(), dim).to(wide)
        assert_same_bits(torch_reduce.nanmean(x, dim), (total / count).to(dtype), f"{shape}")


@every_float
def test_means_of_exact_sums(dtype, device):
    """Small integers add without error: the quotient alone is rounded."""
    for n in (3, 100, 257, 3000):
        x = (torch.arange(n) % 5 - 1).to(dtype)
        x[::3] = NAN
        numbers = [Fraction(v) for v in x.tolist() if v == v]
        result = torch_reduce.nanmean(x.to(device)).cpu()
        wide = torch.float64 if dtype == torch.float64 else torch.float32
        quotient = torch.tensor(int(sum(numbers)), dtype=wide) / len(numbers)
        assert_same_bits(result, quotient.to(dtype), f"{n}")
        assert Fraction(torch_reduce.nansum(x.to(device), dtype=wide).item()) == sum(numbers)


@every_float
def test_special_values(dtype, device):
    for values, total, mean in (
        ([], 0.0, NAN),
        ([NAN], 0.0, NAN),
        ([NAN, -NAN, NAN], 0.0, NAN),
        ([-0.0, NAN], 0.0, 0.0),
        ([INF, NAN, 1], INF, INF),
        ([INF, NAN, -INF], NAN, NAN),
        ([NAN, 3, 4], 7.0, 3.5),
    ):
        x = torch.tensor(values, dtype=dtype, device=device)
        for result, expected in ((torch_reduce.nansum(x), total), (torch_reduce.nanmean(x), mean)):
            assert_same_bits(result.cpu(), torch.tensor(expected, dtype=dtype), str(values))


def test_counts_past_the_integers_of_float32(device):
    """One NaN among 2^24 + 2 ones: a count in fp32 would not see it."""
    x = torch.tensor([1.0, NAN], device=device)[:, None].expand(2, 2**23 + 1)
    assert torch_reduce.nansum(x).item() == 2**23 + 1
    assert torch_reduce.nanmean(x).item() == 1


def test_types(device):
    """Integers have sums but no mean, and floating elements no integer result, as torch 2.11 has it; later ones do."""
    for dtype in (torch.bool, *INTEGERS):
        x = torch.ones(5, dtype=dtype, device=device)
        if dtype not in (torch.uint16, torch.uint32, torch.uint64):
            assert torch_reduce.nansum(x).dtype == torch.nansum(x).dtype
        assert_same_bits(torch_reduce.nansum(x, dtype=torch.bool), torch_reduce.sum(x, dtype=torch.bool))
        with pytest.raises(RuntimeError, match="needs a floating dtype"):
            torch_reduce.nanmean(x, dtype=torch.float32)
    x = torch.ones(5, device=device)
    for dtype in (torch.int64, torch.bool):
        for op in (torch_reduce.nansum, torch_reduce.nanmean):
            with pytest.raises(NotImplementedError, match="floating elements need a floating result"):
                op(x, dtype=dtype)


@pytest.mark.parametrize("op", ["nansum", "nanmean"])
def test_gradients_are_those_of_torch(op, device):
    ours, theirs = getattr(torch_reduce, op), getattr(torch, op)
    x = torch.tensor([[1.0, NAN, 3.0], [INF, 2.0, NAN]], dtype=torch.float64, device=device, requires_grad=True)
    for dim in (None, 0, 1):
        grads = [torch.autograd.grad((run(x, dim).nan_to_num(posinf=1) ** 2).sum(), x)[0] for run in (ours, theirs)]
        assert torch.equal(*grads)  # small integers
        assert (grads[0][x.isnan()] == 0).all()
        tangent = torch.ones_like(x)
        tangents = [torch.func.jvp(lambda y: run(y, dim), (x.detach(),), (tangent,))[1] for run in (ours, theirs)]  # noqa: B023
        assert torch.equal(*tangents)
    nothing = torch.full((3,), NAN, device=device, requires_grad=True)
    grads = [torch.autograd.grad(run(nothing), nothing)[0] for run in (ours, theirs)]
    assert_same_bits(*grads)


VECTORS = json.loads((TESTS / "data" / "nan.json").read_text())["vectors"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["n"])
def test_follows_its_vectors(vector, device):
    """Bits that stay, whatever becomes of model and kernels."""
    for dtype in (torch.float32, torch.float64):
        width = 8 * dtype.itemsize
        x = fill((vector["n"],), dtype, op="nansum").to(device)
        for op in ("nansum", "nanmean"):
            result = bits(getattr(torch_reduce, op)(x)).item() % 2**width
            assert f"{result:0{width // 4}x}" == vector[f"{op}_{width}"]


@pytest.mark.parametrize("op", ["nansum", "nanmean"])
def test_model(op, device):
    x = fill((3, 2000), torch.bfloat16, op=op).to(device)
    assert x.isnan().any(1).all()
    for dim in (0, 1, None):
        assert_same_bits(getattr(torch_reduce, op)(x, dim), model(x, dim, op=op))
