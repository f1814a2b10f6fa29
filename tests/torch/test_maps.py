"""Softmax and norms as citizens of PyTorch: derivatives of every kind, vmap, graphs, autocast."""

import contextlib

import pytest
import torch
from map_cases import values
from torch._subclasses.fake_tensor import FakeTensorMode

from torch_reduce.map_model import map_model
from torch_reduce.nn import functional
from torch_reduce.testing import assert_same_bits, fill

SOFTMAXES = [functional.softmax, functional.log_softmax]
NORMS = [functional.rms_norm, functional.layer_norm]
every_softmax = pytest.mark.parametrize("softmax", SOFTMAXES, ids=lambda f: f.__name__)
every_norm = pytest.mark.parametrize("norm", NORMS, ids=lambda f: f.__name__)


def wanting(*shape, device="cpu", start=0):
    return fill(shape, torch.float64, device=device, start=start).div(4).requires_grad_()


def parameters_of(norm, *shape, **options):
    return [wanting(*shape, start=s, **options) for s in ((1,) if norm is functional.rms_norm else (1, 2))]


@every_softmax
@pytest.mark.parametrize("dim", [0, -1])
def test_gradcheck_of_softmax(softmax, dim, device):
    x = wanting(4, 5, device=device)
    assert torch.autograd.gradcheck(
        lambda x: softmax(x, dim), x, check_forward_ad=True, check_batched_grad=True, check_batched_forward_grad=True
    )
    assert torch.autograd.gradgradcheck(lambda x: softmax(x, dim), x, check_fwd_over_rev=True)
    assert torch.autograd.gradcheck(lambda x: softmax(x, 0), wanting(device=device))


@every_softmax
def test_gradcheck_of_masks_and_scales(softmax, device):
    """What a mask leaves out is a constant; of log_softmax, what is left of it."""
    x, mask = wanting(4, 5, device=device), torch.ones(4, 5, dtype=torch.bool, device=device)
    mask[1:3, ::2] = False
    run = lambda x: softmax(x, 1, mask=mask, scale=0.7)[mask]  # noqa: E731
    assert torch.autograd.gradcheck(
        run, x, check_forward_ad=True, check_batched_grad=True, check_batched_forward_grad=True
    )
    assert torch.autograd.gradgradcheck(run, x)
    (gradient,) = torch.autograd.grad(softmax(x, 1, mask=mask)[mask].sum(), x)
    assert not gradient[~mask].any()


def test_gradcheck_of_add_rms_norm(device):
    x, residual, weight = wanting(3, 4, device=device), wanting(3, 4, device=device, start=5), wanting(4, start=1)
    inputs = (x, residual, weight.detach().to(device).requires_grad_())
    run = lambda *t: functional.add_rms_norm(*t[:2], (4,), *t[2:], eps=1e-3)  # noqa: E731
    assert torch.autograd.gradcheck(
        run, inputs, check_forward_ad=True, check_batched_grad=True, check_batched_forward_grad=True
    )
    assert torch.autograd.gradgradcheck(run, inputs)
    assert torch.autograd.gradcheck(run, (x, residual.detach()), check_forward_ad=True)


def test_add_rms_norm_is_two_operators_in_one(device):
    """Their bits, those of gradients, of a compiled program and of vmap too."""
    x, residual, grads = (values(6, 300, torch.bfloat16, start=s).to(device) for s in (0, 1, 2))
    weight = values(1, 300, torch.bfloat16, start=3)[0].to(device)

    def apart(x, residual, weight):
        total = x + residual
        return functional.rms_norm(total, (300,), weight), total

    def together(x, residual, weight):
        return functional.add_rms_norm(x, residual, (300,), weight)

    def gradients(run):
        leaves = [t.clone().requires_grad_() for t in (x, residual, weight)]
        return torch.autograd.grad(run(*leaves), leaves, (grads, grads.flip(0)))

    for run in (together, torch.compile(together, fullgraph=True)):
        for actual, expected in zip(
            (*run(x, residual, weight), *gradients(run)), (*apart(x, residual, weight), *gradients(apart)), strict=True
        ):
            assert_same_bits(actual, expected)
    for in_dims in ((0, 0, None), (None, 0, 0)):
        batch = [
            t if d is None else torch.stack([t, t.flip(0)]) for t, d in zip((x, residual, weight), in_dims, strict=True)
        ]
        alone = [together(*(t if d is None else t[i] for t, d in zip(batch, in_dims, strict=True))) for i in range(2)]
        for actual, *parts in zip(torch.vmap(together, in_dims)(*batch), *alone, strict=True):
            assert_same_bits(actual, torch.stack(parts))


