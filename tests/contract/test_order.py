"""The canonical order: the vectors of the contract, and the model against every operator, on every device."""

import json

import numpy as np
import pytest
import torch
from folders import TESTS

import torch_reduce
from torch_reduce.testing import assert_same_bits, canonical, error_bound, fill, model, order_fill, reference, unit_fill

VECTORS = json.loads((TESTS / "data" / "vectors.json").read_text())["vectors"]
SQUARES = json.loads((TESTS / "data" / "sumsq.json").read_text())["vectors"]
LENGTHS = [vector["n"] for vector in VECTORS]
by_length = pytest.mark.parametrize("vector", VECTORS, ids=LENGTHS)
# One below, at, and one above the sizes of vectors, warps, leaves, chunks, and trees of chunks.
SIZES = [s + d for s in (2, 4, 8, 16, 32, 64, 128, 256, 512, 768, 1024, 2048, 4096, 16384) for d in (-1, 0, 1)]
SIZES = sorted({*SIZES, 3 * 1024, 5 * 1024 + 1, 33 * 1024 + 255})


def order_fill64(n: int) -> np.ndarray:
    return order_fill(n).astype(np.float64) * (1 + 2.0**-40)


def hexadecimal(value) -> str:
    """The bits of a NumPy scalar or of a tensor of one element."""
    value = np.asarray(value.cpu() if isinstance(value, torch.Tensor) else value)
    return value.astype(value.dtype.newbyteorder(">")).tobytes().hex()


@by_length
def test_model_follows_the_vectors(vector):
    n = vector["n"]
    assert hexadecimal(canonical(order_fill(n))) == vector["sum_float32"]
    assert hexadecimal(canonical(order_fill64(n))) == vector["sum_float64"]
    if "prod_float32_unit" in vector:
        assert hexadecimal(model(torch.from_numpy(unit_fill(n)), op="prod")) == vector["prod_float32_unit"]


@by_length
def test_reference_follows_the_vectors(vector):
    # Every partial sum of this fill is a multiple of 2^-23 below 2^29, so fp64 holds the sum exactly.
    true = reference(torch.from_numpy(order_fill(vector["n"])))
    assert hexadecimal(true.float()) == vector["exact_float32"]


@by_length
def test_sum_follows_the_vectors(vector, device):
    x = torch.from_numpy(order_fill(vector["n"])).to(device)
    assert hexadecimal(torch_reduce.sum(x)) == vector["sum_float32"]
    y = torch.from_numpy(order_fill64(vector["n"])).to(device)
    assert hexadecimal(torch_reduce.sum(y)) == vector["sum_float64"]


@pytest.mark.parametrize("vector", SQUARES, ids=lambda v: v["n"])
def test_sumsq_follows_its_vectors(vector, device):
    n = vector["n"]
    for x, expected in ((order_fill(n), "sumsq_float32"), (order_fill64(n), "sumsq_float64")):
        assert hexadecimal(canonical(x * x, "sumsq")) == vector[expected]
        assert hexadecimal(torch_reduce.sumsq(torch.from_numpy(x).to(device))) == vector[expected]


@pytest.mark.parametrize("vector", [v for v in VECTORS if "prod_float32_unit" in v], ids=lambda v: v["n"])
def test_prod_follows_the_vectors(vector, device):
    x = torch.from_numpy(unit_fill(vector["n"])).to(device)
    assert hexadecimal(torch_reduce.prod(x)) == vector["prod_float32_unit"]


@by_length
def test_vectors_as_rows_and_columns(vector, device):
    n = vector["n"]
    x = torch.from_numpy(order_fill(n)).to(device)
    for y, dim in ((x.expand(3, n).contiguous(), 1), (x[:, None].expand(n, 5).contiguous(), 0), (x.expand(2, n), 1)):
        assert {hexadecimal(v) for v in torch_reduce.sum(y, dim)} == {vector["sum_float32"]}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("op", ["sum", "mean", "prod"])
def test_model_at_every_edge(op, dtype, device):
    for n in SIZES:
        x = fill((3, n), dtype, op=op)
        expected = model(x, 1, op=op)
        run = getattr(torch_reduce, op)
        assert_same_bits(run(x.to(device), 1), expected, f"{n} in rows")
        assert_same_bits(run(x.t().contiguous().to(device), 0), expected, f"{n} in columns")
        assert_same_bits(run(x[1].to(device)), expected[1], f"{n} in full")


@pytest.mark.parametrize("n", LENGTHS)
def test_bound_holds(n, device):
    x = fill((n,), torch.float32)
    error = (torch_reduce.sum(x.to(device)).cpu().double() - reference(x)).abs()
    assert error <= error_bound(x)


@pytest.mark.parametrize("n", [1, 2, 16, 17, 255, 256, 257, 1024, 1025, 70_000])
def test_order_is_visible(n, device):
    """Each element goes where the contract says: with 2^24 in one leaf and ones elsewhere, what survives of the ones
    shows the whole path of additions. A kernel with another order cannot give these sums."""
    ones = torch.ones(n)
    for position in {0, n // 3, n // 2, n - 1}:
        x = ones.clone()
        x[position] = 2.0**24
        assert_same_bits(torch_reduce.sum(x.to(device)), model(x), f"2^24 at {position}")


def test_missing_elements_change_no_bit(device):
    """Padding with the identity changes nothing: a row of n elements, and the same followed by -0.0."""
    for n in (1, 5, 255, 257, 1023, 1025, 3000):
        x = fill((n,), torch.float32)
        padded = torch.cat([x, torch.full((7000,), -0.0)])
        assert_same_bits(torch_reduce.sum(padded.to(device)), model(x), f"{n}")
