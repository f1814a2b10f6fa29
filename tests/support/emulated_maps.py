"""The CUDA kernels of maps, run on the CPU by tests/emulator: a case, and what comes out."""

import ctypes
import re
from dataclasses import dataclass

import torch
from emulated import CORE, EMULATOR, MEMORY, PLANS, compile_library
from emulated_kernels import POISON, TYPES, at_16_bytes, declared, numbers, placed
from map_cases import Inputs

from torch_reduce.testing import assert_same_bits

ROWS = re.findall(r"^TORCH_REDUCE_MAP\((\w+), (\w+)\)", (CORE / "contract" / "maps" / "maps.def").read_text(), re.M)
MAPS = [name for _, name in ROWS]
PLACES = declared("map.h", r"enum class Places : uint8_t {([^}]*)}", r"(\w+)")


class Planned(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_int)
        for name in (
            "places",
            "loads",
            "log_lanes",
            "log_warps",
            "warp_rows",
            "warp_chunks",
            "rows_per_cta",
            "in_cluster",
            "reads_vectors",
            "writes_vectors",
            "launches",
        )
    ]
    _fields_ += [("units", ctypes.c_int64)]


def build(folder):
    """The kernels; not optimised, as compiling takes longer than running."""
    units = [(EMULATOR / "maps_of.cpp", [f"-DMAP={struct}"]) for struct, _ in ROWS]
    units += [(EMULATOR / "maps.cpp", []), (CORE / "cuda" / "map" / "launch.cpp", [])]
    library = compile_library(folder, "maps", units + [(source, ["-O1"]) for source in (MEMORY, *PLANS)])
    library.emulator_failure.restype = ctypes.c_char_p
    return library


@dataclass
class Case:
    """Rows of tensors of two dims. Their first elements stand so many elements behind a multiple of 16 bytes; between
    two rows is a gap, and between two elements of a row, too, where they are ``apart``."""

    map: str
    rows: int
    n: int
    offset: int = 0
    gap: int = 0
    apart: int = 1
    out_offset: int = 0
    sms: int = 4
    capability: int = 90
    clusters: int = 16
    backward: bool = False

    def place(self, dtype, value, offset):
        strides = [self.n * self.apart + self.gap, self.apart]
        memory = at_16_bytes(self.rows * strides[0] + offset, dtype, value)
        return memory, placed(memory, offset, [self.rows, self.n], strides)


def run(kernels, case: Case, inputs: Inputs) -> Planned:
    """Checks the bits of the result and of all that lies around it."""

    def copied(t):
        if t is None:
            return None
        _, place = case.place(t.dtype, 0xFF, case.offset)
        return place.copy_(t)

    x, second, mask = copied(inputs.x), copied(inputs.second), copied(inputs.mask)
    total = None if inputs.total is None else case.place(inputs.total.dtype, POISON, case.out_offset)[1]
    memory, out = case.place(inputs.expected.dtype, POISON, case.out_offset)
    row = None if inputs.row is None else inputs.row.clone()
    gives_rows = case.map == "channel_sums"  # alone
    reads = case.map.endswith("_backward") or gives_rows
    expected_row = inputs.expected if gives_rows else row
    written = None if row is None or (reads and not gives_rows) else torch.full_like(expected_row, 77)
    other, planned = x if second is None else second, Planned()
    kinds = [
        TYPES.index(str(t.dtype).removeprefix("torch."))
        for t in (x, out, x if inputs.weight is None else inputs.weight)
    ]
    pointer = lambda t: ctypes.c_void_p(None if t is None else t.data_ptr())  # noqa: E731
    strides = [0 if t is None else t.stride(d) for d in (0, 1) for t in (x, other, out, mask)]
    status = kernels.emulate_map(
        MAPS.index(case.map),
        *kinds,
        ctypes.c_double(inputs.eps),
        ctypes.c_double(inputs.scale),
        1,
        numbers([case.rows]),
        numbers(strides),
        ctypes.c_int64(case.n),
        ctypes.c_int64(inputs.channel),
        ctypes.c_int64(inputs.groups),
        *map(pointer, (x, other, inputs.weight, inputs.bias, row if reads else None, mask, out, written, total)),
        case.sms,
        case.capability,
        case.clusters,
        case.backward,
        ctypes.byref(planned),
    )
    assert status == 0, f"{case}: status {status}, {kernels.emulator_failure().decode()}"
    if not gives_rows:
        assert_same_bits(out.clone(), inputs.expected, str(case))
    if total is not None:
        assert_same_bits(total.clone(), inputs.total, f"the sum of {case}")
    if written is not None:
        assert_same_bits(written, expected_row, f"rows of {case}")
    beside = torch.ones(len(memory), dtype=torch.bool)
    if not gives_rows:
        placed(beside, case.out_offset, out.shape, out.stride()).fill_(False)
    assert bool((memory.view(torch.uint8).view(len(memory), -1)[beside] == POISON).all()), f"beside its results: {case}"
    return planned
