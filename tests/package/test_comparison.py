"""torch_reduce.compare: what it finds of results whose errors and bits are known, and what it prints."""

import dataclasses
import itertools
import math
import time
from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import permuted_slices, strided

import torch_reduce
from torch_reduce import _side_by_side as side_by_side
from torch_reduce._twins import name_of_twin
from torch_reduce.testing import (
    FLOATING,
    OPS,
    assert_same_bits,
    fill,
    gives_floating,
    gives_pair,
    takes_dtype,
)

SOON = 0.02  # seconds


def ulp_of(value: Fraction, dtype: torch.dtype) -> Fraction:
    """The distance of the type's numbers at a value."""
    info = torch.finfo(dtype)
    step = Fraction(info.smallest_normal)
    while step * 2 <= abs(value):
        step *= 2
    return step * Fraction(info.eps)


@pytest.mark.parametrize("dtype", FLOATING, ids=str)
def test_an_error_is_counted_in_ulp(dtype, device):
    info = torch.finfo(dtype)
    tiny = info.smallest_normal * info.eps
    values = [1.0, 1.5, 2 - info.eps, 2.0, -3.0, info.smallest_normal, 5 * tiny, 0.0, info.max]
    for value, steps in itertools.product(values, (0, 1, 3)):
        exact = torch.tensor([value], dtype=torch.float64)
        found = exact.to(dtype)
        for _ in range(steps):
            found = torch.nextafter(found, torch.zeros_like(found)) if value else found + tiny
        wrong = abs(Fraction(found.item()) - Fraction(value)) / ulp_of(Fraction(value), dtype)
        assert side_by_side.largest_error(found.to(device), exact.to(device)) == wrong, (value, steps)


def test_what_is_not_finite_has_no_error_or_an_infinite_one(device):
    nan, inf = math.nan, math.inf
    for found, exact, error in (
        ([nan], [nan], 0.0),
        ([inf], [inf], 0.0),
        ([inf], [1e39], 0.0),  # beyond float32
        ([1.0, inf], [1.0, 3e38], inf),
        ([inf], [-inf], inf),
        ([nan], [1.0], inf),
        ([1.0], [nan], inf),
        ([], [], 0.0),
    ):
        result = torch.tensor(found, dtype=torch.float32, device=device)
        reference = torch.tensor(exact, dtype=torch.float64, device=device)
        assert side_by_side.largest_error(result, reference) == error, (found, exact)


@given(x=st.one_of(permuted_slices(torch.float32, "sum"), strided(torch.float32, "sum")))
def test_the_other_layout_is_another_one(x):
    y = side_by_side.in_other_layout(x)
    assert_same_bits(y, x)
    if x.numel() > 1:
        assert any(n > 1 and a != b for n, a, b in zip(x.shape, x.stride(), y.stride(), strict=True))


def test_bits_that_change_are_seen(device):
    x = torch.ones(6, 5, device=device)
    counter = itertools.count()
    changing = lambda x: x.sum(1) + (next(counter) > 3)  # noqa: E731
    calls, same = side_by_side.repeats(changing, x, changing(x), time.perf_counter() + 60)
    assert (calls, same) == (side_by_side.CALLS, False)
    assert side_by_side.repeats(lambda x: x.sum(1), x, x.sum(1), 0) == (2, True)
    by_batch = lambda x: x.sum(1) + len(x)  # noqa: E731
    assert side_by_side.same_alone(by_batch, x, [1], by_batch(x)) is False
    assert side_by_side.same_alone(lambda x: x.sum(1), x, [1], x.sum(1)) is True
    assert side_by_side.same_alone(lambda x: x.sum(), x, [0, 1], x.sum()) is None
    zeros = torch.zeros(2, device=device)
    assert not side_by_side.same_bits(zeros, -zeros)
    assert side_by_side.same_bits(zeros / 0, -(zeros / 0))


