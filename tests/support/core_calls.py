"""Calls of the library without PyTorch (torch_reduce/core.h), by the C functions of tests/cpp/core_shim.cpp."""

import ctypes
import re
from pathlib import Path

import torch
from consumer import CXX, PACKAGE, must

import torch_reduce
from torch_reduce._schemas import REDUCTIONS
from torch_reduce.model import reduced_dims, result_shape
from torch_reduce.scan_model import SCANNED
from torch_reduce.testing import gives_pair, output_dtype, scan_function

INDICES = {"argmax": "cummax", "argmin": "cummin"}
ROWS = (Path(torch_reduce.__path__[0]) / "include" / "torch_reduce" / "operators.def").read_text()
OPS = re.findall(r"^TORCH_REDUCE_OPERATOR\(\w+, (\w+),", ROWS, re.MULTILINE)  # by their number in the C API
OF_ONE = [op for op in OPS if op in REDUCTIONS]  # tensor
SCANS = {
    op: scan_function(scan) for scan, op in SCANNED.items()
}  # by the reduction whose results of all prefixes they give
SCANS |= {op: lambda x, dim, scan=scan: getattr(torch_reduce, scan)(x, dim)[1] for op, scan in INDICES.items()}
MODES = ["atomic", "deterministic", "exact"]
TYPES = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32]
TYPES += [torch.uint64, torch.float16, torch.bfloat16, torch.float32, torch.float64]
FLOATS = tuple(TYPES[9:])


def compiled(source: Path, to: Path, *flags) -> Path:
    """A program of the core's header and library."""
    library = PACKAGE / "lib"
    must(
        CXX,
        *("-std=c++17", "-Wall", "-Wextra", "-Werror", "-O1", *flags),
        *(f"-I{PACKAGE}/include", source, "-o", to),
        *(f"-L{library}", "-ltorch_reduce_core", f"-Wl,-rpath,{library}"),
    )
    return to


def longs(values):
    return None if values is None else (ctypes.c_int64 * max(1, len(values)))(*values)


def described(x, dim, op, mode, dtype, out, scan=False):
    """The arguments that say what to compute."""
    dims = reduced_dims(x.ndim, dim) if x.ndim else []
    ints = (ctypes.c_int * max(1, len(dims)))(*dims)
    types = [TYPES.index(t) for t in (x.dtype, dtype)]
    *strides, second = out.stride() if gives_pair(op) else (*out.stride(), 0)
    sizes = [x.ndim, longs(x.shape), longs(x.stride()), len(dims), ints, longs(strides), ctypes.c_int64(second), scan]
    return [OPS.index(op), MODES.index(mode), *types, *sizes]


def pointer(x):
    return ctypes.c_void_p(x.data_ptr())


def call(core, x, dim=None, op="sum", mode="deterministic", dtype=None, threads=1, scan_like=None):
    """The status's name and the result, of a tensor of either device; of a scan, one laid out as ``scan_like``."""
    dim = None if dim == [] else dim  # no dims are all of them to the core, whatever the operator
    dtype = dtype or output_dtype(op, x.dtype)
    if scan_like is None:
        out = torch.empty(result_shape(x.shape, dim, op=op), dtype=dtype, device=x.device)
    else:
        out = torch.empty_like(scan_like, dtype=dtype, device=x.device)
    what = described(x, dim, op, mode, dtype, out, scan_like is not None)
    if not x.is_cuda:
        return name(core, core.on_host(*what, pointer(x), pointer(out), threads)), out
    size = ctypes.c_size_t()
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    status = core.on_cuda(*what, None, None, None, ctypes.byref(size), stream)
    if status == 0:
        assert size.value >= 1
        workspace = torch.empty(size.value, dtype=torch.uint8, device=x.device)
        status = core.on_cuda(*what, pointer(x), pointer(out), pointer(workspace), ctypes.byref(size), stream)
    return name(core, status), out


def name(core, status: int) -> str:
    return core.status_name(status).decode()
