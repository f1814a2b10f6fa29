"""Softmax and norms of jagged tensors, whose rows lie within an element of the ragged dim: a token."""

import pytest
import torch
from map_cases import values

from torch_reduce import nn
from torch_reduce.nn import functional
from torch_reduce.testing import assert_same_bits

pytestmark = pytest.mark.filterwarnings("ignore")  # torch says that its nested tensors are a prototype

WEIGHT, BIAS = (torch.linspace(start, 1.5, 4) for start in (0.5, -1))
OF_ROWS = {
    "softmax": lambda x: functional.softmax(x, -1, scale=0.5),
    "softmax of another dim": lambda x: functional.softmax(x, -2),
    "log_softmax": lambda x: functional.log_softmax(x, -1, dtype=torch.float64),
    "rms_norm": lambda x: functional.rms_norm(x, (4,), WEIGHT.to(x.device)),
    "rms_norm of two dims": lambda x: functional.rms_norm(x, (3, 4)),
    "layer_norm": lambda x: functional.layer_norm(x, (4,), WEIGHT.to(x.device), BIAS.to(x.device)),
    "add_rms_norm": lambda x: functional.add_rms_norm(x, x, (4,), WEIGHT.to(x.device))[0],
    "residual of add_rms_norm": lambda x: functional.add_rms_norm(x, x, (4,))[1],
    "Softmax": nn.Softmax(-1),
    "LogSoftmax": nn.LogSoftmax(-1),
    "RMSNorm": nn.RMSNorm(4, elementwise_affine=False),
    "LayerNorm": nn.LayerNorm((3, 4), elementwise_affine=False),
}
every_call = pytest.mark.parametrize("name", OF_ROWS)


def tokens(device="cpu", dtype=torch.float32):
    """Of tensors of 2, 5, 0 and 1 tokens."""
    return list(values(8, 12, dtype).view(8, 3, 4).to(device).split([2, 5, 0, 1]))


@every_call
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_has_the_bits_of_each_tensor(name, dtype, device):
    parts = tokens(device, dtype)
    x = torch.nested.nested_tensor(parts, layout=torch.jagged)
    assert x._get_max_seqlen() == 5  # what is known of the lengths stays known: else a GPU would be asked again
    found = OF_ROWS[name](x)
    assert found._maybe_max_seqlen == 5
    assert found.shape == x.shape and (found + x).shape == x.shape  # the ragged dim is the same
    for actual, part in zip(found.unbind(), parts, strict=True):
        assert_same_bits(actual, OF_ROWS[name](part))


@every_call
def test_other_jagged_layouts(name):
    """The ragged dim elsewhere, and holes between the tensors."""
    x = torch.nested.nested_tensor(tokens(), layout=torch.jagged)
    if "another" not in name and "two" not in name and name != "LayerNorm":
        across = x.transpose(1, 2)
        for actual, part in zip(OF_ROWS[name](across).unbind(), across.unbind(), strict=True):
            assert_same_bits(actual, OF_ROWS[name](part))
    holes = torch.nested.narrow(values(3, 72, torch.float32).view(3, 6, 3, 4), 1, *HOLES, layout=torch.jagged)
    for actual, part in zip(OF_ROWS[name](holes).unbind(), holes.unbind(), strict=True):
        assert_same_bits(actual, OF_ROWS[name](part))


HOLES = torch.tensor([0, 1, 2]), torch.tensor([2, 3, 1])


@every_call
def test_gradients(name):
    parts = [part.requires_grad_() for part in tokens()]
    grad = values(8, 12, torch.float32, start=9).view(8, 3, 4)
    found = OF_ROWS[name](torch.nested.as_nested_tensor(parts, layout=torch.jagged))
    actual = torch.autograd.grad(found.values(), parts, grad.to(found.dtype))
    for one, part, g in zip(actual, parts, grad.split([2, 5, 0, 1]), strict=True):
        expected = OF_ROWS[name](part)
        assert_same_bits(one, torch.autograd.grad(expected, part, g.to(expected.dtype))[0])
    leaf = torch.nested.nested_tensor(tokens(), layout=torch.jagged, requires_grad=True)
    weight = WEIGHT.clone().requires_grad_()
    functional.rms_norm(leaf, (4,), weight).sum().backward()
    rows = torch.cat(tokens()).requires_grad_()
    expected = torch.autograd.grad(functional.rms_norm(rows, (4,), weight).sum(), (rows, weight))
    assert_same_bits(leaf.grad.values(), expected[0])
    assert_same_bits(weight.grad, expected[1])