@every_norm
@pytest.mark.parametrize("shape", [(5,), (2, 3)], ids=str)
def test_gradcheck_of_norms(norm, shape, device):
    x, parameters = wanting(3, 4, *shape, device=device), parameters_of(norm, *shape, device=device)
    run = lambda x, *p: norm(x, shape, *p, eps=1e-3)  # noqa: E731
    everything = {"check_forward_ad": True, "check_batched_grad": True, "check_batched_forward_grad": True}
    assert torch.autograd.gradcheck(run, (x, *parameters), **everything)
    assert torch.autograd.gradgradcheck(run, (x, *parameters))
    assert torch.autograd.gradcheck(run, (x,), check_forward_ad=True)
    assert torch.autograd.gradcheck(run, (x.detach(), *parameters))
    assert torch.autograd.gradcheck(run, (wanting(*shape, device=device), *parameters))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_gradients_have_their_bits(dtype, device):
    """Those of the model; those of weights are sums over the rows in the canonical order; create_graph changes none."""
    x, weight, grad = values(300, 700, dtype), values(1, 700, dtype, start=5)[0], values(300, 700, dtype, start=9)
    on = lambda t: t.to(device).requires_grad_()  # noqa: E731
    for softmax in SOFTMAXES:
        name, given = softmax.__name__, on(x.clone())
        y = softmax(given, 1)
        expected = map_model(grad, second=y.detach(), map=f"{name}_backward")
        for create_graph in (False, True):
            if name == "log_softmax" and create_graph:
                continue  # torch's exp
            (actual,) = torch.autograd.grad(y, given, grad.to(device), create_graph=create_graph, retain_graph=True)
            assert_same_bits(actual.detach(), expected, f"{name}, create_graph={create_graph}")
    for norm in NORMS:
        name, given, w = norm.__name__, on(x.clone()), on(weight.clone())
        y = norm(given, (700,), w, eps=1e-5)
        actual, of_weight = torch.autograd.grad(y, (given, w), grad.to(device))
        options = {"second": x, "weight": weight, "eps": 1e-5}
        assert_same_bits(actual, map_model(grad, map=f"{name}_backward", **options), name)
        normal = map_model(x.float(), map=name, eps=1e-5)
        assert_same_bits(of_weight, torch.ops.reduce.sum(grad.float() * normal, 0).to(dtype), f"{name}, weight")


def test_a_masked_row_has_the_gradient_of_the_rest(device):
    x = torch.tensor([-torch.inf, 1.0, -torch.inf, 2.0], device=device, requires_grad=True)
    for softmax in SOFTMAXES:
        (actual,) = torch.autograd.grad(softmax(x, 0)[1], x)
        rest = x.detach()[[1, 3]].requires_grad_()
        (expected,) = torch.autograd.grad(softmax(rest, 0)[0], rest)
        assert torch.equal(actual[[1, 3]], expected) and not actual[[0, 2]].any()


def test_vmap(device):
    """Of elements, and of parameters: a model of each."""
    x = values(6, 70, torch.bfloat16).view(3, 2, 70).to(device)
    for softmax in SOFTMAXES:
        for at in (0, 1, 2):
            batched = torch.vmap(softmax, in_dims=(at, None))(x.movedim(0, at), -1)
            assert_same_bits(batched, torch.stack([softmax(part, -1) for part in x]))
        mask = x > 0
        for in_dims in ((0, 0), (0, None), (None, 0)):
            given = [t[0] if d is None else t for t, d in zip((x, mask), in_dims, strict=True)]
            run = lambda x, m: softmax(x, -1, mask=m[0], scale=0.5)  # noqa: B023, E731
            alone = [run(*(t if d is None else t[i] for t, d in zip(given, in_dims, strict=True))) for i in range(3)]
            assert_same_bits(torch.vmap(run, in_dims)(*given), torch.stack(alone))
    scalars = torch.vmap(lambda x: functional.softmax(x, 0))(x[:, 0, 0])
    assert torch.equal(scalars, torch.ones_like(scalars))
    weight, bias = values(6, 70, torch.bfloat16, start=4).view(2, 3, 70).to(device)
    for norm, parameters in ((functional.rms_norm, (weight,)), (functional.layer_norm, (weight, bias))):
        run = lambda x, *p: norm(x, (70,), *p, eps=1e-5)  # noqa: B023, E731
        alone = torch.stack([run(x[i], *(p[i] for p in parameters)) for i in range(3)])
        assert_same_bits(torch.vmap(run)(x, *parameters), alone)
        same = torch.stack([run(x[0], *(p[i] for p in parameters)) for i in range(3)])
        assert_same_bits(torch.vmap(lambda *p: run(x[0], *p))(*parameters), same)  # noqa: B023
        assert_same_bits(
            torch.vmap(run, in_dims=(0, *(None for _ in parameters)))(x, *(p[0] for p in parameters)),
            torch.stack([run(part, *(p[0] for p in parameters)) for part in x]),
        )


