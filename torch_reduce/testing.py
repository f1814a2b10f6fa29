"""What it takes to test these reductions: fills by formula, references and error bounds, comparison of bits, and
context managers that force a plan, a tuning, a CPU instruction set or a number of threads. The model of the canonical
order (:mod:`torch_reduce.model`) is exported here too.
"""

import contextlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from torch import Tensor

from . import _bits, explain, functional, scans
from ._schemas import REDUCTIONS, SCANS
from ._twins import Dims
from .functional import generic
from .model import (
    APART,
    MEANING,
    TOGETHER,
    canonical,
    compute_dtype,
    model,
    output_dtype,
    result_shape,
    round_once,
    rows,
)

__all__ = [
    "DTYPES",
    "FLOAT8",
    "FLOATING",
    "INTEGERS",
    "OPS",
    "assert_same_bits",
    "assert_within",
    "bits",
    "canonical",
    "constrained_plan",
    "cpu_capability",
    "error_bound",
    "fill",
    "function_of",
    "gives_floating",
    "gives_index",
    "gives_pair",
    "has_gradient",
    "legal_plans",
    "model",
    "num_threads",
    "operator_of",
    "order_fill",
    "output_dtype",
    "reference",
    "result_shape",
    "round_once",
    "skips_nan",
    "rows",
    "scan_function",
    "splitmix",
    "converts_to_bool",
    "tuned",
    "tuning",
    "typical_gpu",
    "takes_complex",
    "takes_dtype",
    "takes_integers",
    "unit_fill",
    "wants_elements",
    "wants_floating",
    "wants_two_elements",
]

INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32, torch.uint64)
FLOAT8 = (torch.float8_e4m3fn, torch.float8_e5m2)
"""Types of elements alone, and of extremes of them; DTYPES are those of results."""
FLOATING = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
DTYPES = (torch.bool, *INTEGERS, *FLOATING)
OPS = tuple(REDUCTIONS)
"""Every reduction that is registered, by name."""


def function_of(op: str) -> Callable[..., Tensor]:
    """The function of ``torch_reduce``; of two results, one that gives both in the last dim of one tensor; of an order,
    one that takes it by name."""
    operator = REDUCTIONS[op]
    other = operator.gives_pair or operator.takes_order
    return generic.function_of(operator) if other else getattr(functional, op)


def scan_function(scan: str, module: Any = scans) -> Callable[..., Tensor]:
    """The scan of ``torch_reduce``, or of ``torch``; of one that gives indices too, a function of its values alone."""
    function = getattr(module, scan)
    if not SCANS[scan].gives_pair:
        return function

    def values(*arguments: Any, **options: Any) -> Tensor:
        return function(*arguments, **options)[0]

    return values


def operator_of(op: str) -> torch._ops.OpOverloadPacket:
    """The operator of ``torch.ops.reduce``; of two results, the one that gives both in the last dim of one tensor."""
    return REDUCTIONS[op].packet


def gives_pair(op: str) -> bool:
    """Whether an operator has two results."""
    return REDUCTIONS[op].gives_pair


def takes_dtype(op: str) -> bool:
    """Whether an operator takes ``dtype=`` and ``mode=``."""
    return REDUCTIONS[op].takes_dtype


def wants_elements(op: str) -> bool:
    """Whether an operator has no result for no elements."""
    return MEANING[op].selects


def wants_two_elements(op: str) -> bool:
    """Whether the result for one element is NaN, as that leaves no degree of freedom."""
    return MEANING[op].spread is not None


def gives_index(op: str) -> bool:
    """Whether the result is the index of an element, an int64."""
    return MEANING[op].index


def has_gradient(op: str) -> bool:
    """Whether it has one: not where the result is an index, a count or a truth."""
    return not (MEANING[op].index or (MEANING[op].tests and MEANING[op].integers))


def skips_nan(op: str) -> bool:
    """Whether NaN among the elements counts as nothing."""
    return MEANING[op].skips_nan


def converts_to_bool(op: str) -> bool:
    """Whether only matters which elements are zero."""
    return MEANING[op].tests


def wants_floating(op: str) -> bool:
    """Whether an operator has floating results alone, and integers none unless ``dtype=`` names one."""
    return MEANING[op].floating or not MEANING[op].integers


def takes_integers(op: str) -> bool:
    """Whether the elements may be integers."""
    return MEANING[op].integers


def takes_complex(op: str) -> bool:
    """Whether the elements may be complex."""
    return op in APART + TOGETHER


def gives_floating(op: str) -> bool:
    """Whether an operator has floating results alone, of floating elements."""
    return wants_floating(op) or MEANING[op].natural is not None or MEANING[op].skips_nan


# ---- fills --------------------------------------------------------------------------------------------


def splitmix(n: int, start: int = 0) -> np.ndarray:
    """The upper halves (uint32) of SplitMix64 outputs start+1 .. start+n, as tests/data/vectors.json defines them."""
    z = np.arange(start + 1, start + n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(32)).astype(np.uint32)


def order_fill(n: int, start: int = 0) -> np.ndarray:
    """float32 values of both signs and of magnitudes 2^-8 to 2^8, for sums."""
    h = splitmix(n, start)
    magnitude = np.ldexp(1 + (h & 0x7FFF) / 32768, ((h >> 15) & 15).astype(np.int32) - 8)
    return np.where(h >> 31, -magnitude, magnitude).astype(np.float32)


def unit_fill(n: int, start: int = 0) -> np.ndarray:
    """float32 values of both signs in [0.5, 2), for products: odd elements are reciprocals of such values."""
    h = splitmix(n, start)
    u = (1 + (h & 0x7FFF) / 32768).astype(np.float32)
    u = np.where(h >> 31, -u, u)
    return np.where(np.arange(n) % 2 == 0, u, np.float32(1) / u).astype(np.float32)


