"""References, error bounds, and comparison of bits."""

import math
from fractions import Fraction

import torch
from torch import Tensor

from .. import _bits
from .._twins import Dims
from ..model import compute_dtype, output_dtype, result_shape, rows


def reference(x: Tensor, dim: Dims = None, *, op: str = "sum") -> Tensor:
    """The sum or product of finite elements, rounded once to float64, or their mean, rounded twice; shape as without
    keepdim. Sums by math.fsum; products by exact integers, for some thousands of elements. ValueError for other
    operators."""
    if op not in ("sum", "mean", "prod"):
        raise ValueError(f"there is a reference of sum, mean and prod, not of {op}")
    results = []
    for row in rows(x, dim).double().tolist():
        if op == "prod":
            numerators, denominators = zip(*(v.as_integer_ratio() for v in row), strict=True) if row else ((), ())
            results.append(float(Fraction(math.prod(numerators), math.prod(denominators))))
        else:
            results.append(math.fsum(row) / (len(row) if op == "mean" else 1))
    return torch.tensor(results, dtype=torch.float64).reshape(result_shape(x.shape, dim))


def error_bound(
    x: Tensor, dim: Dims = None, *, op: str = "sum", dtype: torch.dtype | None = None, atomic_parts: int = 0
) -> Tensor:
    """How far from :func:`reference` a result may lie, in float64, for floating ``x``.

    With eps = finfo.eps (twice the unit roundoff, which covers the terms of second order and the reference's own): a
    sum of depth d is off by at most d * eps * sum|x|, where d is 3 for the steps of a leaf, the height of the trees,
    and one for each of the ``atomic_parts`` that are added in any order, each of which may flush a subnormal sum too.
    A product of n factors has n - 1 relative errors (without underflow). Dividing by n and rounding to the output
    type add one each.
    """
    dtype = output_dtype(op, x.dtype, dtype)
    compute = torch.finfo(compute_dtype(op, x.dtype, dtype))
    elements = rows(x, dim).double()
    n, true = max(1, elements.shape[1]), reference(x, dim, op=op).flatten()
    if op == "prod":
        bound = n * compute.eps * true.abs()
    else:
        depth = 3 + math.ceil(math.log2(256 * max(1, -(-n // 1024)))) + atomic_parts
        bound = depth * compute.eps * elements.abs().sum(1) + atomic_parts * compute.tiny
    if op == "mean":
        bound = bound / n + compute.eps * true.abs() + compute.smallest_normal * compute.eps
    out = torch.finfo(dtype)
    bound = bound + out.eps * (true.abs() + bound) + out.smallest_normal * out.eps
    return bound.reshape(result_shape(x.shape, dim))


def bits(x: Tensor) -> Tensor:
    """The bits of ``x`` as integers on the CPU, every NaN made the same one."""
    return _bits.bits(x.detach().cpu())


def assert_same_bits(actual: Tensor, expected: Tensor, what: str = "") -> None:
    """Fails unless both have the same shape, dtype and bits (NaN payloads aside)."""
    assert actual.dtype == expected.dtype, f"{what}: dtype {actual.dtype}, expected {expected.dtype}"
    assert actual.shape == expected.shape, f"{what}: shape {tuple(actual.shape)}, expected {tuple(expected.shape)}"
    if actual.is_complex():
        actual, expected = (torch.view_as_real(t.detach().resolve_conj()) for t in (actual, expected))
    differ = bits(actual) != bits(expected)
    if differ.any():
        where = tuple(differ.nonzero()[0].tolist())
        got, want = (t.detach().cpu()[where].item() for t in (actual, expected))
        raise AssertionError(
            f"{what}: {int(differ.sum())} of {differ.numel()} differ; at {where} {got!r}, not {want!r}"
        )


def assert_within(actual: Tensor, expected: Tensor, bound: Tensor, what: str = "") -> None:
    """Fails unless |actual - expected| <= bound everywhere."""
    error = (actual.detach().cpu().double() - expected).abs()
    assert bool((error <= bound).all()), f"{what}: error {float(error.max())}, bound {float(bound.min())}"
