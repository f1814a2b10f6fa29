"""The library without PyTorch (torch_reduce/core.h), through a few C functions: the operators' bits, in the operators'
layouts."""

import ctypes
import math

import pytest
import torch
from consumer import CXX
from core_calls import FLOATS, MODES, OF_ONE, OPS, SCANS, TYPES, call, described, longs, name, pointer
from devices import needs_cuda
from hypothesis import given
from hypothesis import strategies as st
from strategies import cases, like, permuted_slices, strided

import torch_reduce
from torch_reduce.testing import (
    DTYPES,
    FLOATING,
    assert_same_bits,
    fill,
    function_of,
    gives_pair,
    takes_dtype,
    takes_integers,
    wants_elements,
    wants_floating,
)

pytestmark = pytest.mark.skipif(CXX is None, reason="needs a C++ compiler")


def expected(x, dim, op, mode, dtype=None):
    dim = None if dim == [] else dim
    if not takes_dtype(op):
        return function_of(op)(x, dim)
    return function_of(op)(x, dim, dtype=dtype, mode=mode)


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
