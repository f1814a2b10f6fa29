"""Gradients of norms by their model, to the bit: of weight and bias over all rows, alone and in one pass with the
tensor's own, whatever the layout."""

import pytest
import torch
from map_cases import DTYPES, NORMS_OF_ROWS, inputs_of, row_model, special, values

import torch_reduce
from torch_reduce.map_model import map_model, norm_weight_gradient
from torch_reduce.model import model
from torch_reduce.nn import functional
from torch_reduce.testing import assert_same_bits

EPS = 1e-5
every_norm = pytest.mark.parametrize("name", NORMS_OF_ROWS)
every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)
ops = torch.ops.reduce


def laid_out(t, layout):
    """The same elements elsewhere: as they are, behind an odd number of elements, down the columns, with gaps."""
    if layout == "unaligned":
        flat = torch.empty(t.numel() + 1, dtype=t.dtype, device=t.device)
        return flat[1:].view(t.shape).copy_(t)
    if layout == "across":
        return t.mT.contiguous().mT
    if layout == "gaps":
        wide = torch.empty(*t.shape[:-1], t.shape[-1] + 8, dtype=t.dtype, device=t.device)
        return wide[..., : t.shape[-1]].copy_(t)
    return t


@every_norm
@every_dtype
def test_weights(device, name, dtype):
    layouts = ["contiguous", "unaligned", "across", "gaps"]
    for i, (rows, n) in enumerate(((1, 5), (7, 16), (256, 40), (300, 33), (1025, 64), (2500, 8), (30, 9000))):
        x, grad = values(rows, n, dtype, start=n), values(rows, n, dtype, start=n + 1)
        x = special(x) if i == 3 else x
        row = row_model(x, map=name, eps=EPS).to(device)
        expected = norm_weight_gradient(grad, x, map=name, eps=EPS)
        for of_grad, of_x in ((layouts[0], layouts[0]), (layouts[i % 4], layouts[(i + 1) % 4])):
            given = laid_out(grad.to(device), of_grad), laid_out(x.to(device), of_x)
            assert_same_bits(ops._norm_weight_backward(*given, row, 1), expected, f"{rows} {n} {of_grad} {of_x}")


@every_norm
def test_several_dims(device, name):
    """Rows are numbered through all dims before them, and places through all of theirs."""
    x = values(1, 3 * 50 * 6 * 7, torch.float32)[0].view(3, 50, 6, 7)
    grad = values(1, x.numel(), torch.float32, start=4)[0].view(50, 3, 6, 7).transpose(0, 1)
    row = row_model(x.flatten(2), map=name, eps=EPS)
    expected = norm_weight_gradient(grad.flatten(2), x.flatten(2), map=name, eps=EPS)
    given = grad.to(device), x.to(device), row.to(device), 2
    assert_same_bits(ops._norm_weight_backward(*given), expected.view(6, 7))
    of_x, sums = ops._norm_gradients(*given, None)
    assert_same_bits(sums[0], expected.view(6, 7))
    moved = map_model(grad.flatten(2), map=f"{name}_backward", second=x.flatten(2), eps=EPS)
    assert_same_bits(of_x, moved.view(x.shape))


@every_norm
@every_dtype
def test_one_pass(device, name, dtype):
    shapes = [(1, 264), (3, 1024), (17, 1032), (5, 8192), (255, 320), (300, 512), (1025, 264), (2100, 128), (20, 100)]
    shapes += [(4, 9000), (1, 16), (5000, 128), (300, 64), (70, 200)]
    first = (NORMS_OF_ROWS.index(name) + DTYPES.index(dtype)) % 2  # the other half for the next type
    for i, (rows, n) in list(enumerate(shapes))[first::2]:
        x = values(rows, n, dtype, start=i)
        inputs = inputs_of(f"{name}_backward", special(x) if i == 2 else x, affine=i % 4 > 0)
        layout = ["contiguous", "gaps", "unaligned"][i % 3]
        given = [laid_out(t.to(device), layout) for t in (inputs.x, inputs.second)]
        weight = None if inputs.weight is None else inputs.weight.to(device)
        of_x, sums = ops._norm_gradients(*given, inputs.row.to(device), 1, weight)
        case = f"{name} {rows} {n} {dtype} {layout}"
        assert_same_bits(of_x, inputs.expected, case)
        assert_same_bits(sums[0], norm_weight_gradient(inputs.x, inputs.second, map=name, eps=inputs.eps), case)
        if name == "layer_norm":
            wide = inputs.x.to(sums.dtype)
            assert_same_bits(sums[1], model(wide, [0], op="sum"), case)


@every_norm
def test_weights_of_another_type(device, name):
    inputs = inputs_of(f"{name}_backward", values(40, 512, torch.bfloat16))
    given = [t.to(device) for t in (inputs.x, inputs.second, inputs.row)]
    of_x, sums = ops._norm_gradients(*given, 1, inputs.weight.float().to(device))
    assert_same_bits(of_x, inputs.expected)
    assert_same_bits(sums[0], norm_weight_gradient(inputs.x, inputs.second, map=name, eps=inputs.eps))


