"""Where extremes stand, on the CPU: vectors find a block's, then it is looked for (csrc/core/cpu/tree/places.h)."""

import random

import pytest
import torch
from capabilities import assert_bits_of_every_capability

import torch_reduce
from torch_reduce.testing import fill, model

DTYPES = [
    torch.bool,
    torch.int8,
    torch.int64,
    torch.uint64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
]
# Around a vector, a chunk, a block of four, and what one call takes.
LENGTHS = [1, 17, 257, 700, 1023, 1024, 1025, 3000, 4096, 4100, 9001, 65536, 65537, 140_000]
every_op = pytest.mark.parametrize("op", ["argmax", "argmin"])
every_type = pytest.mark.parametrize("dtype", DTYPES, ids=str)


def assert_places(op, x, what=""):
    assert_bits_of_every_capability(lambda: getattr(torch_reduce, op)(x, -1), model(x, -1, op=op), what)


@every_type
@every_op
def test_rows(op, dtype):
    """Of some lengths that are drawn; of one extreme, and of many that are equal."""
    for n in random.Random(f"{op} {dtype}").sample(LENGTHS, 5):
        check_rows(op, dtype, n)


def check_rows(op, dtype, n):
    rows = 3 if n > 5000 else 21
    x = fill((rows * n + 3,), dtype, op=op)
    for start in (0, 3):
        assert_places(op, x[start : start + rows * n].view(rows, n), f"from {start}")
    if dtype.itemsize > 1:  # the first of some
        assert_places(op, (x.double() % 7).to(dtype)[: rows * n].view(rows, n), "equal ones")
    assert_places(op, x[: rows * n].view(rows, n)[:, ::2], "every other element")


@pytest.mark.parametrize("n", [700, 1024, 5000, 70_000])
@every_op
def test_first_one_wins(op, n):
    """Of equal ones in every part of a row, of zeros of both signs, of NaN of both signs, and of infinities alone."""
    inf, nan = float("inf"), float("nan")
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        for best in ([0.0, -0.0], [-0.0, 0.0], [nan, -nan], [-nan, nan], [inf, inf], [-inf, -inf]):
            sign = 1 if op == "argmax" else -1
            for place in (0, 1, 63, 64, n // 2, n - 2):
                x = torch.full((n,), -inf if best[0] == inf else -1.0, dtype=dtype)
                x[[place, n - 1]] = torch.tensor(best, dtype=dtype)
                assert_places(op, x * sign, f"{dtype} {best} at {place}")
        for value in (inf, -inf, nan, 0.0):
            assert_places(op, torch.full((2, n), value, dtype=dtype), f"{value} alone")


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint64, torch.int8, torch.uint8], ids=str)
@every_op
def test_ends_of_integers(op, dtype):
    """The least integer is as small as what stands for nothing."""
    for value in (torch.iinfo(dtype).min, torch.iinfo(dtype).max):
        for n in (300, 1024, 3000, 66_000):
            assert_places(op, torch.full((2, n), value, dtype=dtype), f"{value}, {n}")
