"""The canonical order: chunks, leaves and trees."""

from collections.abc import Callable

import numpy as np

from .meaning import MEANING


def canonical(x: np.ndarray, op: str = "sum") -> np.ndarray:
    """Combines the last axis of ``x``, lifted elements of ``op``, in the canonical order, in the type of ``x``."""
    combine, identity = MEANING[op].combine, MEANING[op].identity_in(x.dtype)
    n = x.shape[-1]
    chunks = max(1, -(-n // 1024))
    padded = np.full((*x.shape[:-1], chunks * 1024), identity, x.dtype)
    padded[..., :n] = x
    steps = padded.reshape(*x.shape[:-1], chunks, 4, 256)
    leaves = steps[..., 0, :]
    for step in range(1, 4):
        leaves = combine(leaves, steps[..., step, :])
    chunk_results = tree(leaves, combine)
    width = 1 << (chunks - 1).bit_length()
    all_chunks = np.full((*x.shape[:-1], width), identity, x.dtype)
    all_chunks[..., :chunks] = chunk_results
    return tree(all_chunks, combine)


def tree(v: np.ndarray, combine: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
    while v.shape[-1] > 1:
        v = combine(v[..., 0::2], v[..., 1::2])
    return v[..., 0]
