"""The library without PyTorch (torch_reduce/core.h), through a few C functions: the operators' bits, in the operators'
layouts; and what is wrong with a call, said before anything is written."""

import ctypes
import math
import re
from pathlib import Path

import pytest
import torch
from consumer import CXX, PACKAGE, must
from devices import needs_cuda
from folders import TESTS
from hypothesis import given
from hypothesis import strategies as st
from strategies import cases, like, permuted_slices, strided

import torch_reduce
from torch_reduce._schemas import REDUCTIONS
from torch_reduce.model import reduced_dims, result_shape
from torch_reduce.scan_model import SCANNED
from torch_reduce.testing import (
    DTYPES,
    FLOATING,
    assert_same_bits,
    fill,
    function_of,
    gives_pair,
    output_dtype,
    scan_function,
    takes_dtype,
    takes_integers,
    wants_elements,
    wants_floating,
)

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
SHIM = TESTS / "cpp" / "core_shim.cpp"
ALLOCATIONS = TESTS / "cpp" / "allocations.cpp"

pytestmark = pytest.mark.skipif(CXX is None, reason="needs a C++ compiler")


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


@pytest.fixture(scope="session")
def core(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    shim = compiled(SHIM, tmp_path_factory.mktemp("core") / "shim.so", "-fPIC", "-shared", "-pthread")
    functions = ctypes.CDLL(str(shim))
    functions.status_name.restype = ctypes.c_char_p
    return functions


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


def expected(x, dim, op, mode, dtype=None):
    dim = None if dim == [] else dim
    if not takes_dtype(op):
        return function_of(op)(x, dim)
    return function_of(op)(x, dim, dtype=dtype, mode=mode)


# ---- results -----------------------------------------------------------------------------------------------------


@needs_cuda
def test_strides_that_no_tensor_of_torch_has(core):
    """None, of no element; and negative ones, whose first element is not the first in memory."""
    size = ctypes.c_size_t()
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    kinds = [OPS.index("sum"), MODES.index("deterministic"), TYPES.index(torch.float32), TYPES.index(torch.float32)]
    rest = [None, ctypes.c_int64(0), False]
    empty = [*kinds, 2, longs((4, 0)), None, 1, (ctypes.c_int * 1)(1), *rest]
    assert name(core, core.on_cuda(*empty, None, None, None, ctypes.byref(size), stream)) == "success"

    values = (fill((16384, 8, 64), torch.int8) % 16).float()
    reversed_ = values.flip(1).cuda()  # in memory: [c][b from the last to the first][a]
    shape, strides = (64, 8, 16384), (1, -64, 512)
    out = torch.empty((), device="cuda")
    what = [*kinds, 3, longs(shape), longs(strides), 3, (ctypes.c_int * 3)(0, 1, 2), *rest]
    assert name(core, core.on_cuda(*what, None, None, None, ctypes.byref(size), stream)) == "success"
    workspace = torch.empty(size.value, dtype=torch.uint8, device="cuda")
    first = ctypes.c_void_p(reversed_.data_ptr() + 7 * 64 * 4)
    status = core.on_cuda(*what, first, pointer(out), pointer(workspace), ctypes.byref(size), stream)
    assert name(core, status) == "success"
    assert_same_bits(out, torch_reduce.sum(values.permute(2, 1, 0)))


@pytest.mark.parametrize("op", OF_ONE)
@given(data=st.data())
def test_any_layout(core, device, op, data):
    x, dim, _ = data.draw(cases(op, DTYPES if takes_integers(op) else FLOATING))
    if wants_elements(op) and x.numel() == 0:
        return
    x = like(x, device)
    if wants_floating(op) and not x.is_floating_point():
        dtype = torch.float64
    else:
        dtype = None
    status, actual = call(core, x, dim, op, dtype=dtype, threads=data.draw(st.sampled_from([1, 4])))
    assert status == "success"
    assert_same_bits(actual, expected(x, dim, op, "deterministic", dtype), f"{x.shape} {x.stride()} {dim}")


@pytest.mark.parametrize("op", SCANS)
@given(data=st.data())
def test_scans_of_any_layout(core, device, op, data):
    """In a result laid out as the tensor is, and in a contiguous one."""
    dtype = data.draw(st.sampled_from(DTYPES if takes_integers(op) else FLOATING))
    x = like(data.draw(st.one_of(permuted_slices(dtype, op), strided(dtype, op))), device)
    dim = data.draw(st.integers(-x.ndim, x.ndim - 1)) if x.ndim else 0
    scan = SCANS[op]
    dtype = torch.float64 if wants_floating(op) and not x.is_floating_point() else None
    options = {"dtype": dtype} if dtype else {}
    for out in (x, x.contiguous()):
        threads = data.draw(st.sampled_from([1, 4]))
        status, actual = call(core, x, dim, op, dtype=dtype, threads=threads, scan_like=out)
        assert status == "success"
        assert_same_bits(actual, scan(x, dim, **options), f"{x.shape} {x.stride()} {dim}")


@pytest.mark.parametrize("op", [op for op in OF_ONE if gives_pair(op)])
def test_second_results_follow_the_first_ones(core, op):
    """Where nothing else is said."""
    x = fill((3, 5, 7), torch.float32)
    out = torch.empty(2, 3, 5)
    what = described(x, 2, op, "deterministic", torch.float32, out.movedim(0, -1))
    assert what[-2].value == 15
    what[-2] = ctypes.c_int64(0)
    assert name(core, core.on_host(*what, pointer(x), pointer(out), 1)) == "success"
    assert_same_bits(out.movedim(0, -1), expected(x, 2, op, "deterministic"))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("shape, dim", [((300_007,), None), ((40, 5000), 1), ((3000, 40), 0), ((64, 8), 1)], ids=str)
def test_every_mode(core, device, shape, dim, dtype):
    modes = ["deterministic", "exact"] + ["atomic"] * (device == "cpu")
    x = fill(shape, dtype, device=device)
    for mode in modes:
        for threads in (1, 4):
            for out in (dtype, torch.float64):
                status, actual = call(core, x, dim, "mean", mode, out, threads)
                assert status == "success"
                assert_same_bits(actual, expected(x, dim, "mean", mode, out), f"{mode} to {out}")


def test_exact_squares(core, device):
    for dtype in FLOATING:
        x = fill((40, 3000), dtype, device=device)
        for dim in (0, 1):
            status, actual = call(core, x, dim, "sumsq", "exact", torch.float64, 2)
            assert status == "success"
            assert_same_bits(actual, expected(x, dim, "sumsq", "exact", torch.float64), f"{dtype} {dim}")


@needs_cuda
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32], ids=str)
def test_atomic_on_cuda(core, dtype):
    """Of small whole numbers, so that every order of additions gives the same."""
    for shape, dim in (((3_000_000,), None), ((40_000, 64), 0), ((16, 100_000), 1)):
        x = (torch.arange(math.prod(shape), device="cuda") % 8).to(dtype).view(shape)
        status, actual = call(core, x, dim, mode="atomic")
        assert status == "success"
        assert_same_bits(actual, expected(x, dim, "sum", "deterministic"))


