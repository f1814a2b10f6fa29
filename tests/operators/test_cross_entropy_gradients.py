"""Derivatives of cross_entropy: beside torch's, in every batch to the bit, and of every order."""

import pytest
import torch
from logits import SHAPES, case
from map_cases import DTYPES, values

from torch_reduce.nn import functional
from torch_reduce.testing import assert_same_bits

every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)


@pytest.mark.parametrize("options", [{}, {"label_smoothing": 0.1}, {"z_loss": 0.01, "reduction": "sum"}], ids=str)
def test_gradcheck(device, options):
    x, target = case((4, 6), torch.float64, device)
    run = lambda x: functional.cross_entropy(x, target, **options)  # noqa: E731
    everything = {"check_forward_ad": True, "check_batched_grad": True, "check_batched_forward_grad": True}
    assert torch.autograd.gradcheck(run, x.requires_grad_(), **everything)
    assert torch.autograd.gradgradcheck(run, x, check_fwd_over_rev=True, check_batched_grad=True)
    torch.testing.assert_close(torch.func.grad(run)(x.detach()), torch.autograd.grad(run(x), x)[0])


@pytest.mark.parametrize("smoothing", [0.0, 0.1], ids=str)
def test_forward_mode_is_torchs(device, smoothing):
    """Its Hessian, and tangents of every type and shape; of a row that does not count they are 0, whatever it has."""
    for shape in SHAPES:
        x, target = case(shape, torch.float64, device)
        found, expected = (
            torch.func.jvp(
                lambda x, run=run: run(x, target, reduction="none", label_smoothing=smoothing),  # noqa: B023
                (x,),
                (x.flip(0),),
            )
            for run in (functional.cross_entropy, torch.nn.functional.cross_entropy)
        )
        torch.testing.assert_close(found, expected)
    x, target = case((4, 6), torch.float64, device)
    hessians = [
        torch.func.hessian(lambda x, run=run: run(x, target, label_smoothing=smoothing))(x)
        for run in (functional.cross_entropy, torch.nn.functional.cross_entropy)
    ]
    torch.testing.assert_close(*hessians)
    x[1] = torch.nan
    run = lambda x: functional.cross_entropy(x, target, label_smoothing=smoothing, z_loss=0.1)  # noqa: E731
    assert torch.func.jvp(run, (x,), (x.nan_to_num(),))[1].isfinite()
    for dtype in (torch.bfloat16, torch.float32):
        low = case((4, 6), dtype, device)[0]
        value, tangent = torch.func.jvp(run, (low,), (low.flip(0),))
        assert tangent.dtype == dtype
        wide = torch.func.jvp(run, (low.double(),), (low.flip(0).double(),))[1]
        torch.testing.assert_close(tangent, wide.to(dtype))


@every_dtype
def test_gradients_have_their_bits_in_every_batch(device, dtype):
    x, target = case((40, 1100), dtype, device)
    whole = gradient(x, target)
    assert not whole[1].any()
    for rows in (slice(0, 1), slice(3, 12), slice(1, 40)):
        assert_same_bits(gradient(x[rows], target[rows]), whole[rows], str(rows))
    across = x.t().contiguous().t()
    assert_same_bits(gradient(across, target), whole, "across")


def gradient(x, target):
    x = x.detach().requires_grad_()
    return torch.autograd.grad(functional.cross_entropy(x, target, reduction="sum", label_smoothing=0.1), x)[0]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_the_gradient_of_a_mean_has_the_number_of_rows(device, dtype):
    """Which the type of the logits may not hold."""
    rows = 299 if device == "cpu" else 70_001
    x = values(rows, 3, dtype).to(device).requires_grad_()  # shares that are no powers of two
    target = torch.zeros(rows, dtype=torch.int64, device=device)
    losses = torch.ops.reduce._cross_entropy(x, target, 1, -100, 0.0, 0.0)[0]
    (expected,) = torch.autograd.grad(losses, x, torch.full_like(losses, 1) / rows)
    (actual,) = torch.autograd.grad(functional.cross_entropy(x, target), x)
    assert_same_bits(actual, expected)
