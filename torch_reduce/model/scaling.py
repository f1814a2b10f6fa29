"""Products and sums of squares, with an exponent of their own that has no end."""

import numpy as np


def scaled(x: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """A significand in [0.5, 1), or what has none, and an exponent that is an integer of its own."""
    pairs = np.empty(x.shape, [("significand", x.dtype), ("exponent", np.int64)])
    pairs["significand"], more = np.frexp(x)
    pairs["exponent"] = exponent + more
    return pairs


def unscaled(pair: np.ndarray, n: int) -> np.ndarray:
    """Exact: a long double has the exponents of all results that a type of PyTorch has."""
    if pair.dtype.names is None:
        return pair
    far = 8000
    return np.ldexp(pair["significand"].astype(np.longdouble), np.clip(pair["exponent"], -far, far).astype(np.int32))


def factors(x: np.ndarray, index: np.ndarray) -> np.ndarray:
    return x if x.dtype.kind in "iu" else scaled(x, np.zeros(x.shape, np.int64))


def multiplied(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return scaled(a["significand"] * b["significand"], a["exponent"] + b["exponent"])


def one(pair: np.dtype) -> tuple:
    return 1.0, 0


def scaled_squares(x: np.ndarray, index: np.ndarray) -> np.ndarray:
    factors = scaled(x, np.zeros(x.shape, np.int64))
    return multiplied(factors, factors)


FAR_BELOW = -(1 << 40)


def added_scaled(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Rounded as if exponents had no end: of what is shifted out, nothing would be seen."""
    exponent = np.maximum(*(np.where(v["significand"] == 0, FAR_BELOW, v["exponent"]) for v in (a, b)))
    shifts = (np.clip(v["exponent"] - exponent, -2000, 0).astype(np.int32) for v in (a, b))
    return scaled(sum(np.ldexp(v["significand"], shift) for v, shift in zip((a, b), shifts, strict=True)), exponent)


def no_square(pair: np.dtype) -> tuple:
    return 0.0, FAR_BELOW


def root(pair: np.ndarray, n: int) -> np.ndarray:
    """Rounded to float64 as if exponents had no end, which those of a long double are."""
    odd = pair["exponent"] & 1
    root = np.sqrt(np.ldexp(pair["significand"], odd.astype(np.int32)))
    return unscaled(scaled(root, (pair["exponent"] - odd) // 2), n)
