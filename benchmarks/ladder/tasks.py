"""What the rungs compute: inputs on which the result is known, and whether a result is right.

Most tasks have inputs whose result is exact in whatever order it is computed, so that a right rung must give that very
value: integers small enough that no partial sum can round, and signed powers of two. Every element of them matters.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor


def _generator(device: torch.device, seed: int) -> torch.Generator:
    return torch.Generator(device).manual_seed(seed)


def integers(n: int, dtype: torch.dtype, device: torch.device, seed: int) -> Tensor:
    """Integers from -64 to 64. Partial sums in any order are random walks: at 2^29 elements their standard deviation is
    under 2^20, a sixteenth of what fp32 holds exactly."""
    return torch.empty(n, dtype=dtype, device=device).random_(-64, 65, generator=_generator(device, seed))


def few_ones(n: int, dtype: torch.dtype, device: torch.device, seed: int) -> Tensor:
    """-1, 0 and 1, at most about 2^16 of them not 0: no partial sum comes near 2,048, up to which fp16 holds all
    integers."""
    generator = _generator(device, seed)
    x = torch.empty(n, dtype=dtype, device=device).random_(-1, 2, generator=generator)
    keep = torch.rand(n, dtype=torch.float32, device=device, generator=generator) < min(1.0, 2**16 / n)
    return x.mul_(keep)


def signed_powers(n: int, dtype: torch.dtype, device: torch.device, seed: int) -> Tensor:
    """1 and -1, with about 400 halves and doubles among them: no partial product comes near overflow, and each element
    decides the sign."""
    generator = _generator(device, seed)
    x = torch.empty(n, dtype=dtype, device=device).random_(0, 2, generator=generator).mul_(2).sub_(1)
    chance = torch.rand(n, dtype=torch.float32, device=device, generator=generator)
    share = min(0.5, 200 / n)
    return torch.where(chance < share, x * 2, torch.where(chance > 1 - share, x / 2, x))


def uniform(n: int, dtype: torch.dtype, device: torch.device, seed: int) -> Tensor:
    return torch.empty(n, dtype=dtype, device=device).uniform_(0, 1, generator=_generator(device, seed))


def eighths(n: int, dtype: torch.dtype, device: torch.device, seed: int) -> Tensor:
    """Multiples of 1/8 from -8 to 8: what exp's lesson subtracts from them stays exact."""
    return torch.empty(n, dtype=dtype, device=device).random_(-64, 65, generator=_generator(device, seed)).div_(8)


def _product(x: Tensor) -> Tensor:
    """The sign from the count of negatives, the exponent from the sum of exponents."""
    negative, exponent = int((x < 0).sum()) % 2, int(torch.log2(x.abs()).sum(dtype=torch.float64))
    return torch.tensor([math.ldexp(-1 if negative else 1, exponent)], dtype=torch.float64, device=x.device)


def _transpose(x: Tensor) -> Tensor:
    size = math.isqrt(x.numel())
    return x.view(size, size).t().reshape(-1).double()


def _cases(x: Tensor, lanes_agree: bool) -> Tensor:
    thread = torch.arange(x.numel(), device=x.device) % 1024
    case = thread // 32 if lanes_agree else thread % 32
    return x.double() + 64 * (case + 1)


def _relax(x: Tensor) -> Tensor:
    v = x.double()
    for _ in range(64):
        v = v * 0.9 + 0.1
    return v


def _exp(x: Tensor) -> Tensor:
    return sum((x.double() - j).exp() for j in range(64))


# The bounds of what is not exact, as a largest error relative to the result.
#
# relax: each step rounds a product, a sum and two constants, by at most 2^-24 in all for values up to 1 (in double
# arithmetic less), and passes 0.9 of its error on: under 10 x 2^-22 in the end, of a result that is near 1.
_RELAX = 10 * 2.0**-22
# exp: CUDA's guide gives at most 2 ulp for expf and 2 + floor(1.173 |x|) ulp for __expf, where |x - j| of a term that
# counts is under 8 + 20 (later ones are under 2^-28 of the sum); 63 additions of positive numbers add 63 half-ulps.
_ULP = 2.0**-23
_EXP = (2 + 63 / 2) * _ULP
_EXP_FAST = (2 + math.floor(1.173 * 28) + 63 / 2) * _ULP


@dataclass(frozen=True)
class Task:
    """`expected` is the result in fp64. `bound`: the largest relative error of a right result; 0 asks for equality."""

    fill: Callable[[int, torch.dtype, torch.device, int], Tensor]
    expected: Callable[[Tensor], Tensor]
    elementwise: bool = False  # as many results as elements
    bound: float = 0.0
    out_dtype: torch.dtype = torch.float32
    host_output: bool = False

    def outputs(self, n: int) -> int:
        return n if self.elementwise else 1

    def error(self, result: Tensor, x: Tensor) -> float:
        """The largest |result - fp64|, relative to the result. NaN if any is NaN."""
        expected = self.expected(x).reshape(-1)
        off = (result.reshape(-1).to(expected.device, torch.float64) - expected).abs()
        return (off / expected.abs().clamp(min=torch.finfo(torch.float64).tiny)).masked_fill(off == 0, 0).max().item()

    def right(self, result: Tensor, x: Tensor) -> bool:
        return self.error(result, x) <= self.bound


def _sum(x: Tensor) -> Tensor:
    return x.sum(dtype=torch.float64)


TASKS = {
    "sum": Task(integers, _sum),
    "sum_but_first": Task(integers, lambda x: x[1:].sum(dtype=torch.float64)),
    "half_sum": Task(few_ones, _sum, out_dtype=torch.float16),
    "max": Task(integers, torch.amax),
    "min": Task(integers, torch.amin),
    "product": Task(signed_powers, _product),
    "transpose": Task(uniform, _transpose, elementwise=True),
    "cases_by_lane": Task(integers, lambda x: _cases(x, lanes_agree=False), elementwise=True),
    "cases_by_warp": Task(integers, lambda x: _cases(x, lanes_agree=True), elementwise=True),
    "relax": Task(uniform, _relax, elementwise=True, bound=_RELAX),
    "exp": Task(eighths, _exp, elementwise=True, bound=_EXP),
    "exp_fast": Task(eighths, _exp, elementwise=True, bound=_EXP_FAST),
    "copy": Task(integers, torch.Tensor.double, elementwise=True),
    "pieces": Task(integers, lambda x: 1 - x.double(), elementwise=True, host_output=True),
}
