"""Rows on the CPU whose last chunk lacks elements: they end anywhere within a vector, and behind the last one there may
be nothing to read."""

import subprocess
import sys

import pytest
import torch
from capabilities import assert_bits_of_every_capability
from drawn import drawn

import torch_reduce
from torch_reduce.testing import assert_same_bits, fill, model, num_threads

LENGTHS = [1, 15, 17, 31, 33, 255, 256, 257, 271, 272, 273, 300, 511, 512, 513, 700, 767, 768, 769, 992, 1000, 1008]
LENGTHS += [1023, 1024, 1025, 1280, 1537, 2000, 2047, 2048, 2049, 3071, 17 * 1024 + 5]
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
INF = float("inf")
ROWS = 37  # more than are combined at a time, and not a multiple of them


@drawn("op, dtype, n", ["sum", "sumsq", "nansum", "prod", "amax", "amin"], DTYPES, LENGTHS)
def test_rows_that_follow_one_another(op, dtype, n):
    """From any place of a vector on, and with a gap between rows."""
    reduce = getattr(torch_reduce, op)
    flat = fill((ROWS * n + 3,), dtype, op=op)
    for start in (0, 1, 3):
        x = flat[start : start + ROWS * n].view(ROWS, n)
        assert_bits_of_every_capability(lambda x=x: reduce(x, 1), model(x, 1, op=op), f"from {start}")
    apart = fill((ROWS, n + 1), dtype, op=op)[:, 1:]
    assert_bits_of_every_capability(lambda: reduce(apart, 1), model(apart, 1, op=op), "apart")


@drawn("dtype, n, size", DTYPES, [700, 1000, 2000], [1 << 20, 13 << 20, 25 << 20])
def test_rows_in_threads(dtype, n, size):
    """And of as many bytes as are fetched in every way (csrc/core/plan/tuning/cpu.h)."""
    x = fill((size // n // dtype.itemsize, n), dtype)
    expected = model(x, 1)
    for count in (1, 3):
        with num_threads(count):
            assert_bits_of_every_capability(lambda: torch_reduce.sum(x, 1), expected, f"{count} threads")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("op", ["sum", "prod"])
def test_missing_elements_are_identities(op, dtype, capability):
    """Not what lies around a row, here NaN, nor zero, which would end a product."""
    value = -0.0 if op == "sum" else -1.0
    for n in (1, 257, 300, 513, 1000, 1023):
        whole = torch.full((3 * n + 64,), torch.nan, dtype=dtype)
        whole[n : 2 * n] = value
        row = whole[n : 2 * n].view(1, n)
        assert_same_bits(getattr(torch_reduce, op)(row, 1), model(row, 1, op=op), str(n))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("op", ["amax", "amin"])
def test_extremes_of_rows(op, dtype, capability):
    """Every sign, zeros of both, infinities, and a NaN of either sign at every place of a row."""
    n = 300
    rows = [torch.rand(n) + 0.5, -torch.rand(n) - 0.5, torch.randn(n), torch.full((n,), -0.0), torch.zeros(n)]
    rows += [torch.where(torch.arange(n) == i, 0.0, -0.0) for i in (0, 137, n - 1)]
    rows += [
        torch.where(torch.arange(n) == i, torch.tensor(v), torch.randn(n)) for i in (0, n - 1) for v in (INF, -INF)
    ]
    x = torch.stack(rows).to(dtype)
    assert_same_bits(getattr(torch_reduce, op)(x, 1), model(x, 1, op=op))
    for nan in (torch.nan, -torch.nan):
        y = torch.where(torch.eye(n, dtype=torch.bool), torch.tensor(nan), torch.randn(n, n)).to(dtype)
        assert getattr(torch_reduce, op)(y, 1).isnan().all()


# Pages around the tensor that cannot be read, and tensors from a row to what comes from memory. A process of its own,
# which a read there ends.
GUARDED = """
import ctypes, functools, mmap, torch, torch_reduce
from torch_reduce.testing import assert_same_bits, cpu_capability, fill

page, libc = mmap.PAGESIZE, ctypes.CDLL(None, use_errno=True)
pages = 6600
memory = mmap.mmap(-1, (pages + 2) * page)
start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
for guard in (start, start + (pages + 1) * page):
    assert libc.mprotect(ctypes.c_void_p(guard), ctypes.c_size_t(page), 0) == 0
filled = functools.cache(fill)  # once for all instruction sets
inside = torch.frombuffer(memory, dtype=torch.uint8)[page:-page]
lengths = (*range(1, 70), *range(70, 1000, 19), *range(250, 260), 511, 512, 513, *range(1020, 1030), 2047)

def same(values, at_start, dim, op):
    size = values.numel() * values.element_size()
    part = inside[:size] if at_start else inside[inside.numel() - size :]
    x = part.view(values.dtype).view(values.shape)
    x.copy_(values)
    reduce = getattr(torch_reduce, op)
    assert_same_bits(reduce(x, dim), reduce(values, dim), f"{name} {values.dtype} {tuple(values.shape)} {op}")
    return x

def read_all():
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int8, torch.int16, torch.int32):
        for n in lengths:
            for op in ("sum", "amax"):
                for at_start in (True, False):
                    x = same(filled((3, n), dtype, op=op), at_start, 1, op)
                    getattr(torch_reduce, op)(x[0])
                    getattr(torch_reduce, op)(x[2])
        # Whole chunks, of which some lines are asked for before they are read: an odd number, and parts of one.
        values = filled(((25 << 20) // dtype.itemsize + 2048,), dtype)
        for op, size in (("sum", 1 << 19), ("amax", 1 << 19), ("sum", 14 << 20), ("amax", 25 << 20)):
            for rest in (0, 1, 1023):
                n = (size // dtype.itemsize // 1024 | 1) * 1024 + rest
                same(values[:n], False, 0, op)
        large = inside.view(dtype)[-(inside.numel() // dtype.itemsize // 1000 * 1000) :].view(-1, 1000)
        large.fill_(1)
        assert (torch_reduce.sum(large, 1) == 1000).all()

for name in ("baseline", "avx2", "avx512"):
    forced = cpu_capability(name)
    try:
        forced.__enter__()
    except ValueError:
        print("without", name)
        continue
    read_all()
    forced.__exit__(None, None, None)
print("all read")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="pages are protected by mprotect")
def test_nothing_outside_a_row_is_read():
    done = subprocess.run([sys.executable, "-c", GUARDED], capture_output=True, text=True)
    assert done.returncode == 0 and "all read" in done.stdout, f"{done.returncode}: {done.stderr[-2000:]}"