def test_vmap_refuses_as_it_is_given(device):
    with pytest.raises(IndexError, match=r"\[-1, 0\]"):
        torch.vmap(lambda x: functional.softmax(x, 1))(torch.ones(2, 3, device=device))


def model_of(x, weight, bias):
    y = functional.layer_norm(functional.rms_norm(x, weight.shape, weight), bias.shape, weight, bias)
    return functional.softmax(y, -1) + functional.log_softmax(y, 0)


@pytest.mark.parametrize("dynamic", [False, True])
def test_compiles_whole(dynamic, device):
    x = values(6, 300, torch.float32).to(device).requires_grad_()
    weight, bias = (values(1, 300, torch.float32, start=s)[0].to(device).requires_grad_() for s in (1, 2))
    grad = values(6, 300, torch.float32, start=3).to(device)
    compiled = torch.compile(model_of, fullgraph=True, dynamic=dynamic)
    expected, actual = model_of(x, weight, bias), compiled(x, weight, bias)
    assert_same_bits(actual, expected)
    for a, e in zip(*(torch.autograd.grad(y, (x, weight, bias), grad) for y in (actual, expected)), strict=True):
        assert_same_bits(a, e)


def test_opcheck(device):
    x, weight = wanting(2, 3, 4, device=device), wanting(4, device=device)
    ops, plain = torch.ops.reduce, [t.detach() for t in (x, weight)]
    for softmax in (ops.softmax, ops.log_softmax):
        torch.library.opcheck(softmax.default, (x, 1))
        torch.library.opcheck(softmax.default, (x.detach().float().requires_grad_(), -1), {"dtype": torch.float64})
        torch.library.opcheck(
            softmax.default, (x, 1), {"mask": torch.arange(3, device=device)[:, None] > 0, "scale": 0.5}
        )
    torch.library.opcheck(ops._add_rms_norm.default, (x, plain[0], 1, weight, 1e-5))
    for norm, parameters in ((ops._rms_norm, (weight,)), (ops._layer_norm, (weight, weight))):
        torch.library.opcheck(norm.default, (x, 1, *parameters, 1e-5))
    for name, parameters in (("rms_norm", plain[1:]), ("layer_norm", plain[1:] * 2)):
        _, row = getattr(ops, f"_{name}")(plain[0], 1, *parameters, 1e-5)
        torch.library.opcheck(getattr(ops, f"_{name}_backward").default, (plain[0], plain[0], row, 1, plain[1]))
        torch.library.opcheck(getattr(ops, name).default, (x, (4,), weight))
    for softmax in (ops._softmax_backward, ops._log_softmax_backward):
        torch.library.opcheck(softmax.default, (plain[0], plain[0], 1, torch.float64))


def logprobs_of_torch(x, target):
    return torch.nn.functional.log_softmax(x, -1).gather(-1, target.unsqueeze(-1)).squeeze(-1)


ARGUMENTS = {
    "softmax": lambda x: (x, 1),
    "log_softmax": lambda x: (x, 1),
    "layer_norm": lambda x: (x, (40,)),
    "rms_norm": lambda x: (x, (40,)),
    "group_norm": lambda x: (x, 2),
    "batch_norm": lambda x: (x, None, None, None, None, True),
    "cross_entropy": lambda x: (x, torch.zeros(3, dtype=torch.int64, device=x.device)),
    "logprobs": lambda x: (x, torch.zeros(3, dtype=torch.int64, device=x.device)),
}


@pytest.mark.parametrize("name", sorted(set(functional.__all__) - {"add_rms_norm", "batch_norm_stats"}))
@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_autocast_follows_torch(kind, name):
    """By torch's list for the device, of which fake tensors know without a GPU; and in a batch as alone."""
    ours, theirs = getattr(functional, name), getattr(torch.nn.functional, name, logprobs_of_torch)
    for low in (torch.float16, torch.bfloat16):
        with FakeTensorMode(), autocast(kind, low):
            for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
                x = torch.empty(3, 40, dtype=dtype, device=kind)
                expected = theirs(*ARGUMENTS[name](x)).dtype
                assert ours(*ARGUMENTS[name](x)).dtype == expected, dtype
                batch = torch.vmap(lambda x: ours(*ARGUMENTS[name](x)))(x.expand(2, 3, 40))
                assert batch.dtype == expected, f"{dtype}, a batch"


@contextlib.contextmanager
def autocast(kind, dtype):
    """torch.autocast, also of a device that is not there."""
    before = torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)
    torch.set_autocast_enabled(kind, True)
    torch.set_autocast_dtype(kind, dtype)
    try:
        yield
    finally:
        torch.set_autocast_enabled(kind, before[0])
        torch.set_autocast_dtype(kind, before[1])
