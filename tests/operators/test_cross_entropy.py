"""Losses of rows of logits: beside log_softmax to the bit, beside torch's, their errors and graphs."""

import pytest
import torch
from logits import SHAPES, case
from map_cases import DTYPES, special, values

from torch_reduce import nn
from torch_reduce.map_model import map_model, row_model
from torch_reduce.nn import functional
from torch_reduce.testing import assert_same_bits, fill

every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)


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
