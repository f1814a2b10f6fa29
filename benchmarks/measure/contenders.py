"""Who runs: callables from an input to its reduction, by name."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from torch_reduce._schemas import REDUCTIONS
from torch_reduce._twins import PAIRS, TWINS

from ..suites.shapes import Case

Result = torch.Tensor | tuple[torch.Tensor, torch.Tensor]
Call = Callable[[torch.Tensor], Result]

# The contract's modes; an order-free operator has no mode and stands under "deterministic".
OURS = ("deterministic", "atomic", "exact")
PEERS = ("torch", "inductor", "cub")
# CUB's other levels of determinism; "cub" is the one between them, run_to_run.
CUB_LEVELS = ("not_guaranteed", "gpu_to_gpu")


def has_modes(case: Case) -> bool:
    return not case.scans and REDUCTIONS[case.op].takes_dtype


def modes(case: Case) -> tuple[str, ...]:
    """The modes that are worth timing for a case."""
    if not has_modes(case):
        return OURS[:1]
    if case.suite == "slow":
        return OURS[:1]
    if case.suite == "random":
        return OURS[:2]
    if case.suite == "data":  # the speed of the others does not depend on the elements
        return ("exact",)
    if case.suite == "exact":
        return ("deterministic", "exact")
    return OURS if case.dtype.is_floating_point and REDUCTIONS[case.op].has_exact(case.dtype) else OURS[:2]


def ours(case: Case, mode: str) -> Call:
    if case.scans:
        return lambda x: getattr(torch.ops.reduce, case.op)(x, *case.dims)
    op, dims = REDUCTIONS[case.op].packet, case.dims
    # The default mode is not named: the call is timed as one writes it.
    if case.keywords:
        return lambda x: op(x, dims, **case.keywords, mode=mode)
    if mode == "deterministic":
        return op if dims is None else lambda x: op(x, dims)
    return lambda x: op(x, dims, mode=mode)


def eager(case: Case) -> Call:
    if case.scans:
        return lambda x: getattr(torch, case.op)(x, *case.dims)
    op, dims = PAIRS.get(case.op) or TWINS.get(case.op) or getattr(torch, case.op), case.dims
    if case.keywords:
        return lambda x: op(x, dims, **case.keywords)
    if dims is None:
        return op
    if case.op == "prod":  # takes one dim, not a list
        (dim,) = dims
        return lambda x: op(x, dim)
    return lambda x: op(x, dims)


def fp64(case: Case) -> Call:
    """torch.sum that accumulates in fp64, and leaves the result there."""
    return lambda x: torch.sum(x, dtype=torch.float64)


def has_fp64(case: Case) -> bool:
    """Whether accumulation in fp64 is a contender: where exact sums are compared, of narrower types."""
    return case.suite in ("exact", "data") and case.dtype is not torch.float64


def fsum(x: torch.Tensor) -> torch.Tensor:
    """Python's exact sum, of the elements as Python's numbers."""
    return torch.tensor(math.fsum(x.tolist()), dtype=x.dtype)


def inductor(case: Case) -> Call:
    """torch.compile's kernel for this one shape. Call it once, outside any timing, to compile it."""
    # Dynamo keeps its cache by code object and falls back to eager, silently, after a few shapes.
    torch.compiler.reset()
    call = eager(case)
    return torch.compile(lambda x: call(x), dynamic=False, fullgraph=True)
