"""Scans: every prefix has the bits of the reduction of its own elements, whatever the layout, the rows beside it, the
threads and the instruction set."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import like, permuted_slices, strided

import torch_reduce
from torch_reduce import scans
from torch_reduce._schemas import SCANS
from torch_reduce.scan_model import SCANNED, extremes_model, scan_model
from torch_reduce.testing import (
    DTYPES,
    FLOATING,
    INTEGERS,
    assert_same_bits,
    fill,
    num_threads,
    output_dtype,
    scan_function,
    splitmix,
)

every_scan = pytest.mark.parametrize("scan", sorted(SCANS))
LENGTHS = [1, 2, 15, 16, 17, 255, 256, 257, 1023, 1024, 1025, 2047, 2048, 2049, 5000]
OUT_TYPES = {scan: DTYPES if operator.takes_dtype else (None,) for scan, operator in SCANS.items()}


def test_the_model_has_all():
    assert sorted(SCANNED) == sorted(SCANS) == scans.__all__


def results(result):
    return result if isinstance(result, tuple) else (result,)


def check(x, dim, scan, dtype=None, what=""):
    """By the model, and one of the prefixes, drawn by the values, by the reduction."""
    options = {} if dtype is None else {"dtype": dtype}
    actual = getattr(torch_reduce, scan)(x, dim, **options)
    what = f"{scan} {tuple(x.shape)}/{dim} {x.dtype} {dtype} {what}"
    if SCANS[scan].gives_pair:
        actual, indices = actual
        assert indices.is_contiguous()
        assert_same_bits(indices, extremes_model(x, dim, scan=scan)[1], f"{what}, indices")
    assert actual.is_contiguous()
    assert_same_bits(actual, scan_model(x, dim, scan=scan, dtype=dtype), what)
    if x.numel() and x.ndim:
        i = (x.shape[dim] * 7919 + x.numel()) % x.shape[dim]
        reduced = getattr(torch_reduce, SCANNED[scan])(x.narrow(dim, 0, i + 1), dim, **options)
        assert_same_bits(actual.select(dim, i), reduced, f"{what}, prefix {i}")
    return actual


@every_scan
@given(data=st.data())
def test_layouts(device, scan, data):
    """Any dtype, strides, alignment and dim; 0-d and empty tensors too."""
    dtype = data.draw(st.sampled_from(DTYPES))
    x = data.draw(st.one_of(permuted_slices(dtype, SCANNED[scan]), strided(dtype, SCANNED[scan])))
    dim = data.draw(st.integers(-max(1, x.ndim), max(1, x.ndim) - 1))
    out = data.draw(st.sampled_from(OUT_TYPES[scan])) if data.draw(st.booleans()) else None
    if out is not None and not out.is_floating_point and output_dtype(SCANNED[scan], dtype).is_floating_point:
        x = torch.where(x.isnan(), 0, x) if dtype.is_floating_point else x
    check(like(x, device), dim, scan, out)


@every_scan
@pytest.mark.parametrize("dtype", FLOATING, ids=str)
def test_lengths(device, scan, dtype):
    for n in LENGTHS:
        x = fill((3, n), dtype, op=SCANNED[scan], start=n).to(device)
        rows = check(x, 1, scan)
        columns = scan_function(scan)(x.t().contiguous(), 0)
        assert_same_bits(columns.t().contiguous(), rows, f"{n}, across")
        assert_same_bits(scan_function(scan)(x[1], 0), rows[1], f"{n}, alone")


@every_scan
def test_long(device, scan):
    for dtype, n in ((torch.float32, 100_003), (torch.bfloat16, 40_000), (torch.int32, 70_001)):
        check(fill((n,), dtype, op=SCANNED[scan]).to(device), 0, scan)
        check(fill((n, 3), dtype, op=SCANNED[scan]).to(device), 0, scan)


@every_scan
def test_capabilities(capability, scan):
    for dtype in (torch.float32, torch.float64, torch.float16, torch.int64):
        for shape, dim in (((2, 3001), 1), ((3001, 19), 0), ((400, 9), 1), ((5, 257), 0)):
            check(fill(shape, dtype, op=SCANNED[scan]), dim, scan, what=capability)


@every_scan
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads(scan, threads):
    with num_threads(threads):
        for shape, dim in (((200_000,), 0), ((2, 90_001), 1), ((90_000, 2), 0), ((300, 400), 1)):
            check(fill(shape, torch.float32, op=SCANNED[scan]), dim, scan, what=f"{threads} threads")


SPECIAL = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-42, -1e-42, 3e38, -3e38, 1e-30]


@every_scan
@given(data=st.data())
def test_special_values(device, scan, data):
    """Among others and alone: what comes behind one is that reduction's too."""
    dtype = data.draw(st.sampled_from(FLOATING))
    n = data.draw(st.sampled_from([3, 40, 300, 1030, 2100]))
    x = fill((n, 2), dtype, op=SCANNED[scan], start=n)
    for _ in range(data.draw(st.integers(1, 6))):
        x[data.draw(st.integers(0, n - 1)), 0] = data.draw(st.sampled_from(SPECIAL))
    dim, x = data.draw(st.sampled_from([(0, x), (1, x.t())]))
    check(x.to(device), dim, scan)


