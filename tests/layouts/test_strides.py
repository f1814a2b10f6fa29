"""Bits do not depend on the layout: any strides, alignment, shape and dims against the model and against a contiguous
copy, and rows reduced alone or in a batch."""

from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import cases, like

import torch_reduce
from torch_reduce.testing import (
    DTYPES,
    FLOATING,
    OPS,
    assert_same_bits,
    fill,
    function_of,
    model,
    result_shape,
    wants_elements,
    wants_floating,
)

every_op = pytest.mark.parametrize("op", OPS)
# (shape, dims): the big families (full, rows, columns, middle dims, several dims) at sizes that split work.
SHAPES = [
    ((300_000,), 0),
    ((1, 100_003), 1),
    ((7, 20_001), 1),
    ((3000, 64), 1),
    ((20_000, 8), 1),
    ((50_000, 1), 0),
    ((20_000, 8), 0),
    ((5000, 64), 0),
    ((3001, 77), 0),
    ((6, 30_011), 0),
    ((3, 50_000), 0),
    ((8, 64, 14, 14), (0, 2, 3)),
    ((12, 300, 40), (0, 2)),
    ((12, 300, 40), 1),
    ((6, 10, 40, 40), (2, 3)),
    ((5, 700, 64), (0, 1)),
    ((4, 5, 6, 7, 8), (1, 3)),
    ((2,) * 16, tuple(range(0, 16, 2))),
    ((2,) * 14, tuple(range(3, 11))),
    ((70_000, 3), None),
    ((20, 3072), None),  # with its memory in reverse: chunks as columns
    ((2, 24, 1024), None),
]


@every_op
@given(data=st.data())
def test_any_view(op, device, data):
    x, dim, keepdim = data.draw(cases(op, FLOATING if wants_floating(op) else DTYPES))
    if wants_elements(op) and x.numel() == 0:
        return  # test_edges and test_errors
    run = function_of(op)
    on_device = like(x, device)
    actual = run(on_device, dim, keepdim=keepdim)
    assert tuple(actual.shape) == result_shape(x.shape, dim, keepdim, op=op)
    assert_same_bits(actual, model(x, dim, keepdim, op=op), "against the model")
    assert_same_bits(run(on_device.contiguous(), dim, keepdim=keepdim), actual, "contiguous copy")


@pytest.mark.parametrize("shape, dim", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32], ids=str)
def test_shapes(shape, dim, dtype, device):
    x = fill(shape, dtype)
    expected = model(x, dim)
    assert_same_bits(torch_reduce.sum(x.to(device), dim), expected, "contiguous")
    backwards = tuple(reversed(range(x.ndim)))
    turned = x.permute(backwards).contiguous().to(device).permute(backwards)
    assert_same_bits(torch_reduce.sum(turned, dim), expected, "memory in the opposite order")


# Of the shapes every fourth one, the others for the next operators.
@pytest.mark.parametrize(
    "op, shape, dim", [(op, *case) for i, op in enumerate(OPS) for case in SHAPES[i % 4 :: 4]], ids=str
)
def test_shapes_of_every_op(op, shape, dim, device):
    x = fill(shape, torch.float32, op=op)
    assert_same_bits(function_of(op)(x.to(device), dim), model(x, dim, op=op))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float16, torch.float32, torch.float64], ids=str)
def test_every_alignment(dtype, device):
    """Starts and row lengths that are no multiple of 16 bytes."""
    flat = fill((17 + 4 * 2050,), dtype).to(device)
    for offset in range(17):
        for n in (1, 7, 16, 33, 300, 1025, 2047):
            x = flat[offset : offset + 4 * n].view(4, n)
            assert x.data_ptr() % 16 == (flat.data_ptr() + offset * x.element_size()) % 16
            assert_same_bits(torch_reduce.sum(x, 1), model(x, 1), f"rows of {n} from {offset}")
            assert_same_bits(torch_reduce.sum(x, 0), model(x, 0), f"columns, {n}, from {offset}")


def test_channels_last(device):
    x = fill((4, 24, 9, 10), torch.float32).to(device)
    y = x.contiguous(memory_format=torch.channels_last)
    for dim in (None, 0, 1, (2, 3), (0, 2, 3), (1, 2), (0, 3)):
        assert_same_bits(torch_reduce.sum(y, dim), model(x, dim), str(dim))


