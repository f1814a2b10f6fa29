"""The CUDA kernels of modes "deterministic" and "atomic", run on the CPU by tests/emulator: a case, its plan, and what
comes out."""

import ctypes
import math
import re
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from emulated import CORE, EMULATOR, MEMORY, PLANS, compile_library
from folders import ROOT

from torch_reduce._schemas import REDUCTIONS
from torch_reduce.model import MEANING, model
from torch_reduce.testing import FLOAT8, FLOATING, assert_same_bits, fill

# An operator of each kind and every compute type, what compiles longest first: others' kernels are the same templates.
INSTANCES = [("Sum", "int64_t"), ("Max", "float"), ("Sumsq", "float"), ("Sum", "float"), ("Sum", "double")]
INSTANCES += [
    ("Sum", "Int128"),
    ("Moments", "float"),
    ("ArgMax", "float"),
    ("LogSumExp", "float"),
    ("Prod", "float"),
    ("Nansum", "float"),
    ("MinAndMax", "float"),
    ("MinAndMax", "int64_t"),
    ("NormOfOrder", "Endless"),
    ("NormOfOrder", "double"),
    ("Variance", "float"),
]
ROWS = [EMULATOR / "torch_reduce" / "operators.def", ROOT / "include" / "torch_reduce" / "operators.def"]
OPS = [op for rows in ROWS for op in re.findall(r"^TORCH_REDUCE_OPERATOR\(\w+, (\w+)", rows.read_text(), re.M)]
MODES = ["atomic", "deterministic"]
TYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"]
TYPES += ["float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"]
FAMILIES = ["", "rows", "short_rows", "columns", "tiles"]


def declared(header, pattern, name):
    """Names in a header of plans, as they are written here: short_rows of ShortRowsPlan."""
    found = re.search(pattern, (CORE / "plan" / "gpu" / header).read_text())[1]
    return [re.sub(r"(?<=.)([A-Z])", r"_\1", word).lower() for word in re.findall(name, found)]


def of_enum(header, enum):
    return declared(header, rf"enum class {enum} : uint8_t {{([^}}]*)}}", r"(?m)^  (\w+),")


KERNELS = ["nothing", *declared("plan.h", r"std::variant<std::monostate, ([^>]*)>", r"(\w+)Plan")]
ACCESSES, FINISHES = of_enum("access.h", "Access"), of_enum("plan.h", "Finish")

POISON = 0x5A  # what outputs hold before, and what lies around them
GUARD = 64  # elements


class Planned(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int) for name in ("kernel", "access", "finish", "few_outputs", "finish_cluster")]
    _fields_ += [("units", ctypes.c_int64), ("grid", ctypes.c_int64)]

    @property
    def kind(self):
        finish = FINISHES[self.finish]
        if finish == "partials":
            finish = "many" if not self.few_outputs else "few" if self.finish_cluster == 1 else "few in clusters"
        return f"{KERNELS[self.kernel]}, {ACCESSES[self.access]}, {finish}"


def build(folder):
    """The kernels; not optimised, as compiling takes longer than running."""
    return build_of(folder, INSTANCES)


def build_of(folder, of):
    instances = "".join(f"INSTANCE({operator}, {acc})" for operator, acc in of)
    units = [(EMULATOR / "kernels_of.cpp", [f"-DOPERATOR={operator}", f"-DACC={acc}"]) for operator, acc in of]
    units += [(EMULATOR / "kernels.cpp", [f"-DINSTANCES={instances}"])]
    library = compile_library(folder, "kernels", units + [(source, ["-O1"]) for source in (MEMORY, *PLANS)])
    library.emulator_failure.restype = ctypes.c_char_p
    return library


