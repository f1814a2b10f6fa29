"""Whether a result is right, and whether its bits repeat."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from torch_reduce._twins import twin_of
from torch_reduce.model import MEANING

from ..suites.shapes import Case
from .contenders import Call, Result

# A run's 64-bit fingerprint stands for its bits: a sum of the bit patterns, each times an odd number of its own.
_INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def fill(flat: torch.Tensor, case: Case) -> None:
    """Random elements for which the operator's result is neither trivial nor out of range."""
    if case.dtype is torch.bool:
        flat.random_(0, 2)
    elif not case.dtype.is_floating_point:
        info = torch.iinfo(case.dtype)
        flat.random_(max(info.min, -(1 << 20)), min(info.max, 1 << 20))
    elif case.reduces_by == "prod":
        flat.uniform_(1 - 2**-8, 1 + 2**-8)
    else:
        for part in flat.split(1 << 26):
            part.copy_(DATA[case.data](part))


def _bits(like: torch.Tensor) -> torch.Tensor:
    integer = _INTEGERS[like.dtype.itemsize]
    x = torch.randint(-(2**63), 2**63 - 1, like.shape, device=like.device, dtype=torch.int64).to(integer)
    x = x.view(like.dtype)
    return x.masked_fill_(~x.isfinite(), 0)


def _two_extremes(like: torch.Tensor) -> torch.Tensor:
    info = torch.finfo(like.dtype)
    x = torch.full_like(like, info.smallest_normal * info.eps)
    x[::2] = 2.0 ** (math.frexp(info.max)[1] - 1)
    return x