def test_products_that_leave_the_range(device):
    """And come back: towards zero and to infinity, in one chunk and over many."""
    for dtype in (torch.float32, torch.float64):
        for factor in (0.5, 0.9, 1.1, 2.0, 1e-20, 1e20):
            x = torch.full((3000,), factor, dtype=dtype, device=device)
            x[1500:] = 1 / x[1500:]
            check(x, 0, "cumprod", what=f"{factor}")
            check(x[:, None].expand(-1, 20), 0, "cumprod", what=f"{factor}, across")
    x = torch.tensor([1e-30, 1e-30, 1e30, 1e30], device=device)
    assert_same_bits(torch_reduce.cumprod(x, 0), torch.stack([torch_reduce.prod(x[: i + 1]) for i in range(4)]))
    assert torch_reduce.cumprod(x, 0)[-1].isclose(torch.tensor(1.0, device=device))
    x = torch.cat([torch.full((600_000,), 1e-38), torch.full((600_000,), 1e38)]).to(device)
    assert_same_bits(torch_reduce.cumprod(x, 0)[-1], torch_reduce.prod(x))


def wandering(shape, dtype):
    """Factors whose products along the last dim leave the type's range downwards, come back, and leave it upwards; some
    rows have a subnormal, an infinite or a zero factor."""
    draw = torch.Generator().manual_seed(math.prod(shape))
    n, info = shape[-1], torch.finfo(dtype)
    drift = -torch.cos(torch.arange(n) * (2 * math.pi / n)).mul(math.log2(info.max) / 8)
    exponent = (drift + torch.randn(shape, generator=draw) * 3).round()
    x = torch.ldexp(1 + torch.rand(shape, generator=draw, dtype=torch.float64), exponent)
    x = (x * torch.randint(0, 2, shape, generator=draw).mul(2).sub(1)).to(dtype)
    for value in (info.smallest_normal * info.eps * 3, math.inf, 0.0):
        place = torch.randint(0, 2 * n, shape[:-1], generator=draw)  # in about every second row
        x = torch.where(torch.arange(n) == place.unsqueeze(-1), value, x)
    return x


@pytest.mark.parametrize("out", [torch.bfloat16, torch.float32], ids=str)
def test_products_are_rounded_once(out, capability):
    """Below the normal numbers: half ways between two of the result's, a little more and a little less."""
    least = torch.finfo(out).smallest_normal * torch.finfo(out).eps
    wanted = torch.arange(0.5, 12).repeat_interleave(3) + torch.tensor([0, 2.0**-19, -(2.0**-19)]).repeat(12)
    wanted = torch.cat([wanted, -wanted])
    expected = (wanted.double().round() * least).to(out)
    factors = torch.stack([wanted * 2.0**-20, torch.full((72,), least * 2.0**20)], 1)
    for x, dim in ((factors, 1), (factors.t().contiguous(), 0)):
        assert_same_bits(torch_reduce.cumprod(x, dim, dtype=out).select(dim, 1), expected, capability)


