"""torch_reduce/device/order.cuh: every building block in the emulator, where there is no GPU; and the example kernels,
in the emulator and on a GPU, against the operators that they fuse."""

import ctypes
from pathlib import Path

import moments
import numpy as np
import pytest
import torch
from consumer import CXX, EXAMPLES, NVCC, PACKAGE, build, must, run
from devices import needs_cuda
from folders import ROOT, TESTS
from once import once

import torch_reduce
from torch_reduce.model import canonical, model
from torch_reduce.testing import assert_same_bits, fill, order_fill

DEVICE = EXAMPLES / "device"
HOW = {"a warp": 0, "32 threads": 32, "64 threads": 64, "256 threads": 256, "1024 threads": 1024}
LENGTHS = [0, 1, 2, 31, 33, 255, 256, 257, 1000, 1023, 1024, 1025, 2049, 5000, 32_768, 32_769, 70_001, 300_007]

needs_compiler = pytest.mark.skipif(CXX is None, reason="needs a C++ compiler")
needs_nvcc = pytest.mark.skipif(NVCC is None, reason="needs nvcc")
every_dtype = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)


def pointer(x):
    return ctypes.c_void_p(x.data_ptr())


# ---- the building blocks -----------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def emulator(tmp_path_factory) -> ctypes.CDLL:
    library = tmp_path_factory.mktemp("emulator") / "order.so"
    flags = ["-std=c++20", "-O1", "-ffp-contract=off", "-fPIC", "-shared", "-Wall", "-Wno-unknown-pragmas"]
    flags += ["-U_FORTIFY_SOURCE", f"-I{TESTS}/emulator", f"-I{ROOT}/include"]
    must(CXX, *flags, *(TESTS / "emulator" / source for source in ("order.cpp", "memory.cpp")), "-o", library)
    return ctypes.CDLL(str(library))