def fill(shape: Sequence[int], dtype: torch.dtype, *, op: str = "sum", device: str = "cpu", start: int = 0) -> Tensor:
    """A contiguous tensor of test values: :func:`unit_fill` for products, else :func:`order_fill`, rounded to
    ``dtype``; all bits of the type for integers; bool half and half. What tests elements gets hundreds of zeros, of
    others, and of both in turn; what skips NaN, hundreds of which half are; what adds exponentials, thousands for which
    all count, and then wide ones."""
    n = math.prod(shape)
    if dtype == torch.bool or dtype in INTEGERS:
        values = splitmix(n, start).astype(np.int64) * np.int64(0x100000001)
        values = (values >> 8) & 1 if dtype == torch.bool else values
    else:
        values = unit_fill(n, start) if op == "prod" else order_fill(n, start)
        values = values * (1 + 2.0**-40) if dtype == torch.float64 else values
        if MEANING[op].skips_nan:
            values[((np.arange(n) + start) // 300 % 3 == 2) & (splitmix(n, start) >> 9 & 1 == 1)] = np.nan
        if op == "logsumexp":
            values = np.where((np.arange(n) + start) // 3000 % 3 == 2, values, values / 64)
    if MEANING[op].tests:
        kind, is_odd = (np.arange(n) + start) // 300 % 3, splitmix(n, start) >> 9 & 1
        values[(kind == 0) | ((kind == 2) & (is_odd == 1))] = 0
    if dtype in FLOAT8:  # what is beyond the type would be NaN
        values = values.clip(-torch.finfo(dtype).max, torch.finfo(dtype).max)
    return torch.from_numpy(values).to(dtype).reshape(tuple(shape)).to(device)


# ---- references and bounds ----------------------------------------------------------------------------


def reference(x: Tensor, dim: Dims = None, *, op: str = "sum") -> Tensor:
    """The sum or product of finite elements, rounded once to float64, or their mean, rounded twice; shape as without
    keepdim. Sums by math.fsum; products by exact integers, for some thousands of elements. ValueError for other
    operators."""
    if op not in ("sum", "mean", "prod"):
        raise ValueError(f"there is a reference of sum, mean and prod, not of {op}")
    results = []
    for row in rows(x, dim).double().tolist():
        if op == "prod":
            numerators, denominators = zip(*(v.as_integer_ratio() for v in row), strict=True) if row else ((), ())
            results.append(float(Fraction(math.prod(numerators), math.prod(denominators))))
        else:
            results.append(math.fsum(row) / (len(row) if op == "mean" else 1))
    return torch.tensor(results, dtype=torch.float64).reshape(result_shape(x.shape, dim))


def error_bound(
    x: Tensor, dim: Dims = None, *, op: str = "sum", dtype: torch.dtype | None = None, atomic_parts: int = 0
) -> Tensor:
    """How far from :func:`reference` a result may lie, in float64, for floating ``x``.

    With eps = finfo.eps (twice the unit roundoff, which covers the terms of second order and the reference's own): a
    sum of depth d is off by at most d * eps * sum|x|, where d is 3 for the steps of a leaf, the height of the trees,
    and one for each of the ``atomic_parts`` that are added in any order, each of which may flush a subnormal sum too.
    A product of n factors has n - 1 relative errors (without underflow). Dividing by n and rounding to the output
    type add one each.
    """
    dtype = output_dtype(op, x.dtype, dtype)
    compute = torch.finfo(compute_dtype(op, x.dtype, dtype))
    elements = rows(x, dim).double()
    n, true = max(1, elements.shape[1]), reference(x, dim, op=op).flatten()
    if op == "prod":
        bound = n * compute.eps * true.abs()
    else:
        depth = 3 + math.ceil(math.log2(256 * max(1, -(-n // 1024)))) + atomic_parts
        bound = depth * compute.eps * elements.abs().sum(1) + atomic_parts * compute.tiny
    if op == "mean":
        bound = bound / n + compute.eps * true.abs() + compute.smallest_normal * compute.eps
    out = torch.finfo(dtype)
    bound = bound + out.eps * (true.abs() + bound) + out.smallest_normal * out.eps
    return bound.reshape(result_shape(x.shape, dim))


# ---- comparison ---------------------------------------------------------------------------------------


def bits(x: Tensor) -> Tensor:
    """The bits of ``x`` as integers on the CPU, every NaN made the same one."""
    return _bits.bits(x.detach().cpu())


def assert_same_bits(actual: Tensor, expected: Tensor, what: str = "") -> None:
    """Fails unless both have the same shape, dtype and bits (NaN payloads aside)."""
    assert actual.dtype == expected.dtype, f"{what}: dtype {actual.dtype}, expected {expected.dtype}"
    assert actual.shape == expected.shape, f"{what}: shape {tuple(actual.shape)}, expected {tuple(expected.shape)}"
    if actual.is_complex():
        actual, expected = (torch.view_as_real(t.detach().resolve_conj()) for t in (actual, expected))
    differ = bits(actual) != bits(expected)
    if differ.any():
        where = tuple(differ.nonzero()[0].tolist())
        got, want = (t.detach().cpu()[where].item() for t in (actual, expected))
        raise AssertionError(
            f"{what}: {int(differ.sum())} of {differ.numel()} differ; at {where} {got!r}, not {want!r}"
        )


def assert_within(actual: Tensor, expected: Tensor, bound: Tensor, what: str = "") -> None:
    """Fails unless |actual - expected| <= bound everywhere."""
    error = (actual.detach().cpu().double() - expected).abs()
    assert bool((error <= bound).all()), f"{what}: error {float(error.max())}, bound {float(bound.min())}"


# ---- forced choices -----------------------------------------------------------------------------------


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
