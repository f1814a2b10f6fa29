"""Errors of sums in units in the last place: the units, the elements, the true sums."""

from fractions import Fraction

import pytest
import torch

from benchmarks.suites import accuracy


@pytest.mark.parametrize(
    "value, dtype, true, expected",
    [
        (1.0, torch.float32, Fraction(1), 0),
        (1.0, torch.float32, 1 + Fraction(1, 2**24), 0.5),
        (-1.0, torch.bfloat16, -1 - Fraction(3, 2**7), 3),
        (0.0, torch.float32, Fraction(1, 2**150), 0.5),  # below the smallest subnormal
        (2.0, torch.float64, 2 - Fraction(1, 2**52), 1),  # just below a power of two: the finer unit
        (float("inf"), torch.float32, Fraction(1), float("inf")),
    ],
)
def test_ulps(value, dtype, true, expected):
    assert accuracy.ulps(torch.tensor(value, dtype=dtype), true) == expected


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("condition", [1.0, 1e4, 1e12])
def test_elements_are_as_wanted(dtype, condition):
    wanted = accuracy.Sum(dtype, 1 << 10, condition)
    x = accuracy.elements(wanted)
    assert x.dtype == dtype and len(x) == wanted.n
    true = sum(map(Fraction, x.tolist()))
    assert accuracy.true_sum(x) == true
    assert 0.8 <= sum(abs(Fraction(v)) for v in x.tolist()) / true / Fraction(condition) <= 1.25
    assert torch.equal(x, accuracy.elements(wanted))


def test_true_sums_of_several_blocks_add_up(monkeypatch):
    x = accuracy.elements(accuracy.Sum(torch.float32, 1 << 10, 1e8))
    monkeypatch.setattr(accuracy, "BLOCK", 100)
    assert accuracy.true_sum(x) == sum(map(Fraction, x.tolist()))


def test_exact_sums_are_the_true_ones_rounded(accuracy_rows):
    assert {r["dtype"] for r in accuracy_rows} == {"float32", "bfloat16"}
    for r in accuracy_rows:
        assert r["contenders"]["exact"]["rounded"] and r["contenders"]["exact"]["ulps"] <= 0.5
    worst = max(r["contenders"]["torch"]["ulps"] for r in accuracy_rows)
    assert worst > 1e6, "a condition number of 1e12 leaves torch.sum in fp32 no digit"