def blocks(emulator, x, how, op="sum", piece=None):
    """The results of a row's pieces; every thread of a block has the same."""
    n, threads = len(x), 256 if how == -256 else max(how, 32)
    piece = piece or max(n, 1)
    grid = max(-(-n // piece), 1)
    out = torch.full((grid, threads), 77, dtype=x.dtype)
    function = emulator.reduce_float if x.dtype == torch.float32 else emulator.reduce_double
    longs = [ctypes.c_int64(v) for v in (n, piece)]
    assert function(how, op == "prod", pointer(x), pointer(out), *longs) == 0
    assert_same_bits(out, out[:, :1].expand_as(out).contiguous())
    return out[:, 0]


def expected(x, op="sum"):
    """Of a product the result, of a sum what finish() makes a result of."""
    if op == "prod":
        return model(x, op=op).reshape(1)
    return torch.from_numpy(canonical(x.numpy()[None], op))


@needs_compiler
@every_dtype
@pytest.mark.parametrize("how", HOW.values(), ids=HOW)
def test_rows_of_every_length(emulator, how, dtype):
    for n in LENGTHS if how else LENGTHS[:-1]:
        for op in ("sum", "prod"):
            x = fill((n,), dtype, op=op, start=n)
            assert_same_bits(blocks(emulator, x, how, op), expected(x, op), f"{op} of {n}")


@needs_compiler
@every_dtype
@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_a_chunk_in_registers(emulator, width, dtype):
    for n in [n for n in LENGTHS if n <= 1024]:
        for op in ("sum", "prod"):
            x = fill((n,), dtype, op=op, start=n)
            assert_same_bits(blocks(emulator, x, -width, op), expected(x, op), f"{op} of {n}")


@needs_compiler
@every_dtype
def test_chunks_in_registers_of_a_block(emulator, dtype):
    for n in [n for n in LENGTHS if n <= 8192] + [8191, 8192]:
        for op in ("sum", "prod"):
            x = fill((n,), dtype, op=op, start=n)
            assert_same_bits(blocks(emulator, x, -256, op), expected(x, op), f"{op} of {n}")


@needs_compiler
def test_a_row_in_pieces(emulator):
    """Of an aligned power of two of chunks; up to 256 results combine as a row of their own."""
    x = fill((200_003,), torch.float32)
    for piece in (1024, 2048, 65_536):
        partial = blocks(emulator, x, 64, piece=piece)
        assert len(partial) <= 256
        assert_same_bits(blocks(emulator, partial.contiguous(), 0), expected(x), str(piece))


@needs_compiler
@pytest.mark.parametrize("how", [*HOW.values(), -1, -2, -4, -8, -256], ids=str)
def test_accumulators_of_three_words(emulator, how):
    moments.add_to_model()
    for n in [n for n in LENGTHS if n <= (8192 if how == -256 else 1024 if how < 0 else 40_000)]:
        x = moments.lift(order_fill(n), None)
        out = np.zeros(256 if how == -256 else max(how, 32), x.dtype)
        longs = [ctypes.c_int64(v) for v in (n, max(n, 1))]
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in (x, out)]
        assert emulator.reduce_moments(how, *pointers, *longs) == 0
        expected = canonical(x[None], "moments")
        assert {words.tobytes() for words in out} == {expected.tobytes()}, f"{n} by {how}"


@needs_compiler
def test_special_values(emulator):
    """-0.0 alone stays -0.0 until finish(); subnormals are not flushed; NaN and Inf go through."""
    tiny = torch.full((3000,), 1e-45)
    for how in HOW.values():
        assert blocks(emulator, torch.full((700,), -0.0), how).signbit().all()
        assert_same_bits(blocks(emulator, tiny, how), expected(tiny))
        x = fill((5000,), torch.float32)
        x[4321] = torch.inf
        assert blocks(emulator, x, how).item() == torch.inf
        x[17] = -torch.inf
        assert blocks(emulator, x, how).isnan().all()


# ---- the examples ------------------------------------------------------------------------------------------------

ROWS = [(5, 1), (3, 33), (9, 300), (2, 1024), (7, 1500), (3, 40_000)]


def check_examples(functions, device, stream):
    for rows, n in ROWS:
        x, weight = (fill(shape, torch.float32, device=device, start=n) for shape in ((rows, n), (n,)))
        out = torch.full((rows,), 77.0, device=device)
        longs = [ctypes.c_int64(v) for v in (rows, n)]
        assert functions.relu_sum(pointer(x), pointer(weight), pointer(out), *longs, stream) == 0
        assert_same_bits(out, torch.ops.reduce.sum(torch.relu(x) * weight, 1), f"relu, {rows} x {n}")

        normed = torch.full((rows, n), 77.0, device=device)
        eps = ctypes.c_float(1e-6)
        assert functions.rms_norm(pointer(x), pointer(weight), pointer(normed), *longs, eps, stream) == 0
        squares = torch.ops.reduce.mean(x * x, 1, True) + 1e-6
        # torch's square root of float32 is correctly rounded on CUDA, and on the CPU not always.
        root = torch.sqrt(squares) if x.is_cuda else squares.double().sqrt().float()
        assert_same_bits(normed, x / root * weight, f"norm, {rows} x {n}")


@needs_compiler
def test_examples_in_the_emulator(emulator):
    check_examples(emulator, "cpu", None)


@pytest.fixture(scope="module", params=["", "--use_fast_math"], ids=["default flags", "fast math"])
def examples(request, shared_folder) -> Path:
    folder = shared_folder / f"device{request.param}"
    capability = torch.cuda.get_device_capability() if torch.cuda.is_available() else (9, 0)
    architecture = f"-DCMAKE_CUDA_ARCHITECTURES={capability[0]}{capability[1]}"
    compiler = [f"-DCMAKE_CUDA_COMPILER={NVCC}", f"-DCMAKE_CUDA_FLAGS={request.param}"]
    return once(folder, lambda: build(DEVICE, folder, architecture, *compiler))


@needs_nvcc
def test_standalone_program(examples: Path):
    done = run(examples / "standalone")
    if done.returncode == 77:
        pytest.skip("needs a GPU: it was built, and says " + done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr


@needs_nvcc
@needs_cuda
def test_examples_on_a_gpu(examples: Path):
    """Whatever the flags: the headers' operations fuse with nothing and flush nothing."""
    functions = ctypes.CDLL(str(examples / "libfused.so"))
    check_examples(functions, "cuda", ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))


def test_standalone_example_is_short():
    assert len((DEVICE / "standalone.cu").read_text().splitlines()) <= 60


def test_the_headers_are_installed():
    for name in ("order.h", "host_device.h", "device/order.cuh"):
        assert (PACKAGE / "include" / "torch_reduce" / name).is_file()
    assert torch_reduce.cmake_prefix_path == str(PACKAGE)
