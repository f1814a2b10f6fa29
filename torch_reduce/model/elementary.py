"""exp and log in NumPy, by the operations that docs/order.md defines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rounded sum and its error."""
    s = a + b
    of_b = s - a
    return s, (a - (s - of_b)) + (b - of_b)


def _rounded_to_odd(s: np.ndarray, error: np.ndarray) -> np.ndarray:
    """A rounded float64 sum whose error is known, as if rounded to odd instead."""
    is_even = s.view(np.int64) % 2 == 0
    return np.where((error != 0) & is_even, np.nextafter(s, np.copysign(np.inf, error)), s)


def _two_product(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rounded product and its error: T. J. Dekker, 1971."""
    halves = []
    for x in (a, b):
        scaled = x * 134217729.0
        upper = scaled - (scaled - x)
        halves.append((upper, x - upper))
    product, ((ah, al), (bh, bl)) = a * b, halves
    return product, al * bl - (((product - ah * bh) - al * bh) - ah * bl)


def fused(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """a * b + c, rounded once: S. Boldo and G. Melquiond, "Emulation of FMA and correctly rounded sums", 2008."""
    dtype = np.result_type(a, b, c)
    a, b, c = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in (a, b, c)))
    if dtype == np.float32:  # whose product is exact
        return _rounded_to_odd(*two_sum(a * b, c)).astype(dtype)
    product, of_product = _two_product(a, b)
    upper, lower = two_sum(c, of_product)
    total, of_total = two_sum(product, upper)
    return total + _rounded_to_odd(*two_sum(of_total, lower))


def _polynomial(coefficients: Sequence[str], x: np.ndarray) -> np.ndarray:
    """By Horner's rule, from the coefficient of the highest power on."""
    first, *rest = (x.dtype.type(float.fromhex(c)) for c in coefficients)
    y = np.full_like(x, first)
    for c in rest:
        y = fused(y, x, c)
    return y


# Of float32 and float64: log2(e), what rounds to an integer if it is added, the upper and the lower part of log(2),
# exp(-64), and the coefficients of (exp(r) - 1 - r) / r^2.
_EXP = {
    np.float32: (
        *("0x1.715476p+0", "0x1.8p+23", "0x1.62e43p-1", "-0x1.05c61p-29", "0x1.969d48p-93"),
        ("0x1.6a242ep-10", "0x1.1239e2p-7", "0x1.5558f2p-5", "0x1.555492p-3", "0x1.fffffcp-2"),
    ),
    np.float64: (
        *(
            "0x1.71547652b82fep+0",
            "0x1.8p+52",
            "0x1.62e42fefa39efp-1",
            "0x1.abc9e3b39803fp-56",
            "0x1.969d47321e4ccp-93",
        ),
        (
            *("0x1.ad7f6b5dc2fc3p-26", "0x1.28ad72bf7e3c9p-22", "0x1.71df255430ed2p-19", "0x1.a0199a0c78973p-16"),
            *("0x1.a01a012a57064p-13", "0x1.6c16c1842a09fp-10", "0x1.1111111127be6p-7", "0x1.555555555087dp-5"),
            *("0x1.55555555554fap-3", "0x1.000000000000ap-1"),
        ),
    ),
}


def numbers_of_exp(dtype: np.dtype) -> list:
    return [dtype.type(float.fromhex(n)) for n in _EXP[dtype.type][:-1]]


def exp_of_near(x: np.ndarray) -> np.ndarray:
    """exp(x) of |x| <= 64 in the type of ``x``, as docs/order.md defines it."""
    log2e, magic, ln2_hi, ln2_lo, _ = numbers_of_exp(x.dtype)
    k = fused(x, log2e, magic) - magic
    r = fused(k, -ln2_lo, fused(k, -ln2_hi, x))
    y = fused(fused(_polynomial(_EXP[x.dtype.type][-1], r), r, x.dtype.type(1)), r, x.dtype.type(1))
    return np.ldexp(y, k.astype(np.int32)).astype(x.dtype)


def exp_of(x: np.ndarray) -> np.ndarray:
    """exp(x) of any x in the type of ``x``, as docs/order.md defines it."""
    log2e, magic, ln2_hi, ln2_lo, _ = numbers_of_exp(x.dtype)
    end = x.dtype.type(150 if x.dtype == np.float32 else 800)
    x = np.clip(x, -end, end)
    k = fused(x, log2e, magic) - magic
    r = fused(k, -ln2_lo, fused(k, -ln2_hi, x))
    y = fused(fused(_polynomial(_EXP[x.dtype.type][-1], r), r, x.dtype.type(1)), r, x.dtype.type(1))
    # A number has the exponents of all results on the way: the rounding to the type is the only one.
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(y.astype(np.longdouble), np.nan_to_num(k).astype(np.int32)).astype(x.dtype)


def log_of_normal(x: np.ndarray) -> np.ndarray:
    """log(x) of positive normal numbers in float64, as docs/order.md defines it; infinity and NaN are their own."""
    coefficients = (
        *("0x1.2f0d8d08d0b60p-3", "0x1.39a0f5267afafp-3", "0x1.7466462b53c4bp-3", "0x1.c71c51e7fc28ap-3"),
        *("0x1.24924942179d9p-2", "0x1.999999997fb31p-2", "0x1.5555555555593p-1"),
    )
    root_of_half = np.int64(0x3FE6A09E667F3BCD)
    above = np.ascontiguousarray(x).view(np.int64) - root_of_half
    k = (above >> np.int64(52)).astype(np.float64)
    m = ((above & np.int64((1 << 52) - 1)) + root_of_half).view(np.float64)
    t = (m - 1) / (m + 1)
    w = t * t
    _, _, ln2_hi, ln2_lo, _ = numbers_of_exp(k.dtype)
    rest = fused(t * w, _polynomial(coefficients, w), k * ln2_lo)
    log = fused(k, ln2_hi, 2 * t + rest)
    return np.where(np.isfinite(x), log, x)
