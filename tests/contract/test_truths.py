"""count_nonzero, any and all: which elements are zero, in every type, and what there is of none."""

import math

import pytest
import torch

import torch_reduce
from torch_reduce.testing import DTYPES, FLOATING, assert_same_bits, fill, model

every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)
every_op = pytest.mark.parametrize("op", ["count_nonzero", "any", "all"])


@every_op
@every_dtype
def test_layouts(op, dtype, device):
    """Rows, columns, a middle dim, views without an order of memory, and all of it."""
    x = fill((37, 67, 31), dtype, op=op)
    for y, dim in ((x, None), (x, 2), (x, 0), (x, 1), (x[:, 1::2, 3:29], (0, 2)), (x.transpose(0, 2), 1), (x[:3], 0)):
        shaped = y.to(device) if y.is_contiguous() else torch.empty(0)
        if not shaped.numel():
            shaped = torch.empty_like(x, device=device).copy_(x).as_strided(y.shape, y.stride(), y.storage_offset())
        assert_same_bits(getattr(torch_reduce, op)(shaped, dim).cpu(), model(y, dim, op=op), f"{tuple(y.shape)} {dim}")


@pytest.mark.parametrize("dtype", FLOATING, ids=str)
def test_zeros_and_what_is_close(dtype, device):
    info = torch.finfo(dtype)
    least = info.smallest_normal * info.eps
    x = torch.tensor([0.0, -0.0, least, -least, math.nan, -math.inf, 1.0], dtype=dtype, device=device)
    for length in (1, 40, 1000):  # an element at a time, and by vectors
        rows = x[:, None].expand(7, length).contiguous()
        assert torch_reduce.count_nonzero(rows, 1).tolist() == [0, 0, *[length] * 5]
        assert torch_reduce.any(rows, 1).tolist() == [False, False, *[True] * 5]
        assert torch_reduce.all(rows, 1).tolist() == [False, False, *[True] * 5]
        assert torch_reduce.sum(rows, 1, dtype=torch.bool).tolist() == [False, False, *[True] * 5]


@pytest.mark.parametrize("dtype", [d for d in DTYPES if not d.is_floating_point], ids=str)
def test_every_bit_counts(dtype, device):
    bits = 8 * dtype.itemsize if dtype != torch.bool else 1
    one = [1 << i if i < 63 else -(1 << 63) for i in range(bits)]
    x = torch.tensor([0, *one]).to(dtype).to(device)
    assert torch_reduce.count_nonzero(x).item() == bits
    rows = x[:, None].expand(bits + 1, 100).contiguous()
    assert torch_reduce.any(rows, 1).tolist() == [False, *[True] * bits]
    assert not torch_reduce.all(rows, 0).any()


@every_dtype
def test_none_and_types(dtype, device):
    x = torch.empty((3, 0), dtype=dtype, device=device)
    truth = torch.uint8 if dtype == torch.uint8 else torch.bool
    for op, value in (("count_nonzero", 0), ("any", 0), ("all", 1)):
        result = getattr(torch_reduce, op)(x, 1)
        assert result.tolist() == [value] * 3
        assert result.dtype == (torch.int64 if op == "count_nonzero" else truth)


@every_op
def test_out_must_have_the_type(op, device):
    x, wrong = torch.ones(4, device=device), torch.full((), 7.0, device=device)
    with pytest.raises(RuntimeError, match="out must have the dtype"):
        getattr(torch_reduce, op)(x, out=wrong)
    assert wrong.item() == 7
