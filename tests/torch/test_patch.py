"""patch() and unpatch(): what is replaced, that it is close, that nothing else changes, and that it goes back."""

import copy
import io
import pickle

import pytest
import torch
from torch import nn

import torch_reduce
from torch_reduce.nn import functional
from torch_reduce.testing import assert_same_bits


class RMSNorm(nn.Module):
    """As models write it: the normalised value is rounded before the weight."""

    def __init__(self, n, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(0.5, 1.5, n))
        self.variance_epsilon = eps

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)
        return self.weight * h.to(x.dtype)


class OffsetRMSNorm(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.linspace(-0.5, 0.5, n)), 1e-6

    def forward(self, x):
        h = x.float()
        return (h * torch.rsqrt(h.square().mean(-1, keepdim=True) + self.eps) * (1 + self.weight.float())).to(x.dtype)


class NoRMSNorm(OffsetRMSNorm):
    """It looks like one, and computes something else."""

    def forward(self, x):
        return super().forward(x) * 1.25


class RMSNormOfWeight(RMSNorm):
    """A weight of 16 bits decides the type of the result, as in T5."""

    def forward(self, x):
        h = x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.variance_epsilon)
        return self.weight * (h.to(self.weight.dtype) if self.weight.dtype.itemsize == 2 else h)


class RMSNormToFloat32(RMSNorm):
    """The result is of float32, also where both are narrower."""

    def forward(self, x):
        return super().forward(x.float()) * torch.ones((), dtype=torch.float32).expand(1)


class RMSNormOfChannels(RMSNorm):
    """Of rows of a matrix that of the last dim, and of others another one."""

    def forward(self, x):
        weight = self.weight.view(-1, *[1] * (x.dim() - 2))
        return x * torch.rsqrt(x.pow(2).mean(1, keepdim=True) + self.variance_epsilon) * weight


class Scaled(nn.LayerNorm):
    """A subclass with a forward of its own."""

    def forward(self, x):
        return super().forward(x) * 2


def small_model():
    torch.manual_seed(0)
    layers = [nn.Linear(6, 8), RMSNorm(8), nn.Linear(8, 8), OffsetRMSNorm(8), nn.LayerNorm(8), nn.RMSNorm(8)]
    return nn.Sequential(*layers, nn.Softmax(-1))


def test_what_is_replaced():
    model = small_model()
    model.append(NoRMSNorm(8)).append(Scaled(8)).append(nn.InstanceNorm1d(8)).append(nn.MultiheadAttention(8, 2))
    model.append(nn.CrossEntropyLoss(weight=torch.ones(3))).append(torch_reduce.nn.LayerNorm(8)).append(nn.Softmax())
    result = torch_reduce.patch(model)
    assert list(result.replaced) == ["1", "3", "4", "5", "6"]
    assert list(result.left) == ["7", "8", "9", "10", "11", "13"]
    assert "2 x RMSNorm by torch_reduce" in str(
        result
    ) and "left: 1 x Scaled: its forward is not one that is known" in str(result)
    assert result.left["11"] == "CrossEntropyLoss: it has weights of classes"
    assert str(torch_reduce.patch(nn.Linear(2, 2))) == "no reductions"


def test_a_norm_has_the_operators_bits(device):
    x = torch.linspace(-3, 4, 80).sin().reshape(10, 8).to(device)
    for dtype in (torch.float32, torch.bfloat16):
        for module, offset in ((RMSNorm(8, eps=0.5), 0), (OffsetRMSNorm(8), 1)):
            module = module.to(device, dtype)
            eps = 0.5 if offset == 0 else 1e-6
            before = module(x.to(dtype))
            torch_reduce.patch(module)
            weight = module.weight if offset == 0 else module.weight.float() + 1
            assert_same_bits(module(x.to(dtype)), functional.rms_norm(x.to(dtype), (8,), weight, eps))
            # Two roundings to the type before, one now, beside a few of fp32.
            room = 1.5 * torch.finfo(dtype).eps + 12 * torch.finfo(torch.float32).eps
            torch.testing.assert_close(module(x.to(dtype)), before, rtol=room, atol=0)
    mixed = RMSNorm(8).to(device)
    types = []
    for _ in range(2):
        types.append(mixed(x.bfloat16()).dtype)
        torch_reduce.patch(mixed)
    assert types == [torch.float32] * 2


def test_the_type_of_a_narrow_weight():
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        for kind in (RMSNorm, RMSNormOfWeight):
            module = kind(8).to(dtype)
            for x in (torch.randn(2, 3, 8), torch.randn(2, 3, 8).to(dtype)):
                expected = module(x)
                assert torch_reduce.patch(module).replaced
                actual = module(x)
                torch_reduce.unpatch(module)
                torch.testing.assert_close(actual, expected)


def test_a_norm_of_another_type_stays():
    assert RMSNormToFloat32(8).bfloat16()(torch.randn(2, 8).bfloat16()).dtype == torch.float32
    assert not torch_reduce.patch(RMSNormToFloat32(8)).replaced