@every_norm
def test_no_rows(device, name):
    words = 1 if name == "rms_norm" else 3
    x, row = torch.ones(0, 300, device=device), torch.ones(0, words, device=device)
    assert_same_bits(ops._norm_weight_backward(x, x, row, 1), torch.zeros(300))
    of_x, sums = ops._norm_gradients(x, x, row, 1, None)
    assert of_x.shape == x.shape
    assert_same_bits(sums, torch.zeros(1 + (words == 3), 300))


@every_norm
def test_a_step_has_them(device, name):
    """Of all that is wanted, and of each alone."""
    x, grad = (values(300, 512, torch.bfloat16, start=s).to(device) for s in (0, 1))
    parameters = [values(1, 512, torch.bfloat16, start=s)[0].to(device) for s in (2, 3)][: 1 + (name == "layer_norm")]

    def gradients(wanted):
        given = [t.detach().clone().requires_grad_(i in wanted) for i, t in enumerate((x, *parameters))]
        y = getattr(functional, name)(given[0], (512,), *given[1:])
        return torch.autograd.grad(y, [given[i] for i in wanted], grad)

    together = gradients(range(1 + len(parameters)))
    for i, expected in enumerate(together):
        assert_same_bits(gradients([i])[0], expected, f"{i}")
    assert_same_bits(
        together[1],
        norm_weight_gradient(
            grad, x, map=name, eps=torch.finfo(torch.float32).eps if name == "rms_norm" else 1e-5
        ).bfloat16(),
    )


@every_norm
def test_of_a_row_alone(device, name):
    """Without dims of rows: a sum of one element, of which a zero is +0."""
    x, grad = values(2, 300, torch.float32).to(device)
    grad[::2] = -0.0
    parameters = [torch.ones(300, device=device, requires_grad=True) for _ in range(1 + (name == "layer_norm"))]
    y = getattr(functional, name)(x, (300,), *parameters)
    of_row = getattr(functional, name)(x[None], (300,), *parameters)
    for wanted in (parameters, parameters[-1:]):
        alone, in_a_batch = (
            torch.autograd.grad(t, wanted, g, retain_graph=True) for t, g in ((y, grad), (of_row, grad[None]))
        )
        for a, b in zip(alone, in_a_batch, strict=True):
            assert_same_bits(a, b)


@every_norm
def test_after_dot(device, name):
    """Whose plan for the same layout is another."""
    for layout in ("across", "contiguous"):
        x, grad = (laid_out(values(64, 300, torch.float32, start=s).to(device), layout) for s in (0, 1))
        row = row_model(x.cpu(), map=name, eps=EPS).to(device)
        expected = norm_weight_gradient(grad, x, map=name, eps=EPS)
        for _ in range(2):
            torch_reduce.dot(grad, x, 0)
            assert_same_bits(ops._norm_weight_backward(grad, x, row, 1), expected)


def batches(op, tensors, rest, batched):
    """By vmap, and one by one, where some of the tensors are of a batch and the others are its first one's."""
    given = [t if is_batched else t[0] for t, is_batched in zip(tensors, batched, strict=True)]
    together = torch.vmap(lambda *t: op(*t, *rest), tuple(0 if b else None for b in batched))(*given)
    one_by_one = [
        op(*(t[i] if b else t for t, b in zip(given, batched, strict=True)), *rest) for i in range(len(tensors[0]))
    ]
    if isinstance(together, torch.Tensor):
        together, one_by_one = (together,), [(t,) for t in one_by_one]
    for actual, expected in zip(together, zip(*one_by_one, strict=True), strict=True):
        assert_same_bits(actual, torch.stack(expected))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_batches(device, dtype):
    """The rules of torch.vmap, of every tensor of a batch and of some."""

    def some(*shape, start=0):
        return values(1, torch.Size(shape).numel(), dtype, start=start)[0].view(shape).to(device)

    x, grad, weight, bias = some(3, 5, 40), some(3, 5, 40, start=1), some(3, 40, start=2), some(3, 40, start=3)
    for name in NORMS_OF_ROWS:
        row = torch.stack([row_model(t, map=name, eps=EPS) for t in x.cpu()]).to(device)
        for batched in ((True, True, True), (True, False, False), (False, True, True)):
            batches(ops._norm_weight_backward, (grad, x, row), (1,), batched)
            batches(lambda g, x, r: ops._norm_gradients(g, x, r, 1, None), (grad, x, row), (), batched)
        for of_weight in (True, False):
            call = lambda g, x, r, w: ops._norm_gradients(g, x, r, 1, w)  # noqa: E731
            batches(call, (grad, x, row, weight), (), (True, True, True, of_weight))
    x, grad = some(3, 4, 2, 60), some(3, 4, 2, 60, start=1)
    weight, bias = some(3, 10, start=2), some(3, 10, start=3)
    row = torch.stack([ops._group_norm(t, None, None, EPS)[1] for t in x])
    for parameters in ((True, True), (False, False), (True, False)):
        batches(ops._group_norm, (x, weight, bias), (EPS,), (True, *parameters))
        batches(ops._group_norm_backward, (grad, x, row, weight), (), (True, True, True, parameters[0]))
    batches(ops._channel_sums, (grad, x, row), (10,), (True, True, True))
    batches(ops._channel_sums, (grad, x, row), (10,), (True, False, False))
