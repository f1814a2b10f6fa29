"""mode="exact" in any layout, order, batch and number of threads, on every device."""

import math

import pytest
import torch
from exact_cases import every_dtype, every_op, finite_bits, run
from hypothesis import given
from hypothesis import strategies as st
from strategies import cases, like

import torch_reduce
from torch_reduce.exact_model import exact_model
from torch_reduce.testing import FLOATING, assert_same_bits, num_threads


@every_op
@given(data=st.data())
def test_any_layout(op, data, device):
    x, dim, keepdim = data.draw(cases("sum", FLOATING))
    expected = exact_model(x, dim, keepdim, op=op)
    actual = getattr(torch_reduce, op)(like(x, device), dim, keepdim, mode="exact")
    assert_same_bits(actual.cpu(), expected, f"{x.shape} {x.stride()} {dim}")


@every_dtype
def test_order_does_not_matter(dtype, device):
    x = finite_bits(50_000, dtype, 3)
    expected = run(x, device=device)
    assert_same_bits(expected.cpu(), exact_model(x))
    for seed in range(5):
        order = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))
        assert_same_bits(run(x[order], device=device), expected)
    assert_same_bits(run(x.view(100, 500).t(), device=device), expected)
    assert_same_bits(run(x.flip(0), device=device), expected)


def test_threads_and_instruction_sets():
    x = finite_bits(400_000, torch.float32, 9)
    expected = exact_model(x)
    from torch_reduce.testing import cpu_capability

    for capability in ("baseline", "avx2", "avx512"):
        try:
            with cpu_capability(capability):
                for count in (1, 2, 3, 7):
                    with num_threads(count):
                        assert_same_bits(run(x), expected, f"{capability}, {count} threads")
        except ValueError:
            continue


@pytest.mark.parametrize(
    "shape, dim", [((1000, 300), 0), ((300, 1000), 1), ((2**20,), None), ((40, 9, 50), 1)], ids=str
)
@every_dtype
def test_devices_agree(shape, dim, dtype, device):
    x = finite_bits(math.prod(shape), dtype, 4).view(shape)
    for op in ("sum", "mean"):
        assert_same_bits(run(x, dim, op=op, device=device).cpu(), run(x, dim, op=op))


@every_dtype
@pytest.mark.parametrize("rows, n", [(1, 70_001), (5, 4099), (300, 1001), (4000, 257), (3000, 99)])
def test_rows_begin_anywhere(rows, n, dtype, device):
    """At every place of 16 bytes; beside the rows lie NaNs."""
    values = torch.randn(rows, n, generator=torch.Generator().manual_seed(n)).to(dtype)
    expected = run(values, 1)
    pitch = n + 16 // dtype.itemsize + 1
    storage = torch.full((rows * pitch + 16,), math.nan, dtype=dtype, device=device)
    for skip in range(16 // dtype.itemsize):
        x = storage.as_strided((rows, n), (pitch, 1), skip)
        x.copy_(values)
        assert_same_bits(torch_reduce.sum(x, 1, mode="exact").cpu(), expected, f"{skip} elements after 16 bytes")
        x.fill_(math.nan)