@pytest.mark.parametrize("n", [1, 3, 4])
def test_a_norm_of_another_dim_stays(n):
    assert not torch_reduce.patch(RMSNormOfChannels(n)).replaced
    assert torch_reduce.patch(RMSNorm(n)).replaced


def test_a_loss_takes_the_targets_of_torchs():
    module, x = nn.CrossEntropyLoss(), torch.randn(4, 5)
    for target in (torch.tensor([0, 4, 2, 1]), torch.tensor([0, 4, 2, 1], dtype=torch.uint8), torch.rand(4, 5)):
        expected = module(x, target)
        assert torch_reduce.patch(module).replaced
        torch.testing.assert_close(module(x, target), expected)
        module.weight = torch.rand(5)  # after it was patched
        weighted = module(x, target)
        torch_reduce.unpatch(module)
        torch.testing.assert_close(weighted, module(x, target))
        module.weight = None
    assert not torch_reduce.patch(torch_reduce.nn.CrossEntropyLoss()).left


def test_nothing_else_changes():
    model = small_model()
    calls = []
    model[1].register_forward_hook(lambda *_: calls.append(1))
    before, parameters = dict(model.state_dict()), list(model.parameters())
    modules, kinds = list(model.modules()), [type(m) for m in model.modules()]
    x = torch.linspace(-1, 1, 24).reshape(4, 6)
    theirs = model(x)
    for _ in range(2):
        torch_reduce.patch(model)
    ours = model(x)
    assert len(calls) == 2
    assert all(a is b for a, b in zip(model.parameters(), parameters, strict=True))
    assert all(a is b for a, b in zip(model.modules(), modules, strict=True))
    assert [type(m) for m in model.modules()] == kinds
    assert {k: v.data_ptr() for k, v in model.state_dict().items()} == {k: v.data_ptr() for k, v in before.items()}
    torch_reduce.unpatch(model)
    assert_same_bits(model(x), theirs)
    assert all("forward" not in m.__dict__ for m in model.modules())
    torch_reduce.unpatch(model)
    torch_reduce.patch(model)
    assert_same_bits(model(x), ours)


def test_copies():
    """A copy is patched, of its own parameters."""
    model = small_model()
    torch_reduce.patch(model)
    x = torch.linspace(-1, 1, 24).reshape(4, 6)
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), torch.load(file, weights_only=False)):
        assert_same_bits(twin(x), model(x))
        with torch.no_grad():
            twin[1].weight.mul_(2)
            expected = functional.rms_norm(twin[0](x), (8,), twin[1].weight, 1e-6)
        assert_same_bits(twin[1](twin[0](x)), expected)
        assert not torch.equal(twin[1].weight, model[1].weight)
        torch_reduce.unpatch(twin)
        assert "forward" not in twin[1].__dict__ and "forward" in model[1].__dict__


def test_a_row_has_its_bits_in_every_batch(device):
    model = small_model()[3:].to(device)
    torch_reduce.patch(model)
    x = torch.linspace(-3, 3, 800).sin().reshape(100, 8).to(device)
    whole = model(x)
    for rows in (slice(0, 1), slice(7, 40)):
        assert_same_bits(model(x[rows]), whole[rows])


def test_gradients_and_compile(device):
    """Beside the same model in float64, of numbers up to some ten after some hundred operations."""
    model = small_model().to(device)
    x = torch.linspace(-1, 1, 24).reshape(4, 6).to(device)
    weights = torch.linspace(1, 2, 8, device=device)

    def gradients(model, x):
        loss = (model(x) * weights.to(x.dtype)).sum()
        return torch.autograd.grad(loss, list(model.parameters()))

    exact = gradients(copy.deepcopy(model).double(), x.double())
    torch_reduce.patch(model)
    for run in (model, torch.compile(model, fullgraph=True, backend="aot_eager")):
        for actual, expected in zip(gradients(run, x), exact, strict=True):
            torch.testing.assert_close(actual.double(), expected, rtol=0, atol=1000 * torch.finfo(torch.float32).eps)


def test_a_compiled_model_is_compiled_again():
    x = torch.linspace(-1, 1, 24).reshape(4, 6)
    model = torch.compile(small_model(), backend="aot_eager")
    theirs = model(x)
    torch_reduce.patch(model)
    assert_same_bits(model(x), model._orig_mod(x))
    torch_reduce.unpatch(model)
    assert_same_bits(model(x), theirs)


def test_a_forward_that_is_there_stays():
    """As libraries that move modules between devices set it."""
    model = nn.LayerNorm(4)
    model.forward = lambda x: x + 1
    kept = model.forward
    assert torch_reduce.patch(model).left == {"": "LayerNorm: it has a forward of its own"}
    torch_reduce.unpatch(model)
    assert model.forward is kept


def test_refuses():
    for run in (torch_reduce.patch, torch_reduce.unpatch):
        with pytest.raises(TypeError, match=rf"{run.__name__}\(\) takes a torch.nn.Module, not function"):
            run(small_model)
    with pytest.raises(NotImplementedError, match="weights of classes"):
        torch_reduce.nn.CrossEntropyLoss(weight=torch.ones(3))(torch.ones(2, 3), torch.tensor([0, 1]))


# ---- the package transformers --------------------------------------------------------------------------------------
