"""The plan of a reduction or scan: which kernel family runs, with what grid, split and scratch memory."""

import itertools
import json
from dataclasses import dataclass, field, fields, replace

import torch
from torch import Tensor

from ._schemas import REDUCTIONS, SCANS
from .arguments import Dims, DType, Mode, as_dims, as_dtype, as_mode, check_tensor

# What a kernel does, by the device and the way it reads, or by the device and the family: docs/architecture.md.
_HOW = {
    ("cuda", "rows"): "a warp reduces 1024 elements of an output at a time",
    ("cuda", "short_rows"): "1 to 32 lanes reduce an output",
    ("cuda", "columns"): "neighbouring threads own neighbouring outputs",
    ("cuda", "tiles"): "a CTA reads along memory, and reduces from shared memory",
    ("cuda", "scan"): "a warp scans 1024 elements of a row, or several short rows",
    ("cpu", "segments"): "outputs take turns in memory",
    ("cpu", "tiles"): "lines of memory are copied into the order of the elements",
    ("cpu", "bundles"): "some neighbouring columns of memory are whole chunks together",
    ("cpu", "strips"): "a row of memory in each lane of a vector",
    ("cpu", "blocks of two tensors"): "what both make comes block by block into memory without gaps",
    ("cpu", "chunks"): "columns of memory are whole chunks each",
    ("cpu", "rows"): "elements of an output follow one another, or few outputs are neighbours",
    ("cpu", "short_rows"): "vectors go across outputs",
    ("cpu", "columns"): "neighbouring outputs are neighbours in memory",
}
_FINISH = {
    "direct": "written directly",
    "cluster": "met in a cluster",
    "partials": "partials, second pass",
    "atomic": "atomic adds",
    "look_back": "look-back",
}
_FAMILIES = ("rows", "short_rows", "columns", "tiles")

_Branch = tuple[str, list[str]]


@dataclass(frozen=True)
class Plan:
    """How one reduction or scan would run. Printing it gives a tree: what it does and moves, and why.

    Attributes:
        op: the operator's name, such as ``"sum"``.
        mode: ``"atomic"``, ``"deterministic"`` or ``"exact"``.
        device: the kind of device planned for, ``"cpu"`` or ``"cuda"``.
        family: the kernel family, ``"rows"``, ``"short_rows"``, ``"columns"``, ``"tiles"``, or ``"empty"`` without
            outputs; ``"scan"``.
        outputs: how many results there are; of a scan, how many rows.
        n: how many elements are reduced into each; of a scan, how many each row has.
        vector: whether the kernel loads 16 bytes at a time (on the CPU: whether neighbours lie side by side).
        reads: what one load takes, in words: ``"16 bytes"``, ``"16 bytes, unaligned"`` (that begin at any element),
            ``"16 bytes, unordered"`` (of several runs of neighbours, where the order is free), ``"pairs"`` or
            ``"elements"``, and ``"strips, "`` before it where rows lie across memory; on the CPU ``"neighbours"``
            or ``"elements"``, ``"blocks"`` (of columns), and where memory has another order than the elements
            ``"segments"``, ``"tiles"``, ``"chunks"``, ``"bundles"`` or ``"strips"`` (docs/architecture.md). Of a scan,
            how neighbouring elements lie: ``"along rows"``, ``"across rows"`` or ``"packed rows"``.
        grid: CTAs of the main launch (tasks on the CPU).
        block: threads of a CTA.
        split: how many CTAs (tasks) share one output.
        shared_bytes: shared memory of a CTA, in bytes.
        scratch_bytes: memory for partial results in device memory, in bytes (on the CPU: and what all threads hold).
        expected_bytes: device memory traffic of input, output and scratch, in bytes.
        finish: how parts of an output meet: ``"direct"`` (there is one part), ``"cluster"`` (in shared memory, as they
            run at the same time), ``"partials"`` (stored, combined by a second pass), ``"atomic"``, or in a scan
            ``"look_back"`` (each part waits for those before it).
        launches: kernels launched; 0 on the CPU.
        estimated_us: what the plan is estimated to take, in microseconds, for comparing plans of one tensor: the legal
            plan with the least estimate is chosen. 0 on the CPU and in ``"exact"``, which have no choice by estimate.
        peak_bandwidth: of the memory of the GPU that holds the tensor, in bytes per second: twice the memory's clock
            times the width of its bus, as the driver gives them. 0 without that GPU, or where the driver does not say.
        alternatives: plans of other families and kinds of loads that are legal too, the least estimate first. Tiles
            are among them where the choice does not ask for them. Not compared by ``==``.
    """

    op: str
    mode: str
    device: str
    family: str
    outputs: int
    n: int
    vector: bool
    reads: str
    grid: int
    block: int
    split: int
    shared_bytes: int
    scratch_bytes: int
    expected_bytes: int
    finish: str
    launches: int
    estimated_us: float

    peak_bandwidth: float = 0.0
    alternatives: tuple["Plan", ...] = field(default=(), compare=False, repr=False)

    def __str__(self) -> str:
        how = _HOW.get((self.device, self.reads)) or _HOW.get((self.device, self.family))
        how = None if self.mode == "exact" else how  # whose kernels differ
        branches = [
            (f"{self.n:,} elements {'in' if self.family == 'scan' else 'into'} each of {self.outputs:,}", []),
            (f"family: {self.family} ({self.reads})" + (f": {how}" if how else ""), self._launch()),
            (f"memory: {self.expected_bytes:,} bytes expected", self._memory()),
            *([self._why()] if self.estimated_us else []),
        ]
        lines = [f"{self.op}, {self.mode}, on {self.device}"]
        for i, (text, twigs) in enumerate(branches):
            last = i + 1 == len(branches)
            lines.append(f"{'└' if last else '├'}─ {text}")
            for k, twig in enumerate(twigs):
                lines.append(f"{' ' if last else '│'}  {'└' if k + 1 == len(twigs) else '├'}─ {twig}")
        return "\n".join(lines)

    def _launch(self) -> list[str]:
        split = f"split: {self.split:,} per output, {_FINISH.get(self.finish, self.finish)}"
        if self.device == "cpu":
            return [f"tasks: {self.grid:,}", split]
        launches = "1 launch" if self.launches == 1 else f"{self.launches} launches"
        grid = f"grid: {self.grid:,} x {self.block} threads, {launches}"
        return [grid, split, f"shared memory: {self.shared_bytes:,} bytes per CTA"]

    def _memory(self) -> list[str]:
        found = [f"scratch: {self.scratch_bytes:,} bytes"]
        if self.peak_bandwidth:
            least, speed = self.expected_bytes / self.peak_bandwidth * 1e6, self.peak_bandwidth / 1e9
            found.append(f"at least {least:.1f} us at the {speed:,.0f} GB/s of this GPU's memory")
        return found

    def _why(self) -> _Branch:
        others = [
            f"best other legal plan: {other.estimated_us:.1f} us, {other.family} ({other.reads})"
            for other in self.alternatives[:1]
        ]
        return f"estimated: {self.estimated_us:.1f} us", others


