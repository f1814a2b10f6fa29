"""The gradient of a product is the product of the others, by one formula, whatever asks for it."""

import itertools
import math

import pytest
import torch

import torch_reduce
from torch_reduce.testing import fill

INF, NAN = math.inf, math.nan


def backward(x):
    leaf = x.clone().requires_grad_()
    return torch.autograd.grad(torch_reduce.prod(leaf), leaf)[0]


def create_graph(x):
    leaf = x.clone().requires_grad_()
    (grad,) = torch.autograd.grad(torch_reduce.prod(leaf), leaf, create_graph=True)
    return grad.detach()


def compiled(x):
    torch._dynamo.reset()
    leaf = x.clone().requires_grad_()
    run = torch.compile(torch_reduce.prod, fullgraph=True, backend="aot_eager")
    return torch.autograd.grad(run(leaf), leaf)[0]


PATHS = {
    "backward": backward,
    "create_graph": create_graph,
    "grad": torch.func.grad(torch_reduce.prod),
    "vmap(grad)": lambda x: torch.func.vmap(torch.func.grad(torch_reduce.prod))(torch.stack([x, x]))[1],
    "jacrev": torch.func.jacrev(torch_reduce.prod),
    "compile": compiled,
}
every_path = pytest.mark.parametrize("path", PATHS)

CASES = [
    [1e30, 1e30, 0.0, 0.0],
    [0.0, 1e30, 1e30, 1e30, -0.0],
    [1e30, 1e30, 0.0],
    [1e30, 1e30],
    [1e-30, 1e-30],
    [1e-30, 1e-30, 1e30, 1e30],
    [1e30, 1e30, 1e-30, 1e-30, -1e-30],
    [1e-42, 3e38, -2.5, 1e-42, 3e38],
    [3.4e38, 3.4e38, 2.0**-149, 2.0**-149, 1.5],
    [INF, 0.0, 2.0],
    [INF, 2.0, -3.0],
    [1e30, 1e30, INF, 0.0, 0.0],
    [NAN, 2.0, 0.0],
    [-0.0, 2.0, -3.0],
    [-7.0],
    [],
]


def others(x):
    """For each element of a vector IEEE's product of the others, from integers: exact, then in the type of ``x``."""
    values = x.tolist()
    parts = [math.frexp(v) if math.isfinite(v) and v else (1.0, 0) for v in values]
    significands, exponents = [int(m * 2**53) for m, _ in parts], [e - 53 for _, e in parts]
    significand, exponent = math.prod(significands), sum(exponents)
    results = []
    for i in range(len(values)):
        rest = values[:i] + values[i + 1 :]
        if any(map(math.isnan, rest)) or (INF in map(abs, rest) and 0 in rest):
            results.append(NAN)
            continue
        exact, power = abs(significand // significands[i]), exponent - exponents[i]
        drop = max(0, exact.bit_length() - 64)
        value = 0.0 if 0 in rest else INF
        if value and INF not in map(abs, rest) and drop + power < 1000:
            value = math.ldexp(exact >> drop, drop + power)
        results.append(math.copysign(value, math.prod(math.copysign(1, v) for v in rest)))
    return torch.tensor(results, dtype=torch.float64).to(x.dtype)


def assert_close(actual, expected, factors):
    """Within an eps for every multiplication, and one of the least subnormals."""
    info = torch.finfo(expected.dtype)
    least = info.smallest_normal * info.eps
    wide = {"rtol": max(1, factors) * info.eps, "atol": 2 * least}
    torch.testing.assert_close(actual.double(), expected.double(), equal_nan=True, **wide)


@every_path
@pytest.mark.parametrize("values", CASES, ids=str)
def test_others_beyond_the_range(path, values, device):
    """Others' products that overflow or underflow on the way, beside zeros, Inf and NaN."""
    x = torch.tensor(values, device=device)
    assert_close(PATHS[path](x).cpu(), others(x), len(values))


@pytest.mark.parametrize("values", CASES, ids=str)
def test_forward_mode(values, device):
    """A tangent along one element is the product of its others."""
    x = torch.tensor(values, device=device)
    expected = others(x)
    finite = bool(expected.isfinite().all())  # the zeros of the tangent times an Inf are NaN
    for i in range(len(values)):
        tangent = torch.zeros_like(x)
        tangent[i] = 1
        _, actual = torch.func.jvp(torch_reduce.prod, (x,), (tangent,))
        if finite:
            assert_close(actual.cpu(), expected[i], len(values))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_every_type(dtype, device):
    """Long rows too, whose products of significands alone leave every type's range."""
    for n in (1, 2, 3, 32, 33, 1100):
        scale = torch.where(torch.arange(n) % 2 == 0, 2.0**10, 2.0**-10)
        for x in (fill((n,), dtype, op="prod"), fill((n,), torch.float32, op="prod").mul(scale).to(dtype)):
            assert_close(backward(x.to(device)).cpu(), others(x), len(x))


@pytest.mark.parametrize("dim", [0, 1, [0, 2], [1, 2], None], ids=str)
def test_any_dims(dim, device):
    x = fill((2, 3, 5), torch.float64, op="prod").to(device).requires_grad_()
    (grad,) = torch.autograd.grad(torch_reduce.prod(x, dim).sum(), x)
    torch.testing.assert_close(grad, (torch_reduce.prod(x, dim, keepdim=True) / x).detach())


@every_path
def test_types_below_the_compute_type_round_once(path, device):
    """65504 * 65504 * 2**-20 is finite in fp16, whatever the order; so is its gradient."""
    for values in list(itertools.permutations([65504.0, 65504.0, 2.0**-20, 2.0]))[::5]:
        x = torch.tensor(values, dtype=torch.float16, device=device)
        assert_close(PATHS[path](x).cpu(), others(x), 1)


def test_second_derivatives_beyond_the_range(device):
    """For a pair of elements the product of all but the two."""
    for values in ([1e30, 1e30, 1e-30, 1e-30], [1e30, 1e30, 0.0, 0.0], [1e38] * 5 + [0.0] * 3):
        x = torch.tensor(values, device=device)
        expected = torch.zeros(len(x), len(x))
        for i in range(len(x)):
            rest = [j for j in range(len(x)) if j != i]
            expected[i, rest] = others(x.cpu()[rest])
        assert_close(torch.func.hessian(torch_reduce.prod)(x).cpu(), expected, len(x))
