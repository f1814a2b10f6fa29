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


@pytest.mark.parametrize("scan", [scan for scan in SCANS if SCANS[scan].gives_pair])
def test_indices_are_those_of_torch(device, scan):
    """The last of what is equal, NaN and zeros of both signs too."""
    choice = torch.tensor([math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, 1.0, -1.0, 2.0])
    for dtype in FLOATING:
        for n in (1, 3, 40, 3000):
            drawn = torch.from_numpy(splitmix(5 * n, n).astype("int64")) % (len(choice) - 3 * (n == 40))
            x = choice[-1 - drawn].reshape(5, n).to(device, dtype)  # of those of length 40, none is NaN or infinite
            assert torch.equal(getattr(torch_reduce, scan)(x, 1)[1], getattr(torch, scan)(x, 1)[1]), f"{dtype} {n}"


def test_scalars_and_empty_tensors(device):
    for scan in SCANS:
        run = scan_function(scan)
        one = torch.tensor(2.0, device=device)
        for dim in (0, -1):
            assert_same_bits(run(one, dim), getattr(torch_reduce, SCANNED[scan])(one))
        for shape, dim in (((0,), 0), ((3, 0), 1), ((0, 3), 1), ((2, 0, 3), 0)):
            assert run(torch.empty(shape, device=device), dim).shape == shape


@pytest.mark.parametrize("scan", [scan for scan in SCANS if not SCANS[scan].gives_pair])
def test_out(device, scan):
    run = getattr(torch_reduce, scan)
    x = fill((5, 300), torch.float32, op=SCANNED[scan]).to(device)
    expected = run(x, 1)
    out = torch.full((300, 5), 7.0, device=device).t()
    assert run(x, 1, out=out) is out
    assert_same_bits(out, expected, "any strides")
    out = torch.empty(0, device=device)
    run(x, 1, out=out)
    assert_same_bits(out, expected, "resized")
    refused = {
        "out has shape": torch.empty(5, 299, device=device),
        "out shares memory": x.as_strided((5, 300), (1, 5)),
        "several elements of out": torch.empty(300, device=device).expand(5, 300),
    }
    for words, wrong in refused.items():
        with pytest.raises(RuntimeError, match=f"reduce::{scan}: {words}"):
            run(x, 1, out=wrong)
    if scan == "logcumsumexp":
        with pytest.raises(RuntimeError, match="logcumsumexp: out must have the dtype Float, but has Double"):
            run(x, 1, out=torch.empty(5, 300, device=device, dtype=torch.float64))
    else:
        wide = torch.empty(5, 300, device=device, dtype=torch.float64)
        assert_same_bits(run(x, 1, out=wide), run(x, 1, dtype=torch.float64), "out's type")
        with pytest.raises(RuntimeError, match="dtype is Float but out has dtype Double"):
            run(x, 1, dtype=torch.float32, out=wide)


@every_scan
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.uint8], ids=str)
def test_out_is_the_input(device, scan, dtype):
    """As in torch: an element is read once, and then its result has its place."""
    if scan == "logcumsumexp" and not dtype.is_floating_point:
        return
    options = {} if dtype.is_floating_point or SCANS[scan].gives_pair else {"dtype": dtype}

    def check(x, dim):
        expected = getattr(torch_reduce, scan)(x.clone(), dim, **options)
        values, *indices = expected if SCANS[scan].gives_pair else (expected,)
        out = (x, torch.empty_like(indices[0])) if indices else x
        written = getattr(torch_reduce, scan)(x, dim, **options, out=out)
        assert (written[0] if indices else written) is x
        what = f"{tuple(x.shape)} {x.stride()} {dim}"
        assert_same_bits(x, values, what)
        if indices:
            assert_same_bits(written[1], indices[0], what)

    shapes = (7,), (1025,), (300_001,), (40, 9), (9, 40), (1000, 33), (3, 70_000), (70_000, 3), (5, 6, 1100), (0, 3)
    for shape in shapes:
        for dim in range(len(shape)):
            check(fill(shape, dtype, op=SCANNED[scan]).to(device), dim)
            turned = fill(shape[::-1], dtype, op=SCANNED[scan]).to(device)
            check(turned.permute(*range(len(shape))[::-1]), dim)
            wide = fill((*shape[:-1], 2 * shape[-1] + 1), dtype, op=SCANNED[scan]).to(device)
            around = wide.clone()
            check(wide[..., 1::2], dim)
            assert_same_bits(wide[..., ::2], around[..., ::2], "what lies between")
    for threads in (1, 2, 7):
        with num_threads(threads):
            check(fill((2, 100_000), dtype, op=SCANNED[scan]).to(device), 1)


@pytest.mark.parametrize("scan", [scan for scan in SCANS if SCANS[scan].gives_pair])
def test_indices_take_no_place_of_elements(device, scan):
    x = fill((300,), torch.int64, op="argmax").to(device)
    before = x.clone()
    with pytest.raises(RuntimeError, match="out shares memory with the input"):
        getattr(torch_reduce, scan)(x, 0, out=(torch.empty_like(x), x))
    assert torch.equal(x, before)


