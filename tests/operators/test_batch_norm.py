"""batch_norm and its statistics: to the bit what the contract says, beside torch's, derivatives, errors."""

import numpy as np
import pytest
import torch
from channel_cases import tensors
from map_cases import DTYPES, computed, values
from torch.fx.experimental.proxy_tensor import make_fx

import torch_reduce
from torch_reduce.nn import functional
from torch_reduce.testing import assert_same_bits, assert_within, num_threads

every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)


def batch_model(x, mean, var, weight, bias, eps):
    """In the compute type; of vectors on the CPU."""
    place = (1, -1, *(1 for _ in x.shape[2:]))
    inverse = (1 / torch.from_numpy(np.sqrt((var + eps).numpy()))).view(place)  # IEEE's root
    return (x - mean.view(place)) * inverse * weight.view(place) + bias.view(place)


def test_statistics_read_elements_as_they_are(device):
    """Results of the compute type, without a copy of the elements in it."""
    x = tensors((3, 6, 50), torch.bfloat16, device)[0]
    calls = make_fx(functional.batch_norm_stats)(x).graph.find_nodes
    (call,) = calls(op="call_function", target=torch.ops.reduce._by_name.default)
    assert call.args[1:5] == ("var_mean", [0, 2], False, "float32")
    assert not calls(op="call_function", target=torch.ops.aten._to_copy.default)


@every_dtype
def test_batch_norm_has_its_bits(device, dtype):
    """In training, and with running statistics, which move."""
    for shape in ((3, 6, 5, 7), (200, 4), (0, 4, 3)):
        x, weight, bias = tensors(shape, dtype, device)
        wide = computed(x)
        dims = [0, *range(2, len(shape))]
        parts = x.cpu().to(wide, copy=True), weight.cpu().to(wide), bias.cpu().to(wide)
        var, mean = torch_reduce.var_mean(parts[0], dims, correction=0)
        for actual, expected in zip(functional.batch_norm_stats(x), (mean, var), strict=True):
            assert_same_bits(actual, expected)
        running = [torch.linspace(-1, 1, shape[1]), torch.linspace(1, 2, shape[1])]
        moved = [t.clone().to(device) for t in running]
        for records in (True, False):
            with torch.set_grad_enabled(records):
                evaluated = functional.batch_norm(x, *moved, weight, bias, eps=1e-3)
            expected = batch_model(parts[0], *(t.to(wide) for t in running), *parts[1:], 1e-3)
            assert_same_bits(evaluated, expected.to(dtype))
        assert_same_bits(x.to(wide), parts[0])
        actual = functional.batch_norm(x, *moved, weight, bias, training=True, momentum=0.25, eps=1e-3)
        assert_same_bits(actual, batch_model(parts[0], mean, var, *parts[1:], 1e-3).to(dtype))
        n = x.numel() // shape[1]
        for t, old, new in zip(moved, running, (mean, var * (n / (n - 1))), strict=True):
            assert_same_bits(t, (old.to(wide) * 0.75 + new * 0.25).float() if n else old)


def test_derivatives_of_batch_norm(device):
    torch.manual_seed(0)
    fp64 = {"dtype": torch.float64, "device": device}
    x = torch.randn(3, 4, 5, **fp64).requires_grad_()
    parameters = [torch.randn(4, **fp64).requires_grad_() for _ in range(2)]
    running = [torch.randn(4, **fp64), torch.rand(4, **fp64)]
    for training in (True, False):
        statistics = [None, None] if training else running
        run = lambda x, *p: functional.batch_norm(x, *statistics, *p, training=training, eps=1e-2)  # noqa: B023, E731
        assert torch.autograd.gradcheck(run, (x, *parameters), check_forward_ad=True, check_batched_grad=True)
        assert torch.autograd.gradgradcheck(run, (x, *parameters))
        theirs = torch.nn.functional.batch_norm(x, *statistics, *parameters, training=training, eps=1e-2)
        # Of numbers up to some ten, after some ten operations and sums of ten.
        assert_within(run(x, *parameters), theirs.detach().cpu(), 1e3 * torch.finfo(torch.float64).eps * torch.ones(()))
        compiled = torch.compile(run, fullgraph=True, backend="aot_eager")
        both = (torch.autograd.grad(f(x, *parameters).cos().sum(), (x, *parameters)) for f in (run, compiled))
        for expected, actual in zip(*both, strict=True):
            assert_same_bits(actual, expected)
        given = torch.stack([x, 2 * x.flip(0)]), torch.stack([parameters[0], parameters[0] + 1]), parameters[1]
        batched = torch.vmap(run, in_dims=(0, 0, None))(*given)
        assert_same_bits(batched, torch.stack([run(*of_one, given[2]) for of_one in zip(*given[:2], strict=True)]))
        assert_same_bits(torch.vmap(run, in_dims=(None, 0, None))(x, *given[1:])[1], run(x, given[1][1], given[2]))


