"""The exact CUDA kernels, run on the CPU by tests/emulator: their arithmetic and cooperation, where there is no GPU.
emulated_kernels.py has those of the other modes.

Only what needs real concurrency, or the hardware's own instructions, is left to the GPU.
"""

import ctypes
import hashlib
import math
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from exact_cases import finite_bits
from folders import ROOT, TESTS
from once import once

from torch_reduce.exact_model import exact_model, words_of
from torch_reduce.model import reduced_dims, result_shape
from torch_reduce.testing import FLOATING, assert_same_bits

EMULATOR = TESTS / "emulator"
CORE = ROOT / "csrc" / "core"
MEMORY = EMULATOR / "memory.cpp"
PLANS = [path for folder in ("problem", "plan/gpu", "plan/tuning") for path in sorted((CORE / folder).rglob("*.cpp"))]
TYPES = {torch.float16: 9, torch.bfloat16: 10, torch.float32: 11, torch.float64: 12, torch.int64: 5}
FAMILIES = {"": -1, "rows": 1, "short_rows": 2, "columns": 3}

every_dtype = pytest.mark.parametrize("dtype", FLOATING, ids=str)
compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
needs_emulator = [
    pytest.mark.skipif(compiler is None, reason="needs a C++ compiler"),
    pytest.mark.skipif(not CORE.is_dir(), reason="needs the sources"),
]


FLAGS = ["-std=c++20", "-ffp-contract=off", "-fPIC", "-w", "-fsanitize=alignment"]
FLAGS += ["-U_FORTIFY_SOURCE"]  # which takes a jump to another fiber for an error
FLAGS += [f"-I{include}" for include in (EMULATOR, CORE.parent, ROOT / "include")]


def compile_library(folder, name, units):
    """A library of the emulator from sources, each with its options, which compile side by side, in this order. In the
    folder of all processes: plans are the same in every library."""

    def compiled(ending, *arguments):
        def make():
            done = subprocess.run([compiler, *arguments, "-o", path], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr[-3000:]

        arguments = [str(argument) for argument in arguments]
        path = folder / (hashlib.sha256(repr(arguments).encode()).hexdigest()[:16] + ending)
        return once(path, make)

    def compiled_unit(unit):
        source, options = unit
        return compiled(f"-{source.stem}.o", *FLAGS, *options, "-c", source)

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        objects = list(pool.map(compiled_unit, units))
    return ctypes.CDLL(str(compiled(f"-{name}.so", "-shared", *objects)))


def build(folder):
    """The exact kernels."""
    sources = (EMULATOR / "exact.cpp", MEMORY, *PLANS)
    return compile_library(folder, "exact", [(source, ["-O1"]) for source in sources])


def run(emulator, x, dim=None, *, op="sum", dtype=None, words=False, sms=4, family="", vector=-1):
    """The result and the number of CTAs that shared an output; None where the family or the loads are not legal."""
    dtype = torch.int64 if words else dtype or x.dtype
    reduced = reduced_dims(x.ndim, dim)
    shape = result_shape(x.shape, dim, op=op) + ((words_of(x.dtype),) if words else ())
    out = torch.full(shape, 77, dtype=dtype)
    kept = iter(out.stride())
    strides = [0 if d in reduced else next(kept) for d in range(x.ndim)]
    longs = lambda values: (ctypes.c_int64 * max(1, len(values)))(*values)  # noqa: E731
    units = ctypes.c_int64()
    status = emulator(
        TYPES[x.dtype],
        TYPES[torch.float64 if words else dtype],
        op == "mean",
        words,
        x.ndim,
        longs(list(x.shape)),
        longs(list(x.stride())),
        (ctypes.c_ubyte * max(1, x.ndim))(*(d in reduced for d in range(x.ndim))),
        longs(strides),
        ctypes.c_void_p(x.data_ptr()),
        ctypes.c_void_p(out.data_ptr()),
        sms,
        FAMILIES[family],
        vector,
        ctypes.byref(units),
    )
    if status == -1:
        return None, 0
    assert status == 0, f"status {status}"
    return out, units.value


def aligned(x):
    """``x`` at a multiple of 16 bytes, with its strides."""
    storage = torch.empty(x.untyped_storage().nbytes() // x.element_size() + 16, dtype=x.dtype)
    skip = -storage.data_ptr() % 16 // x.element_size()
    copy = torch.empty(0, dtype=x.dtype).set_(storage.untyped_storage(), skip, (storage.numel() - 16,), (1,))
    copy.copy_(torch.empty(0, dtype=x.dtype).set_(x.untyped_storage())[: len(copy)])
    return storage.as_strided(x.shape, x.stride(), skip + x.storage_offset())


def check(emulator, x, dim=None, ops=("sum", "mean"), out_types=None, sms=(4, 200), vectors=(0, 1)):
    """Every family, kind of loads and size of GPU that is legal."""
    x = aligned(x)
    legal = 0
    for op in ops:
        for dtype in out_types or (x.dtype, torch.float64):
            expected = exact_model(x, dim, op=op, dtype=dtype)
            for family in FAMILIES:
                for vector in vectors:
                    for count in sms:
                        actual, _ = run(emulator, x, dim, op=op, dtype=dtype, sms=count, family=family, vector=vector)
                        if actual is not None:
                            legal += 1
                            what = f"{op} to {dtype}, {family or 'free'}, vector {vector}, {count} SMs"
                            assert_same_bits(actual, expected, what)
    assert legal


SHAPES = [
    ((40_000,), None),
    ((3, 5000), 1),
    ((40, 1000), 1),
    ((100, 24), 1),
    ((60, 99), 1),
    ((9, 255), 1),
    ((1000, 40), 0),
    ((6, 300), 0),
    ((2500, 7), 0),
    ((3, 200, 16), (0, 2)),
    ((4, 60, 24), 1),
    ((1, 1), 0),
]


def data_of(kind, n, dtype):
    rng = np.random.default_rng(len(kind) + n)
    if kind == "bits":
        return finite_bits(n, dtype, n)
    if kind == "special":
        x = finite_bits(n, dtype, n)
        x[rng.integers(0, n, 1 + n // 400)] = torch.tensor(math.inf, dtype=dtype)
        return x
    scale = {"normal": 0, "gradient": 3, "wide": 20}[kind]
    values = rng.standard_normal(n) * np.exp(scale * rng.standard_normal(n))
    most = torch.finfo(dtype).max
    return torch.from_numpy(np.clip(values, -most, most)).to(dtype)
