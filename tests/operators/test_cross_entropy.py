"""Losses of rows of logits: beside log_softmax to the bit, beside torch's, their gradients, errors and graphs."""

import math

import pytest
import torch
from map_cases import DTYPES, special, values

from torch_reduce import nn
from torch_reduce.map_model import map_model, row_model
from torch_reduce.nn import functional
from torch_reduce.testing import assert_same_bits, fill

every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)
SHAPES = [(7, 50), (50,), (3, 50, 4), (2, 1500, 3)]


def case(shape, dtype, device):
    """Logits and targets, of which one is ignored."""
    x = values(1, math.prod(shape), dtype)[0].reshape(shape)
    classes = shape[1] if len(shape) > 1 else shape[0]
    rows = shape[:1] + shape[2:] if len(shape) > 1 else ()
    target = torch.arange(math.prod(rows)).mul(37).remainder(classes).reshape(rows)
    if rows:
        target.view(-1)[1] = -100
    return x.to(device), target.to(device)


@every_dtype
def test_logprobs_are_those_of_log_softmax(device, dtype):
    for shape in ((5, 70), (1, 3000), (2, 3, 1), (70,)):
        x = values(1, math.prod(shape), dtype, start=5)[0].reshape(shape).to(device)
        target = torch.arange(math.prod(shape[:-1]), device=device).mul(11).remainder(shape[-1]).reshape(shape[:-1])
        expected = functional.log_softmax(x, -1).gather(-1, target.unsqueeze(-1)).squeeze(-1)
        assert_same_bits(functional.logprobs(x, target) + 0, expected + 0, f"{shape}")


@every_dtype
def test_losses_have_their_bits(device, dtype):
    x = values(300, 1100, dtype)
    target = torch.arange(300) * 3
    target[7] = -100
    own = map_model(x, map="log_softmax", dtype=torch.float64 if dtype == torch.float64 else torch.float32)
    rows = -own.gather(1, target.clamp_min(0)[:, None])[:, 0]
    rows[7] = 0
    actual = functional.cross_entropy(x.to(device), target.to(device), reduction="none")
    assert_same_bits(actual + 0, rows.to(dtype) + 0)
    total = torch.ops.reduce.sum(rows)
    for reduction, expected in (("sum", total), ("mean", total / 299)):
        actual = functional.cross_entropy(x.to(device), target.to(device), reduction=reduction)
        assert_same_bits(actual, expected.to(dtype), reduction)
    z = functional.cross_entropy(x.to(device), target.to(device), reduction="none", z_loss=0.5)
    log = row_model(x, map="log_softmax").sum(1)
    assert_same_bits(z[:7], (rows + log.square() * 0.5).to(dtype)[:7], "z")


@every_dtype
def test_what_is_kept_of_rows(device, dtype):
    """By the kernels of a row and of columns: the logarithm of the sum in two words."""
    for rows, n in ((3, 40), (5, 3000), (600, 7)):
        x = special(values(rows, n, dtype))
        expected = row_model(x, map="log_softmax")
        assert_same_bits(torch.ops.reduce._logits(x.to(device), 1), expected, f"rows of {n}")
        columns = x.t().contiguous().to(device)
        assert_same_bits(torch.ops.reduce._logits(columns, 0), expected, f"columns of {n}")


@pytest.mark.parametrize("smoothing", [0.0, 0.1], ids=str)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_is_near_torchs(device, smoothing, reduction):
    options = {"label_smoothing": smoothing, "reduction": reduction}
    for shape in SHAPES:
        results = []
        for run in (functional.cross_entropy, torch.nn.functional.cross_entropy):
            x, target = case(shape, torch.float64, device)
            x.requires_grad_()
            y = run(x, target, **options)
            results.append((y, *torch.autograd.grad(y, x, fill(y.shape, torch.float64, device=device))))
        torch.testing.assert_close(*results)


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