def _peak_bandwidth(x: Tensor) -> float:
    """Bytes per second by the attributes of the GPU of ``x``: memory transfers twice a clock, as in NVIDIA's "How to
    Implement Performance Metrics in CUDA C/C++". 0 where PyTorch or the driver has no such attribute."""
    gpu = torch.cuda.get_device_properties(x.device)
    return 2e3 * getattr(gpu, "memory_clock_rate", 0) * getattr(gpu, "memory_bus_width", 0) / 8


def explain(
    x: Tensor,
    dim: Dims = None,
    *,
    op: str = "sum",
    dtype: DType | None = None,
    mode: Mode = "deterministic",
    device: str | torch.device | None = None,
    where: Tensor | None = None,
    other: Tensor | None = None,
) -> Plan:
    """The plan that a reduction or a scan of ``x`` would follow. Runs no kernel and reads no element. Of a complex
    ``x`` it is the plan for the real numbers that are its parts, or its magnitudes.

    Args:
        x: the tensor to reduce. A meta tensor of any size will do, where ``device`` is given.
        dim: the dim or dims to reduce; None or an empty list for all of them. The one dim to scan.
        op: a reduction or scan of ``torch.ops.reduce`` by its name, such as ``"sum"`` or ``"cumsum"``.
        dtype: the output type, as in the operator.
        mode: ``"atomic"``, ``"deterministic"`` or ``"exact"``.
        device: ``"cpu"`` or ``"cuda"``; by default the device of ``x``. ``"cuda"`` for a tensor elsewhere plans for a
            typical GPU of 132 SMs.
        where: the mask, of an operator that takes one.
        other: the second tensor of ``"dot"``.

    Raises:
        ValueError: the operator, the mode or the device is unknown, or a dtype or a mode is given for an operator
            without one; a scan of several dims.
        TypeError: ``x`` is no tensor, or an argument of another type.
        IndexError, RuntimeError, NotImplementedError: as the operator raises them.

    Examples:
        >>> print(torch_reduce.explain(torch.empty(65536, 1000, device="meta"), 1, device="cuda"))
    """
    check_tensor("x", x)
    if not isinstance(op, str):
        raise TypeError(f"reduce: op is the name of a reduction or scan, such as 'sum', got {op!r}")
    operator = (REDUCTIONS | SCANS).get(op)
    if dtype is not None and operator and not operator.takes_dtype:
        raise ValueError(f"reduce: {op} has no dtype=, its result has that of the tensor; got {dtype}")
    if as_mode(mode) != "deterministic" and operator and (op in SCANS or not operator.takes_dtype):
        raise ValueError(f"reduce: {op} has no mode=, its bits never change; got {mode!r}")
    device = device.type if isinstance(device, torch.device) else device
    dims, dtype = as_dims(dim), as_dtype(dtype)
    second = None
    if where is not None:
        second = where.expand(x.shape)
    elif other is not None:
        x, second = torch.broadcast_tensors(x, other)

    def plan(family: str = "", vector: int = -1) -> Plan:
        allowed = {"family": family, "vector": vector, "other": second}
        text = torch.ops.reduce._explain(x, dims, op=op, dtype=dtype, mode=mode, device=device or "", **allowed)
        described = {"op": op, "mode": mode, "estimated_us": 0.0, **json.loads(text)}
        return Plan(**{f.name: described[f.name] for f in fields(Plan) if f.name in described})

    chosen = plan()
    peak = _peak_bandwidth(x) if x.is_cuda and chosen.device == "cuda" else 0.0
    others: list[Plan] = []
    for family, vector in itertools.product(_FAMILIES if chosen.estimated_us else (), (1, 0)):
        try:
            another = plan(family, vector)
        except RuntimeError:  # not legal
            continue
        if another != chosen and another not in others:
            others.append(another)
    others.sort(key=lambda another: another.estimated_us)
    return replace(chosen, peak_bandwidth=peak, alternatives=tuple(others))
