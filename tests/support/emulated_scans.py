"""The CUDA kernels of scans, run on the CPU by tests/emulator: a case, and what comes out."""

import ctypes
import re
from dataclasses import dataclass, field

import torch
from emulated import EMULATOR, MEMORY, PLANS, compile_library
from emulated_kernels import POISON, TYPES, at_16_bytes, numbers, placed
from folders import ROOT

from torch_reduce.scan_model import extremes_model, scan_model
from torch_reduce.testing import assert_same_bits

# A word, an integer, and accumulators of two words of each width.
INSTANCES = [("Prod", "double"), ("LogSumExp", "float"), ("Sum", "float"), ("Sum", "int64_t"), ("Max", "float")]
INSTANCES += [("Last<ArgMax>", "float")]
SCANS = re.findall(
    r"^TORCH_REDUCE_SCAN\(\w+, (\w+)", (ROOT / "include" / "torch_reduce" / "scans.def").read_text(), re.M
)


class Planned(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_int)
        for name in (
            "log_width",
            "log_warps",
            "log_chunks",
            "reads_across",
            "writes_across",
            "reads_vectors",
            "writes_vectors",
            "reads_packed",
            "writes_packed",
        )
    ]
    _fields_ += [("parts", ctypes.c_int64), ("tiles", ctypes.c_int64)]


def build(folder):
    """The kernels; not optimised, as compiling takes longer than running."""
    instances = "".join(f"INSTANCE({operator}, {acc})" for operator, acc in INSTANCES)
    units = [(EMULATOR / "scans_of.cpp", [f"-DOPERATOR={operator}", f"-DACC={acc}"]) for operator, acc in INSTANCES]
    units += [(EMULATOR / "scans.cpp", [f"-DINSTANCES={instances}"])]
    library = compile_library(folder, "scans", units + [(source, ["-O1"]) for source in (MEMORY, *PLANS)])
    library.emulator_failure.restype = ctypes.c_char_p
    return library


@dataclass
class Case:
    """A scan. Dims lie in memory in the order ``memory``, outermost first, each with a gap of so many of its elements
    behind it; those of the result in the order ``out_memory``."""

    shape: list[int]
    dim: int
    memory: list[int] | None = None
    gap: int = 0
    offset: int = 0  # elements behind a multiple of 16 bytes
    out_memory: list[int] | None = None
    out_offset: int = 0
    scan: str = "cumsum"
    out: torch.dtype | None = None
    backward: bool = False
    in_place: bool = False  # the result takes the places of the elements
    planned: Planned = field(default_factory=Planned)

    def strides(self, memory, gap):
        """By dim, and the elements that they span."""
        strides, step = [0] * len(self.shape), 1
        for d in reversed(memory or range(len(self.shape))):
            strides[d] = step
            step *= self.shape[d] + gap
        return strides, step


def run(kernels, case: Case, values: torch.Tensor) -> Planned:
    """Checks the bits of the result and of all that lies around it."""
    strides, elements = case.strides(case.memory, case.gap)
    around = 0xFF if values.is_floating_point() else 0x7F
    x = placed(at_16_bytes(elements + case.offset, values.dtype, around), case.offset, case.shape, strides)
    x.copy_(values.reshape(case.shape))
    if case.scan.startswith("_"):
        expected = extremes_model(x, case.dim, scan=case.scan.replace("_cumarg", "cum"))[1]
    else:
        expected = scan_model(x, case.dim, scan=case.scan, dtype=case.out)
    out_strides, elements = case.strides(case.out_memory, 0)
    results = at_16_bytes(elements + case.out_offset, expected.dtype, POISON)
    out = placed(results, case.out_offset, case.shape, out_strides)
    if case.in_place:
        assert (strides, case.offset, x.dtype) == (out_strides, case.out_offset, out.dtype)
        x = out.copy_(x)
    status = kernels.emulate_scan(
        SCANS.index(case.scan),
        TYPES.index(str(x.dtype).removeprefix("torch.")),
        TYPES.index(str(out.dtype).removeprefix("torch.")),
        len(case.shape),
        numbers(case.shape),
        numbers(strides),
        case.dim,
        numbers(out_strides),
        ctypes.c_void_p(x.data_ptr()),
        ctypes.c_void_p(out.data_ptr()),
        case.backward,
        ctypes.byref(case.planned),
    )
    assert status == 0, f"{case}: status {status}, {kernels.emulator_failure().decode()}"
    assert_same_bits(out.clone(), expected, str(case))
    beside = torch.ones(len(results), dtype=torch.bool)
    placed(beside, case.out_offset, case.shape, out_strides).fill_(False)
    unchanged = results.view(torch.uint8).view(len(results), -1)[beside] == POISON
    assert bool(unchanged.all()), f"beside its results: {case}"
    return case.planned
