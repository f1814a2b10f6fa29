"""torch.vmap calls a kernel once for all examples. torch's fallback calls it for each, and knows no empty batch."""

import pytest
import torch

import torch_reduce
from torch_reduce._schemas import REDUCTIONS, SCANS
from torch_reduce.nn import functional
from torch_reduce.testing import assert_same_bits, fill

MASKED = [op for op, operator in REDUCTIONS.items() if operator.takes_mask]
PAIRS = [op for op, operator in (REDUCTIONS | SCANS).items() if operator.gives_pair]
ops = torch.ops.reduce
pytestmark = pytest.mark.filterwarnings("error")


def test_every_operator_has_a_rule():
    """But for those that compiled programs alone call, and what is no function of tensors."""
    names = [name for name in torch._C._dispatch_get_all_op_names() if name.startswith("reduce::")]
    public = [name for name in names if not name.startswith("reduce::_") and not name.endswith("out")]
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    keys = ("FuncTorchBatched", "FuncTorchBatchedDecomposition")
    ruled = [name for name in public if any(has_kernel(name, key) for key in keys)]
    assert sorted(set(public) - set(ruled)) == []


def results_of(result):
    return result if isinstance(result, tuple) else (result,)


def assert_batch(run, arguments, in_dims=0):
    """The bits of each example alone, for a batch, for several of them and for none."""
    dims = in_dims if isinstance(in_dims, tuple) else (in_dims,) * len(arguments)
    size = next(t.shape[d] for t, d in zip(arguments, dims, strict=True) if d is not None)
    examples = [[t if d is None else t.select(d, i) for t, d in zip(arguments, dims, strict=True)] for i in range(size)]
    expected = [torch.stack(of_each) for of_each in zip(*(results_of(run(*each)) for each in examples), strict=True)]
    for found, of_each in zip(results_of(torch.vmap(run, dims)(*arguments)), expected, strict=True):
        assert_same_bits(found, of_each)
    twice = torch.vmap(torch.vmap(run, dims))(*(torch.stack((t, t)) for t in arguments))
    for found, of_each in zip(results_of(twice), expected, strict=True):
        assert_same_bits(found, torch.stack((of_each, of_each)))
    none = [t if d is None else t.narrow(d, 0, 0) for t, d in zip(arguments, dims, strict=True)]
    for found, of_each in zip(results_of(torch.vmap(run, dims)(*none)), expected, strict=True):
        assert found.shape == (0, *of_each.shape[1:]) and found.dtype == of_each.dtype


@pytest.mark.parametrize("op", MASKED)
def test_masks(op, device):
    function = getattr(torch_reduce, op)
    x, mask = fill((4, 3, 60), torch.float32, op=op).to(device), fill((4, 3, 60), torch.bool).to(device)
    for dim, keepdim in ((-1, False), ((0, 1), True), (None, False), (0, True)):
        run = lambda x, where: function(x, dim=dim, keepdim=keepdim, where=where)  # noqa: E731, B023
        assert_batch(run, (x, mask))
        assert_batch(run, (x.movedim(0, 2), mask.movedim(0, 1)), (2, 1))
        assert_batch(run, (x, mask[0]), (0, None))
        assert_batch(run, (x[0], mask), (None, 0))
    assert_batch(lambda x, where: function(x, dim=1, where=where), (x, mask[:, 0]))  # broadcasts in an example
    assert_batch(lambda x, where: function(x, where=where), (x[:, 0, 0], mask[:, 0, 0]))  # scalars


@pytest.mark.parametrize("mode", ["deterministic", "exact"])
def test_dot(mode, device):
    x, other = fill((4, 3, 60), torch.float32).to(device), fill((4, 3, 60), torch.float32, start=7).to(device)
    for dim, keepdim in ((-1, False), ((0, 1), True), (None, False)):
        run = lambda x, other: torch_reduce.dot(x, other, dim, keepdim, mode=mode)  # noqa: E731, B023
        assert_batch(run, (x, other))
        assert_batch(run, (x.movedim(0, 1), other), (1, 0))
        assert_batch(run, (x, other[0]), (0, None))
    assert_batch(lambda x, other: torch_reduce.dot(x, other, 0), (x[:, 0], other), 0)  # broadcasts in an example
    assert_batch(lambda x, other: torch_reduce.dot(x, other), (x[:, 0, 0], other[:, 0, 0]))