def _within(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """float32 elements clamped to another type's range."""
    most = min(torch.finfo(dtype).max, torch.finfo(x.dtype).max)
    return x.clamp_(-most, most)


def _normal(like: torch.Tensor, sigma: float = 0) -> torch.Tensor:
    """Normal times a log-normal scale, within the type's range."""
    x = torch.randn(like.shape, device=like.device)
    if sigma:
        x *= torch.exp(sigma * torch.randn_like(x))
    return _within(x, like.dtype)


def _log_normal(like: torch.Tensor) -> torch.Tensor:
    return _within(torch.randn(like.shape, device=like.device).mul_(6).exp_(), like.dtype)


# Elements of the type and device of a tensor, by the name of their distribution.
DATA = {
    "uniform": lambda like: torch.empty_like(like).uniform_(-1, 1),
    "normal": _normal,
    "gradient": lambda like: _normal(like, 3),
    "log-normal 6": _log_normal,
    "two extremes": _two_extremes,
    "every exponent": _bits,
}


def fill_key(case: Case) -> tuple:
    """Cases with equal keys may share their elements."""
    return case.dtype, case.reduces_by == "prod", case.data


def in_one(y: Result) -> torch.Tensor:
    """Two results in the last dim of one tensor, as these operators give them; in fp64, if one of them is an index."""
    if not isinstance(y, tuple):
        return y
    return torch.stack(y if y[0].dtype == y[1].dtype else [t.double() for t in y], -1)


def fingerprint(y: Result) -> torch.Tensor:
    """A 0-d int64 tensor on y's device that two results share if, and all but surely only if, their bits are equal."""
    y = in_one(y)
    bits = y.contiguous().view(-1).view(_INTEGERS[y.dtype.itemsize]).to(torch.int64)
    weights = torch.arange(bits.numel(), device=y.device).mul_(-7046029254386353131).bitwise_or_(1)
    return (bits * weights).sum()


@dataclass
class Reference:
    """The result in fp64, and for every output the size that its error is measured in."""

    value: torch.Tensor
    scale: torch.Tensor

    def error(self, y: Result) -> float:
        """max |y - value| / scale over the outputs; NaN if y has one.

        An overflow of y's type, as of a long fp16 sum, is its rounding and no error.
        """
        y = in_one(y)
        y_rounded = self.value.to(y.dtype).double()
        overflows = y_rounded.isinf() & (y.double() == y_rounded)
        return ((y.double() - self.value).abs() / self.scale).masked_fill(overflows, 0).max().item()


def reference(case: Case, x: torch.Tensor) -> Reference:
    """Errors of sums and means, second results among them, are relative to the sum (mean) of |x|, of others to the
    result; or to the least normal number of the result's type, if that is larger."""
    if case.scans:
        return reference_of_scan(case, x)
    dims = tuple(range(x.dim())) if case.dims is None else case.dims
    if case.op in ("sum", "mean", "nansum", "nanmean"):  # no element is NaN
        value = x.sum(dims, dtype=torch.float64)
        scale = value if x.dtype is torch.bool else x.abs().sum(dims, dtype=torch.float64)
        if case.op in ("mean", "nanmean"):
            value, scale = value / case.n, scale / case.n
    elif case.op == "prod":
        value = x.flatten() if case.dims is None else x
        value = value.prod(0 if case.dims is None else case.dims[0], dtype=torch.float64)
        scale = value.abs()
    else:
        twin = twin_of(case.op)
        value = twin(x.double() if x.dtype.is_floating_point else x, dims, **case.keywords).double()
        scale = value.abs()
        if MEANING[case.op].second is not None:
            scale[..., 1] = x.abs().double().mean(dims)
    result = case.out_dtype if case.out_dtype.is_floating_point else torch.float64
    return Reference(value, scale.clamp_(min=torch.finfo(result).tiny))


def reference_of_scan(case: Case, x: torch.Tensor) -> Reference:
    """As of reductions, by torch's scan in fp64."""
    (dim,) = case.dims
    value = in_one(getattr(torch, case.op)(x.double(), dim)).double()
    scale = x.abs().cumsum(dim, dtype=torch.float64) if case.op == "cumsum" else value.abs()
    least = 1 if case.op == "logcumsumexp" else torch.finfo(case.out_dtype).tiny  # a logarithm near 0 is off by as much
    return Reference(value, scale.clamp_(min=least))


def bounds(case: Case, parts: int = 1) -> dict[str, float]:
    """The most that the error of a result can be, by mode.

    Deterministic: the additions on an element's way through the canonical order, and the roundings after it. Atomic:
    the same within each of its `parts`, which meet in any order. Exact: the one rounding.
    """
    meaning = MEANING[case.reduces_by]
    if meaning.selects or meaning.tests or not case.dtype.is_floating_point:
        rounding = torch.finfo(case.out_dtype).eps if meaning.tests and case.out_dtype.is_floating_point else 0.0
        return dict.fromkeys(("deterministic", "atomic", "exact"), rounding)
    compute = torch.finfo(torch.float64 if case.dtype is torch.float64 else torch.float32).eps
    # The reference's own error: far below the rest but for fp64, whose order in torch.sum is not known.
    own = torch.finfo(torch.float64).eps * math.ceil(math.log2(case.n + 1)) * 4
    # A mean is divided, and a result of a narrow type is rounded once more.
    after = compute + torch.finfo(case.dtype).eps + own
    depth = 3 + math.ceil(math.log2(256 * math.ceil(case.n / 1024)))
    steps = case.n - 1 if case.reduces_by == "prod" else depth  # every factor's error is relative to the whole product
    return {
        "deterministic": steps * compute + after,
        "atomic": (steps + parts) * compute + after,
        "exact": torch.finfo(case.dtype).eps / 2 + own,  # one rounding; the tests compare with rational arithmetic
    }


def repeats(call: Call, x: torch.Tensor, runs: int) -> set[int]:
    """The fingerprints of `runs` calls on one input: one if the bits repeat."""
    prints = torch.stack([fingerprint(call(x)) for _ in range(runs)])
    return set(prints.tolist())


def poison(y: Result) -> None:
    """Overwrites a result, so that one that is not written again shows."""
    for each in y if isinstance(y, tuple) else (y,):
        each.fill_(float("nan") if each.dtype.is_floating_point else -1)