@pytest.mark.parametrize("dtype", FLOATING, ids=str)
def test_products_beyond_the_range(dtype, capability):
    """They are scaled, in chunks and between them, and rounded below the normal numbers."""
    for shape in ((40, 7), (40, 100), (33, 600), (9, 3000), (2, 20_000)):
        x = wandering(shape, dtype)
        rows = check(x, 1, "cumprod", what=capability)
        assert_same_bits(torch_reduce.cumprod(x.t().contiguous(), 0).t(), rows, f"{shape}, across")
        for out in (torch.bfloat16, torch.float32, torch.float64):
            assert_same_bits(torch_reduce.cumprod(x, 1, dtype=out), scan_model(x, 1, scan="cumprod", dtype=out))


@every_scan
@pytest.mark.parametrize("dtype", [*INTEGERS, torch.bool], ids=str)
def test_integers(device, scan, dtype):
    x = fill((3, 2000), dtype).to(device)
    result = check(x, 1, scan)
    if scan == "logcumsumexp":
        assert result.dtype == torch.float32
    elif dtype not in (torch.uint16, torch.uint32, torch.uint64):
        for ours, theirs in zip(
            *(results(getattr(module, scan)(x, 1)) for module in (torch_reduce, torch)), strict=True
        ):
            assert ours.dtype == theirs.dtype and torch.equal(ours, theirs)
    if SCANS[scan].takes_dtype:
        check(x, 1, scan, torch.float32)
        check(x, 0, scan, torch.bool)


@pytest.mark.parametrize("scan", [scan for scan in SCANS if SCANS[scan].gives_pair])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64, torch.int32], ids=str)
def test_extremes_that_change_often(capability, scan, dtype):
    """Every element is one of a few, of which equal ones follow; what beats all comes late, if at all."""
    few = [math.nan, math.inf, -math.inf, 1.0, 0.5, 0.0, -0.0, -0.5, -1.0] if dtype.is_floating_point else [-7, 0, 7]
    for n in (31, 32, 33, 200, 300):
        x = torch.tensor(few, dtype=dtype)[torch.from_numpy(splitmix(10 * n).astype("int64") % len(few))].view(10, n)
        x[:5] = torch.where(x[:5] == x[:5], x[:5], 0).sort(1, descending=scan == "cummin")[0]
        x[1, n // 2] = few[0]
        check(x, 1, scan, what=capability)


def test_scalars_and_empty_tensors(device):
    for scan in SCANS:
        run = scan_function(scan)
        one = torch.tensor(2.0, device=device)
        for dim in (0, -1):
            assert_same_bits(run(one, dim), getattr(torch_reduce, SCANNED[scan])(one))
        for shape, dim in (((0,), 0), ((3, 0), 1), ((0, 3), 1), ((2, 0, 3), 0)):
            assert run(torch.empty(shape, device=device), dim).shape == shape


@every_scan
def test_plans_are_explained(scan):
    def plan(rows, n, device):
        return torch_reduce.explain(torch.empty(rows, n, device="meta"), 1, op=scan, device=device)

    for device in ("cpu", "cuda"):
        with num_threads(1):
            short, long = plan(1000, 100, device), plan(2, 2**20, device)
        assert (short.family, short.finish, short.n, short.outputs) == ("scan", "direct", 100, 1000)
        assert short.expected_bytes == 2 * 4 * 100_000 and long.expected_bytes >= 2 * 4 * 2**21
        assert (long.split > 1, long.finish) == ((True, "look_back") if device == "cuda" else (False, "direct"))
        assert scan in str(long)
    x = torch.empty(3, 4)
    for dims, sentence in (((), "one dim, got 0 dims"), ((0, 1), "one dim, got 2 dims")):
        with pytest.raises(ValueError, match=f"reduce: {scan} goes along {sentence}"):
            torch_reduce.explain(x, dims, op=scan)
    with pytest.raises(ValueError, match=f"reduce: {scan} has no mode=, its bits never change; got 'atomic'"):
        torch_reduce.explain(x, 1, op=scan, mode="atomic")