@dataclass
class Case:
    """A reduction, and what its plan is constrained to. Dims lie in memory in the order ``memory``, outermost first,
    each with a gap of so many of its elements behind it."""

    shape: list[int]
    reduced: list[int]
    memory: list[int]
    gaps: list[int]
    expanded: list[int] = field(default_factory=list)
    offset: int = 0  # elements behind a multiple of 16 bytes
    out_memory: list[int] | None = None  # of the kept dims
    out_gap: int = 0
    out_offset: int = 0
    op: str = "sum"
    mode: str = "deterministic"
    dtype: torch.dtype = torch.float32
    out: torch.dtype = torch.float32
    values: str = "normal"
    sms: int = 4
    major: int = 9
    family: str = ""
    vector: int = -1
    split: int = 0
    backward: bool = False
    seed: int = 0

    def strides(self):
        """By dim, and the elements that they span."""
        strides, step = [0] * len(self.shape), 1
        for d in reversed(self.memory):
            if d not in self.expanded:
                strides[d] = step
                step *= self.shape[d] + self.gaps[d]
        return strides, step

    def out_strides(self):
        kept = [d for d in range(len(self.shape)) if d not in self.reduced]
        order = kept if self.out_memory is None else [kept[i] for i in self.out_memory]
        strides, step = [0] * len(self.shape), 1
        for d in reversed(order):
            strides[d] = step
            step *= self.shape[d] + self.out_gap
        return strides, step

    def of_values(self):
        """What is reduced."""
        shape = [1 if d in self.expanded else size for d, size in enumerate(self.shape)]
        n = math.prod(shape)
        if self.values == "whole":  # small enough for any order to be exact
            x = fill((n,), torch.int8, start=self.seed).remainder(15) - 7
            return x.to(self.dtype).reshape(shape)
        if self.dtype in FLOAT8:
            values = replace(self, dtype=torch.float32).of_values()
            return values.clamp(-448, 448).to(self.dtype)  # an infinity would be NaN in one of them
        x = fill((n,), self.dtype, op=self.op, start=self.seed)
        if self.dtype in FLOATING:
            rng = np.random.default_rng(self.seed)
            some = lambda count: torch.from_numpy(rng.integers(0, n, count))  # noqa: E731
            if self.values == "normal":  # and smaller too, or sums of a few halves would be exact in any order
                x *= torch.from_numpy(2.0 ** rng.integers(-10, 3, n)).to(self.dtype)
            elif self.values == "wide":
                most = 13 if self.dtype is torch.float16 else 30
                x *= torch.from_numpy(2.0 ** rng.integers(-most, most, n)).to(self.dtype)
            elif self.values == "uneven":
                # In two rows large beside small, in the next two less so and the other way round.
                row, column = np.divmod(np.arange(n), shape[-1])
                size, inverted = np.where(row // 2 % 2, 100.0, 300.0), (row // 2 + row // 64 + column) % 2
                x = torch.from_numpy(rng.uniform(0.99, 1.01, n) * size ** (1 - 2 * inverted)).to(self.dtype)
            elif self.values == "a few zeros":
                x[some(1 + n // 40_000)] = 0
            elif self.values == "zeros":
                x.fill_(-0.0)
                x[some(n // 300)] = 0.0
            elif self.values == "special":
                for value, often in ((-0.0, 40), (math.inf, 3000), (-math.inf, 6000), (math.nan, 12000)):
                    x[some(n // often + (often < 5000))] = value
        return x.reshape(shape)


def numbers(values, of=ctypes.c_int64):
    return (of * max(1, len(values)))(*values)


def at_16_bytes(elements, dtype, byte):
    """Memory of so many elements that is all of one byte, from a multiple of 16 bytes on, between two guards."""
    count = (elements + 2 * GUARD) * dtype.itemsize
    raw = torch.full((count + 16,), byte, dtype=torch.uint8)
    skip = -raw.data_ptr() % 16
    return raw[skip : skip + count].view(dtype)


def gives_pair(op):
    return op in REDUCTIONS and REDUCTIONS[op].gives_pair  # the tests' own operators have one result


def placed(memory, offset, shape, strides):
    return memory.as_strided(shape, strides, memory.storage_offset() + GUARD + offset)


def around(case):
    """The byte of elements that would be seen in any result: what lies around those that are reduced."""
    if case.dtype in FLOATING + FLOAT8:
        return 0x7B if MEANING[case.op].skips_nan else 0xFF  # large, or NaN
    signed = case.dtype.is_signed
    return (0x80 if signed else 0) if case.op == "amin" else (0x7F if signed else 0xFF)


@dataclass
class Second:
    """A second tensor: what it is (its number in Role), its elements at an address, and counts of a mask, or nulls; or
    the rows that normalise factors, and their words."""

    role: int = 0
    dtype: torch.dtype = torch.bool
    strides: list[int] = field(default_factory=list)
    address: int | None = None
    counts: int | None = None
    rows: int | None = None
    row_words: int = 0


def call(kernels, case, x, out, planned, second=None):
    """Plans, and runs if there is an ``out``. Returns the status."""
    second = second or Second()
    return kernels.emulate_kernels(
        OPS.index(case.op),
        MODES.index(case.mode),
        TYPES.index(str(case.dtype).removeprefix("torch.")),
        TYPES.index(str(case.out).removeprefix("torch.")),
        len(case.shape),
        numbers(case.shape),
        numbers(case.strides()[0]),
        numbers([d in case.reduced for d in range(len(case.shape))], ctypes.c_bool),
        numbers(case.out_strides()[0]),
        ctypes.c_int64(case.out_strides()[1] if gives_pair(case.op) else 0),
        ctypes.c_void_p(x),
        ctypes.c_void_p(out),
        case.sms,
        case.major,
        FAMILIES.index(case.family) or -1,
        case.vector,
        ctypes.c_int64(case.split),
        case.backward,
        second.role,
        TYPES.index(str(second.dtype).removeprefix("torch.")),
        numbers(second.strides),
        ctypes.c_void_p(second.address),
        ctypes.c_void_p(second.counts),
        ctypes.c_void_p(second.rows),
        second.row_words,
        ctypes.byref(planned),
    )


def plan(kernels, case):
    """What is planned; None where the constraint is not legal."""
    planned = Planned()
    status = call(kernels, case, 4096 + case.offset * case.dtype.itemsize, None, planned)
    return planned if status == 0 else None


def run(kernels, case):
    """Runs a case, and checks the bits of its result and of all that lies around it."""
    strides, elements = case.strides()
    memory = at_16_bytes(elements + case.offset, case.dtype, around(case))
    x = placed(memory, case.offset, case.shape, strides)
    once = x
    for d in case.expanded:
        once = once.narrow(d, 0, 1)
    once.copy_(case.of_values())

    strides, elements = case.out_strides()
    pair = [2] if gives_pair(case.op) else []
    results = at_16_bytes(elements * (1 + len(pair)) + case.out_offset, case.out, POISON)
    kept = [d for d in range(len(case.shape)) if d not in case.reduced]
    of_results = (
        case.out_offset,
        [case.shape[d] for d in kept] + pair,
        [strides[d] for d in kept] + [elements] * len(pair),
    )
    out = placed(results, *of_results)
    planned = Planned()
    status = call(kernels, case, x.data_ptr(), out.data_ptr(), planned)
    assert status == 0, f"{case}: status {status}, {kernels.emulator_failure().decode()}"
    keywords = {} if case.op in REDUCTIONS and not REDUCTIONS[case.op].takes_dtype else {"dtype": case.out}
    expected = model(x, case.reduced, op=case.op, ord=3, **keywords)
    assert_same_bits(out.clone(), expected, f"{planned.kind}: {case}")
    beside = torch.ones(len(results), dtype=torch.bool)
    placed(beside, *of_results).fill_(False)
    unchanged = results.view(torch.uint8).view(len(results), -1)[beside] == POISON
    assert bool(unchanged.all()), f"{planned.kind}, beside its results: {case}"