@pytest.mark.parametrize("scan", [scan for scan in SCANS if SCANS[scan].gives_pair])
def test_out_of_two(device, scan):
    run = getattr(torch_reduce, scan)
    x = fill((5, 300), torch.float32).to(device)
    expected = run(x, 1)
    strided = torch.empty(300, 5, device=device).t(), torch.empty(300, 10, device=device, dtype=torch.int64)[:, ::2].t()
    empty = torch.empty(0, device=device), torch.empty(0, device=device, dtype=torch.int64)
    for out in (strided, empty):
        written = run(x, 1, out=out)
        for result, into, wanted in zip(written, out, expected, strict=True):
            assert result is into
            assert_same_bits(result, wanted)
    values, indices = (torch.full_like(t, 7) for t in expected)
    both = torch.empty(5, 600, device=device).view(torch.int64)
    refused = {
        f"{scan}: out has shape": (values[:, 1:], indices),
        "out has shape": (values, indices[:, 1:]),
        "out has dtype Float but the result has Long|must have the dtype Long": (values, values.clone()),
        f"{scan}: out shares memory with the input": (x.as_strided((5, 300), (1, 5)), indices),
        "values and indices share memory": (both.view(torch.float32)[:, :300], both),
    }
    for words, wrong in refused.items():
        with pytest.raises(RuntimeError, match=words):
            run(x, 1, out=wrong)
    assert bool((values == 7).all()) and bool((indices == 7).all())
    with pytest.raises(RuntimeError, match="out=... arguments don't support automatic differentiation"):
        run(x.clone().requires_grad_(), 1, out=(values, indices))
    for wrong in (values, (values,), (values, None)):
        with pytest.raises(TypeError, match="out is a tuple of two tensors, got"):
            run(x, 1, out=wrong)


@every_scan
def test_errors(device, scan):
    run, twin = scan_function(scan), scan_function(scan, torch)
    x = torch.ones(2, 3, device=device)
    for dim in (2, -3):
        for function in (run, twin):
            with pytest.raises(IndexError, match="Dimension out of range"):
                function(x, dim)
    with pytest.raises(TypeError, match="dim is an int, got None"):
        run(x)
    with pytest.raises(TypeError, match=r"dim is an int, got \[0\]"):
        run(x, [0])
    with pytest.raises(TypeError, match="x is a tensor, got list"):
        run([1.0], 0)
    with pytest.raises(NotImplementedError, match=f"reduce::{scan}: the dtype ComplexFloat of the input is not"):
        run(x.to(torch.complex64), 0)
    with pytest.raises(NotImplementedError, match=f"reduce::{scan}: no kernel for a tensor of device"):
        run(x.to_sparse(), 0)
    assert_same_bits(run(input=x, axis=1), run(x, 1))


@every_scan
def test_samples_of_torch(device, scan):
    """PyTorch's own: shapes and types as torch's, values within a derived bound; and gradients."""
    pytest.importorskip("expecttest", reason="torch.testing._internal, the source of samples, needs expecttest")
    from torch.testing._internal.common_methods_invocations import op_db

    (info,) = (info for info in op_db if info.name == scan)
    run, twin, checked = scan_function(scan), scan_function(scan, torch), 0
    for dtype in sorted(info.supported_dtypes(device), key=str):
        if dtype.is_complex:
            continue
        for sample in info.sample_inputs(device, dtype):
            actual, expected = (f(sample.input, *sample.args, **sample.kwargs) for f in (run, twin))
            assert (actual.dtype, actual.shape, actual.device) == (expected.dtype, expected.shape, expected.device)
            if dtype.is_floating_point:
                # torch's own CUDA kernels multiply in half precision, so the truth is its result in fp64.
                x, dim = sample.input.double(), sample.args[0] if sample.args else sample.kwargs["dim"]
                truth = twin(x, dim).double()
                n = max(1, x.shape[dim] if x.ndim else 1)
                eps = torch.finfo(torch.float64 if dtype == torch.float64 else torch.float32).eps
                # Each of ours and of fp64's is off by at most n roundings, of half an eps, of what is added or
                # multiplied. An exponential is off by those of its argument too, and of itself.
                if SCANS[scan].gives_pair:
                    scale = 0.0
                else:
                    scale = twin(x.abs(), dim) if scan == "cumsum" else truth.abs() if scan == "cumprod" else 1.0
                if scan == "logcumsumexp":
                    n += (x.amax() - x.amin()).item() + 4 if x.numel() else 0
                last = torch.finfo(expected.dtype)
                bound = n * eps * scale + last.eps * truth.abs() + last.smallest_normal * last.eps
                assert bool(((actual.double() - truth).abs() <= bound).all()), f"{dtype} {sample}"
            else:
                assert torch.equal(actual, expected)
            checked += 1
    assert checked >= 10
    for sample in info.sample_inputs(device, torch.float64, requires_grad=True):
        grads = []
        for f in (run, twin):
            result = f(sample.input, *sample.args, **sample.kwargs)
            weights = torch.linspace(-1, 1, result.numel(), dtype=result.dtype, device=device).reshape(result.shape)
            grads.append(torch.autograd.grad(result, sample.input, weights)[0])
        torch.testing.assert_close(*grads)


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