@pytest.mark.parametrize(
    "shape, dim", [((40, 1030), 1), ((1500, 33), 0), ((2, 60, 3), (0, 2)), ((7001,), None), ((), None)]
)
@pytest.mark.filterwarnings("ignore:.*degrees of freedom")  # torch's, of one element
@pytest.mark.parametrize("op", OPS)
def test_every_operator_keeps_its_promises(op, shape, dim, device):
    x = fill(shape, torch.float32, op=op).to(device)
    before = x.clone()
    found = torch_reduce.compare(x, dim, op=op, seconds=SOON)
    assert_same_bits(x, before)
    torch_row, *ours = found.rows
    assert torch_row.name == name_of_twin(op) and torch_row.calls >= 2 and torch_row.microseconds > 0
    has_exact = op in ("sum", "mean", "sumsq")
    modes = ["deterministic", *(["atomic"] if takes_dtype(op) else []), *(["exact"] if has_exact else [])]
    assert [row.name for row in ours] == modes
    whole = not found.shape or len(found.dims) == len(found.shape)
    for row in ours:
        assert (row.error_ulp is None) == (op not in ("sum", "mean", "sumsq", "norm2")), row
        assert (row.same_alone is None) == whole, row
        assert math.isclose(row.gigabytes_per_second * row.microseconds * 1e3, found.nbytes, rel_tol=1e-9), row
        if row.name != "atomic":
            assert row.repeats and row.same_in_other_layout and row.same_alone is not False, row
        if row.name == "exact":  # half an ulp, and the rounding of the reference
            assert row.error_ulp <= 0.5 + 2.0**-29, row
    results = 2 if gives_pair(op) else 1
    outputs = math.prod(n for d, n in enumerate(shape) if d not in found.dims) if shape else 1
    assert found.nbytes == 4 * x.numel() + results * outputs * found.dtype.itemsize


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64, torch.int64, torch.bool], ids=str)
@pytest.mark.parametrize("op", [op for op in OPS if takes_dtype(op)])
def test_output_types(op, dtype, device):
    x = fill((9, 300), torch.float32, op=op).to(device)
    if gives_floating(op) and not dtype.is_floating_point:
        with pytest.raises(RuntimeError):
            torch_reduce.compare(x, 1, op=op, dtype=dtype, seconds=SOON)
        return
    found = torch_reduce.compare(x, 1, op=op, dtype=dtype, seconds=SOON)
    assert found.dtype == dtype
    assert all(row.error_ulp is None for row in found.rows) or dtype.is_floating_point
    if dtype != torch.bool:
        assert f"float32 over dim 1 to {str(dtype).removeprefix('torch.')}, on" in str(found)


def test_what_torch_refuses_is_left_open():
    found = torch_reduce.compare(torch.ones(30, 40, dtype=torch.uint16), 1, op="amax", seconds=SOON)
    nothing = dict.fromkeys(field.name for field in dataclasses.fields(torch_reduce.ComparisonRow))
    assert dataclasses.asdict(found.rows[0]) == {**nothing, "name": "torch.amax", "calls": 0}
    assert found.rows[1].repeats


def test_prints_a_table(device):
    found = torch_reduce.compare(torch.ones(300, 40, device=device), 0, seconds=SOON)
    head, columns, *rows = str(found).splitlines()
    assert head.startswith(f"sum of 300 x 40 float32 over dim 0, on {device}")
    assert columns.endswith("GB/s") and "error, ulp" in columns and "alone" in columns
    assert [row.split()[0] for row in rows] == ["torch.sum", "deterministic", "atomic", "exact"]
    assert "0.000  same, " in rows[1]
    assert len({len(row) for row in (columns, *rows)}) == 1
    whole = str(torch_reduce.compare(torch.ones(300, device=device), op="amax", seconds=SOON))
    assert "alone" not in whole and "error" not in whole


def test_it_ends_in_time():
    """One sample more than the deadline allows, and three of each function."""
    begin = time.perf_counter()
    slow = {name: lambda x: time.sleep(0.01) for name in "abc"}
    times = side_by_side.median_times(slow, torch.ones(1), begin)
    least = side_by_side.ROUNDS[0]
    assert time.perf_counter() - begin >= len(slow) * (least + 1) * 0.01
    assert set(times) == set(slow) and all(seconds >= 0.01 for seconds in times.values())
    calls = itertools.count()
    side_by_side.median_times({"a": lambda x: (next(calls), time.sleep(0.01))}, torch.ones(1), begin)
    assert next(calls) == 1 + least


@pytest.mark.parametrize(
    "arguments, keywords, error, words",
    [
        ((torch.ones(3),), {"op": "total"}, ValueError, "op is a reduction .*, got 'total'"),
        ((torch.ones(3), 0), {"op": "cumsum"}, ValueError, "op is a reduction .*, got 'cumsum'"),
        ((torch.ones(3),), {"op": "amax", "dtype": torch.float64}, ValueError, "amax has no dtype="),
        ((torch.ones(3),), {"seconds": 0}, ValueError, "seconds is a positive, finite number, got 0"),
        ((torch.ones(3),), {"seconds": math.inf}, ValueError, "seconds is a positive, finite number, got inf"),
        ((torch.ones(3),), {"seconds": True}, ValueError, "seconds is a positive, finite number, got True"),
        ((torch.ones(3), 1), {}, IndexError, "out of range"),
        ((torch.ones(3), "0"), {}, TypeError, "dim is an int"),
        (([1.0, 2.0],), {}, TypeError, "x is a tensor, got list"),
        ((torch.ones(3, device="meta"),), {}, NotImplementedError, "on the CPU or CUDA, got one on meta"),
        ((torch.ones(3, 3).to_sparse(),), {}, NotImplementedError, "strided tensors .* got one of torch.sparse_coo"),
        ((torch.ones(3, dtype=torch.complex64),), {}, NotImplementedError, "real elements, got torch.complex64"),
    ],
)
def test_wrong_arguments(arguments, keywords, error, words):
    with pytest.raises(error, match=words):
        torch_reduce.compare(*arguments, **keywords)


def test_gradients_are_left_alone():
    x = torch.ones(30, requires_grad=True)
    torch_reduce.compare(x, seconds=SOON)
    assert x.grad is None and torch.is_grad_enabled()
