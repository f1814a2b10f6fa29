"""How functions of one tensor are compared: error against a reference, equality of bits, time."""

import math
import statistics
import time
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from . import functional
from ._bits import bits

Result = Tensor | tuple[Tensor, ...]
Call = Callable[[Tensor], Result]

CALLS = 20  # whose bits are compared, at the most
ALONE = 8  # outputs that are reduced alone, at the most
ROUNDS = (3, 301)  # samples of a time, at the least and at the most
SAMPLE = 200e-6  # seconds of a sample, at the least: far above what a clock or an event costs
MOST_CALLS = 1000  # of a sample


# ---- error --------------------------------------------------------------------------------------------


def reference(
    x: Tensor, dim: Sequence[int] | int | None, op: str, dtype: torch.dtype, has_exact: bool
) -> Tensor | None:
    """The exact results for an output type ``dtype``, rounded to float64, where they can be had.

    Squares of elements narrower than float64 are exact in float64. The root of their rounded sum is off by less than an
    ulp of float64, so it serves narrower types alone."""
    if not dtype.is_floating_point:
        return None
    if has_exact and (x.is_floating_point() or op != "sumsq"):  # whose squares of integers round in float64
        return getattr(functional, op)(x, dim, dtype=torch.float64, mode="exact")
    if not x.is_floating_point() or x.dtype == torch.float64:
        return None
    if op == "norm2" and dtype != torch.float64:
        return functional.sumsq(x, dim, dtype=torch.float64, mode="exact").sqrt_()
    return None


def largest_error(result: Tensor, exact: Tensor) -> float:
    """In ulp of the result's type at the exact value, a float64; infinity where only one of both is finite there."""
    if result.numel() == 0:
        return 0.0
    info = torch.finfo(result.dtype)
    found, rounded = result.double(), exact.to(result.dtype)
    smallest = round(math.log2(info.smallest_normal))
    exponent = torch.where(exact == 0, smallest, torch.frexp(exact)[1] - 1).long().clamp(smallest, 1023)
    power = (exponent + 1023 << 52).view(torch.float64)  # 2**exponent, by its bits: pow may round on a GPU
    same = (found == rounded.double()) | (found.isnan() & rounded.isnan())
    both_finite = found.isfinite() & rounded.isfinite()
    steps = (found - exact).abs() / power / info.eps
    return float(torch.where(both_finite, steps, torch.where(same, 0.0, math.inf)).max())


# ---- bits ---------------------------------------------------------------------------------------------


def same_bits(a: Tensor, b: Tensor) -> bool:
    """Whether shapes, dtypes and bits are equal, all NaN being the same."""
    return a.dtype == b.dtype and torch.equal(bits(a), bits(b))


def repeats(call: Callable[[Tensor], Tensor], x: Tensor, first: Tensor, deadline: float) -> tuple[int, bool]:
    """How many calls had their bits compared, and whether all have those of the first."""
    calls, same = 1, True
    while calls < 2 or (calls < CALLS and time.perf_counter() < deadline):
        same &= same_bits(call(x), first)
        calls += 1
    return calls, same


def in_other_layout(x: Tensor) -> Tensor:
    """The same elements elsewhere: with the dims in reverse order in memory, or contiguous where they are so; of one
    dim, with a gap behind each."""
    reverse = list(range(x.ndim))[::-1]
    turned = x.permute(reverse).contiguous().permute(reverse)
    for copy in (turned, x.contiguous()):
        if any(n > 1 and a != b for n, a, b in zip(x.shape, x.stride(), copy.stride(), strict=True)):
            return copy
    return x.new_empty(*x.shape, 2)[..., 0].copy_(x)


def same_alone(call: Callable[[Tensor], Tensor], x: Tensor, reduced: Sequence[int], result: Tensor) -> bool | None:
    """Whether some outputs, first and last among them, have their bits when their elements are all there is. None where
    there is one output."""
    kept = [d for d in range(x.ndim) if d not in reduced]
    outputs = math.prod(x.shape[d] for d in kept)
    if outputs < 2:
        return None
    each, count = result.reshape(outputs, -1), min(ALONE, outputs)
    for i in (k * (outputs - 1) // (count - 1) for k in range(count)):
        part, left = x, i
        for d in reversed(kept):
            part, left = part.narrow(d, left % x.shape[d], 1), left // x.shape[d]
        if not same_bits(call(part.clone(memory_format=torch.contiguous_format)).reshape(-1), each[i]):
            return False
    return True


# ---- time ---------------------------------------------------------------------------------------------


def _sample(call: Call, x: Tensor, calls: int) -> float:
    """Seconds a call: between events of the current stream on CUDA, else by the host's clock."""
    if x.is_cuda:
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(calls):
            call(x)
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1e-3 / calls
    begin = time.perf_counter()
    for _ in range(calls):
        call(x)
    return (time.perf_counter() - begin) / calls


def median_times(calls: dict[str, Call], x: Tensor, deadline: float) -> dict[str, float]:
    """Median seconds of a call. Functions have been called before. They are sampled in turn, from another one on each
    time, so that what else the machine does meets them alike."""
    names, least_rounds, most_rounds = list(calls), *ROUNDS
    each = {}
    for name in names:
        once = max(_sample(calls[name], x, 1), 1e-9)
        each[name] = min(MOST_CALLS, math.ceil(SAMPLE / once))
    samples: dict[str, list[float]] = {name: [] for name in names}
    for r in range(most_rounds if names else 0):
        if r >= least_rounds and time.perf_counter() >= deadline:
            break
        first = r % len(names)
        for name in names[first:] + names[:first]:
            samples[name].append(_sample(calls[name], x, each[name]))
    return {name: statistics.median(found) for name, found in samples.items()}
