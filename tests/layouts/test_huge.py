"""More than 2^31 elements and more than 2^31 outputs, on a GPU with the memory for it; and, through expanded views that
take none, on every device."""

import json

import pytest
import torch

import torch_reduce

GIB = 2**30


def need(gib):
    """Skips where the GPU has less free memory."""
    free = torch.cuda.mem_get_info()[0]
    if free < gib * GIB:
        pytest.skip(f"needs {gib} GiB of free GPU memory, there are {free / GIB:.1f}")


@pytest.fixture(autouse=True)
def return_memory():
    yield
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


@pytest.mark.cuda
@pytest.mark.parametrize("mode", ["atomic", "deterministic"])
def test_more_elements_than_an_int(mode):
    """Ones, and one marker past 2^31, whose place shows in no index that has wrapped."""
    need(3)
    n = 2**31 + 1025
    x = torch.ones(n, dtype=torch.uint8, device="cuda")
    x[n - 1] = 101
    assert torch_reduce.sum(x).item() == n + 100
    assert torch_reduce.sum(x, dtype=torch.float64, mode=mode).item() == n + 100
    assert torch_reduce.amax(x).item() == 101


@pytest.mark.cuda
@pytest.mark.parametrize("dtype", [torch.float16, torch.uint8], ids=str)
def test_an_index_past_32_bits(dtype):
    """The word beside a float32 holds no such index, so these are compared in float64."""
    need(14)
    n = 2**32 + 1025
    x = torch.ones(n, dtype=dtype, device="cuda")
    for place in (n - 2, 2**32, 5):  # each before the one before it
        x[place] = 3
        assert torch_reduce.argmax(x).item() == place
    x[n - 2] = 0
    assert torch_reduce.argmin(x).item() == n - 2


@pytest.mark.parametrize("op", ["argmax", "nanmean"])
@pytest.mark.parametrize("n, compute", [(2**32 - 1, "float32"), (2**32, "float64")])
def test_the_compute_type_of_an_index_or_a_count(n, compute, op):
    plan = torch.ops.reduce._explain(torch.empty(1, device="meta").expand(n), op=op, device="cuda")
    assert json.loads(plan)["compute"] == compute


@pytest.mark.cuda
@pytest.mark.parametrize("mode", ["atomic", "deterministic"])
@pytest.mark.parametrize("rows, columns", [(3, 2**30 + 7), (2**30 + 7, 3)])
def test_rows_and_columns_past_an_int(rows, columns, mode):
    need(20)
    x = torch.ones(rows, columns, dtype=torch.float16, device="cuda")
    x[rows - 1, columns - 1] = 3
    for dim, n in ((1, columns), (0, rows)):
        result = torch_reduce.sum(x, dim, dtype=torch.float64, mode=mode)
        assert result[-1].item() == n + 2 and bool((result[:-1] == n).all())


@pytest.mark.cuda
def test_more_outputs_than_an_int():
    need(14)
    outputs = 2**31 + 33
    x = torch.ones(outputs, 2, dtype=torch.uint8, device="cuda")
    x[-1, 1] = 5
    out = torch.empty(outputs, dtype=torch.uint8, device="cuda")
    torch_reduce.sum(x, 1, out=out)
    assert out[-1].item() == 6 and int((out[:-1] != 2).sum()) == 0
    y = x.view(2, outputs)
    torch_reduce.sum(y, 0, out=out)
    assert out[-1].item() == 6 and int((out[:-1] != 2).sum()) == 0


@pytest.mark.cuda
def test_strides_past_an_int():
    """Few elements, far apart."""
    need(11)
    flat = torch.zeros(2**33 + 2**31 + 1, dtype=torch.uint8, device="cuda")
    x = flat.as_strided((3, 3), (2**32, 2**30))
    x.fill_(1)
    for dim, expected in ((0, [3, 3, 3]), (1, [3, 3, 3]), (None, 9)):
        assert torch_reduce.sum(x, dim).tolist() == expected


@pytest.mark.cuda
def test_expanded_past_an_int_on_cuda():
    x = torch.tensor([1], dtype=torch.uint8, device="cuda")
    assert torch_reduce.sum(x.expand(2**32 + 5)).item() == 2**32 + 5
    assert torch_reduce.sum(x.expand(2**32, 1), 0).tolist() == [2**32]


def test_expanded_past_an_int_on_the_cpu():
    x = torch.tensor([1], dtype=torch.uint8)
    assert torch_reduce.sum(x.expand(2**31 + 5)).item() == 2**31 + 5
