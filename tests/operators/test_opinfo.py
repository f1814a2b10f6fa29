"""PyTorch's own samples (OpInfo) of the operators that torch has too, given to these: types and shapes as torch's,
values by the model to the bit and beside torch's within the bound, errors of torch's types."""

import pytest
import torch

import torch_reduce
from torch_reduce._schemas import REDUCTIONS
from torch_reduce._twins import TWINS
from torch_reduce.model import MEANING
from torch_reduce.testing import (
    FLOATING,
    assert_same_bits,
    assert_within,
    error_bound,
    function_of,
    gives_pair,
    model,
    reference,
    skips_nan,
    takes_complex,
)

pytest.importorskip("expecttest", reason="torch.testing._internal, the source of these samples, needs expecttest")
from torch.testing._internal.common_methods_invocations import op_db

TORCH_TOO = [op for op in REDUCTIONS if not REDUCTIONS[op].takes_order]  # torch.norm is not the norm
OPS = {info.name: info for info in op_db if info.name in TORCH_TOO and not info.variant_test_name}
every_op = pytest.mark.parametrize("op", sorted(OPS))
REFERENCED = ("sum", "mean", "prod")  # by torch_reduce.testing.reference


def dtypes_of(op, device):
    every = OPS[op].supported_dtypes(device) - {torch.complex32}
    return sorted((d for d in every if takes_complex(op) or not d.is_complex), key=str)


def twin_of(op):
    """torch's function; of two results, with both in the last dim of one tensor."""
    twin = getattr(torch, op)
    return (lambda *args, **kwargs: torch.stack(twin(*args, **kwargs), -1)) if gives_pair(op) else twin


def samples(op, device, dtype, requires_grad=False):
    """(input, arguments, keywords), of which ``sum`` and its kin here take a subset: dim, keepdim, dtype."""
    for sample in OPS[op].sample_inputs(device, dtype, requires_grad=requires_grad):
        yield sample.input, sample.args, sample.kwargs


def test_all_are_there():
    assert sorted(OPS) == sorted(op for op in TORCH_TOO if op not in TWINS or hasattr(torch, op))
    for op in OPS:
        assert torch.float32 in dtypes_of(op, "cpu") and len(list(samples(op, "cpu", torch.float32))) >= 7


@every_op
def test_samples(op, device):
    ours, theirs = function_of(op), twin_of(op)
    for dtype in dtypes_of(op, device):
        for x, args, kwargs in samples(op, device, dtype):
            what = f"{dtype} {tuple(x.shape)} {args} {kwargs}"
            actual, expected = ours(x, *args, **kwargs), theirs(x, *args, **kwargs)
            assert (actual.dtype, actual.shape, actual.device) == (expected.dtype, expected.shape, expected.device), (
                what
            )
            keywords = dict(zip(("dim", "keepdim"), args, strict=False)) | kwargs
            if "unbiased" in keywords:
                keywords["correction"] = int(keywords.pop("unbiased"))
            assert_same_bits(actual, model(x, op=op, **keywords), what)
            if MEANING[op].selects or not (expected.is_floating_point() or expected.is_complex()):
                assert torch.equal(actual, expected), what
            elif skips_nan(op) and x.is_floating_point():  # torch adds bfloat16 in itself
                left, dim = torch.where(x.isnan(), 0, x), keywords.get("dim")
                bound = error_bound(left, dim, dtype=actual.dtype).reshape(actual.shape)
                actual, true = actual.cpu(), theirs(x.double(), *args, **(kwargs | {"dtype": torch.float64})).cpu()
                number = true.isfinite()
                assert torch.equal(number, actual.isfinite()), what
                assert_within(actual[number], true[number], bound[number], what)
            elif op not in REFERENCED or x.is_complex():
                torch.testing.assert_close(actual, expected, equal_nan=True, msg=lambda m: f"{what}: {m}")  # noqa: B023
            elif x.numel():
                out_type = {"dtype": kwargs["dtype"]} if "dtype" in kwargs else {}
                dim = keywords.get("dim")
                if not expected.isfinite().all():
                    continue  # a product beyond the type: the model has settled its bits
                bound = error_bound(x, dim, op=op, **out_type).reshape(expected.shape)
                true = reference(x, dim, op=op).reshape(expected.shape)
                assert_within(actual, true, bound, what)


@every_op
def test_samples_with_out(op, device):
    ours = function_of(op)
    for x, args, kwargs in samples(op, device, torch.float32):
        expected = ours(x, *args, **kwargs)
        out = torch.full_like(expected, 1)
        ours(x, *args, **kwargs, out=out)
        assert_same_bits(out, expected, f"{tuple(x.shape)} {args} {kwargs}")


@every_op
def test_gradients_of_samples(op, device):
    ours, theirs = function_of(op), twin_of(op)
    if not OPS[op].supports_autograd:
        pytest.skip("torch has no gradient of it")
    for x, args, kwargs in samples(op, device, torch.float64, requires_grad=True):
        results = [run(x, *args, **kwargs) for run in (ours, theirs)]
        weights = torch.linspace(0.5, 1.5, results[0].numel(), dtype=results[0].dtype, device=device)
        grads = [torch.autograd.grad(r, x, weights.reshape(r.shape))[0] for r in results]
        torch.testing.assert_close(*grads, msg=lambda m: f"{tuple(x.shape)} {args} {kwargs}: {m}")  # noqa: B023


def norms(device, dtype, **options):
    """The samples of linalg.vector_norm: input and keywords, an order among them."""
    (info,) = (info for info in op_db if info.name == "linalg.vector_norm")
    for sample in info.sample_inputs(device, dtype, **options):
        yield sample.input, sample.kwargs


def test_samples_of_vector_norm(device):
    for dtype in (*FLOATING, torch.complex64, torch.complex128):
        for x, kwargs in norms(device, dtype):
            if dtype.is_complex and kwargs.get("ord", 2) != 2:
                continue
            what = f"{tuple(x.shape)} {kwargs}"
            actual, expected = torch_reduce.norm(x, **kwargs), torch.linalg.vector_norm(x, **kwargs)
            assert (actual.dtype, actual.shape, actual.device) == (expected.dtype, expected.shape, expected.device)
            assert_same_bits(actual, model(x, op="norm", **kwargs), what)
            torch.testing.assert_close(actual, expected, equal_nan=True, msg=lambda m: f"{what}: {m}")  # noqa: B023
    checked = set()
    for x, kwargs in norms(device, torch.float64, requires_grad=True):
        results = [torch_reduce.norm(x, **kwargs), torch.linalg.vector_norm(x, **kwargs)]
        grads = [torch.autograd.grad(r.sum(), x, materialize_grads=True)[0] for r in results]
        torch.testing.assert_close(*grads, msg=lambda m: f"{tuple(x.shape)} {kwargs}: {m}")  # noqa: B023
        checked.add(kwargs.get("ord", 2))
    assert len(checked) >= 8


@pytest.mark.parametrize("op", ["amax", "amin", "mean"])
def test_errors_of_samples(op, device):
    """Where torch refuses, so do these operators, with the same type; test_errors looks at the words."""
    checked = 0
    for error in OPS[op].error_inputs(device):
        sample = error.sample_input
        with pytest.raises(error.error_type):
            function_of(op)(sample.input, *sample.args, **sample.kwargs)
        checked += 1
    assert checked >= 2
