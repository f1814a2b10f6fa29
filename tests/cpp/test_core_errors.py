"""What is wrong with a call of the core (torch_reduce/core.h) has a name, and is said before anything is written."""

import ctypes

import pytest
import torch
from consumer import CXX
from core_calls import MODES, OF_ONE, OPS, SCANS, TYPES, call, described, longs, name, pointer
from devices import needs_cuda

import torch_reduce
from torch_reduce.testing import assert_same_bits

pytestmark = pytest.mark.skipif(CXX is None, reason="needs a C++ compiler")
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
