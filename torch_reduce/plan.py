"""The plan of a reduction or scan: which kernel family runs, with what grid, split and scratch memory."""

import json
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from ._schemas import REDUCTIONS, SCANS
from .arguments import Dims, DType, Mode, as_dims, as_dtype


@dataclass(frozen=True)
class Plan:
    """How one reduction or scan would run. Printing it gives a readable summary.

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

    def __str__(self) -> str:
        finish = {
            "direct": "written directly",
            "cluster": "met in a cluster",
            "partials": "partials, second pass",
            "atomic": "atomic adds",
            "look_back": "look-back",
        }
        launches = "1 launch" if self.launches == 1 else f"{self.launches} launches"
        on_gpu = self.device == "cuda"
        rows = [
            ("operator", f"{self.op}, {self.mode}, on {self.device}"),
            ("elements", f"{self.n:,} {'in' if self.family == 'scan' else 'into'} each of {self.outputs:,}"),
            ("family", f"{self.family} ({self.reads})"),
            ("grid", f"{self.grid:,} x {self.block} threads, {launches}") if on_gpu else ("tasks", f"{self.grid:,}"),
            ("split", f"{self.split:,} per output, {finish.get(self.finish, self.finish)}"),
            *([("shared bytes", f"{self.shared_bytes:,} per CTA")] if on_gpu else []),
            ("scratch bytes", f"{self.scratch_bytes:,}"),
            ("expected bytes", f"{self.expected_bytes:,}"),
            *([("estimated us", f"{self.estimated_us:.1f}")] if self.estimated_us else []),
        ]
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


def explain(
    x: Tensor,
    dim: Dims = None,
    *,
    op: str = "sum",
    dtype: DType | None = None,
    mode: Mode = "deterministic",
    device: str | torch.device | None = None,
) -> Plan:
    """The plan that a reduction or a scan of ``x`` would follow. Runs no kernel and reads no element.

    Args:
        x: the tensor to reduce. A meta tensor of any size will do, where ``device`` is given.
        dim: the dim or dims to reduce; None or an empty list for all of them. The one dim to scan.
        op: a reduction or scan of ``torch.ops.reduce`` by its name, such as ``"sum"`` or ``"cumsum"``.
        dtype: the output type, as in the operator.
        mode: ``"atomic"``, ``"deterministic"`` or ``"exact"``.
        device: ``"cpu"`` or ``"cuda"``; by default the device of ``x``. ``"cuda"`` without a GPU plans for a typical
            one of 132 SMs.

    Raises:
        ValueError: the operator, the mode or the device is unknown, or a dtype or a mode is given for an operator
            without one; a scan of several dims.
        IndexError, RuntimeError, NotImplementedError: as the operator raises them.

    Examples:
        >>> print(torch_reduce.explain(torch.empty(65536, 1000, device="meta"), 1, device="cuda"))
    """
    operator = (REDUCTIONS | SCANS).get(op)
    if dtype is not None and operator and not operator.takes_dtype:
        raise ValueError(f"reduce: {op} has no dtype=, its result has that of the tensor; got {dtype}")
    if mode != "deterministic" and operator and (op in SCANS or not operator.takes_dtype):
        raise ValueError(f"reduce: {op} has no mode=, its bits never change; got {mode!r}")
    device = device.type if isinstance(device, torch.device) else device
    dims, dtype = as_dims(dim), as_dtype(dtype)
    text = torch.ops.reduce._explain(x, dims, op=op, dtype=dtype, mode=mode, device=device or "")
    described = {"op": op, "mode": mode, "estimated_us": 0.0, **json.loads(text)}
    return Plan(**{field.name: described[field.name] for field in fields(Plan)})
