"""The CUDA kernel of selections on the CPU, to the bit: rows that fit and that do not, whole and in segments."""

import ctypes

import pytest
import torch
from emulated import EMULATOR, MEMORY, PLANS, compile_library, needs_emulator
from emulated_kernels import TYPES

import torch_reduce
from torch_reduce.testing import fill

pytestmark = needs_emulator


@pytest.fixture(scope="module")
def kernels(shared_folder):
    """Not optimised, as compiling takes longer than running."""
    units = [(EMULATOR / "selections.cpp", [])] + [(source, ["-O1"]) for source in (MEMORY, *PLANS)]
    library = compile_library(shared_folder, "selections", units)
    library.emulator_failure.restype = ctypes.c_char_p
    return library


def check(kernels, x, count, largest=True, sms=1, backward=False):
    """Against the CPU's, which has another algorithm. Returns the segments."""
    out, segments = torch.full((len(x), count), 77), ctypes.c_int64()
    status = kernels.emulate_selection(
        TYPES.index(str(x.dtype).removeprefix("torch.")),
        *(ctypes.c_int64(size) for size in (len(x), x.shape[1], x.stride(0), x.stride(1), count)),
        largest,
        sms,
        backward,
        ctypes.c_void_p(x.data_ptr()),
        ctypes.c_void_p(out.data_ptr()),
        ctypes.byref(segments),
    )
    what = f"{tuple(x.shape)} {x.stride()} {x.dtype} {count} {largest} {sms}"
    assert status == 0, f"{what}: {status} {kernels.emulator_failure().decode()}"
    assert torch.equal(out, torch_reduce.topk(x, count, 1, largest)[1]), what
    return segments.value


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.int8], ids=str)
def test_rows(kernels, dtype):
    for n, count in ((1, 1), (33, 7), (64, 8), (300, 8), (300, 200), (2000, 600), (2049, 50), (5000, 1024)):
        x = fill((3, n), dtype, op="argmax", start=n)
        check(kernels, x, count, largest=n % 2 == 0, backward=n % 3 == 0)
        check(kernels, x[:, 1:] if n > count else x, count, largest=n % 2 == 1)
    check(kernels, fill((700, 3), dtype, op="argmax").t(), 9)


def test_segments(kernels):
    for n, count, segments in ((20_000, 1, 4), (33_001, 50, 8), (9_000, 1000, 2), (8_000, 1000, 1)):
        for dtype in (torch.float32, torch.int64):
            assert check(kernels, fill((2, n), dtype, op="argmax", start=n), count, sms=16) == segments


def test_more_than_there_is_room_for(kernels):
    """Equal elements, and large ones that one thread has all of."""
    check(kernels, torch.zeros(1, 9000), 30)
    for apart in (1, 512, 1024, 4096):
        x = fill((1, 40_000), torch.float32, op="argmax")
        x[0, 3::apart][:5000] += 1e6
        check(kernels, x, 20)
