"""The CPU reads elements in many ways: ahead of time or not, copied, transposed. Bits depend on none of them."""

import pytest
import torch
from capabilities import assert_bits_of_every_capability
from drawn import drawn
from inputs import factors

import torch_reduce
from torch_reduce.testing import assert_same_bits, fill, model, num_threads

KIB, MIB = 1 << 10, 1 << 20
# Bytes below and above those from which more is fetched ahead (csrc/core/plan/tuning/cpu.h).
SIZES = [200 * KIB, 600 * KIB, MIB, 13 * MIB, 25 * MIB]
SIZE_DTYPES = [torch.int8, torch.float16, torch.bfloat16, torch.float32, torch.float64]


@drawn("op, dtype, size", ["sum", "amax"], SIZE_DTYPES, SIZES)
def test_sizes(op, dtype, size):
    elements = size // dtype.itemsize + 1000
    x = fill((elements,), dtype, op=op)
    # From element 1 on, whole vectors are not aligned.
    for part, dim in ((x, None), (x[1:], None), (x[: elements // 1000 * 1000].view(-1, 1000), 1)):
        assert_bits_of_every_capability(
            lambda part=part, dim=dim: getattr(torch_reduce, op)(part, dim),
            model(part, dim, op=op),
            f"{tuple(part.shape)}",
        )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_every_length_of_a_chunk(dtype, capability):
    """A chunk's last leaves end anywhere within a vector, a pair, or a subtree."""
    x = fill((3 * 1024,), dtype)
    for n in [*range(1, 300), 511, 512, 513, 767, 769, *range(1000, 1030), 2047, 2049]:
        for start in (0, 1):
            row = x[start : start + n]
            assert_same_bits(torch_reduce.sum(row), model(row), f"{n} from {start}")


@drawn(
    "op, dtype, segment",
    ["sum", "amax"],
    [torch.int8, torch.bfloat16, torch.float32, torch.float64],
    [2, 3, 5, 8, 17, 33, 49, 100, 196, 255, 256, 257, 512, 700, 768, 1024, 1029, 2500],
)
def test_segments(op, dtype, segment):
    """Outputs whose elements lie in segments, which begin at every place of a vector: more than are reduced at a time,
    and with steps of different lengths between their segments."""
    outputs = 37
    x = fill((4000 // segment // 2 + 2, 3, outputs, segment), dtype, op=op)[:, 1:]
    reduce = getattr(torch_reduce, op)
    assert_bits_of_every_capability(lambda: reduce(x, (0, 1, 3)), model(x, (0, 1, 3), op=op))
    few = x.reshape(-1, outputs, segment)[:3, 1:5]
    assert_bits_of_every_capability(lambda: reduce(few, (0, 2)), model(few, (0, 2), op=op))


@pytest.mark.parametrize("dtype", [torch.int8, torch.bfloat16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize(
    "shape",
    [(134, 1959), (2051, 70), (1000, 1000), (40_000, 3), (70, 3, 301), (4, 3136, 32), (2, 512, 256), (3, 2048, 40)],
    ids=str,
)
def test_transposed(shape, dtype):
    """Tiles that are whole squares, and that are not, on lines that are whole chunks, and that are not."""
    x = fill(shape, dtype).transpose(-1, -2)
    for part in (x, x[..., 1:-1, :], x[..., :, 2:]):
        assert_bits_of_every_capability(lambda part=part: torch_reduce.sum(part), model(part), str(tuple(part.shape)))


# Rows, elements of a row: about as long as a chunk, parts of one, with every number of lines in a group.
STRIPS = [(16, 1000), (17, 784), (33, 1022), (64, 1032), (31, 2000), (80, 2502), (100, 512), (65, 4096), (20, 20_004)]
STRIP_DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


def side_by_side(rows, length, dtype, op="sum"):
    """Rows whose neighbours are neighbours in memory. Their halves are not evenly apart, so there is no tile."""
    return fill((2, length // 2 + 8, rows), dtype, op=op)[:, 4:-4].permute(2, 0, 1)


def assert_like_contiguous(x, dim=None, op="sum"):
    """In the compute type: results of 16 bits would hide most of what a wrong order does."""
    reduce, to = getattr(torch_reduce, op), torch.promote_types(x.dtype, torch.float32)
    result, expected = (reduce(y, dim, dtype=to) for y in (x, x.contiguous()))
    assert_same_bits(result, expected, f"{op} of {tuple(x.shape)} {x.stride()} over {dim}")


def is_in_strips(x, dim=None):
    return torch_reduce.explain(x, dim).reads == "strips"


def is_in_bundles(x, dim=None):
    return torch_reduce.explain(x, dim).reads == "bundles"


@drawn("op, dtype, strip", ["sum", "prod"], STRIP_DTYPES, STRIPS)
def test_strips(op, dtype, strip, vectors):
    """Rows side by side whose chunks begin and end anywhere; the last chunk is not whole."""
    rows, length = strip
    x = side_by_side(rows, length, dtype, op)
    assert is_in_strips(x)
    assert_same_bits(getattr(torch_reduce, op)(x), model(x, op=op), "against the model")
    for part in (x, x[1:], x[:-1], x[..., 4:], x[..., :-4], x[..., 1:], x.transpose(0, 1)):
        assert_like_contiguous(part, op=op)


@pytest.mark.parametrize("rows, length", STRIPS, ids=str)
@pytest.mark.parametrize("dtype", STRIP_DTYPES, ids=str)
def test_strips_and_tiles(dtype, rows, length, capability):
    """Evenly spaced ones, where there could be tiles."""
    x = fill((length, rows), dtype).T
    assert capability != "avx512" or length not in (1000, 1032, 2000) or is_in_strips(x)
    for part in (x, x[1:], x[:, 4:], x[:, :-1]):
        assert_like_contiguous(part)


@drawn("dtype, rows, length", STRIP_DTYPES, [16, 33, 130], [300, 512, 1016, 2056, 3136])
def test_strips_of_several_outer_rows(dtype, rows, length, vectors):
    """Images with their channels last: a chunk ends in an image that lies elsewhere, or in nothing."""
    images = fill((4, length + 16, rows), dtype)
    x = images.unflatten(1, (2, -1))[:, :, 4:-4].permute(0, 3, 1, 2)
    assert is_in_strips(x) and is_in_strips(x, (1, 2, 3))
    for dim in (None, (1, 2, 3), (0, 2, 3)):
        assert_like_contiguous(x, dim)
    assert_like_contiguous(x[::2])
    assert_like_contiguous(images.transpose(1, 2))


@pytest.mark.parametrize("shape", [(100, 60, 30), (64, 37, 41), (20, 99, 128), (130, 3, 516)], ids=str)
@pytest.mark.parametrize("dtype", STRIP_DTYPES, ids=str)
def test_strips_of_several_inner_dims(dtype, shape, vectors):
    """Memory in reverse: lines are not evenly apart along a row, which has any number of them."""
    x = fill(shape[::-1], dtype).permute(2, 1, 0)
    assert is_in_strips(x)
    for part in (x, x[:, 1:], x[1:, :, :-1]):
        assert_like_contiguous(part)
        assert_like_contiguous(part.unsqueeze(0).expand(3, -1, -1, -1), (1, 2, 3))


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_strips_in_threads(threads, vectors):
    x = side_by_side(200, 6 * 3136, torch.float32).unflatten(2, (3, 3136))
    with num_threads(threads):
        assert is_in_strips(x) and is_in_strips(x, (0, 1, 3))
        for dim in (None, (0, 1, 3), (0, 2, 3)):
            assert_like_contiguous(x, dim)


def test_strips_read_no_memory_behind_the_tensor(vectors):
    """Whole vectors of the last rows would."""
    for rows in (16, 17, 31):
        for dtype in STRIP_DTYPES:
            for length in (1000, 300):
                whole = torch.full((2 * length * rows + 64,), torch.nan, dtype=dtype)
                whole[:-64] = fill((2 * length * rows,), dtype)
                x = whole[:-64].view(2, length, rows)[:, 4:].permute(2, 0, 1)
                assert is_in_strips(x)
                assert_like_contiguous(x)


# Columns, elements of a column: a bundle is 2, 4, 8 or 16 columns, with columns behind the last bundle or none; leaves
# of one to 31 lines, and subtrees of half a chunk and of a quarter.
BUNDLES = [(32, 512), (67, 256), (4096, 768), (103, 1280), (70, 1536), (1000, 2304), (65, 7936)]
BUNDLES += [(130, 384), (512, 640), (300, 64), (259, 320), (1111, 192)]


@drawn("op, dtype, bundle", ["sum", "prod", "mean"], STRIP_DTYPES, BUNDLES)
def test_bundles(op, dtype, bundle, vectors):
    """Adjacent columns that are whole chunks together, in one line and in a part of longer ones."""
    columns, length = bundle
    shape, to = (length, columns + 24), torch.promote_types(dtype, torch.float32)
    wide = (factors(shape, dtype) if op == "prod" else fill(shape, dtype)).T
    x = wide[3:-21]
    assert is_in_bundles(x)
    result = getattr(torch_reduce, op)(x, dtype=to)
    assert result.isfinite()
    assert_same_bits(result, model(x, op=op, dtype=to), "against the model")
    for part in (x, x[16:], wide):
        assert_like_contiguous(part, op=op)


@pytest.mark.parametrize("dtype", STRIP_DTYPES, ids=str)
def test_bundles_that_overlap(dtype, vectors):
    """Lines that are all the same one, and lines one element apart."""
    line = fill((3000,), dtype)
    for x in (line.expand(512, -1).T, line.unfold(0, 512, 1)):
        assert is_in_bundles(x)
        assert_like_contiguous(x)


@pytest.mark.parametrize("columns, length", [(40, 512), (96, 768), (256, 640), (512, 192)], ids=str)
@pytest.mark.parametrize("dtype", STRIP_DTYPES, ids=str)
def test_bundles_of_several_outer_rows(dtype, columns, length, vectors):
    """Outer dims that are reduced, too, or kept."""
    x = fill((3, 2, length, columns + 1), dtype)[..., 1:].transpose(2, 3)
    assert is_in_bundles(x) and is_in_bundles(x, (1, 2, 3)) and is_in_bundles(x, (2, 3))
    for dim in (None, (1, 2, 3), (0, 2, 3), (2, 3)):
        assert_like_contiguous(x, dim)
    odd = x[:, :, 1:]
    assert not is_in_bundles(odd) and is_in_bundles(odd, (2, 3))
    for dim in (None, (2, 3)):
        assert_like_contiguous(odd, dim)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_bundles_in_threads(threads, vectors):
    """Strips of bundles, the last of which begins before the one before it ends."""
    x = fill((768, 8000), torch.float32).T
    with num_threads(threads):
        for part in (x, x[:4321], x[:801], x[1:]):
            assert is_in_bundles(part)
            assert_like_contiguous(part)


def test_bundles_add_nothing_from_beside_the_tensor(vectors):
    """Where its last columns are no whole vector, and behind the last bundle."""
    for columns, length in ((64, 512), (79, 256), (130, 384)):
        for dtype in STRIP_DTYPES:
            whole = torch.full((columns * length + 128,), torch.nan, dtype=dtype)
            whole[64:-64] = fill((columns * length,), dtype)
            x = whole[64:-64].view(length, columns).T
            assert is_in_bundles(x)
            assert_like_contiguous(x)
