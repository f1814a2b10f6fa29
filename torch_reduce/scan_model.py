"""Scans in NumPy, as docs/order.md defines them: each prefix by the tree of its own elements (``model``)."""

import itertools
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from .model import MEANING, compute_dtype, model, output_dtype, round_once
from .model.order import tree
from .model.rounding import FORMAT, numpy_type, to_odd
from .model.types import is_float8

# The operators whose results of all prefixes a scan's are.
SCANNED = {"cumsum": "sum", "cumprod": "prod", "logcumsumexp": "logsumexp", "cummax": "amax", "cummin": "amin"}

# Integers by the bytes of an element, whose bits they hold.
BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def scan_model(x: Tensor, dim: int, *, scan: str, dtype: torch.dtype | None = None) -> Tensor:
    """What a scan must give, to the bit, as a CPU tensor; of one that has indices too, the values.

    Prefixes of 256 s + r + 1 elements of a chunk have s + 1 in the leaves up to r and s in those behind.
    """
    op, x = SCANNED[scan], x.detach().cpu()
    meaning = MEANING[op]
    dtype = output_dtype(op, x.dtype, dtype)
    if meaning.extremes:
        return extremes_model(x, dim, scan=scan)[0]
    x = x.float() if is_float8(x.dtype) else x
    if x.numel() == 0 or x.ndim == 0:
        return torch.empty(x.shape, dtype=dtype) if x.numel() == 0 else model(x, op=op, dtype=dtype)
    moved = x.movedim(dim, -1)
    elements = moved.reshape(-1, moved.shape[-1])
    if dtype == torch.bool:
        elements = elements != 0
    elements = elements.float() if elements.dtype in FORMAT else elements
    with np.errstate(all="ignore"):
        if dtype.is_floating_point and x.dtype in (torch.int64, torch.uint64) and not meaning.outgrows_integers:
            totals = [list(itertools.accumulate(row)) for row in elements.tolist()]
            result = np.array([[to_odd(total) for total in row] for row in totals], np.longdouble)
        else:
            compute = compute_dtype(op, x.dtype, dtype)
            values = meaning.lift(elements.numpy().astype(numpy_type(compute)), np.arange(elements.shape[1]))
            total = meaning.wrapping.accumulate(values, 1) if compute == torch.int64 else _prefixes(values, op)
            result = meaning.finish(total, 0)
        return round_once(result, dtype).reshape(moved.shape).movedim(-1, dim)


def extremes_model(x: Tensor, dim: int, *, scan: str) -> tuple[Tensor, Tensor]:
    """The values of ``cummax`` or ``cummin`` and their indices. A value is one of the elements: NaN is beyond all, and
    zeros have an order. To indices they have none, and the last of several elements has it."""
    x = x.detach().cpu()
    if x.numel() == 0 or x.ndim == 0:
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    moved = x.movedim(dim, -1).contiguous()
    at, indices = (_last_extremes(moved, scan == "cummax", zeros) for zeros in (True, False))
    bits = moved.view(BITS[x.dtype.itemsize])  # as not all types gather
    return bits.gather(-1, at).view(x.dtype).movedim(-1, dim), indices.movedim(-1, dim)


def _last_extremes(x: Tensor, largest: bool, orders_zeros: bool) -> Tensor:
    """Along the last dim, by integers that have the elements' order."""
    if x.is_floating_point():
        numbers = x.double().numpy()
        bits = (numbers if orders_zeros else numbers + 0.0).view(np.int64)
        keys = bits ^ ((bits >> 63) & np.iinfo(np.int64).max)
        keys = np.where(np.isnan(numbers), np.iinfo(np.int64).max, keys if largest else ~keys)
    else:
        integers = x.numpy()
        keys = (integers ^ np.uint64(2**63)).view(np.int64) if x.dtype == torch.uint64 else integers.astype(np.int64)
        keys = keys if largest else ~keys
    leads = keys == np.maximum.accumulate(keys, -1)
    return torch.from_numpy(np.maximum.accumulate(np.where(leads, np.arange(x.shape[-1]), 0), -1))


def _prefixes(x: np.ndarray, op: str) -> np.ndarray:
    """Those of the last axis, each by the tree of its own elements."""
    combine, identity = MEANING[op].combine, MEANING[op].identity_in(x.dtype)
    rows, n = x.shape
    if n <= 256:  # leaves of one element each
        leaves = np.full((rows, 1 << (n - 1).bit_length()), identity, x.dtype)
        leaves[:, :n] = x
        return _prefixes_of_tree(leaves, leaves, np.full_like(leaves, identity), combine)[:, :n]
    chunks = -(-n // 1024)
    padded = np.full((rows, chunks * 1024), identity, x.dtype)
    padded[:, :n] = x
    steps = padded.reshape(rows, chunks, 4, 256)
    result = np.empty_like(steps)
    leaves = np.full((rows, chunks, 256), identity, x.dtype)
    for step in range(4):
        before, leaves = leaves, combine(leaves, steps[:, :, step])
        result[:, :, step] = _prefixes_of_tree(leaves, leaves, before, combine)
    nodes, index = tree(leaves, combine), np.arange(chunks)
    while index.any():
        mine = (index & 1).astype(bool)
        result[:, mine] = combine(nodes[:, index[mine] - 1][:, :, None, None], result[:, mine])
        pairs = nodes[:, : nodes.shape[1] // 2 * 2]
        nodes, index = combine(pairs[:, 0::2], pairs[:, 1::2]), index >> 1
    return result.reshape(rows, -1)[:, :n]


def _prefixes_of_tree(v: np.ndarray, now: np.ndarray, before: np.ndarray, combine: Callable) -> np.ndarray:
    """From each leaf up, past siblings on its left as they are now, and on its right as they were before."""
    v, leaf, level = v.copy(), np.arange(v.shape[-1]), 0
    while now.shape[-1] > 1:
        sibling = (leaf >> level) ^ 1
        is_right = ((leaf >> level) & 1).astype(bool)
        v = np.where(is_right, combine(now[..., sibling], v), combine(v, before[..., sibling]))
        now, before = (combine(nodes[..., 0::2], nodes[..., 1::2]) for nodes in (now, before))
        level += 1
    return v
