"""The one rounding of a result, to every type of PyTorch."""

import numpy as np
import torch
from torch import Tensor

# Significant bits and the exponent of the smallest normal number.
FORMAT = {torch.float16: (11, -14), torch.bfloat16: (8, -126)}


def numpy_type(dtype: torch.dtype) -> np.dtype:
    return torch.empty(0, dtype=dtype).numpy().dtype


def round_once(values: np.ndarray, dtype: torch.dtype) -> Tensor:
    """float32, float64, long double or int64 values as ``dtype``, rounded once to nearest, ties to even. Integers wrap
    around.

    Exact in between because a long double holds every float64 and every int64."""
    if dtype == torch.bool:
        return torch.from_numpy(np.asarray(values != 0))
    if dtype not in FORMAT:
        return torch.from_numpy(np.asarray(values).astype(numpy_type(dtype)))
    precision, min_exponent = FORMAT[dtype]
    wide = np.asarray(values).astype(np.longdouble)
    exponent = np.frexp(wide)[1] - 1
    quantum = np.maximum(exponent, min_exponent) - (precision - 1)
    rounded = np.ldexp(np.rint(np.ldexp(wide, -quantum)), quantum)
    overflow = np.isfinite(wide) & (np.abs(rounded) > torch.finfo(dtype).max)
    return torch.from_numpy(np.where(overflow, np.copysign(np.inf, wide), rounded).astype(np.float64)).to(dtype)


def to_odd(total: int) -> np.longdouble:
    """The upper 62 bits of an integer, the last one set if another below it is: a long double has room for 64."""
    shift = max(abs(total).bit_length() - 62, 0)
    upper = abs(total) >> shift
    upper |= (upper << shift) != abs(total)
    return np.ldexp(np.longdouble(upper if total >= 0 else -upper), shift)
