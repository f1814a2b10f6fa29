"""The exact CUDA kernels of products on the CPU (emulated.py): families, layouts, ranges, special elements."""

import ctypes
import itertools
import math
from fractions import Fraction

import pytest
import torch
from emulated import FAMILIES, SHAPES, TYPES, aligned, data_of, needs_emulator
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import cases

from torch_reduce.exact_model import exact_dot_model, round_fraction
from torch_reduce.model import reduced_dims, result_shape
from torch_reduce.testing import FLOATING, assert_same_bits

pytestmark = needs_emulator

every_dtype = pytest.mark.parametrize("dtype", FLOATING, ids=str)


@pytest.fixture(scope="module")
def products(emulated_library):
    return emulated_library.emulate_products


def run(products, x, other, dim=None, *, dtype=None, sms=4, family="", vector=-1):
    """The result and the number of CTAs that shared an output; None where the family or the loads are not legal."""
    reduced = reduced_dims(x.ndim, dim)
    out = torch.full(result_shape(x.shape, dim), 77, dtype=dtype or x.dtype)
    kept = iter(out.stride())
    strides = [0 if d in reduced else next(kept) for d in range(x.ndim)]
    longs = lambda values: (ctypes.c_int64 * max(1, len(values)))(*values)  # noqa: E731
    units = ctypes.c_int64()
    status = products(
        TYPES[x.dtype],
        TYPES[out.dtype],
        x.ndim,
        longs(list(x.shape)),
        longs(list(x.stride())),
        longs(list((x if other is None else other).stride())),
        (ctypes.c_ubyte * max(1, x.ndim))(*(d in reduced for d in range(x.ndim))),
        longs(strides),
        ctypes.c_void_p(x.data_ptr()),
        None if other is None else ctypes.c_void_p(other.data_ptr()),
        ctypes.c_void_p(out.data_ptr()),
        sms,
        FAMILIES[family],
        vector,
        ctypes.byref(units),
    )
    if status == -1:
        return None, 0
    assert status == 0, f"status {status}"
    return out, units.value


def check(products, x, other, dim=None, out_types=None, sms=(4, 200)):
    """Of the two and of squares, by every family, kind of loads and size of GPU that is legal."""
    x, other = aligned(x), aligned(other)
    for second in (other, None):
        for dtype in out_types or (x.dtype, torch.float64):
            expected = exact_dot_model(x, x if second is None else second, dim, dtype=dtype)
            legal = 0
            for family, vector, count in ((f, v, s) for f in FAMILIES for v in (0, 1) for s in sms):
                actual, _ = run(products, x, second, dim, dtype=dtype, sms=count, family=family, vector=vector)
                if actual is not None:
                    legal += 1
                    what = f"{dtype}, {family or 'free'}, vector {vector}, {count} SMs, {second is None}"
                    assert_same_bits(actual, expected, what)
            assert legal


