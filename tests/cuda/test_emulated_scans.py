"""The CUDA kernels of scans on the CPU, to the bit: rows of every length and layout, in one CTA and in several, in both
orders of threads and CTAs; values that leave the type's range, NaN, infinities and zeros of both signs."""

import math

import pytest
import torch
from emulated import needs_emulator
from emulated_scans import SCANS, Case, build, run

from torch_reduce.scan_model import SCANNED
from torch_reduce.testing import fill, output_dtype

pytestmark = needs_emulator

# Of each scan, the types whose kernels are compiled, and one of results.
TYPES = {
    "cumsum": [(torch.float32, None), (torch.bfloat16, None), (torch.float16, torch.float32), (torch.int64, None)],
    "cumprod": [(torch.float64, None), (torch.int8, torch.float64), (torch.float32, torch.float64)],
    "logcumsumexp": [(torch.float32, None), (torch.bfloat16, None)],
    "cummax": [(torch.bfloat16, None), (torch.float32, None)],
    "_cumargmax": [(torch.float32, None), (torch.float16, None)],
    "cummin": [(torch.float16, None), (torch.float32, None)],
    "_cumargmin": [(torch.float32, None), (torch.bfloat16, None)],
}
TYPES["cumsum"] += [
    (torch.bool, None),
    (torch.uint8, torch.int16),
    (torch.float32, torch.int8),
    (torch.int16, torch.bool),
]
KINDS = [(scan, dtype, out) for scan in SCANS for dtype, out in TYPES[scan]]
every_kind = pytest.mark.parametrize(("scan", "dtype", "out"), KINDS, ids=str)


@pytest.fixture(scope="module")
def kernels(shared_folder):
    return build(shared_folder)


def values_of(case, dtype, special=False):
    op = SCANNED.get(case.scan, "argmax")
    x = fill((math.prod(case.shape),), dtype, op=op, start=sum(case.shape))
    if special and dtype.is_floating_point:
        for i, value in enumerate((-0.0, 0.0, math.inf, -math.inf, math.nan)):
            x[11 + 301 * i :: 1777] = value
    return x


@pytest.mark.parametrize(("scan", "dtype"), [(s, d) for s, d, out in KINDS if out is None and "arg" not in s], ids=str)
@pytest.mark.parametrize("backward", [False, True])
def test_results_in_the_places_of_elements(kernels, scan, dtype, backward):
    """Rows and columns, of one CTA and of several that look back, aligned and not."""
    if output_dtype("sum", dtype) != dtype and scan == "cumsum":
        return
    shapes = [([300, 1], 1), ([130, 7], 1), ([70, 100], 1), ([9, 1024], 1), ([3, 1500], 1), ([2, 21_001], 1)]
    for shape, dim in [*shapes, ([7, 130], 0), ([1500, 40], 0), ([1500, 5], 0), ([3, 1100, 4], 1)]:
        for offset in (0, 1):
            case = Case(shape, dim, offset=offset, out_offset=offset, scan=scan, backward=backward, in_place=True)
            run(kernels, case, values_of(case, dtype))


def test_every_scan_has_types():
    assert list(TYPES) == SCANS
    assert [scan for scan in SCANS if not scan.startswith("_")] == list(SCANNED)


@every_kind
@pytest.mark.parametrize("backward", [False, True])
def test_rows(kernels, scan, dtype, out, backward):
    """Of a few elements, of a chunk, of the chunks of a CTA, and of several CTAs, aligned and not."""
    parts = set()
    for rows, n in ((300, 1), (130, 7), (67, 8), (70, 100), (9, 256), (5, 257), (9, 1024), (3, 1500), (2, 21_001)):
        case = Case([rows, n], 1, scan=scan, out=out, backward=backward, offset=rows % 3, gap=n % 2)
        parts.add(run(kernels, case, values_of(case, dtype, special=n == 1500)).parts)
    assert min(parts) == 1 < max(parts)


@every_kind
@pytest.mark.parametrize("backward", [False, True])
def test_columns(kernels, scan, dtype, out, backward):
    """Neighbours are of different rows: in both tensors, or in one."""
    for n, columns in ((3, 70), (9, 5), (200, 33), (1025, 18), (3100, 9)):
        for memory, out_memory in (([0, 1], [0, 1]), ([1, 0], [0, 1]), ([0, 1], [1, 0])):
            case = Case([n, columns], 0, memory, n % 3, 1, out_memory, scan=scan, out=out, backward=backward)
            planned = run(kernels, case, values_of(case, dtype))
            assert (planned.reads_across, planned.writes_across) == (memory == [0, 1], out_memory == [0, 1])


@every_kind
def test_columns_by_vectors(kernels, scan, dtype, out):
    """Neighbours of different rows, 16 bytes at a time: in both tensors, or in one."""
    types = dtype, torch.int64 if scan.startswith("_") else output_dtype(SCANNED[scan], dtype, out)
    for n, columns in ((9, 32), (200, 48), (1025, 16), (2100, 40)):
        for memory, out_memory in (([0, 1], [0, 1]), ([1, 0], [0, 1]), ([0, 1], [1, 0])):
            case = Case([n, columns], 0, memory, out_memory=out_memory, scan=scan, out=out)
            planned = run(kernels, case, values_of(case, dtype))
            rows = 2**planned.log_warps * max(1, 1024 >> planned.log_width)
            for t, m, is_by_vectors in zip(
                types, (memory, out_memory), (planned.reads_vectors, planned.writes_vectors), strict=True
            ):
                assert is_by_vectors == (t.itemsize > 1 and m == [0, 1] and rows * t.itemsize >= 16)


def test_rows_that_fill_their_places(kernels):
    """They are read and written by 16 bytes, as one."""
    for n in (8, 32, 256):
        case = Case([10_000 // n, n], 1)
        planned = run(kernels, case, values_of(case, torch.float32))
        assert planned.reads_packed and planned.writes_packed and planned.log_width < 10


def test_many_parts(kernels):
    """So many that a look-back waits for whole groups of them."""
    case = Case([1024 * 8 * 65 + 3], 0)
    assert run(kernels, case, values_of(case, torch.float32)).parts == 66


@pytest.mark.parametrize("memory", [[0, 1, 2, 3], [3, 1, 0, 2], [2, 0, 3, 1]], ids=str)
def test_several_dims(kernels, memory):
    for dim in range(4):
        case = Case([3, 4, 5, 6], dim, memory, gap=1, offset=1)
        run(kernels, case, values_of(case, torch.float32))