def test_order_of_dims_does_not_matter(device):
    x = fill((30, 40, 50), torch.float32).to(device)
    assert_same_bits(torch_reduce.sum(x, [2, 0]), torch_reduce.sum(x, [0, 2]))
    assert_same_bits(torch_reduce.sum(x, [-1, 1, -3]), torch_reduce.sum(x))
    assert_same_bits(torch_reduce.sum(x, []), torch_reduce.sum(x))


@pytest.mark.parametrize("n", [5, 100, 257, 1024, 5000, 40_000])
def test_row_alone_and_in_any_batch(n, device):
    """The bits of an output depend on its own elements, not on how many others there are."""
    x = fill((n,), torch.float32).to(device)
    expected = torch_reduce.sum(x)
    for batch in (1, 2, 7, 64, 500 if n < 10_000 else 20):
        y = x.expand(batch, n).contiguous()
        assert_same_bits(torch_reduce.sum(y, 1), expected.expand(batch), f"batch of {batch}, rows")
        assert_same_bits(torch_reduce.sum(y.t().contiguous(), 0), expected.expand(batch), f"batch of {batch}, columns")


@every_op
def test_out_of_any_layout(op, device):
    """Writes through any strides of out, and nothing between them."""
    run = function_of(op)
    x = fill((6, 50, 10), torch.float32, op=op)
    expected = model(x, 1, op=op)
    x = x.to(device)
    sevens = partial(torch.full, fill_value=7, dtype=expected.dtype, device=device)
    pair = expected.shape[2:]  # two results or one
    outs = [
        sevens((6, 10, *pair)),
        sevens((*pair, 10, 6)).movedim((-2, -1), (1, 0)),
        sevens((12, 31, *pair))[::2, 1::3],
    ]
    for out in outs:
        assert run(x, 1, out=out) is out
        assert_same_bits(out, expected)
    around = sevens((12, 31, *pair)).cpu()
    around[::2, 1::3] = expected
    assert_same_bits(outs[2]._base, around, "nothing is written between the elements of out")


def test_0d_and_single_elements(device):
    for dtype in (torch.float32, torch.bfloat16, torch.int8, torch.bool):
        for shape in ((), (1,), (1, 1, 1)):
            x = fill(shape, dtype).to(device)
            for op in OPS:
                if dtype.is_floating_point or not wants_floating(op):
                    assert_same_bits(function_of(op)(x), model(x, op=op), f"{op} {dtype} {shape}")
    zero_d = torch.tensor(3.5, device=device)
    for dim in (0, -1, [0], [-1], [], None):
        assert_same_bits(torch_reduce.sum(zero_d, dim, True), zero_d)


@pytest.mark.parametrize(
    "shape, dim", [((0,), 0), ((0, 4), 0), ((4, 0), 1), ((4, 0, 3), (0, 1)), ((0, 0), None)], ids=str
)
def test_nothing_to_reduce(shape, dim, device):
    """The sum of no elements is +0, the product 1, the mean NaN, of any dtype."""
    for dtype in (torch.float32, torch.float16, torch.int32, torch.bool):
        x = torch.empty(shape, dtype=dtype, device=device)
        assert_same_bits(torch_reduce.sum(x, dim), torch.sum(x, dim))
        assert_same_bits(torch_reduce.prod(x, dim), torch.ones_like(torch.sum(x, dim)))
        if dtype.is_floating_point:
            assert_same_bits(torch_reduce.mean(x, dim), torch.full_like(torch.sum(x, dim), torch.nan))


def test_nothing_to_reduce_of_huge_dims(device):
    """Dims that do not merge, and whose sizes' product is no number of 64 bits."""
    x = torch.empty(0, 2**31, 2**31, device=device).transpose(1, 2)
    assert_same_bits(torch_reduce.sum(x), torch.zeros((), device=device))
    assert_same_bits(torch_reduce.sum(x, mode="exact"), torch.zeros((), device=device))
    assert torch_reduce.mean(x).isnan()
    assert_same_bits(torch_reduce.prod(x), torch.ones((), device=device))


@every_op
def test_no_outputs(op, device):
    for shape, dim in (((0, 4), 1), ((3, 0, 5), 2), ((3, 0, 5), (0, 2))):
        x = torch.empty(shape, device=device)
        assert tuple(function_of(op)(x, dim).shape) == result_shape(x.shape, dim, op=op)


def test_input_is_left_alone(device):
    x = fill((33, 1025), torch.float32).to(device)
    before = x.clone()
    for op in OPS:
        for dim in (0, 1, None):
            function_of(op)(x, dim)
    assert_same_bits(x, before)
