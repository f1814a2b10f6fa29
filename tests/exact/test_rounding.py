"""mode="exact" rounds once: ties, what decides them from afar, overflow, means. Against rational arithmetic."""

import math

import numpy as np
import pytest
import torch
from exact_cases import check, every_dtype, every_op, far_ties, of_bits, run

from torch_reduce.testing import FLOATING, assert_same_bits


@every_dtype
def test_ties(dtype, device):
    """Half-way cases of both parities, and those that a far-away tiny element decides."""
    eps = torch.finfo(dtype).eps
    tiny = of_bits(np.array([1]), dtype).item()
    rows, expected = [], []
    for base, below, above in ((1.0, 1.0, 1.0 + eps), (1.0 + eps, 1.0 + 2 * eps, 1.0 + 2 * eps)):
        for sign in (1.0, -1.0):
            for third, result in ((0.0, below), (tiny, above), (-tiny, base)):
                rows.append([sign * base, sign * eps / 2, sign * third])
                expected.append(sign * result)
    x, y = torch.tensor(rows, dtype=torch.float64).to(dtype), torch.tensor(expected, dtype=torch.float64).to(dtype)
    assert_same_bits(run(x, 1, device=device).cpu(), y)
    assert_same_bits(run(x.t().contiguous(), 0, device=device).cpu(), y)
    # The same with zeros between, so that the tiny element lies far off in memory too.
    wide = torch.zeros(len(rows), 30_000, dtype=dtype)
    wide[:, [0, 17_000, 29_999]] = x
    assert_same_bits(run(wide, 1, device=device).cpu(), y)


@every_dtype
def test_ties_are_decided_from_every_distance(dtype, device):
    x, expected = far_ties(dtype)
    assert_same_bits(run(x, 1, device=device).cpu(), expected)
    assert_same_bits(run(-x.t().contiguous(), 0, device=device).cpu(), -expected)
    # A mean of eight: the division drops three more bits, which may hold the one that decides.
    eight = torch.cat([x, torch.zeros(len(x), 5, dtype=dtype)], 1)
    assert_same_bits(run(eight, 1, op="mean", device=device).cpu(), expected / 8)
    # Longer rows and columns come to one integer of 128 bits where that holds them.
    long = torch.cat([x, torch.zeros(len(x), 997, dtype=dtype)], 1)
    assert_same_bits(run(long, 1, device=device).cpu(), expected)
    assert_same_bits(run(-long.t().contiguous(), 0, device=device).cpu(), -expected)


@every_dtype
@pytest.mark.parametrize("out", FLOATING, ids=str)
def test_ties_of_the_output_type(dtype, out, device):
    """One rounding, from the exact sum to the output's type: ties of that type, decided by one more element."""
    rows = []
    finfo = torch.finfo(out)
    for base in (1.0, 1.0 + finfo.eps, finfo.smallest_normal, finfo.smallest_normal * finfo.eps * 3):
        half = finfo.eps * 2.0 ** math.floor(math.log2(base)) / 2
        half = max(half, finfo.smallest_normal * finfo.eps / 2)
        for third in (0.0, 2.0**-20 * half, -(2.0**-20) * half):
            rows.append([base, half, third])
            rows.append([-base, -half, third])
    x = torch.tensor(rows, dtype=torch.float64).to(dtype)
    check(x, device, 1, (out,))


@every_dtype
def test_overflow_on_the_way(dtype, device):
    """Partial sums leave the type, both ways; the sum does not."""
    most = torch.finfo(dtype).max
    for pattern in ([most, most, -most], [-most, -most, most], [most, -most] * 3000, [most] * 999 + [-most] * 998):
        x = torch.tensor(pattern, dtype=dtype)
        check(x, device)
        check(x[:, None].expand(-1, 3).contiguous(), device, 0, (dtype,))


@every_dtype
def test_true_overflow(dtype, device):
    """At the half-way point above the largest number, and beyond."""
    finfo = torch.finfo(dtype)
    most = finfo.max
    ulp = math.ldexp(finfo.eps, math.frexp(most)[1] - 1)
    for third, expected in ((0.0, math.inf), (-(2.0**-24 if dtype == torch.float16 else 2.0**-126), most)):
        x = torch.tensor([[most, ulp / 2, third]], dtype=torch.float64).to(dtype)
        assert run(x, 1, device=device).item() == expected
        assert run(-x, 1, device=device).item() == -expected
    assert run(torch.tensor([most, most], dtype=dtype), device=device).item() == math.inf
    assert run(torch.tensor([most, most], dtype=dtype), op="mean", device=device).item() == most


@every_op
@every_dtype
def test_inf_and_nan(op, dtype, device):
    inf, nan = math.inf, math.nan
    most = torch.finfo(dtype).max
    rows = {
        (inf, 1.0, -5.0): inf,
        (-inf, most, most): -inf,
        (inf, -inf, 1.0): nan,
        (nan, inf, 1.0): nan,
        (nan, 1.0, 1.0): nan,
        (inf, inf, -most): inf,
        (-inf, -inf, -inf): -inf,
    }
    expected = torch.tensor(list(rows.values()), dtype=dtype)
    for n in (3, 40, 1000, 20_000):
        x = torch.ones(len(rows), n, dtype=dtype)
        x[:, [0, n // 2, n - 1]] = torch.tensor(list(rows), dtype=dtype)
        assert_same_bits(run(x, 1, op=op, device=device).cpu(), expected, str(n))
        assert_same_bits(run(x.t().contiguous(), 0, op=op, device=device).cpu(), expected, str(n))


@every_op
@every_dtype
def test_zeros_and_nothing(op, dtype, device):
    for n in (1, 5, 100, 5000):
        for x in (torch.full((3, n), -0.0, dtype=dtype), torch.tensor([-0.0, 0.0], dtype=dtype).repeat(3, n)):
            assert_same_bits(run(x, 1, op=op, device=device).cpu(), torch.zeros(3, dtype=dtype))
    empty = run(torch.empty(3, 0, dtype=dtype), 1, op=op, device=device).cpu()
    assert_same_bits(empty, torch.full((3,), math.nan if op == "mean" else 0.0, dtype=dtype))
    assert run(torch.empty(0, 4, dtype=dtype), 1, op=op, device=device).shape == (0,)


@pytest.mark.parametrize("n", [3, 7, 49, 641, 6700, 99_991])
def test_mean_is_rounded_once(n, device):
    """Quotients whose sum, rounded first, would round another way."""
    rng = np.random.default_rng(n)
    for dtype in FLOATING:
        x = torch.from_numpy(rng.standard_normal((6, n))).to(dtype)
        check(x, device, 1, FLOATING, ("mean",))