@needs_cuda
def test_a_graph_and_another_stream(core):
    """Nothing is allocated or synchronised: the call can be captured."""
    x = fill((1 << 22,), torch.float32, device="cuda")
    out = torch.zeros((), device="cuda")
    what = described(x, None, "sum", "deterministic", torch.float32, out)
    size = ctypes.c_size_t()
    assert core.on_cuda(*what, None, None, None, ctypes.byref(size), None) == 0
    workspace = torch.empty(size.value, dtype=torch.uint8, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        assert core.on_cuda(*what, pointer(x), pointer(out), pointer(workspace), ctypes.byref(size), stream) == 0
    for _ in range(2):
        out.zero_()
        graph.replay()
        assert_same_bits(out, torch_reduce.sum(x))


# ---- what is wrong with a call -----------------------------------------------------------------------------------

FLOAT, DOUBLE, INT = (TYPES.index(t) for t in (torch.float32, torch.float64, torch.int32))
FOUR = torch.arange(64, dtype=torch.float64)


def attempt(
    core,
    *,
    op="sum",
    mode="deterministic",
    types=(FLOAT, FLOAT),
    sizes=(4, 8),
    strides=None,
    dims=(),
    ndim=None,
    num_dims=None,
    out_strides=None,
    out_second=0,
    scan=False,
    null=(),
    skew=0,
    function="on_host",
):
    """A call by its raw arguments; the status, and whether the output was left alone."""
    out = torch.full((32,), 77.0, dtype=torch.float64)
    op, mode = (names.index(v) if isinstance(v, str) else v for names, v in ((OPS, op), (MODES, mode)))
    ints = (ctypes.c_int * max(1, len(dims)))(*dims)
    what = [op, mode, *types, len(sizes) if ndim is None else ndim, None if "sizes" in null else longs(sizes)]
    what += [longs(strides), len(dims) if num_dims is None else num_dims, None if "dims" in null else ints]
    what += [longs(out_strides), ctypes.c_int64(out_second), scan]
    what += [ctypes.c_void_p(None if "in" in null else FOUR.data_ptr() + skew)]
    what += [ctypes.c_void_p(None if "out" in null else out.data_ptr())]
    if function == "on_host":
        status = core.on_host(*what, 1)
    else:
        size = ctypes.c_size_t()
        status = core.on_cuda(*what, None, ctypes.byref(size), None)
    return name(core, status), bool((out == 77).all())


WRONG = {
    "null_pointer": [{"null": ["in"]}, {"null": ["out"]}, {"null": ["sizes"]}, {"null": ["dims"], "dims": [0]}],
    "bad_op": [{"op": len(OPS)}, {"op": 255}]
    + [{"op": op} for op in OPS if op not in OF_ONE]
    + [{"op": op, "scan": True, "dims": [1]} for op in OPS if op not in SCANS],
    "bad_dims": [{"dims": [2]}, {"dims": [-3]}, {"dims": [0, -2]}, {"ndim": -1}, {"ndim": 65}, {"num_dims": -1}]
    + [{"scan": True}, {"scan": True, "dims": [0, 1]}],
    "bad_sizes": [{"sizes": [4, -1]}, {"sizes": [2**32, 2**31]}],
    "bad_strides": [{"dims": [1], "out_strides": [0]}]
    + [{"sizes": [2, 2, 4], "strides": [8, 4, 1], "dims": [2], "out_strides": s} for s in ([1, 1], [-1, 1], [2, -2])]
    + [{"op": "var_mean", "dims": [1], "out_second": s} for s in (1, -2, 3)],
    "unsupported_dtype": [{"types": (15, FLOAT)}, {"types": (FLOAT, 200)}, {"op": "mean", "types": (INT, INT)}]
    + [{"op": "amax", "types": (FLOAT, DOUBLE)}],
    "unsupported_mode": [{"mode": 3}, {"op": "prod", "mode": "exact"}, {"scan": True, "dims": [1], "mode": "exact"}],
    "no_elements": [{"op": "amax", "sizes": [4, 0], "dims": [1]}],
    "misaligned_pointer": [{"skew": 2}],
}


@pytest.mark.parametrize("status", WRONG)
def test_bad_input_has_a_name(core, status):
    for arguments in WRONG[status]:
        assert attempt(core, **arguments) == (status, True), arguments


@pytest.mark.parametrize("status", sorted(set(WRONG) - {"misaligned_pointer", "null_pointer"}))
def test_bad_input_has_the_same_name_on_cuda(core, status):
    """Even where there is no GPU: what a call describes is looked at first."""
    for arguments in WRONG[status]:
        assert attempt(core, **arguments, function="on_cuda") == (status, True), arguments


def test_no_gpu_has_a_name(core):
    status, untouched = attempt(core, function="on_cuda")
    if not torch_reduce.build_info()["cuda"]:
        assert status == "no_cuda"
    elif not torch.cuda.is_available():
        assert status == "cuda_error"
        assert core.last_cuda_error() != 0
    else:
        pytest.skip("there is a GPU")
    assert untouched


def test_names(core):
    names = [name(core, i) for i in range(16)]
    assert len(set(names)) == 16 and names[0] == "success" and names[-1] == "cuda_error"
    assert name(core, 16) == name(core, -1) == "unknown"


def test_nothing_to_reduce(core):
    """No elements and no results need no memory."""
    for sizes, dims in (([0, 8], [1]), ([3, 0, 4], [2])):
        assert attempt(core, sizes=sizes, dims=dims, null=["in", "out"]) == ("success", True)
    status, out = call(core, torch.empty(3, 0), 1)
    assert status == "success"
    assert_same_bits(out, torch.zeros(3))


@needs_cuda
def test_bad_memory_on_cuda(core):
    x, out = torch.ones(1 << 20, device="cuda"), torch.full((), 77.0, device="cuda")
    what = described(x, None, "sum", "deterministic", torch.float32, out)
    size = ctypes.c_size_t()
    assert core.on_cuda(*what, None, None, None, ctypes.byref(size), None) == 0
    assert size.value > 1
    workspace, enough = torch.empty(size.value + 16, dtype=torch.uint8, device="cuda"), size.value

    def status(x=x, out=out, skew=0, enough=enough):
        place, bytes_ = ctypes.c_void_p(workspace.data_ptr() + skew), ctypes.c_size_t(enough)
        return name(core, core.on_cuda(*what, pointer(x), pointer(out), place, ctypes.byref(bytes_), None))

    assert status(enough=enough - 1) == "workspace_too_small"
    assert status(skew=8) == "misaligned_pointer"
    assert status(x=torch.empty(0, device="cuda")) == "null_pointer"
    of_host = status(x=torch.ones(1 << 20))
    if of_host == "success":  # a driver may let the GPU read any memory of the host
        torch.cuda.synchronize()
        out.fill_(77)
    else:
        assert of_host == status(out=torch.zeros(())) == "wrong_device"
    if torch.cuda.device_count() > 1:
        assert status(x=x.to("cuda:1")) == "wrong_device"
    torch.cuda.synchronize()
    assert out.item() == 77
    assert status() == "success"
    assert out.item() == 1 << 20


# Shape, strides, the reduced dims, and how explain says that the CPU reads them.
ALLOCATING = [
    ((2**20,), (1,), None, "neighbours"),
    ((300, 3000), (3000, 1), 1, "neighbours"),
    ((5000, 100), (100, 1), 1, "neighbours"),
    ((300, 3000), (3000, 1), 0, "neighbours"),
    ((3000, 64), (64, 1), 0, "blocks"),
    ((16, 64, 784), (64 * 784, 784, 1), (0, 2), "segments"),
    ((700, 701), (1, 700), None, "tiles"),
    ((64, 4096), (1, 64), None, "chunks"),
    ((1000, 512), (1, 1000), None, "bundles"),
    ((70, 12544), (1, 70), None, "strips"),
]


def test_one_allocation_at_most_beside_the_result(tmp_path):
    """On the host, in every way of reading, and with several workers too: counted by an operator new of its own."""
    arguments = []
    for shape, strides, dim, reads in ALLOCATING:
        x = torch.empty_strided(shape, strides, device="meta")
        assert torch_reduce.explain(x, dim, device="cpu").reads == reads, shape
        dims = [] if dim is None else reduced_dims(x.ndim, dim)
        arguments += [",".join(map(str, numbers)) for numbers in (shape, strides, dims)]
    # Not inlined, or GCC warns of a new that ends in free().
    program = compiled(ALLOCATIONS, tmp_path / "allocations", "-fno-inline")
    counted = [int(line) for line in must(program, *arguments).split()]
    assert len(counted) == 2 * len(ALLOCATING) and max(counted) == 1, counted
    assert counted[:3] == [0, 0, 0], counted  # one thread, and nothing to hold
