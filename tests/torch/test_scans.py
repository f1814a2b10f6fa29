"""Scans as citizens of PyTorch: derivatives of every kind, vmap, graphs of every kind, autocast."""

import pytest
import torch
from torch._dynamo import compiled_autograd

import torch_reduce
from torch_reduce._schemas import SCANS
from torch_reduce.scan_model import SCANNED
from torch_reduce.testing import assert_same_bits, fill, scan_function

every_scan = pytest.mark.parametrize("scan", sorted(SCANS))


def values(*shape, scan="cumsum", **options):
    return fill(shape, torch.float64, op=SCANNED[scan]).div(4 if scan == "cumsum" else 1).to(**options).requires_grad_()


@every_scan
@pytest.mark.parametrize("dim", [0, -1])
def test_gradcheck(scan, dim, device):
    run, x = scan_function(scan), values(4, 5, scan=scan, device=device)
    assert torch.autograd.gradcheck(
        lambda x: run(x, dim), x, check_forward_ad=True, check_batched_grad=True, check_batched_forward_grad=True
    )
    assert torch.autograd.gradgradcheck(lambda x: run(x, dim), x, check_fwd_over_rev=True, check_rev_over_rev=True)
    scalar = values(scan=scan, device=device)
    assert torch.autograd.gradcheck(lambda x: run(x, dim), scalar, check_forward_ad=True)


@pytest.mark.parametrize("zeros", [[0], [2], [4], [1, 3], [0, 1, 2, 3, 4]], ids=str)
def test_products_with_zeros(zeros, device):
    """First and second derivatives, where torch's formula would divide by zero."""
    x = torch.linspace(-2, 3, 5, dtype=torch.float64, device=device)
    x[zeros] = 0
    x.requires_grad_()
    run = lambda x: torch_reduce.cumprod(x, 0)  # noqa: E731
    assert torch.autograd.gradcheck(run, x, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(run, x)


def test_gradient_of_no_sum(device):
    """Of -infinity alone, up to some element: those have gradient 0, and the others that without them."""
    x = torch.tensor([-torch.inf, -torch.inf, 1.0, -torch.inf, 2.0], device=device, requires_grad=True)
    torch_reduce.logcumsumexp(x, 0).sum().backward()
    rest = x.detach()[[2, 4]].requires_grad_()
    (2 * rest[0] + torch_reduce.logcumsumexp(rest, 0)[1]).backward()
    torch.testing.assert_close(x.grad[[2, 4]], rest.grad)
    assert not x.grad[[0, 1, 3]].any()


@every_scan
def test_long_gradients(scan, device):
    """Near torch's, of a length where quadratic work would be seen; twice the same bits."""
    grads = []
    for run in (scan_function(scan), scan_function(scan), scan_function(scan, torch)):
        x = values(20_000, scan=scan, device=device)
        result = run(x, 0)
        weights = torch.linspace(-1, 1, len(x), dtype=x.dtype, device=device)
        grads.append(torch.autograd.grad(result, x, weights)[0])
    assert_same_bits(grads[0], grads[1])
    torch.testing.assert_close(grads[0], grads[2], rtol=1e-8, atol=1e-8)


@every_scan
def test_types_of_gradients(scan, device):
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        x = fill((3, 40), dtype, op=SCANNED[scan]).to(device).requires_grad_()
        scan_function(scan)(x, 1).sum().backward()
        assert x.grad.dtype == dtype and bool(x.grad.isfinite().all())
    assert not scan_function(scan)(torch.ones(3, device=device, dtype=torch.int64), 0).requires_grad


@every_scan
def test_vmap(scan, device):
    run, x = scan_function(scan), fill((3, 300, 4), torch.float32, op=SCANNED[scan]).to(device)
    for batch in (0, 1, 2):
        for dim in (0, 1, -1):
            batched = torch.vmap(lambda x: run(x, dim), in_dims=batch)(x)  # noqa: B023
            assert_same_bits(batched, torch.stack([run(one, dim) for one in x.unbind(batch)]), f"{batch} {dim}")
    assert_same_bits(torch.vmap(lambda x: run(x, -1))(x[0, :, 0]), run(x[0, :, :1], 1)[:, 0])
    with pytest.raises(IndexError, match=r"expected to be in range of \[-2, 1\], but got 2"):
        torch.vmap(lambda x: run(x, 2))(x)


@every_scan
def test_opcheck(scan, device):
    op = SCANS[scan].packet
    x = fill((4, 6), torch.float32, op=SCANNED[scan]).to(device)
    torch.library.opcheck(op.default, (x.clone().requires_grad_(), 1))
    torch.library.opcheck(op.out, (x, 1), {"out": torch.empty_like(x)})
    if SCANS[scan].gives_pair:
        op = getattr(torch.ops.reduce, scan)
        torch.library.opcheck(op.default, (x.clone().requires_grad_(), 1))
        torch.library.opcheck(op.out, (x, 1), {"values": x.clone(), "indices": torch.empty_like(x, dtype=torch.int64)})


@every_scan
def test_compile(scan, device):
    """Values, gradients, symbolic sizes, dtype= and out=, in one graph each."""
    torch._dynamo.reset()
    run = scan_function(scan)
    dtype = {"dtype": torch.float64} if SCANS[scan].takes_dtype else {}
    function = lambda x: run(x * 1, 1, **dtype) * 2  # noqa: E731
    compiled = torch.compile(function, fullgraph=True, dynamic=True)
    for n in (7, 300):
        x = fill((3, n), torch.float32, op=SCANNED[scan]).to(device)
        assert_same_bits(compiled(x), function(x))
    grads = []
    for run_it in (function, torch.compile(function, fullgraph=True, backend="aot_eager")):
        y = x[:, :9].clone().requires_grad_()
        run_it(y).sum().backward()
        grads.append(y.grad)
    torch.testing.assert_close(*grads)
    run = getattr(torch_reduce, scan)
    into = torch.compile(lambda x, out: run(x, 0, out=out), fullgraph=True)
    if SCANS[scan].gives_pair:
        for actual, expected in zip(into(x, tuple(torch.empty_like(t) for t in run(x, 0))), run(x, 0), strict=True):
            assert_same_bits(actual, expected)
    else:
        assert_same_bits(into(x, torch.empty_like(x)), run(x, 0))


@every_scan
def test_compiled_autograd(scan, device):
    torch._dynamo.reset()
    run, grads = scan_function(scan), []
    for is_compiled in (False, True):
        x = fill((3, 40), torch.float32, op=SCANNED[scan]).to(device).requires_grad_()
        result = run(x, 1).square().sum()
        if is_compiled:
            with compiled_autograd._enable(torch.compile(backend="aot_eager", fullgraph=True)):
                result.backward()
        else:
            result.backward()
        grads.append(x.grad)
    assert_same_bits(*grads)


@every_scan
def test_meta(scan):
    x = torch.empty(3, 4, device="meta", dtype=torch.bfloat16).t()
    result = scan_function(scan)(x, 0)
    assert (result.shape, result.dtype, result.is_contiguous()) == ((4, 3), torch.bfloat16, True)
    with pytest.raises(IndexError):
        scan_function(scan)(x, 2)


@every_scan
def test_autocast(scan, device):
    """As torch's twin."""
    x = torch.ones(4, device=device, dtype=torch.bfloat16)
    with torch.autocast(device, dtype=torch.bfloat16):
        ours, theirs = (scan_function(scan, module)(x, 0) for module in (torch_reduce, torch))
    assert ours.dtype == theirs.dtype