def test_gradients_of_batch_norm_have_their_bits(device):
    """In training, where all samples count, and with running statistics, where each is alone."""
    x, weight, bias = (t.requires_grad_() for t in tensors((4, 6, 50), torch.float32, device))
    grad = values(1, 1200, torch.float32, start=9)[0].reshape(4, 6, 50).to(device)
    mean, var = functional.batch_norm_stats(x.detach())
    inverse = 1 / torch.from_numpy(np.sqrt((var + 1e-5).cpu().numpy())).to(device)
    normal = (x.detach() - mean[:, None]) * inverse[:, None]
    sums = [torch_reduce.sum(torch_reduce.sum(t, 2), 0) for t in (grad, grad * normal)]
    for training in (True, False):
        y = functional.batch_norm(x, mean, var, weight, bias, training=training, momentum=0.0)
        of_x, of_weight, of_bias = torch.autograd.grad(y, (x, weight, bias), grad)
        assert_same_bits(of_bias, sums[0])
        assert_same_bits(of_weight, sums[1])
        # By a tensor: by a number, torch multiplies by its rounded reciprocal on a GPU.
        a, b = ((t / torch.full_like(t, 200) if training else torch.zeros_like(t))[:, None] for t in sums)
        assert_same_bits(of_x, (((grad - a) - normal * b) * inverse[:, None]) * weight.detach()[:, None])
    alone = functional.batch_norm(x[2:3], mean, var, weight, bias)
    assert_same_bits(torch.autograd.grad(alone, x, grad[2:3])[0][2:3], of_x[2:3])
    with torch.no_grad():
        x[1, 2, 3] = torch.inf
    y = functional.batch_norm(x, mean, var, weight, bias)
    assert_same_bits(torch.autograd.grad(y, x, grad)[0], of_x)


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_of_any_layout(device, training):
    """Channels last, apart in memory, behind an odd element: the same bits, forward and backward; and the format stays
    where elements are dense."""
    for dtype, sizes in (
        (torch.bfloat16, (6, 16, 9, 7)),
        (torch.float32, (5, 6, 8, 8)),
        (torch.float16, (40, 8, 1, 1)),
    ):
        x, weight, bias = (t.requires_grad_() for t in tensors(sizes, dtype, device))
        grad = values(1, x.numel(), dtype, start=9)[0].reshape(sizes).to(device)
        mean, var = functional.batch_norm_stats(x.detach())
        run = lambda x: functional.batch_norm(x, mean.clone(), var.clone(), weight, bias, training)  # noqa: B023, E731
        expected = run(x)
        gradients = torch.autograd.grad(expected, (x, weight, bias), grad)
        inside = x.contiguous(memory_format=torch.channels_last)
        gaps = torch.cat([x.detach(), x.detach()], 3)[..., : sizes[3]]
        odd = torch.empty(x.numel() + 1, dtype=dtype, device=device)[1:].view(sizes).copy_(x.detach())
        for other in (inside, gaps, odd):
            other = other.detach().requires_grad_()
            actual = run(other)
            assert actual.is_contiguous() or actual.is_contiguous(memory_format=torch.channels_last)
            assert other is not inside or actual.stride() == inside.stride()
            assert_same_bits(actual, expected)
            for g in (grad, grad.contiguous(memory_format=torch.channels_last)):
                found = torch.autograd.grad(actual, (other, weight, bias), g, retain_graph=True)
                for a, e in zip(found, gradients, strict=True):
                    assert_same_bits(a, e)


