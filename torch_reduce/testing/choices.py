"""Context managers that force a plan, a tuning, a CPU instruction set or a number of threads."""

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from .. import explain
from .._twins import Dims

_constraint = ("", -1, 0)  # what is in force: family, vector, split


@contextlib.contextmanager
def constrained_plan(family: str = "", *, vector: bool | None = None, split: int = 0) -> Iterator[None]:
    """Restricts every plan of the process to a kernel family ("rows", "short_rows", "columns", "tiles"), to 16-byte or
    scalar loads, to a split (a power of two). An operator whose shape does not allow that raises RuntimeError. May be
    nested: the inner one replaces the outer one, which is in force again afterwards."""
    global _constraint
    before, now = _constraint, (family, -1 if vector is None else int(vector), split)
    torch.ops.reduce._constrain(*now)
    _constraint = now
    try:
        yield
    finally:
        torch.ops.reduce._constrain(*before)
        _constraint = before


def legal_plans(x: Tensor, dim: Dims = None, **keywords: Any) -> Iterator[str]:
    """Goes through the combinations of family, loads and split (free, and powers of two to 512) that are legal for
    a reduction of ``x``. Each is in force, for :func:`explain` and the operators, while its description is yielded.

    Args:
        x, dim, keywords: as :func:`torch_reduce.explain` takes them.
    """
    legal = 0
    for family in ("rows", "short_rows", "columns", "tiles"):
        for vector in (False, True):
            for split in (0, *(2**k for k in range(10))):
                with constrained_plan(family, vector=vector, split=split):
                    try:
                        explain(x, dim, **keywords)
                    except RuntimeError:
                        continue
                    legal += 1
                    yield f"{family}, {'16-byte' if vector else 'scalar'} loads, split {split or 'free'}"
    if legal == 0:
        raise RuntimeError("no plan is legal for this tensor")


_tuned: dict[str, int] = {}  # what is in force in place of the table's values


def tuning() -> dict[str, int]:
    """The values that GPU plans are tuned by, by name: counts per SM, and sizes. Those in force for the GPU that
    :func:`explain` plans for where there is none (:func:`typical_gpu`). What each is: csrc/core/plan/tuning/gpu.h."""
    return json.loads(torch.ops.reduce._tuning())


@contextlib.contextmanager
def tuned(**values: int) -> Iterator[None]:
    """Plans every reduction on a GPU with these in place of the values of its architecture; results do not depend on
    them. May be nested. A CUDA graph keeps the plans under which it was captured.

    Raises ValueError, and changes nothing, where a name is not one of :func:`tuning` or a value is not legal."""
    global _tuned
    before, now = _tuned, _tuned | values
    torch.ops.reduce._tune(list(now), list(now.values()))
    _tuned = now
    try:
        yield
    finally:
        torch.ops.reduce._tune(list(before), list(before.values()))
        _tuned = before


@contextlib.contextmanager
def typical_gpu(capability: tuple[int, int], sms: int) -> Iterator[None]:
    """Makes :func:`explain` plan for a GPU of a compute capability and a number of SMs, where there is none at hand.

    Raises ValueError where no GPU can be so."""
    torch.ops.reduce._typical_gpu(sms, *capability)
    try:
        yield
    finally:
        torch.ops.reduce._typical_gpu()


@contextlib.contextmanager
def cpu_capability(name: str) -> Iterator[None]:
    """Runs CPU kernels with one instruction set: "baseline", "avx2", "avx512" or "auto".

    Raises ValueError where the name is unknown or the machine lacks it."""
    before = torch.ops.reduce._cpu_capability()
    torch.ops.reduce._cpu_capability(name)
    try:
        yield
    finally:
        torch.ops.reduce._cpu_capability(before)


@contextlib.contextmanager
def num_threads(count: int) -> Iterator[None]:
    """Runs CPU kernels with ``count`` threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
