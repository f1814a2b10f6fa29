"""Scans with out=: of any strides, of another type, of the input's own memory; and what is refused."""

import random

import pytest
import torch

import torch_reduce
from torch_reduce._schemas import SCANS
from torch_reduce.scan_model import SCANNED
from torch_reduce.testing import assert_same_bits, fill, num_threads

every_scan = pytest.mark.parametrize("scan", sorted(SCANS))


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
    """As in torch: an element is read once, and then its result has its place. Of some shapes that are drawn."""
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
    for shape in random.Random(f"{scan} {dtype}").sample(shapes, 4):
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
