"""group_norm: to the bit what the contract says, beside torch's, derivatives, errors."""

import pytest
import torch
from channel_cases import tensors
from map_cases import DTYPES, computed, values

import torch_reduce
from torch_reduce.map_model import map_model
from torch_reduce.nn import functional
from torch_reduce.testing import assert_same_bits, assert_within

every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)
SHAPES = [(3, 6, 5, 7), (2, 4), (1, 6, 300), (0, 4, 3), (2, 6, 0)]


@every_dtype
def test_group_norm_has_its_bits(device, dtype):
    for shape in SHAPES:
        x, weight, bias = tensors(shape, dtype, device)
        wide = computed(x)
        rows = x.cpu().to(wide).reshape(shape[0] * 2, -1) if x.numel() else x.cpu().to(wide).reshape(0, 1)
        normal = map_model(rows, map="layer_norm", eps=1e-3).reshape(shape)
        assert_same_bits(functional.group_norm(x, 2, eps=1e-3), normal.to(dtype), f"{shape}")
        place = (1, -1, *(1 for _ in shape[2:]))
        w, b = (t.cpu().to(wide).view(place) for t in (weight, bias))
        assert_same_bits(functional.group_norm(x, 2, weight, bias, 1e-3), (normal * w + b).to(dtype), f"{shape}")
        assert_same_bits(functional.group_norm(x, 2, bias=bias, eps=1e-3), (normal + b).to(dtype), f"{shape}")
        with torch.no_grad():
            kept = x.clone()
            assert_same_bits(functional.group_norm(x, 2, weight, bias, 1e-3), (normal * w + b).to(dtype), f"{shape}")
            assert_same_bits(x, kept)
        across = x.transpose(0, -1).contiguous().transpose(0, -1)
        assert_same_bits(functional.group_norm(across, 2, weight, bias, 1e-3), (normal * w + b).to(dtype), f"{shape}")


def test_gradients_of_group_norm_have_their_bits(device):
    """Those of weight and bias are sums in the canonical order over each sample's elements, and then over samples."""
    x, weight, bias = (t.requires_grad_() for t in tensors((4, 6, 50), torch.float32, device))
    grad = values(1, 1200, torch.float32, start=9)[0].reshape(4, 6, 50).to(device)
    y = functional.group_norm(x, 3, weight, bias)
    assert_same_bits(*(torch.autograd.grad(y, bias, grad, True, create)[0] for create in (True, False)))
    of_x, of_weight, of_bias = torch.autograd.grad(y, (x, weight, bias), grad)
    normal = functional.group_norm(x.detach(), 3)
    assert_same_bits(of_weight, torch_reduce.sum(torch_reduce.sum(grad * normal, 2), 0))
    assert_same_bits(of_bias, torch_reduce.sum(torch_reduce.sum(grad, 2), 0))
    part = functional.group_norm(x[2:3], 3, weight, bias)
    assert_same_bits(part, y[2:3])
    assert_same_bits(torch.autograd.grad(part, x, grad[2:3])[0][2:3], of_x[2:3])


def test_derivatives_of_group_norm(device):
    torch.manual_seed(0)
    x = torch.randn(3, 4, 5, dtype=torch.float64, device=device, requires_grad=True)
    parameters = [torch.randn(4, dtype=torch.float64, device=device, requires_grad=True) for _ in range(2)]
    run = lambda x, *p: functional.group_norm(x, 2, *p, eps=1e-2)  # noqa: E731
    assert torch.autograd.gradcheck(run, (x, *parameters), check_forward_ad=True, check_batched_grad=True)
    assert torch.autograd.gradgradcheck(run, (x, *parameters))
    theirs = torch.nn.functional.group_norm(x, 2, *parameters, eps=1e-2)
    # Of numbers up to some ten, after some ten operations and sums of ten.
    assert_within(run(x, *parameters), theirs.detach().cpu(), 1e3 * torch.finfo(torch.float64).eps * torch.ones(()))
    alone = torch.stack([run(x[i : i + 1], *parameters) for i in range(3)])
    for records in (True, False):
        with torch.set_grad_enabled(records):
            batched = torch.vmap(lambda x: run(x.unsqueeze(0), *parameters))(x)
            assert_same_bits(batched, alone)
    compiled = torch.compile(run, fullgraph=True, backend="aot_eager")
    both = (torch.autograd.grad(f(x, *parameters).cos().sum(), (x, *parameters)) for f in (run, compiled))
    for expected, actual in zip(*both, strict=True):
        assert_same_bits(actual, expected)


def test_modules_take_torchs_state(device):
    theirs, ours = (nn.GroupNorm(2, 6).to(device) for nn in (torch.nn, torch_reduce.nn))
    torch.nn.init.normal_(theirs.weight)
    ours.load_state_dict(theirs.state_dict())
    assert repr(ours) == repr(theirs)
    x = tensors((3, 6, 5), torch.float32, device)[0]
    assert_same_bits(ours(x), functional.group_norm(x, 2, theirs.weight, theirs.bias))
    torch_reduce.patch(theirs)
    assert_same_bits(ours(x), theirs(x))


def test_group_norm_refuses():
    x = torch.ones(2, 4, 3)
    wrong = [
        (RuntimeError, (x, -2), "Expected num groups to be greater than 0, got -2"),
        (RuntimeError, (x, 3), "divisible by num_groups, but got input of shape [2, 4, 3] and num_groups=3"),
        (RuntimeError, (x, 2, x[0, 0]), "Expected weight to be a vector of size equal to the number of channels"),
        (RuntimeError, (x, 2, None, x[0, 0]), "Expected bias to be a vector of size equal to the number of channels"),
        (RuntimeError, (x[0, 0], 1), "Expected at least 2 dimensions for input tensor but received 1"),
        (ValueError, (x[:1, :2, 0], 2), "Expected more than 1 value per channel when training"),
        (NotImplementedError, (x.int(), 2), "the dtype Int of the input is not supported"),
        (NotImplementedError, (x.int(), 2, torch.ones(4).int()), "the dtype Int of the input is not supported"),
    ]
    for error, arguments, words in wrong:
        for run in (functional.group_norm, torch.nn.functional.group_norm):
            with pytest.raises(error) as caught:
                run(*arguments)
            assert caught.type is error
            assert run is torch.nn.functional.group_norm or words in str(caught.value)
    with pytest.raises(RuntimeError, match="need an input of Double"):
        functional.group_norm(x, 2, torch.ones(4, dtype=torch.float64))
    with pytest.raises(RuntimeError, match="greater than 0"):
        functional.group_norm(x, 0)