def pair_of(kind, n, dtype):
    """The second one is the first one's end and beginning, so that extremes meet others."""
    x = data_of(kind, n, dtype)
    return x, x.roll(n // 3 + 1)


KINDS = ["normal", "gradient", "wide", "bits", "special"]


@every_dtype
@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_every_family(products, number, dtype):
    """A kind of data for each shape and type: kinds and shapes meet by turns."""
    (shape, dim), kind = SHAPES[number], KINDS[(number + FLOATING.index(dtype)) % len(KINDS)]
    x, other = pair_of(kind, math.prod(shape), dtype)
    check(products, x.view(shape), other.view(shape), dim, out_types=(dtype,), sms=(4,))


@every_dtype
def test_rows_are_shared(products, dtype):
    """By several CTAs, of rows and of columns, through scratch."""
    for shape, dim in (((2, 60_000), 1), ((40_000, 8), 0)):
        x, other = (aligned(t.view(shape)) for t in pair_of("wide", math.prod(shape), dtype))
        actual, units = run(products, x, other, dim, sms=8)
        assert units > 1
        assert_same_bits(actual, exact_dot_model(x, other, dim))


@pytest.mark.parametrize("dtype", FLOATING[:3], ids=str)  # fp64 is read by elements
def test_rows_begin_anywhere(products, dtype):
    """By 16-byte loads where both tensors' rows begin alike, by elements where not; beside them lie NaNs."""
    rows, n, of_16_bytes = 5, 1001, 16 // dtype.itemsize

    def placed(x, pitch, skip):
        storage = torch.full((rows * pitch + 32,), math.nan, dtype=dtype)
        start = -storage.data_ptr() % 16 // dtype.itemsize + skip
        view = storage.as_strided(x.shape, (pitch, 1), start)
        return view.copy_(x)

    x, other = (t.view(rows, n) for t in pair_of("gradient", rows * n, dtype))
    expected, squares = exact_dot_model(x, other, 1), exact_dot_model(x, x, 1)
    for skip in range(of_16_bytes):
        a = placed(x, n + 3, skip)
        assert_same_bits(run(products, a, None, 1, vector=1)[0], squares, f"squares from {skip}")
        for pitch in (n + 3, n + 3 + of_16_bytes, n + 4):
            for vector in (0, 1):
                actual, _ = run(products, a, placed(other, pitch, skip), 1, family="rows", vector=vector)
                if skip == 0 and pitch != n + 4:
                    assert actual is not None
                if actual is not None:
                    assert_same_bits(actual, expected, f"{skip} {pitch} vector {vector}")


def test_fp64_outputs_of_a_few_products(products):
    """A lane has each, where a GPU of so many SMs has no warp for all; else four have a warp."""
    for shape, dim in (((700, 9), 1), ((32, 300), 0), ((1, 500), 0)):
        for kind in ("bits", "wide", "special", "normal"):
            x, other = (aligned(t.view(shape)) for t in pair_of(kind, math.prod(shape), torch.float64))
            for dtype in (torch.float64, torch.float16):
                expected = exact_dot_model(x, other, dim, dtype=dtype)
                for sms in (1, 200):
                    actual, _ = run(products, x, other, dim, dtype=dtype, sms=sms)
                    assert_same_bits(actual, expected, f"{shape} {kind} {sms}")


@pytest.mark.parametrize("kind", KINDS)
def test_fp64_windows(products, kind):
    """Outputs of a warp and of one CTA or several, one by one and side by side."""
    for shape, dim in (((71, 3000), 1), ((3000, 71), 0), ((2, 9000), 1)):
        x, other = (aligned(t.view(shape)) for t in pair_of(kind, math.prod(shape), torch.float64))
        expected = exact_dot_model(x, other, dim)
        for sms in (1, 4, 200):
            actual, _ = run(products, x, other, dim, sms=sms)
            assert_same_bits(actual, expected, f"{shape} {sms}")


def test_fp64_around_the_usual_exponents(products):
    """Products near the bounds between which they are two doubles, and as far below others as slices reach."""
    one = torch.tensor([1.0, 1 + 2.0**-52, 2 - 2.0**-52], dtype=torch.float64)
    shapes = (((180,), None), ((90, 2), 1), ((2, 90), 0))
    bounds = (-990, -975, -961, -960, 988, 990, 1020, 1022, -925, -924, -923)
    for number, (exponent, below) in enumerate(itertools.product(bounds, (0, 45, 46, 90, 140))):
        of_first = exponent // (1 + number % 3)
        x = (one * 2.0**of_first).repeat(60)
        other = torch.full_like(x, 2.0 ** (exponent - of_first)) * one[2]
        (x if of_first > exponent / 2 else other)[1::3] *= 2.0**-below  # the larger factor, which stays normal
        for shape, dim in shapes:
            a, b = (aligned(t.view(shape)) for t in (x, other))
            actual, _ = run(products, a, b, dim, sms=(1, 200)[number % 2])
            assert_same_bits(actual, exact_dot_model(a, b, dim), f"{exponent} {below} {shape}")


def test_fp64_ties_are_decided_from_every_distance(products):
    """By a lane, a warp and a CTA: what decides lies in the same window's slices, or beyond them."""
    ties = [
        (first, sign * 2.0**-below) for first in (1.0, 1 + 2.0**-52) for sign in (1, -1) for below in range(54, 200)
    ]
    rows = torch.tensor([(s * a, s * 2.0**-53, s * b) for a, b in ties for s in (1, -1)], dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    for elements in (3, 40, 1100):
        x = torch.zeros(len(rows) if elements == 3 else 24, elements, dtype=torch.float64)
        x[:, :3] = rows if elements == 3 else rows[torch.randperm(len(rows), generator=generator)[:24]]
        x, ones = aligned(x), aligned(torch.ones_like(x))
        for sms in (1, 200):
            actual, _ = run(products, x, ones, 1, sms=sms)
            assert_same_bits(actual, exact_dot_model(x, ones, 1), f"{elements} {sms}")


def test_fp64_ties_are_decided_by_the_third_slice(products):
    """By the last bits of a product that has 105 of them, when its first 53 have left a tie. Near the smallest numbers
    no double has these bits."""
    tiny = 2.0**-52
    x = torch.tensor([[1 + tiny, -tiny, tiny / 2], [1 + tiny, -tiny, tiny / 2]], dtype=torch.float64)
    other = torch.tensor([[1 + tiny, 2, 1], [-1 - tiny, -2, -1]], dtype=torch.float64)
    expected = torch.tensor([1 + tiny, -1 - tiny], dtype=torch.float64)
    for rows, elements, exponent in itertools.product((2, 100), (3, 200, 1100), (0, -495)):
        a, b = (torch.zeros(2, elements, dtype=torch.float64) for _ in range(2))
        a[:, :3], b[:, :3] = x * 2.0**exponent, other * 2.0**exponent
        a, b = (aligned(t.repeat(rows // 2, 1)) for t in (a, b))
        actual, _ = run(products, a, b, 1, sms=1)
        assert_same_bits(actual, (expected * 2.0 ** (2 * exponent)).repeat(rows // 2), f"{elements} {exponent}")


def test_fp64_products_far_apart_cancel(products):
    """Each needs a window of its own, and the smallest one is all that is left."""
    pairs = [m * 2.0**e for m, e in ((1.1, 800), (1.3, 600), (1.7, 300), (1.9, 0), (1.2, -300), (1.6, -500))]
    x = torch.tensor([s * p for p in pairs for s in (1, -1)] + [1.23456789 * 2.0**-700], dtype=torch.float64)
    for (rows, elements), factor in itertools.product(((100, 13), (2, 200), (2, 1100), (2, 9000)), (1, 1 + 2.0**-52)):
        a = torch.zeros(rows, elements, dtype=torch.float64)
        a[:, : len(x)] = x
        ones = torch.ones_like(a) * factor
        for own, other, dim in ((a, ones, 1), (a.t().contiguous(), ones.t().contiguous(), 0)):
            own, other = aligned(own), aligned(other)
            actual, _ = run(products, own, other, dim, sms=1)
            assert_same_bits(actual, exact_dot_model(own, other, dim), f"{elements} {dim}")


def test_fp64_slices_are_closed_in_time(products):
    """More products of a lane than its slices' 63 bits hold, at the very top of a window that the first tile set."""
    most = 16 * (2 - 2.0**-52)  # 2^50 units of the first slice, of which 2^13 are too many
    x = torch.full((4_300_000,), most, dtype=torch.float64)
    x[:2048] = most / 16
    ones = aligned(torch.ones_like(x))
    actual, units = run(products, aligned(x), ones, sms=0)
    assert units == 2
    assert x.numel() / units / 256 > 2**13
    total = Fraction(most) * (x.numel() - 2048) + Fraction(most / 16) * 2048
    assert_same_bits(actual, round_fraction(total, torch.float64))


@every_dtype
def test_zeros_and_nothing(products, dtype):
    for shape, dim in (((5, 0), 1), ((0, 5), 0), ((0,), None)):
        x = torch.empty(shape, dtype=dtype)
        assert_same_bits(run(products, x, x, dim)[0], exact_dot_model(x, x, dim))
    for shape, dim in SHAPES[3:9:2]:
        x = torch.full(shape, -0.0, dtype=dtype)
        check(products, x, torch.ones_like(x), dim, out_types=(dtype,), sms=(4,))
    x = torch.zeros(3000, dtype=dtype)  # 0 * inf
    assert run(products, aligned(x), aligned(x + math.inf))[0].isnan()


@every_dtype
def test_ends_of_the_range(products, dtype):
    """The largest and the smallest numbers: whose products cancel, round, underflow and overflow the result alone."""
    finfo = torch.finfo(dtype)
    big, tiny = finfo.max, finfo.smallest_normal * finfo.eps
    x = torch.tensor([big, big, tiny, -tiny, 1.0, big, tiny] * 700, dtype=dtype)
    other = torch.tensor([big, -big, tiny, big, tiny, tiny, -tiny] * 700, dtype=dtype)
    for shape, dim in (((4900,), None), ((49, 100), 1), ((100, 49), 0), ((7, 700), 0)):
        check(products, x.view(shape), other.view(shape), dim)


@settings(max_examples=30)
@given(data=st.data())
def test_any_layout(products, data):
    x, dim, _ = data.draw(cases("sum", FLOATING))
    x = x if x.numel() < 6000 else x[..., : max(1, 6000 * x.shape[-1] // x.numel())]
    transposed = x.mT.contiguous().mT if x.ndim > 1 else x
    others = [x, x.contiguous(), transposed, x[:1].expand_as(x) if x.ndim else x]
    other = data.draw(st.sampled_from(others))
    x, other = (aligned(t) if t.numel() else t for t in (x, other))
    actual, _ = run(products, x, other, dim)
    assert_same_bits(actual, exact_dot_model(x, other, dim), f"{x.shape} {x.stride()} {other.stride()} {dim}")
