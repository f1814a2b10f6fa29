"""Scans beside torch's own: samples, gradients, indices and errors."""

import math

import pytest
import torch

import torch_reduce
from torch_reduce._schemas import SCANS
from torch_reduce.testing import FLOATING, assert_same_bits, scan_function, splitmix

every_scan = pytest.mark.parametrize("scan", sorted(SCANS))


@pytest.mark.parametrize("scan", [scan for scan in SCANS if SCANS[scan].gives_pair])
def test_indices_are_those_of_torch(device, scan):
    """The last of what is equal, NaN and zeros of both signs too."""
    choice = torch.tensor([math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, 1.0, -1.0, 2.0])
    for dtype in FLOATING:
        for n in (1, 3, 40, 3000):
            drawn = torch.from_numpy(splitmix(5 * n, n).astype("int64")) % (len(choice) - 3 * (n == 40))
            x = choice[-1 - drawn].reshape(5, n).to(device, dtype)  # of those of length 40, none is NaN or infinite
            assert torch.equal(getattr(torch_reduce, scan)(x, 1)[1], getattr(torch, scan)(x, 1)[1]), f"{dtype} {n}"


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
