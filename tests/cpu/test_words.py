"""What has an exponent of its own is combined as words on the CPU, as long as nothing leaves their range: then, and
where something does, the bits are the same."""

import math

import pytest
import torch
from capabilities import assert_bits_of_every_capability

import torch_reduce
from torch_reduce.testing import FLOATING, model

INF, NAN = math.inf, math.nan
every_type = pytest.mark.parametrize("dtype", FLOATING, ids=str)


def reduces_alike(x: torch.Tensor, op: str, what: str) -> None:
    """Rows, by several families, and columns: some of them, and of strips that are not whole."""
    reduce = getattr(torch_reduce, op)
    expected = model(x, 1, op=op)
    assert_bits_of_every_capability(lambda: reduce(x, 1), expected, f"rows {what}")
    assert_bits_of_every_capability(lambda: reduce(x[0]), expected[0], f"full {what}")
    y = x.t().contiguous()
    assert_bits_of_every_capability(lambda: reduce(y, 0), expected, f"columns {what}")
    wide = y.repeat(1, 301 // len(x) + 1)
    assert_bits_of_every_capability(lambda: reduce(wide, 0), expected.repeat(301 // len(x) + 1), f"wide {what}")
    every_other = wide[:, ::2]
    of_those = expected.repeat(301 // len(x) + 1)[::2]
    assert_bits_of_every_capability(lambda: reduce(every_other, 0), of_those, f"strided {what}")


def far(dtype: torch.dtype, op: str) -> float:
    """So far from 1 that few of its products, or its square, leave the range of words, or half of that."""
    if op == "norm2":
        return 2.0**520
    return {torch.float16: 2.0**14, torch.float64: 2.0**600}.get(dtype, 2.0**70)


CASES = [("prod", dtype) for dtype in FLOATING] + [("norm2", torch.float64)]


@pytest.mark.parametrize("op, dtype", CASES, ids=str)
@pytest.mark.parametrize("n", [5, 64, 100, 256, 700, 1024, 2100])
def test_words_and_others_side_by_side(op, dtype, n):
    """Of each six rows or columns, one stays in the range, some leave it at one place or at several and come back, and
    some have a zero or what is not finite."""
    draw = torch.Generator().manual_seed(n)
    x = torch.empty(6, n, dtype=torch.float64).uniform_(0.97, 1.03, generator=draw)
    x *= torch.randint(0, 2, x.shape, generator=draw) * 2 - 1
    unit = far(dtype, op)
    x[1, n // 2 : n // 2 + 2] *= unit  # what leaves the range stands side by side, or 256 apart
    x[1, -2:] /= unit
    x[2, ::256] /= unit
    x[3, n // 3] = 0
    x[4, torch.randint(0, n, (3,), generator=draw)] = torch.tensor([INF, 1 / unit, 1 / unit], dtype=torch.float64)
    x[5, n - 1] = NAN if n % 2 else -INF
    reduces_alike(x.to(dtype), op, f"{n}")
    reduces_alike(x[:1].to(dtype), op, f"{n} in range")


@pytest.mark.parametrize("op, dtype", [case for case in CASES if case[1] != torch.float16], ids=str)
def test_at_the_ends_of_the_range(op, dtype):
    """A leaf is about at one end of the range or the other, or so far beyond that words lose it."""
    info = torch.finfo(dtype)
    for end in (math.log2(info.smallest_normal), math.log2(info.max)):
        rows = []
        for beyond in (-2, -1, 0, 1, 2, 24, 60):
            exponent = end + math.copysign(beyond, end)
            factor = 4 / 3 if end < 0 else 6 / 5
            pair = [exponent / 2] * 2 if op == "norm2" else [exponent - exponent // 2, exponent // 2]
            row = torch.ones(1024, dtype=torch.float64)
            row[7], row[7 + 256] = (2.0 ** max(min(math.ceil(e), 1023), -1060) * factor for e in pair)
            row[100] = 1 if op == "norm2" else 2.0 ** -math.ceil(pair[0])  # back again
            rows.append(row)
        reduces_alike(torch.stack(rows).to(dtype), op, f"{end}")