@every_dtype
def test_a_type_of_the_result(device, dtype):
    """The loss is rounded once, to that type; logits are widened for float64 alone. The gradient has their type."""
    x, target = case((7, 50), dtype, device)
    rows = target.clamp_min(0)
    for to in DTYPES:
        wide = x.to(torch.promote_types(dtype, torch.float64 if to == torch.float64 else torch.float32))
        leaf = x.detach().requires_grad_()
        y = functional.logprobs(leaf, rows, dtype=to)
        assert_same_bits(y.detach(), functional.logprobs(wide, rows).to(to), f"logprobs, {to}")
        grad = fill(y.shape, to).to(device)
        (actual,), of_wide = torch.autograd.grad(y, leaf, grad), wide.detach().requires_grad_()
        (expected,) = torch.autograd.grad(functional.logprobs(of_wide, rows), of_wide, grad.to(wide.dtype))
        assert_same_bits(actual, expected.to(dtype), f"gradient, {to}")
        for reduction in ("mean", "sum", "none"):
            y = functional.cross_entropy(x, target, reduction=reduction, dtype=to)
            assert_same_bits(
                y, functional.cross_entropy(wide, target, reduction=reduction).to(to), f"{reduction}, {to}"
            )
    kind = torch.device(device).type
    with torch.autocast(kind, dtype=torch.bfloat16):  # which a type that is given overrides
        assert functional.logprobs(x, rows, dtype=torch.float16).dtype == torch.float16
        assert functional.cross_entropy(x, target, dtype=torch.float16).dtype == torch.float16
    for run in (functional.logprobs, functional.cross_entropy):
        with pytest.raises(NotImplementedError, match="the dtype Long of the result"):
            run(x, rows, dtype=torch.int64)
        with pytest.raises(TypeError, match="dtype is one of torch's"):
            run(x, rows, dtype="float32")


@every_dtype
def test_logprobs_of_padded_targets(device, dtype):
    """They are 0, whatever the row has, and give it no gradient; without an ignore_index they are out of range."""
    x, target = case((7, 50), dtype, device)
    counts = target != -100
    y = functional.logprobs(torch.where(counts[:, None], x, torch.nan), target, ignore_index=-100)
    assert_same_bits(y[~counts], torch.zeros_like(x[1:2, 0]))
    leaf = x.detach().requires_grad_()
    y = functional.logprobs(leaf, target, ignore_index=-100)
    assert_same_bits(y[counts].detach(), functional.logprobs(x[counts], target[counts]))
    assert_same_bits(y[~counts].detach(), torch.zeros_like(x[1:2, 0]))
    (gradient,) = torch.autograd.grad(y, leaf, torch.full_like(y, torch.inf).where(~counts, 1))
    assert not gradient[1].any() and gradient[counts].any(1).all()
    assert_same_bits(functional.logprobs(x, target.where(counts, 3), ignore_index=3)[1], torch.zeros_like(x[1, 0]))
    single = functional.logprobs(x[2], target[2], ignore_index=int(target[2]))
    assert single.shape == () and single == 0
    if device == "cpu":
        for ignored in (None, 7):
            with pytest.raises(IndexError, match="Target -100 is out of bounds"):
                functional.logprobs(x, target, ignore_index=ignored)


def test_derivatives_of_padded_logprobs(device):
    x, target = case((4, 6), torch.float64, device)
    run = lambda x: functional.logprobs(x, target, ignore_index=-100)  # noqa: E731
    everything = {"check_forward_ad": True, "check_batched_grad": True, "check_batched_forward_grad": True}
    assert torch.autograd.gradcheck(run, x.requires_grad_(), **everything)
    assert torch.autograd.gradgradcheck(run, x, check_fwd_over_rev=True, check_batched_grad=True)
    low = x.detach().float()
    run = lambda x: functional.logprobs(x, target, dtype=torch.float64, ignore_index=-100).square().sum()  # noqa: E731
    assert_same_bits(torch.func.grad(run)(low), torch.func.grad(run)(low.double()).float())


def test_targets_of_bytes(device):
    """As torch's losses take them, the operators too."""
    x, target = case((7, 50), torch.float32, device)
    target, ops = target.clamp_min(0), torch.ops.reduce
    for run in (functional.cross_entropy, functional.logprobs, ops.cross_entropy, ops.logprobs):
        assert_same_bits(run(x, target.byte()), run(x, target))
    ignored = functional.cross_entropy(x, target.byte(), ignore_index=int(target[1]))
    assert_same_bits(ignored, functional.cross_entropy(x, target, ignore_index=int(target[1])))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_autocast_rounds_nothing(device, dtype):
    """Losses are those of the logits in float32, without a copy of these; the gradient has the logits' type."""
    x, target = case((7, 50), dtype, device)
    with torch.autocast(torch.device(device).type, dtype=torch.bfloat16):
        for reduction in ("mean", "sum", "none"):
            leaf = x.detach().requires_grad_()
            y = functional.cross_entropy(leaf, target, reduction=reduction)
            assert_same_bits(y, functional.cross_entropy(x.float(), target, reduction=reduction))
            assert torch.autograd.grad(y.sum(), leaf)[0].dtype == dtype


