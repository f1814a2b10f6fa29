"""The exact CUDA kernels, run on the CPU by tests/emulator: their arithmetic and cooperation, where there is no GPU.

Only what needs real concurrency, or the hardware's own instructions, is left to the GPU.
"""

import ctypes
import math
import os
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from exact_cases import far_ties, finite_bits, of_bits
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import cases

from torch_reduce.exact_model import exact_model, exact_sum, round_fraction, words_of, words_of_value
from torch_reduce.model import reduced_dims, result_shape
from torch_reduce.testing import FLOATING, assert_same_bits

HERE = Path(__file__).parent
CORE = HERE.parent / "csrc" / "core"
SOURCES = [HERE / "emulator" / "exact.cpp", *sorted(CORE.glob("*.cpp")), CORE / "exact" / "plan.cpp"]
TYPES = {torch.float16: 9, torch.bfloat16: 10, torch.float32: 11, torch.float64: 12, torch.int64: 5}
FAMILIES = {"": -1, "rows": 1, "short_rows": 2, "columns": 3}

every_dtype = pytest.mark.parametrize("dtype", FLOATING, ids=str)
compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
pytestmark = [
    pytest.mark.skipif(compiler is None, reason="needs a C++ compiler"),
    pytest.mark.skipif(not CORE.is_dir(), reason="needs the sources"),
]


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    library = tmp_path_factory.mktemp("emulator") / "exact.so"
    flags = ["-std=c++20", "-O1", "-ffp-contract=off", "-fPIC", "-shared", "-Wno-unknown-pragmas", f"-I{HERE}/emulator"]
    done = subprocess.run([compiler, *flags, *map(str, SOURCES), "-o", str(library)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return ctypes.CDLL(str(library))


@pytest.fixture(scope="session")
def emulator(library):
    return library.emulate


def run(emulator, x, dim=None, *, op="sum", dtype=None, words=False, sms=4, family="", vector=-1):
    """The result and the number of CTAs that shared an output; None where the family or the loads are not legal."""
    dtype = torch.int64 if words else dtype or x.dtype
    reduced = reduced_dims(x.ndim, dim)
    shape = result_shape(x.shape, dim) + ((words_of(x.dtype),) if words else ())
    out = torch.full(shape, 77, dtype=dtype)
    kept = iter(out.stride())
    strides = [0 if d in reduced else next(kept) for d in range(x.ndim)]
    longs = lambda values: (ctypes.c_int64 * max(1, len(values)))(*values)  # noqa: E731
    units = ctypes.c_int64()
    status = emulator(
        TYPES[x.dtype],
        TYPES[torch.float64 if words else dtype],
        op == "mean",
        words,
        x.ndim,
        longs(list(x.shape)),
        longs(list(x.stride())),
        (ctypes.c_ubyte * max(1, x.ndim))(*(d in reduced for d in range(x.ndim))),
        longs(strides),
        ctypes.c_void_p(x.data_ptr()),
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


def aligned(x):
    """``x`` at a multiple of 16 bytes, with its strides."""
    storage = torch.empty(x.untyped_storage().nbytes() // x.element_size() + 16, dtype=x.dtype)
    skip = -storage.data_ptr() % 16 // x.element_size()
    copy = torch.empty(0, dtype=x.dtype).set_(storage.untyped_storage(), skip, (storage.numel() - 16,), (1,))
    copy.copy_(torch.empty(0, dtype=x.dtype).set_(x.untyped_storage())[: len(copy)])
    return storage.as_strided(x.shape, x.stride(), skip + x.storage_offset())


def check(emulator, x, dim=None, ops=("sum", "mean"), out_types=None, sms=(4, 200), vectors=(0, 1)):
    """Every family, kind of loads and size of GPU that is legal."""
    x = aligned(x)
    legal = 0
    for op in ops:
        for dtype in out_types or (x.dtype, torch.float64):
            expected = exact_model(x, dim, op=op, dtype=dtype)
            for family in FAMILIES:
                for vector in vectors:
                    for count in sms:
                        actual, _ = run(emulator, x, dim, op=op, dtype=dtype, sms=count, family=family, vector=vector)
                        if actual is not None:
                            legal += 1
                            what = f"{op} to {dtype}, {family or 'free'}, vector {vector}, {count} SMs"
                            assert_same_bits(actual, expected, what)
    assert legal


SHAPES = [
    ((40_000,), None),
    ((3, 5000), 1),
    ((40, 1000), 1),
    ((100, 24), 1),
    ((60, 99), 1),
    ((9, 255), 1),
    ((1000, 40), 0),
    ((6, 300), 0),
    ((2500, 7), 0),
    ((3, 200, 16), (0, 2)),
    ((4, 60, 24), 1),
    ((1, 1), 0),
]


def data_of(kind, n, dtype):
    rng = np.random.default_rng(len(kind) + n)
    if kind == "bits":
        return finite_bits(n, dtype, n)
    if kind == "special":
        x = finite_bits(n, dtype, n)
        x[rng.integers(0, n, 1 + n // 400)] = torch.tensor(math.inf, dtype=dtype)
        return x
    scale = {"normal": 0, "gradient": 3, "wide": 20}[kind]
    values = rng.standard_normal(n) * np.exp(scale * rng.standard_normal(n))
    most = torch.finfo(dtype).max
    return torch.from_numpy(np.clip(values, -most, most)).to(dtype)


@every_dtype
@pytest.mark.parametrize("kind", ["normal", "gradient", "wide", "bits", "special"])
@pytest.mark.parametrize("shape, dim", SHAPES, ids=str)
def test_every_family(emulator, shape, dim, kind, dtype):
    x = data_of(kind, math.prod(shape), dtype).view(shape)
    check(emulator, x, dim, ("mean",) if kind == "normal" else ("sum",))


@every_dtype
def test_rows_are_shared(emulator, dtype):
    """By several CTAs, of rows and of columns, through scratch."""
    for shape, dim in (((2, 60_000), 1), ((40_000, 8), 0)):
        x = aligned(data_of("wide", math.prod(shape), dtype).view(shape))
        actual, units = run(emulator, x, dim)
        assert units > 1
        assert_same_bits(actual, exact_model(x, dim))


@every_dtype
@pytest.mark.parametrize("shape", [(5, 1001), (3, 4099), (1, 70_001), (150, 43)], ids=str)
def test_rows_begin_anywhere(emulator, shape, dtype):
    """By 16-byte loads from every place of a vector on, and by loads of elements; beside them lie NaNs."""
    rows, n = shape
    pitch = n + 16 // dtype.itemsize + 1
    storage = torch.full((rows * pitch + 16,), math.nan, dtype=dtype)
    aligned_at = -storage.data_ptr() % 16 // dtype.itemsize
    for skip in range(1, 16 // dtype.itemsize + 1):
        x = storage.as_strided(shape, (pitch, 1), aligned_at + skip)
        x.copy_(data_of("gradient", rows * n, dtype).view(shape))
        expected = exact_model(x, 1)
        for vector in (0, 1):
            actual, _ = run(emulator, x, 1, family="rows", vector=vector, sms=1 + skip % 2)
            assert actual is not None
            assert_same_bits(actual, expected, f"{skip} elements after 16 bytes, vector {vector}")
        x.fill_(math.nan)


@every_dtype
@pytest.mark.parametrize("kind", ["normal", "wide", "special"])
def test_a_warp_has_several_rows(emulator, kind, dtype):
    x = aligned(data_of(kind, 700 * 96, dtype).view(700, 96))
    actual, _ = run(emulator, x, 1, sms=1, family="rows")
    assert_same_bits(actual, exact_model(x, 1))


@every_dtype
@pytest.mark.parametrize("shape, dim", [((50_000,), None), ((30, 700), 1), ((3000, 20), 0), ((50, 16), 1)], ids=str)
def test_words(emulator, shape, dim, dtype):
    x = data_of("bits", math.prod(shape), dtype).view(shape)
    x.view(-1)[:3] = torch.tensor([math.nan, math.inf, -math.inf], dtype=dtype)
    x = aligned(x)
    actual, _ = run(emulator, x, dim, words=True)
    elements = x if dim == 1 or dim is None else x.t()
    for words, row in zip(
        actual.view(-1, actual.shape[-1]).tolist(), elements.reshape(-1, elements.shape[-1]), strict=True
    ):
        row = row.double().numpy()
        counts = [int((row == math.inf).sum()), int((row == -math.inf).sum()), int(np.isnan(row).sum())]
        assert words == words_of_value(exact_sum(row[np.isfinite(row)]), words_of(dtype)) + counts


@every_dtype
def test_largest_fractions(emulator, dtype):
    """All bits set and one sign, at the top of every window: what overflows first; more than one flush takes."""
    finfo = torch.finfo(dtype)
    high = math.frexp(finfo.max)[1]
    exponents = [math.frexp(finfo.smallest_normal)[1], 0, high - 1] + ([high - 9, high - 60] if high > 1000 else [])
    for e in exponents:
        for n, sms in ((4097, 4), (150_000, 1)):
            x = aligned(torch.full((n,), -math.ldexp(2 - finfo.eps, e), dtype=dtype))
            one = Fraction(x[0].double().item())
            actual, _ = run(emulator, x, sms=sms, dtype=torch.float64)
            assert_same_bits(actual, round_fraction(one * n, torch.float64), f"{e} {n}")
        for shape in ((20_000, 8), (5000, 132)):
            x = aligned(torch.full(shape, math.ldexp(2 - finfo.eps, e), dtype=dtype))
            expected = round_fraction(-one * shape[0], torch.float64).expand(shape[1])
            for sms in (1,):
                actual, _ = run(emulator, x, 0, sms=sms, dtype=torch.float64)
                assert_same_bits(actual, expected, f"{e} {shape}")


@every_dtype
@pytest.mark.parametrize("octaves", [3, 14, 20, 23, 27, 38, 46, 50, 70, 74, 98, 130])
def test_ranges_around_the_windows(emulator, octaves, dtype):
    """Full fractions at the top and so far below, mixed, in blocks, rising: windows kept, raised, lowered."""
    finfo = torch.finfo(dtype)
    if octaves > math.frexp(finfo.max)[1] - 2:
        pytest.skip("the type has fewer octaves")
    rng = np.random.default_rng(octaves)
    n = 9600
    for exponents in (
        rng.choice([0, -octaves], n),
        np.where(np.arange(n) % 4800 < 2400, 0, -octaves),
        -octaves + np.arange(n) * octaves // n,
    ):
        x = torch.from_numpy(np.ldexp(2 - finfo.eps, exponents) * rng.choice([-1.0, 1.0, 1.0], n)).to(dtype)
        for y, dim in ((x, None), (x.view(-1, 24), 0), (x.view(-1, 24), 1), (x.view(20, -1), 1), (x.view(20, -1), 0)):
            check(emulator, y, dim, ("sum",), (torch.float64,), (1,) if dim is None else (4,), (1,))


@pytest.mark.parametrize("loads, exponent", [(1, 49), (4, 46)], ids=["short rows", "rows of one tile"])
@pytest.mark.parametrize("subnormal", [False, True])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_rows_fill_a_double(emulator, loads, exponent, subnormal, dtype):
    """An odd number whose 1 a double loses beside the sum of half of the lanes, were the others in its window."""
    finfo = torch.finfo(dtype)
    of_lanes = 16 * 16 // dtype.itemsize  # one load of half of a warp
    row = torch.tensor([1.0, -1.0]).repeat_interleave(of_lanes).repeat(loads) * 2.0**exponent
    row[0], row[-1] = 1 / finfo.eps + 1, 0
    row *= finfo.smallest_normal * finfo.eps if subnormal else 1
    check(emulator, row.to(dtype).repeat(3, 1), 1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_slices_are_closed_in_time(emulator, dtype):
    """More elements of a warp than its slices' 63 bits hold, at the very top of a window that its first tile set."""

    def rising(shape):
        x = torch.full(shape, 15 * (2 - torch.finfo(dtype).eps), dtype=dtype)
        x[:4096] = 2 - torch.finfo(dtype).eps
        return aligned(x)

    row = rising((2_300_000,))
    actual, units = run(emulator, row, sms=0, dtype=torch.float64, family="rows")
    assert units == 1
    assert_same_bits(actual, round_fraction(exact_sum(row.double().numpy()), torch.float64))

    columns = rising((1_300_000, 4))
    actual, units = run(emulator, columns, 0, sms=1, dtype=torch.float64, family="columns")
    assert units <= 2
    column = round_fraction(exact_sum(columns[:, 0].double().numpy()), torch.float64)
    assert_same_bits(actual, column.expand(4))


def test_elements_of_eight_loads_fill_doubles(emulator):
    """At the very top of a window that a warp's first tile set, in the rows that are long enough for eight loads."""
    x = torch.full((1 << 17,), 15 * (2 - 2**-23))
    x[: 1 << 15] = 2 - 2**-23
    actual, _ = run(emulator, aligned(x), sms=1, dtype=torch.float64, family="rows")
    assert_same_bits(actual, round_fraction(exact_sum(x.double().numpy()), torch.float64))


def sums_of_columns(emulator, rows, columns, sms, vector=-1):
    """Of equal columns; and the number of CTAs that share them."""
    x = aligned(rows.unsqueeze(1).repeat(1, columns))
    actual, units = run(emulator, x, 0, sms=sms, dtype=torch.float64, family="columns", vector=vector)
    assert_same_bits(actual, round_fraction(exact_sum(rows.double().numpy()), torch.float64).expand(columns))
    return units


def test_warps_of_a_column_fill_64_bits(emulator):
    """Sums in units of a window that only a few of the rows needed: all together they take more than 63 bits."""
    r = torch.arange(256)
    rows = (2 - 2**-23) * torch.where(r % 32 < 4, 2.0**-13, 1.0)
    assert sums_of_columns(emulator, rows, 32, sms=0) == 1


@pytest.mark.parametrize("up, down", [(0, 0), (14, 13), (15, 12), (16, 12), (16, 13), (40, 13), (16, 40)])
@pytest.mark.parametrize("dtype, columns", [(torch.bfloat16, 3), (torch.float32, 8)], ids=str)
def test_windows_of_shared_columns_lie_apart(emulator, up, down, dtype, columns):
    """The windows of one CTA `up` octaves apart, and those of the others `down` octaves below its lowest."""
    r = torch.arange(5120)
    scales = torch.where(r < 1024, torch.where(r % 128 < 16, 2.0**up, 1.0), 2.0**-down)
    assert sums_of_columns(emulator, ((2 - torch.finfo(dtype).eps) * scales).to(dtype), columns, sms=4) > 1


def test_many_ctas_share_columns(emulator):
    """More than a column has threads in the second kernel. Their sums are negative, so that all bits are set."""
    rows = torch.full((260 * 512,), -1.5, dtype=torch.float64)
    assert sums_of_columns(emulator, rows, 4, sms=130, vector=0) == 260


@every_dtype
def test_ties_are_decided_from_every_distance(emulator, dtype):
    x, expected = far_ties(dtype)
    long = torch.cat([x, torch.zeros(len(x), 997, dtype=dtype)], 1)
    if dtype == torch.float64:  # four thousand of them
        long, few = long[::16], expected[::16]
    else:
        few = expected
    for y, sums in ((x, expected), (long, few)):
        for z, dim, sign in ((y, 1, 1), (-y.t().contiguous(), 0, -1)):
            actual, _ = run(emulator, aligned(z), dim)
            assert_same_bits(actual, sign * sums)
    eight = torch.cat([x, torch.zeros(len(x), 5, dtype=dtype)], 1)
    actual, _ = run(emulator, aligned(eight), 1, op="mean")
    assert_same_bits(actual, expected / 8)


@every_dtype
def test_ties(emulator, dtype):
    """Of both parities, alone and decided by an element far below, in short and long rows, in columns, and of means."""
    eps, tiny = torch.finfo(dtype).eps, of_bits(np.array([1]), dtype).item()
    rows = []
    for base in (1.0, 1.0 + eps, 2.0 - eps):
        for third in (0.0, tiny, -tiny, 2.0**-9 * eps):
            rows += [[base, eps / 2, third], [-base, -eps / 2, third]]
    x = torch.tensor(rows, dtype=torch.float64).to(dtype)
    wide = torch.zeros(len(rows), 3000, dtype=dtype)
    wide[:, [0, 1500, 2999]] = x
    for y, dim in ((x, 1), (x.t().contiguous(), 0), (wide, 1), (wide.t().contiguous(), 0)):
        for op in ("sum", "mean"):
            for out in FLOATING:
                actual, _ = run(emulator, aligned(y), dim, op=op, dtype=out)
                assert_same_bits(actual, exact_model(y, dim, op=op, dtype=out), f"{op} to {out}, {tuple(y.shape)}")


@every_dtype
def test_zeros_and_nothing(emulator, dtype):
    for shape, dim in (((5, 0), 1), ((0, 5), 0), ((0,), None)):
        x = torch.empty(shape, dtype=dtype)
        for op in ("sum", "mean"):
            actual, _ = run(emulator, x, dim, op=op)
            assert_same_bits(actual, exact_model(x, dim, op=op))
    for shape, dim in SHAPES:
        check(emulator, torch.full(shape, -0.0, dtype=dtype), dim, sms=(4,))


@every_dtype
def test_short_columns_of_infinities(emulator, dtype):
    """Elements of one magnitude are multiples of a unit, infinite ones too; but their means are not quotients."""
    check(emulator, torch.full((3, 512), math.inf, dtype=dtype), 0, sms=(4,))


@every_dtype
def test_tiny_elements(emulator, dtype):
    """Subnormals alone, and with one number far above."""
    patterns = np.random.default_rng(3).integers(1, 4, 6000)
    x = of_bits(patterns, dtype)
    for big in (0.0, 1.0, torch.finfo(dtype).max):
        y = x.clone()
        y[1234] = big
        for z, dim in ((y, None), (y.view(-1, 24), 0), (y.view(-1, 24), 1)):
            check(emulator, z, dim, ("sum",), sms=(4,))


@settings(max_examples=40)
@given(data=st.data())
def test_any_layout(emulator, data):
    x, dim, _ = data.draw(cases("sum", FLOATING))
    x = x if x.numel() < 6000 else x[..., : max(1, 6000 * x.shape[-1] // x.numel())]
    expected = exact_model(x, dim)
    actual, _ = run(emulator, aligned(x) if x.numel() else x, dim)
    assert_same_bits(actual, expected, f"{x.shape} {x.stride()} {dim}")


def check_result(library, value, exponent, divisor):
    """A sum, value * 2^exponent, divided by the divisor and rounded, for every type of elements and of results."""
    expected = {dtype: round_fraction(Fraction(value) * Fraction(2) ** exponent / divisor, dtype) for dtype in FLOATING}
    high, low = value >> 64, value & (2**64 - 1)
    for of_elements in FLOATING:
        for dtype in FLOATING:
            out = torch.full((), 77, dtype=dtype)
            library.emulate_result(
                TYPES[of_elements],
                TYPES[dtype],
                ctypes.c_int64(divisor),
                ctypes.c_int64(high),
                ctypes.c_uint64(low),
                exponent,
                ctypes.c_void_p(out.data_ptr()),
            )
            what = f"{value} * 2^{exponent} / {divisor}, {of_elements} to {dtype}"
            assert_same_bits(out, expected[dtype], what)


@given(
    bits=st.integers(0, 126),
    value=st.integers(0, 2**126 - 1),
    negative=st.booleans(),
    exponent=st.integers(-149, 127),
    divisor=st.integers(0, 62).flatmap(lambda bits: st.integers(2**bits, 2 ** (bits + 1) - 1)),
)
@settings(max_examples=300, deadline=None)
def test_any_quotient_is_rounded_once(library, bits, value, negative, exponent, divisor):
    value >>= bits
    check_result(library, -value if negative else value, exponent, divisor)


@pytest.mark.parametrize("bits", [1, 2, 20, 26, 27, 28, 29, 31, 32, 33, 40, 62])
def test_quotients_that_are_ties_or_nearly(library, bits):
    """The sum is a tie times an odd divisor, or one unit beside it, many bits below."""
    rng = np.random.default_rng(bits)
    for precision in (8, 11, 24, 53):
        for divisor in (2**bits - 1, 2**bits + 1, int(rng.integers(2 ** (bits - 1), 2**bits)) | 1):
            tie = int(rng.integers(2 ** (precision - 1), 2**precision)) * 2 + 1
            room = 126 - (tie * divisor).bit_length()
            for below in {0, 1, room // 2, room} if room >= 0 else ():
                for beside in (-1, 0, 1):
                    check_result(library, (tie * divisor << below) + beside, -below - 30, divisor)
                    check_result(library, -(tie * divisor << below) - beside, -below - 30, divisor)