def test_batch_norm_of_every_capability(capability):
    for dtype in DTYPES:
        for sizes in ((3, 5, 49), (70, 33), (2, 3, 3000)):
            x, weight, bias = tensors(sizes, dtype, "cpu")
            wide, var = computed(x), torch.linspace(1, 2, sizes[1], dtype=computed(x))
            mean = torch.linspace(-1, 1, sizes[1], dtype=wide)
            expected = batch_model(*(t.to(wide) for t in (x, mean, var, weight, bias)), 1e-3).to(dtype)
            for threads in (1, 3):
                with num_threads(threads):
                    actual = functional.batch_norm(x, mean, var, weight, bias, eps=1e-3)
                assert_same_bits(actual, expected, f"{capability} {dtype} {sizes}")


def test_batch_norm_of_no_channels(device):
    x, none = torch.ones(2, 0, 3, device=device, requires_grad=True), torch.ones(0, device=device, requires_grad=True)
    for training in (True, False):
        y = functional.batch_norm(x, none.detach(), none.detach(), none, none, training=training)
        assert [t.shape for t in torch.autograd.grad(y.sum(), (x, none))] == [x.shape, none.shape]


@pytest.mark.parametrize(
    "options", [{}, {"momentum": None}, {"track_running_stats": False}, {"affine": False}], ids=str
)
def test_batch_norm_modules_do_as_torchs(device, options):
    """In training, then in evaluation: results and running statistics are near."""
    x = values(1, 3 * 6 * 4, torch.float32)[0].reshape(3, 6, 4).to(device) / 4
    for kind, shape in (("BatchNorm1d", (3, 6, 4)), ("BatchNorm2d", (3, 6, 2, 2)), ("BatchNorm3d", (3, 6, 2, 1, 2))):
        theirs, ours = (getattr(nn, kind)(6, **options).to(device) for nn in (torch.nn, torch_reduce.nn))
        ours.load_state_dict(theirs.state_dict())
        assert repr(ours) == repr(theirs)
        bound = 100 * torch.finfo(torch.float32).eps * torch.ones(())  # some operations on numbers up to some ten
        for module in (theirs, ours):
            module(x.view(shape)), module(x.view(shape) * 2)
        for _ in range(2):
            for actual, expected in zip(ours.state_dict().values(), theirs.state_dict().values(), strict=True):
                assert_within(actual, expected.cpu().double(), bound * (1 + expected.cpu().double().abs()))
            assert_within(ours(x.view(shape)), theirs(x.view(shape)).detach().cpu().double(), bound)
            ours.eval(), theirs.eval()
        torch_reduce.patch(theirs)
        theirs.load_state_dict(ours.state_dict())
        assert_same_bits(theirs(x.view(shape)), ours(x.view(shape)))


def test_batch_norm_refuses():
    x, ones = torch.ones(2, 4, 3), torch.ones
    wrong = [
        (RuntimeError, (x, None, None), {}, "running_mean must be defined in evaluation mode"),
        (RuntimeError, (x, ones(4), None), {}, "running_var must be defined in evaluation mode"),
        (RuntimeError, (x, ones(3), ones(4)), {}, "running_mean should contain 4 elements not 3"),
        (RuntimeError, (x, ones(4), ones(4), ones(3)), {}, "weight should contain 4 elements not 3"),
        (RuntimeError, (x, ones(4), ones(4), None, ones(3)), {}, "bias should contain 4 elements not 3"),
        (ValueError, (x[:1, :, 0], None, None), {"training": True}, "more than 1 value per channel when training"),
        (NotImplementedError, (x.int(), ones(4), ones(4)), {}, "int32"),
        (NotImplementedError, (x.int(), None, None), {"training": True}, "int32"),
    ]
    for error, arguments, keywords, words in wrong:
        for run in (functional.batch_norm, torch.nn.functional.batch_norm):
            with pytest.raises(error) as caught:
                run(*arguments, **keywords)
            assert caught.type is error
            assert run is torch.nn.functional.batch_norm or words in str(caught.value)
    with pytest.raises(ValueError, match="batch_norm eps must be positive, but got 0.0"):  # as some releases of torch
        functional.batch_norm(x, ones(4), ones(4), eps=0.0)
    with pytest.raises(RuntimeError, match="need an input of Double"):
        functional.batch_norm(x, ones(4).double(), ones(4))
    with pytest.raises(RuntimeError, match="for each of 4 channels, on cpu, got .* on meta"):
        functional.batch_norm(x, ones(4, device="meta"), ones(4))
    with pytest.raises(RuntimeError, match="at least 2 dimensions"):
        functional.batch_norm_stats(ones(4))