def test_nothing_counts(device):
    x, target = torch.ones(2, 3, device=device), torch.full((2,), -100, device=device)
    assert functional.cross_entropy(x, target).isnan()
    assert functional.cross_entropy(x, target, reduction="sum") == 0


def test_compiles_whole(device):
    x, target = case((20, 300), torch.float32, device)
    run = lambda x: functional.cross_entropy(x, target, label_smoothing=0.1, z_loss=0.01)  # noqa: E731
    padded = lambda x: functional.logprobs(x, target, dtype=torch.float64, ignore_index=-100)  # noqa: E731
    x.requires_grad_()
    for f in (run, padded):
        actual, expected = torch.compile(f, fullgraph=True)(x), f(x)
        torch.testing.assert_close(actual, expected)
        torch.testing.assert_close(*(torch.autograd.grad(y.sum(), x)[0] for y in (actual, expected)))


def test_exports():
    class Loss(torch.nn.Module):
        def forward(self, x, target):
            of_rows = functional.logprobs(x, target, dtype=torch.float32, ignore_index=-100)
            return of_rows, functional.cross_entropy(x, target, dtype=torch.float64)

    x, target = case((7, 50), torch.bfloat16, "cpu")
    rows = torch.export.Dim("rows")
    program = torch.export.export(Loss(), (x, target), dynamic_shapes={"x": {0: rows}, "target": {0: rows}})
    for actual, expected in zip(program.module()(x[:5], target[:5]), Loss()(x[:5], target[:5]), strict=True):
        assert_same_bits(actual, expected)


def test_module(device):
    x, target = case((7, 50), torch.float32, device)
    assert_same_bits(nn.CrossEntropyLoss(z_loss=0.1)(x, target), functional.cross_entropy(x, target, z_loss=0.1))
    assert_same_bits(nn.CrossEntropyLoss()(x, target), functional.cross_entropy(x, target))
    module = nn.CrossEntropyLoss(ignore_index=3, reduction="sum", label_smoothing=0.1, z_loss=0.1)
    options = {"ignore_index": 3, "reduction": "sum", "label_smoothing": 0.1, "z_loss": 0.1}
    x, target = x[2:], target[2:]
    assert_same_bits(module(x, target), functional.cross_entropy(x, target, **options))
    assert "z_loss=0.1" in repr(module)


def test_opcheck(device):
    x, target = case((4, 6), torch.float64, device)
    ops = torch.ops.reduce
    torch.library.opcheck(ops._cross_entropy.default, (x.requires_grad_(), target, 1, -100, 0.1, 0.01))
    torch.library.opcheck(ops._logits.default, (x.detach(), 1))
    row = torch.cat([ops._logits(x.detach(), 1)] * 2, -1)
    torch.library.opcheck(ops._logits_backward.default, (x.detach(), row, 1))


def test_refuses(device):
    x, target = torch.ones(2, 3), torch.tensor([0, 1])
    ours, theirs = functional.cross_entropy, torch.nn.functional.cross_entropy
    wrong = [
        (IndexError, (x, target + 5), {}, "Target 5 is out of bounds."),
        (IndexError, (x, target - 1), {}, "Target -1 is out of bounds."),
        (ValueError, (x, target[:1]), {}, "[2]"),
        (RuntimeError, (x, target.short()), {}, "expected scalar type Long"),
        (ValueError, (x, target), {"reduction": "most"}, "most is not a valid value for reduction"),
        (RuntimeError, (x, target), {"label_smoothing": 2.0}, "label_smoothing must be between 0.0 and 1.0. Got: 2"),
        (NotImplementedError, (x.int(), target), {}, "Int"),
    ]
    for error, arguments, keywords, words in wrong:
        for run in (ours, theirs):
            with pytest.raises(error) as caught:
                run(*arguments, **keywords)
            assert caught.type is error
            assert run is theirs or words in str(caught.value)
    with pytest.raises(NotImplementedError, match="indices of classes"):
        ours(x, x)


@every_dtype
def test_add_rms_norm(device, dtype):
    x, residual = values(10, 300, dtype).to(device), values(10, 300, dtype, start=3).to(device)
    weight = values(1, 300, dtype, start=9)[0].to(device)
    y, total = functional.add_rms_norm(x, residual, (300,), weight)
    assert_same_bits(total, x + residual)
    assert_same_bits(y, functional.rms_norm(x + residual, (300,), weight))
    with pytest.raises(RuntimeError, match="the residual has shape"):
        functional.add_rms_norm(x, residual[:3], (300,))
