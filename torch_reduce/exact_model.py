"""An independent model of mode "exact", to test the kernels against: Python's integers and NumPy's, no floating sum.

Written from docs/exact.md alone; it shares no code with the kernels.
"""

from fractions import Fraction

import numpy as np
import torch
from torch import Tensor

from ._twins import Dims
from .model import result_shape, rows

LOWEST = {13: -149, 70: -1074}  # the exponent of the first word, by the number of words
# Significant bits, the exponent of the smallest normal number, that of the largest finite one.
_FORMATS = {
    torch.float16: (11, -14, 15),
    torch.bfloat16: (8, -126, 127),
    torch.float32: (24, -126, 127),
    torch.float64: (53, -1022, 1023),
}


def words_of(dtype: torch.dtype) -> int:
    """The number of words of the accumulator for elements of ``dtype``."""
    return 70 if dtype == torch.float64 else 13


def exact_sum(values: np.ndarray) -> Fraction:
    """The sum of finite float64 values as a rational number."""
    return _sum_of_scaled(*_whole(values))


def exact_dot(values: np.ndarray, others: np.ndarray) -> Fraction:
    """The sum of products of finite float64 values as a rational number."""
    (a, exponent), (b, other_exponent) = _whole(values), _whole(others)
    total = Fraction(0)
    for x, x_exponent in _halves(a):
        for y, y_exponent in _halves(b):
            total += _sum_of_scaled(x * y, exponent + other_exponent - 53 + x_exponent + y_exponent)
    return total


def _whole(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Integers and exponents: ``values`` are ``whole * 2**(exponent - 53)``."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(mantissa, 53).astype(np.int64), exponent


def _halves(whole: np.ndarray) -> list[tuple[np.ndarray, int]]:
    """Integers of at most 27 bits, and what to shift them by: their sums are ``whole``. Zeros are left out."""
    halves = [(whole >> 27, 27), (whole & (2**27 - 1), 0)]
    return [(half, shift) for half, shift in halves if half.any()]


def _sum_of_scaled(whole: np.ndarray, exponent: np.ndarray) -> Fraction:
    """The sum of ``whole * 2**(exponent - 53)``, of integers up to 54 bits."""
    if len(whole) == 0:
        return Fraction(0)
    order = np.argsort(exponent, kind="stable")
    starts = np.flatnonzero(np.diff(exponent[order], prepend=np.int64(-9999)))
    # Halves of 27 bits: sums of 2^36 of them fit an int64.
    high = np.add.reduceat((whole >> 27)[order], starts)
    low = np.add.reduceat((whole & (2**27 - 1))[order], starts)
    exponents = exponent[order][starts].tolist()
    total = 0
    for e, h, low_half in zip(exponents, high.tolist(), low.tolist(), strict=True):
        total += ((h << 27) + low_half) << (e - exponents[0])
    return total * Fraction(2) ** (exponents[0] - 53)


def round_fraction(value: Fraction, dtype: torch.dtype) -> Tensor:
    """``value`` rounded once to ``dtype``, ties to even, as a 0-d tensor. Zero is +0."""
    precision, lowest, highest = _FORMATS[dtype]
    if value == 0:
        return torch.zeros((), dtype=dtype)
    magnitude = abs(value)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if Fraction(2) ** exponent > magnitude:
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, lowest) - (precision - 1))
    whole = round(magnitude / unit)  # Python rounds halves to even
    rounded = whole * unit
    result = float("inf") if rounded >= Fraction(2) ** (highest + 1) else float(rounded)
    return torch.tensor(-result if value < 0 else result, dtype=torch.float64).to(dtype)


def exact_model(
    x: Tensor, dim: Dims = None, keepdim: bool = False, *, op: str = "sum", dtype: torch.dtype | None = None
) -> Tensor:
    """What mode "exact" must give for floating ``x``, to the bit (NaN payloads aside), as a CPU tensor."""
    dtype = dtype or x.dtype
    results = [_reduce_row(row.numpy(), op, dtype) for row in rows(x, dim).double()]
    shape = result_shape(x.shape, dim, keepdim)
    return torch.stack(results).reshape(shape) if results else torch.empty(shape, dtype=dtype)


def exact_dot_model(
    x: Tensor, other: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> Tensor:
    """What mode "exact" must give for ``dot`` of floating tensors, to the bit (NaN payloads aside), on the CPU."""
    x, other = torch.broadcast_tensors(x.cpu(), other.cpu())
    pairs = zip(rows(x, dim).double(), rows(other, dim).double(), strict=True)
    results = [_dot_row(a.numpy(), b.numpy(), dtype or x.dtype) for a, b in pairs]
    shape = result_shape(x.shape, dim, keepdim)
    return torch.stack(results).reshape(shape) if results else torch.empty(shape, dtype=dtype or x.dtype)


def _dot_row(a: np.ndarray, b: np.ndarray, dtype: torch.dtype) -> Tensor:
    finite = np.isfinite(a) & np.isfinite(b)
    with np.errstate(invalid="ignore", over="ignore"):
        special = (a * b)[~finite]  # as IEEE 754 multiplies them
    if len(special):
        return _reduce_row(special, "sum", dtype)
    return round_fraction(exact_dot(a, b), dtype)


def _reduce_row(row: np.ndarray, op: str, dtype: torch.dtype) -> Tensor:
    plus, minus = bool((row == np.inf).any()), bool((row == -np.inf).any())
    if np.isnan(row).any() or (plus and minus) or (op == "mean" and len(row) == 0):
        return torch.tensor(float("nan"), dtype=dtype)
    if plus or minus:
        return torch.tensor(float("inf") if plus else float("-inf"), dtype=dtype)
    return round_fraction(exact_sum(row) / (len(row) if op == "mean" else 1), dtype)


def value_of_words(words: list[int]) -> Fraction:
    """What the digits of one accumulator stand for; they may be any integers."""
    lowest = LOWEST[len(words)]
    return sum((Fraction(2) ** (32 * d + lowest) * w for d, w in enumerate(words[:-3])), Fraction(0))


def words_of_value(value: Fraction, words: int) -> list[int]:
    """The normalised digits of a value that is a multiple of the format's unit, without the counts."""
    scaled = value / Fraction(2) ** LOWEST[words]
    assert scaled.denominator == 1
    whole, digits = scaled.numerator, words - 3
    return [(whole >> (32 * d)) & 0xFFFFFFFF for d in range(digits - 1)] + [whole >> (32 * (digits - 1))]