@every_call
def test_no_gradient_of_what_lies_between_tensors(name):
    """Which may be anything."""
    x, weight = values(3, 72, torch.float32).view(3, 6, 3, 4), WEIGHT.clone().requires_grad_()
    x[:, 0], x[:, 5] = torch.nan, torch.inf
    x[2, 3:] = torch.nan
    x.requires_grad_()
    starts, lengths = torch.tensor([1, 2, 1]), torch.tensor([2, 3, 1])
    alone = [x[i, start : start + n] for i, (start, n) in enumerate(zip(starts, lengths, strict=True))]
    run = lambda x: OF_ROWS[name](x) * functional.rms_norm(x, (4,), weight)  # noqa: E731
    holes = torch.nested.narrow(x, 1, starts, lengths, layout=torch.jagged)
    losses = sum(part.sum() for part in run(holes).unbind()), sum(run(part).sum() for part in alone)
    actual, expected = (torch.autograd.grad(loss, (x, weight)) for loss in losses)
    assert actual[0].isfinite().all()
    torch.testing.assert_close(actual, expected)


@every_call
def test_compiles_whole(name):
    x = torch.nested.nested_tensor(tokens(), layout=torch.jagged, requires_grad=True)
    torch._dynamo.reset()
    run = lambda x: OF_ROWS[name](x) + x  # noqa: E731
    compiled, expected = torch.compile(run, backend="aot_eager", fullgraph=True)(x), run(x)
    assert_same_bits(compiled.values().detach(), expected.values().detach())
    of_each = [torch.autograd.grad(y.values().sum(), x)[0].values() for y in (compiled, expected)]
    assert_same_bits(*of_each)


def test_is_near_torchs():
    x = torch.nested.nested_tensor(tokens(dtype=torch.float64), layout=torch.jagged)
    weight, bias = WEIGHT.double(), BIAS.double()
    for name, arguments in (
        ("softmax", (-1,)), ("log_softmax", (-1,)), ("rms_norm", ((4,), weight)), ("layer_norm", ((4,), weight, bias)),
    ):  # fmt: skip
        ours, theirs = (getattr(package, name)(x, *arguments) for package in (functional, torch.nn.functional))
        assert ours.shape == theirs.shape
        torch.testing.assert_close(ours.values(), theirs.values())


def test_what_crosses_tokens_is_refused():
    x = torch.nested.nested_tensor(tokens(), layout=torch.jagged)
    words = (
        "^reduce::{}: a row of a nested tensor has neither its batch nor its ragged dim; take each of its unbind\\(\\)$"
    )
    for name, run in (
        ("softmax", lambda: functional.softmax(x, 1)),
        ("softmax", lambda: functional.softmax(x, -4)),
        ("log_softmax", lambda: functional.log_softmax(x.transpose(1, 3), -1)),
        ("rms_norm", lambda: functional.rms_norm(x, (8, 3, 4))),
        ("layer_norm", lambda: functional.layer_norm(x.transpose(1, 3), (8,))),
        ("add_rms_norm", lambda: functional.add_rms_norm(x, x, (4, 8, 3, 4, 5))),
    ):
        with pytest.raises(NotImplementedError, match=words.format(name)):
            run()
    with pytest.raises(IndexError, match="^reduce::softmax: dim 4 is out of range for a tensor of 4 dims$"):
        functional.softmax(x, 4)
    with pytest.raises(NotImplementedError, match="^reduce::softmax: no mask= for nested tensors; "):
        functional.softmax(x, -1, mask=torch.ones(4, dtype=torch.bool))
    with pytest.raises(NotImplementedError, match="^reduce::log_softmax: no mask= for nested tensors; "):
        functional.log_softmax(torch.ones(3, 4), -1, mask=x > 0)
    other = torch.nested.nested_tensor(tokens()[:3], layout=torch.jagged)
    for residual in (other, torch.ones(8, 3, 4)):
        with pytest.raises(RuntimeError, match="^reduce::add_rms_norm: the residual has another shape than the nested"):
            functional.add_rms_norm(x, residual, (4,))
    with pytest.raises(NotImplementedError, match="^reduce: residual is a nested tensor"):
        functional.add_rms_norm(torch.ones(8, 3, 4), x, (4,))
    with pytest.raises(RuntimeError, match=r"Given normalized_shape=\[3\]"):
        functional.layer_norm(x, (3,))
