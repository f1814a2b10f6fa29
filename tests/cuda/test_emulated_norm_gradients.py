"""The CUDA kernel of all gradients of a norm on the CPU, to the bit: units of whole leaves and of the last rows, rows
of one warp and of several, gaps between rows."""

import ctypes

import pytest
import torch
from emulated import EMULATOR, MEMORY, PLANS, compile_library, needs_emulator
from emulated_kernels import POISON, TYPES, at_16_bytes, placed
from map_cases import NORMS_OF_ROWS, inputs_of, values

from torch_reduce.map_model import norm_weight_gradient
from torch_reduce.model import model
from torch_reduce.testing import assert_same_bits

pytestmark = needs_emulator


@pytest.fixture(scope="module")
def kernels(shared_folder):
    units = [(EMULATOR / "norm_gradients.cpp", []), *((source, ["-O1"]) for source in (MEMORY, *PLANS))]
    library = compile_library(shared_folder, "norm_gradients", units)
    library.emulator_failure.restype = ctypes.c_char_p
    return library


def run(kernels, name, x, gap=0, affine=True, backward=False):
    """Checks the bits of all results and what lies beside them. Returns the units of the sums; -1: no such kernel."""
    inputs = inputs_of(f"{name}_backward", x, affine=affine)
    rows, n = x.shape

    def of_rows(dtype, value):
        memory = at_16_bytes(rows * (n + gap), dtype, value)
        return memory, placed(memory, 0, [rows, n], [n + gap, 1])

    grad, given = (of_rows(x.dtype, 0xFF)[1].copy_(t) for t in (inputs.x, inputs.second))
    memory, out = of_rows(x.dtype, POISON)
    sums = torch.full((1 + (name == "layer_norm"), n), 77.0)
    units = ctypes.c_int64()
    weight = None if inputs.weight is None else at_16_bytes(n, x.dtype, 0)[:n].copy_(inputs.weight)
    pointers = [grad, given, weight, inputs.row.contiguous(), out, sums]
    status = kernels.emulate_norm_gradients(
        name == "layer_norm",
        TYPES.index(str(x.dtype).removeprefix("torch.")),
        *(ctypes.c_int64(size) for size in (rows, n, *[n + gap] * 3)),
        *(ctypes.c_void_p(None if t is None else t.data_ptr()) for t in pointers),
        backward,
        ctypes.byref(units),
    )
    if status == -1:
        return -1
    case = f"{name} {rows} {n} {x.dtype}"
    assert status == 0, f"{case}: status {status}, {kernels.emulator_failure().decode()}"
    assert_same_bits(out.clone(), inputs.expected, case)
    assert_same_bits(
        sums[0], norm_weight_gradient(inputs.x, inputs.second, map=name, eps=inputs.eps), f"weight, {case}"
    )
    if len(sums) > 1:
        assert_same_bits(sums[1], model(inputs.x.float(), [0], op="sum"), f"bias, {case}")
    placed(memory, 0, out.shape, out.stride()).view(torch.uint8).fill_(POISON)
    assert bool((memory.view(torch.uint8) == POISON).all()), f"beside its results: {case}"
    return units.value


@pytest.mark.parametrize("name", NORMS_OF_ROWS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
def test_bits(kernels, name, dtype):
    units = set()
    shapes = [(1, 264), (5, 512), (3, 1024), (17, 1032), (255, 264), (300, 264), (1025, 264), (9, 4096), (4, 8192)]
    shapes += [(1, 8), (70, 32), (33, 128), (300, 64), (1025, 128), (2300, 40), (600, 256), (129, 200)]
    for i, (rows, n) in enumerate(shapes):
        x = values(rows, n, dtype, start=i)
        units.add(run(kernels, name, x, gap=8 * (i % 3), affine=i % 4 > 0, backward=i % 2 > 0))
    assert -1 not in units and max(units) > 64


@pytest.mark.parametrize("name", NORMS_OF_ROWS)
def test_others_have_no_such_kernel(kernels, name):
    """Long rows, ones that are no whole vectors, doubles."""
    for rows, n, dtype in ((1, 9000, torch.float32), (4, 1001, torch.float16), (4, 100, torch.bfloat16)):
        assert run(kernels, name, values(rows, n, dtype)) == -1
    assert run(kernels, name, values(4, 1024, torch.float64)) == -1
    assert run(kernels, name, values(4, 1024, torch.bfloat16), gap=1) == -1


def test_no_more_partials_than_the_second_kernel_takes(kernels):
    """Beyond, each gradient has a kernel of its own."""

    def units_of(rows, n):
        units, at = ctypes.c_int64(), ctypes.c_void_p(4096)
        sizes = [ctypes.c_int64(size) for size in (rows, n, n, n, n)]
        status = kernels.emulate_norm_gradients(
            False, TYPES.index("bfloat16"), *sizes, at, at, at, at, None, None, False, ctypes.byref(units)
        )
        return units.value if status == 0 else None

    assert units_of(1 << 20, 512) == 65536
    assert units_of((1 << 20) + 1, 512) is None
    assert units_of(1 << 22, 128) <= 65536
