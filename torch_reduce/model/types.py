"""The types of results, and those in which operators compute."""

import torch

from .meaning import MEANING


def is_float8(dtype: torch.dtype) -> bool:
    return dtype.is_floating_point and dtype.itemsize == 1


def output_dtype(op: str, dtype_in: torch.dtype, dtype: torch.dtype | None = None) -> torch.dtype:
    """The type of a result where ``dtype`` may or may not be given."""
    meaning = MEANING[op]
    if is_float8(dtype_in) and not (meaning.extremes and meaning.result):
        dtype_in = torch.float32
    if meaning.result is not None:
        return meaning.result(dtype_in)
    if meaning.natural is not None:
        return dtype or meaning.natural(dtype_in)
    keeps = meaning.floating or dtype_in.is_floating_point
    return dtype or (dtype_in if keeps else torch.int64)


def compute_dtype(op: str, dtype_in: torch.dtype, dtype_out: torch.dtype) -> torch.dtype:
    """The type in which an operator that accumulates does so."""
    if not dtype_out.is_floating_point:
        return torch.int64
    if not dtype_in.is_floating_point:
        return torch.float64 if MEANING[op].outgrows_integers else torch.int64
    return torch.float64 if MEANING[op].wider or torch.float64 in (dtype_in, dtype_out) else torch.float32