@pytest.mark.parametrize("name", [*PAIRS, "topk"])
def test_two_results(name, device):
    x = fill((4, 3, 60), torch.float32).to(device)
    more = (2,) if name == "topk" else ()
    for run in (
        lambda x, dim: getattr(torch_reduce, name)(x, *more, dim),
        lambda x, dim: getattr(ops, name)(x, *more, dim if name in SCANS or more else [dim]),
    ):
        for dim in (0, -1):
            assert_batch(lambda x: run(x, dim), (x,))  # noqa: B023
            assert_batch(lambda x: run(x, dim), (x,), 2)  # noqa: B023
    with pytest.raises(IndexError, match=r"out of range.*\[-2, 1\], but got 2"):
        torch.vmap(lambda x: getattr(torch_reduce, name)(x, *more, 2))(x)


@pytest.mark.parametrize("dtype", [torch.uint16, torch.uint64, torch.float8_e5m2, torch.bfloat16], ids=str)
def test_types_of_selections(dtype, device):
    assert_batch(lambda x: torch_reduce.topk(x, 5), (fill((3, 60), dtype, op="argmax").to(device),))


@pytest.mark.parametrize("options", [{}, {"label_smoothing": 0.1, "z_loss": 0.01}], ids=str)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy(reduction, options, device):
    run = lambda x, target: functional.cross_entropy(x, target, reduction=reduction, **options)  # noqa: E731
    x = fill((4, 5, 50, 3), torch.bfloat16).to(device)
    target = torch.arange(60, device=device).reshape(4, 5, 3).mul(7) % 50
    target[1, 2] = -100
    for logits, targets in ((x, target), (x[..., 0], target[..., 0]), (x[:, 0, :, 0], target[:, 0, 0])):
        assert_batch(run, (logits, targets))
        assert_batch(run, (logits.movedim(0, -1), targets.movedim(0, -1)), -1)
        assert_batch(run, (logits, targets[0]), (0, None))
        assert_batch(run, (logits[0], targets), (None, 0))


def test_logprobs(device):
    x, target = fill((4, 5, 50), torch.float32).to(device), torch.arange(20, device=device).reshape(4, 5)
    for logits, targets in ((x, target), (x[:, 0], target[:, 0])):
        assert_batch(functional.logprobs, (logits, targets))
        assert_batch(functional.logprobs, (logits.movedim(0, 1), targets), (1, 0))
        assert_batch(functional.logprobs, (logits, targets[0]), (0, None))
        assert_batch(functional.logprobs, (logits[0], targets), (None, 0))
        padded = lambda x, t: functional.logprobs(x, t, dtype=torch.float64, ignore_index=3)  # noqa: E731
        assert_batch(padded, (logits, targets))


def test_derivatives_of_losses(device):
    """The bits of each example's gradient; of a gradient of a batch, too, and of what the kernels are made of."""
    x, target = fill((4, 5, 50), torch.float32).to(device), torch.arange(20, device=device).reshape(4, 5) * 2
    target[2, 3] = -100
    losses = {
        "cross_entropy": lambda x, t: functional.cross_entropy(x, t, label_smoothing=0.1, z_loss=0.01),
        "logprobs": lambda x, t: functional.logprobs(x, t.clamp_min(0)).square().sum(),
    }
    for run in losses.values():
        gradient = torch.func.grad(run)
        assert_batch(gradient, (x, target))
        whole = torch.func.grad(lambda x: torch.vmap(run)(x, target).sum())(x)  # noqa: B023
        assert_same_bits(whole, torch.vmap(gradient)(x, target))
        again = torch.func.grad(lambda x, t: gradient(x, t).square().sum())  # noqa: B023
        each = torch.stack([again(a, b) for a, b in zip(x, target, strict=True)])
        torch.testing.assert_close(torch.vmap(again)(x, target), each)
    assert_batch(lambda x: ops._logits(x, 0), (x,), 1)
    row = torch.stack([torch.cat([ops._logits(each, 1)] * 2, -1) for each in x])
    assert_batch(lambda x, row: ops._logits_backward(x, row, 1), (x, row))


def test_gradients_of_examples(device):
    x = torch.randn(4, 30, dtype=torch.float64, device=device)
    mask = torch.rand(4, 30, device=device) < 0.7
    mask[:, :2] = True
    for run in (
        *(lambda x, m, op=op: getattr(torch_reduce, op)(x, where=m) for op in MASKED),
        lambda x, m: torch_reduce.dot(x, x + m),
        lambda x, m: torch_reduce.topk(x, 3)[0].square().sum(),
        lambda x, m: torch_reduce.cummax(x, 0)[0].square().sum(),
    ):
        found = torch.vmap(torch.func.grad(run))(x, mask)
        each = torch.stack([torch.func.grad(run)(a, b) for a, b in zip(x, mask, strict=True)])
        torch.testing.assert_close(found, each)
