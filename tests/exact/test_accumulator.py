"""The public superaccumulator: its format, merging, carrying, rounding, and what is refused."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from exact_cases import finite_bits
from hypothesis import given
from hypothesis import strategies as st
from strategies import cases, like

import torch_reduce
from torch_reduce import exact_accumulate, exact_normalize, exact_round
from torch_reduce.exact_model import exact_model, exact_sum, round_fraction, value_of_words, words_of, words_of_value
from torch_reduce.model import rows
from torch_reduce.testing import FLOATING, assert_same_bits

every_dtype = pytest.mark.parametrize("dtype", FLOATING, ids=str)
INT64 = st.integers(-(2**63), 2**63 - 1)


@every_dtype
@pytest.mark.parametrize("n", [1, 7, 500, 30_000])
def test_words_are_the_normalised_sum(n, dtype, device):
    x = finite_bits(n, dtype, n)
    acc = exact_accumulate(x.to(device)).tolist()
    assert acc == words_of_value(exact_sum(x.double().numpy()), words_of(dtype)) + [0, 0, 0]


@every_dtype
def test_counts(dtype, device):
    inf, nan = math.inf, math.nan
    for n in (7, 300, 20_000):
        x = torch.ones(n, 3, dtype=dtype)
        x[:7] = torch.tensor([inf, inf, -inf, nan, nan, nan, 2.0], dtype=dtype)[:, None]
        for y, dim in ((x, 0), (x.t().contiguous(), 1)):
            acc = exact_accumulate(y.to(device), dim).cpu()
            assert acc[:, -3:].tolist() == [[2, 1, 3]] * 3
            assert value_of_words(acc[0].tolist()) == n - 7 + 2


@every_dtype
def test_elements_that_are_all_infinite_are_counted(dtype, device):
    for n in (5, 1000, 20_000):
        for value, counts in ((math.inf, [n, 0, 0]), (-math.inf, [0, n, 0]), (math.nan, [0, 0, n])):
            x = torch.full((n, 2), value, dtype=dtype)
            for y, dim in ((x, 0), (x.t().contiguous(), 1)):
                assert exact_accumulate(y.to(device), dim)[:, -3:].tolist() == [counts] * 2


@given(data=st.data())
def test_any_layout(data, device):
    x, dim, keepdim = data.draw(cases("sum", FLOATING))
    acc = exact_accumulate(like(x, device), dim, keepdim)
    total = torch_reduce.sum(x, dim, keepdim)
    assert acc.shape == (*total.shape, words_of(x.dtype)) and acc.dtype == torch.int64 and acc.is_contiguous()
    assert_same_bits(exact_round(acc, dtype=x.dtype).cpu(), exact_model(x, dim, keepdim))
    flat = acc.reshape(-1, acc.shape[-1]).tolist()
    for words, row in zip(flat[:3], rows(x, dim), strict=False):
        assert value_of_words(words) == exact_sum(row.double().numpy())


@every_dtype
def test_shards_merge_in_any_order(dtype, device):
    x = finite_bits(40_000, dtype, 8)
    whole = exact_accumulate(x.to(device)).cpu()
    rng = np.random.default_rng(0)
    for parts in (2, 5, 64):
        cuts = np.sort(rng.integers(0, len(x), parts - 1))
        accs = [exact_accumulate(part.to(device)).cpu() for part in torch.tensor_split(x, cuts.tolist())]
        for _ in range(3):
            merged = torch.stack([accs[i] for i in rng.permutation(len(accs))]).sum(0)
            assert torch.equal(exact_normalize(merged), whole)
            for op in ("sum", "mean"):
                expected = exact_model(x, op=op)
                assert_same_bits(exact_round(merged, dtype=dtype, divisor=len(x) if op == "mean" else 1), expected)


@every_dtype
def test_words_hold_a_million_sums(dtype, device):
    """Every digit at its largest, added 2^20 times, and then some after a normalisation."""
    digits = words_of(dtype) - 3
    words = torch.tensor([2**32 - 1] * (digits - 1) + [2**30, 1, 0, 0], device=device)
    value = value_of_words(words.tolist())
    many = words * 2**20  # what 2^20 additions give
    assert value_of_words(many.tolist()) == value * 2**20
    again = exact_normalize(many)
    assert value_of_words(again.tolist()) == value * 2**20 and again[-3:].tolist() == [2**20, 0, 0]
    assert all(0 <= d < 2**32 for d in again[: digits - 1].tolist())
    negative = exact_normalize(-many)
    assert value_of_words(negative.tolist()) == -value * 2**20
    assert all(0 <= d < 2**32 for d in negative[: digits - 1].tolist())


def test_room_for_2_to_the_40_elements(device):
    """2^20 accumulators of 2^20 times the largest number each: 2^40 elements, without a wrap-around."""
    for dtype in (torch.float32, torch.float64):
        largest = torch.finfo(dtype).max
        acc = exact_accumulate(torch.tensor([largest] * 2**20, dtype=dtype, device=device))
        total = exact_normalize(acc * 2**20)
        assert value_of_words(total.tolist()) == Fraction(largest) * 2**40
        assert_same_bits(exact_round(total, dtype=dtype, divisor=2**40).cpu(), torch.tensor(largest, dtype=dtype))
        assert exact_round(total, dtype=dtype).item() == math.inf


@pytest.mark.parametrize("words", [13, 70])
@given(data=st.data())
def test_any_words_are_a_value(words, data, device):
    """Garbage in the digits is a number like any other, with a result that the model defines."""
    digits = data.draw(st.lists(INT64, min_size=words - 3, max_size=words - 3))
    divisor = data.draw(st.sampled_from([1, 2, 3, 10**6 + 3, 2**40, 2**62 + 1]))
    acc = torch.tensor(digits + [0, 0, 0], device=device)
    value = value_of_words(acc.tolist())
    for dtype in FLOATING:
        actual = exact_round(acc, dtype=dtype, divisor=divisor)
        assert_same_bits(actual.cpu(), round_fraction(value / divisor, dtype))
    normal = exact_normalize(acc).tolist()
    wraps = 2 ** (32 * (words - 4) + 64)
    lowest = Fraction(2) ** {13: -149, 70: -1074}[words]
    assert (value_of_words(normal) - value) / lowest % wraps == 0
    assert all(0 <= d < 2**32 for d in normal[: words - 4])


def test_any_counts_are_flags(device):
    acc = torch.zeros(6, 13, dtype=torch.int64)
    acc[:, -3:] = torch.tensor([[1, 0, 0], [0, -7, 0], [2**62, 1, 0], [0, 0, -1], [1, 1, 1], [0, 0, 0]])
    expected = torch.tensor([math.inf, -math.inf, math.nan, math.nan, math.nan, 0.0])
    assert_same_bits(exact_round(acc.to(device), dtype=torch.float32).cpu(), expected)


@every_dtype
def test_round_strided_and_empty(dtype, device):
    x = finite_bits(600, dtype, 1).view(6, 100)
    acc = exact_accumulate(x.to(device), 1)
    wide = torch.zeros(6, 2 * acc.shape[1], dtype=torch.int64, device=device)
    wide[:, ::2] = acc
    assert_same_bits(exact_round(wide[:, ::2].flip(0), dtype=dtype).cpu(), exact_model(x.flip(0), 1))
    assert exact_round(acc[:0], dtype=dtype).shape == (0,)
    assert exact_normalize(acc[:0]).shape == acc[:0].shape
    assert exact_round(acc[0], dtype=dtype).shape == ()


def refuses(error, words, call):
    with pytest.raises(error, match=words) as caught:
        call()
    assert caught.type is error


def test_refusals(device):
    for where in (device, "meta"):
        acc = torch.zeros(2, 13, dtype=torch.int64, device=where)
        for op in (exact_normalize, lambda a: exact_round(a, dtype=torch.float32)):
            for shape in ((2, 12), (2, 0), (14,), (), (13, 71)):
                bad = torch.zeros(shape, dtype=torch.int64, device=where)
                refuses(RuntimeError, "13 or 70 words", lambda op=op, bad=bad: op(bad))
            refuses(RuntimeError, "int64 tensor, got dtype", lambda op=op: op(acc.to(torch.int32)))  # noqa: B023
            refuses(RuntimeError, "int64 tensor, got dtype", lambda op=op: op(acc.to(torch.float64)))  # noqa: B023
        for dtype in (torch.int64, torch.bool, torch.complex64, torch.float8_e5m2):
            refuses(RuntimeError, "dtype is float16, bfloat16", lambda d=dtype: exact_round(acc, dtype=d))  # noqa: B023
        for divisor in (0, -3):
            refuses(ValueError, "at least 1", lambda d=divisor: exact_round(acc, dtype=torch.half, divisor=d))  # noqa: B023
        x = torch.ones(2, 3, device=where)
        refuses(IndexError, "out of range", lambda: exact_accumulate(x, 2))  # noqa: B023
        refuses(RuntimeError, "multiple times", lambda: exact_accumulate(x, [0, 0]))  # noqa: B023
        for dtype in (torch.int64, torch.bool, torch.complex64):
            bad = torch.ones(2, device=where).to(dtype)
            refuses(NotImplementedError, "has no accumulator", lambda bad=bad: exact_accumulate(bad))


def test_as_operators(device):
    """opcheck, compile with symbolic sizes, vmap."""
    torch._dynamo.reset()
    x = finite_bits(1200, torch.float32, 6).view(3, 400).to(device)
    acc = exact_accumulate(x, 1)
    torch.library.opcheck(torch.ops.reduce.exact_accumulate.default, (x, [1]))
    torch.library.opcheck(torch.ops.reduce.exact_accumulate.default, (x, None, True))
    torch.library.opcheck(torch.ops.reduce.exact_round.default, (acc,), {"dtype": torch.float16, "divisor": 3})
    torch.library.opcheck(torch.ops.reduce.exact_normalize.default, (acc,))

    def stream(x):
        merged = exact_normalize(exact_accumulate(x[0]) + exact_accumulate(x[1:]))
        return exact_round(merged, dtype=torch.float32, divisor=x.numel())

    compiled = torch.compile(stream, fullgraph=True, dynamic=True, backend="aot_eager")
    for y in (x, x[:2]):
        assert_same_bits(compiled(y).cpu(), exact_model(y.cpu(), op="mean"))
    assert torch.equal(torch.func.vmap(exact_accumulate)(x), acc)
    stacked = torch.stack([acc, 2 * acc], 1)  # (3, 2, words)
    for in_dim in (0, 1):
        expected = torch.stack([exact_normalize(a) for a in stacked.unbind(in_dim)])
        assert torch.equal(torch.func.vmap(exact_normalize, in_dims=in_dim)(stacked), expected)
    assert_same_bits(
        torch.func.vmap(lambda a: exact_round(a, dtype=torch.float32))(acc), exact_round(acc, dtype=torch.float32)
    )
    y = x.clone().requires_grad_()
    assert not exact_accumulate(y).requires_grad
