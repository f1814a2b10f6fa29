"""The CPU goes through columns by blocks (csrc/core/cpu/columns/blocks.h) where their rows lie close together."""

import pytest
import torch
from capabilities import assert_bits_of_every_capability
from inputs import factors

import torch_reduce
from torch_reduce.testing import assert_same_bits, bits, fill, model, num_threads

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
# Around the rows from which on there are blocks, a group of leaves, and one to four elements of a leaf.
ROWS = [15, 16, 17, 31, 32, 33, 35, 255, 256, 257, 511, 514, 767, 769, 1023, 1024, 1025, 1041, 2300]
# Two blocks (of extremes four), the last of which begins within the one before it.
TWO_BLOCKS = 400
# Also in bytes: less than a block, one, some, and so few more that they are read in another way.
ROW_BYTES = [112, 128, 160, 192, 248, 256, 264, 320, TWO_BLOCKS, 512, 520, 1000, 3072, 3080]


def are_blocks(x, op="sum", dim=0):
    return torch_reduce.explain(x, dim, op=op, device="cpu").reads == "blocks"


def test_where_blocks_are_taken(vectors):
    """The plan says it: by rows, by what they have in bytes, by how far they are apart, by type, and by size."""

    def taken(rows, row_bytes, dtype=torch.float32, op="sum", apart=None):
        columns = row_bytes // dtype.itemsize
        whole = torch.empty(rows, (apart or row_bytes) // dtype.itemsize, dtype=dtype, device="meta")
        return are_blocks(whole[:, :columns], op)

    for dtype in DTYPES:
        assert taken(16, 256, dtype) and not taken(15, 256, dtype)
        assert taken(100, 128, dtype) and not taken(100, 120, dtype)
        assert taken(100, 128, dtype, apart=3072) and not taken(100, 128, dtype, apart=3080)
        assert taken(100, 3072, dtype) and not taken(100, 3080, dtype)
        extremes = vectors != "baseline" and dtype != torch.float64
        assert taken(32, 256, dtype, "amin") == taken(32, 256, dtype, "amax") == extremes
        assert not taken(31, 256, dtype, "amax")
        assert taken(4 << 10, 1 << 10, dtype) and not taken(32 << 10, 1 << 10, dtype)
    assert not taken(100, 256, torch.int32) and not taken(100, 256, torch.bool, "prod")
    assert not are_blocks(torch.empty(100, 256, device="meta")[:, ::2])
    assert not are_blocks(torch.empty(10, 15, 64, device="meta")[:, 1:], dim=(0, 1))  # runs of too few rows


def compute(dtype):
    """Results of 16 bits would hide most of what a wrong order does."""
    return torch.promote_types(dtype, torch.float32)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("op", ["sum", "prod", "mean"])
def test_every_length(op, dtype, capability):
    columns = TWO_BLOCKS // dtype.itemsize
    whole = factors((max(ROWS), columns), dtype) if op == "prod" else fill((max(ROWS), columns), dtype)
    for rows in ROWS:
        x = whole[:rows]
        assert_same_bits(
            getattr(torch_reduce, op)(x, 0, dtype=compute(dtype)), model(x, 0, op=op, dtype=compute(dtype)), f"{rows}"
        )


@pytest.mark.parametrize("row_bytes", ROW_BYTES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_width(dtype, row_bytes, capability):
    """Alone, beside others in a longer row, from an element that begins no vector, and as one of many outer dims."""
    columns, to = row_bytes // dtype.itemsize, compute(dtype)
    wide = fill((3, 300, columns + 5), dtype)
    for x in (wide[0, :, :columns].contiguous(), wide[1, :, 5:], wide[2, :70, 1:-4]):
        assert_same_bits(torch_reduce.sum(x, 0, dtype=to), model(x, 0, dtype=to), str(tuple(x.shape)))
    inner = wide[..., 2:-3]
    assert_same_bits(torch_reduce.sum(inner, 1, dtype=to), model(inner, 1, dtype=to), "outer dims")


@pytest.mark.parametrize("op", ["sum", "amax"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rows_that_are_not_evenly_apart(dtype, op, capability):
    """Chunks within a run of rows, and chunks across the end of one; rows that overlap, and that are all the same."""
    columns, to = TWO_BLOCKS // dtype.itemsize, None if op == "amax" else compute(dtype)
    keywords = {} if to is None else {"dtype": to}
    whole = fill((2, 1500, columns + 3), dtype, op=op)
    row = whole[0, :4].flatten()
    for x in (
        whole[:, 200:, 1:-2],
        whole[:, :40, :-3],
        row[: columns + 99].as_strided((100, columns), (1, 1)),
        row[:columns].expand(100, columns),
    ):
        dims = tuple(range(x.dim() - 1))
        result = getattr(torch_reduce, op)(x, dims, **keywords)
        assert_same_bits(result, model(x, dims, op=op, dtype=to), f"{tuple(x.shape)} {x.stride()}")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("op", ["amax", "amin"])
def test_extremes(op, dtype, capability):
    """NaN of either sign, infinities and zeros of both in columns of their own, in any row."""
    reduce, generator = getattr(torch_reduce, op), torch.Generator().manual_seed(7)
    for rows in (31, 32, 33, 100, 1025):
        for columns in (128 // dtype.itemsize, TWO_BLOCKS // dtype.itemsize):
            x = torch.randn((rows, columns), generator=generator).to(dtype)
            x[:, 1] = -x[:, 1].abs()  # no positive one
            x[:, 2] = x[:, 2].abs()
            x[:, 3] = torch.where(torch.rand(rows, generator=generator) < 0.5, 0.0, -0.0)
            x[:, 4] = -0.0
            for column, value in enumerate((torch.nan, -torch.nan, torch.inf, -torch.inf), start=5):
                x[torch.randint(rows, (1,), generator=generator), column] = value
            x[:, 9], x[:, 10] = -torch.inf, torch.inf
            assert_same_bits(reduce(x, 0), model(x, 0, op=op), f"{rows} x {columns}")
            # A single row that decides, wherever it is.
            for row in (0, 1, rows // 2, rows - 1):
                y = torch.zeros(rows, columns, dtype=dtype)
                y[row] = torch.arange(1, columns + 1) * (1 if op == "amax" else -1)
                assert torch.equal(bits(reduce(y, 0)), bits(y[row])), f"row {row} of {rows}"


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_nothing_beside_the_tensor_is_added(dtype, capability):
    for rows, columns in (
        (16, 128 // dtype.itemsize),
        (300, TWO_BLOCKS // dtype.itemsize),
        (1025, 512 // dtype.itemsize),
    ):
        whole = torch.full((rows * columns + 128,), torch.nan, dtype=dtype)
        whole[64:-64] = fill((rows * columns,), dtype)
        x = whole[64:-64].view(rows, columns)
        assert_same_bits(torch_reduce.sum(x, 0, dtype=compute(dtype)), model(x, 0, dtype=compute(dtype)))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_bits_do_not_depend_on_the_size(dtype):
    """Below some MB columns go by blocks, above by rows: the same outputs have the same bits in both."""
    x, to = fill((60, 700, 200), dtype), compute(dtype)
    many = torch_reduce.sum(x, 1, dtype=to)
    for threads in (1, 2, 3):
        with num_threads(threads):
            assert_bits_of_every_capability(lambda: torch_reduce.sum(x, 1, dtype=to), many, f"{threads} threads")
            for i in (0, 1, len(x) - 1):
                assert_bits_of_every_capability(
                    lambda i=i: torch_reduce.sum(x[i], 0, dtype=to), many[i], f"{i}, {threads} threads"
                )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_pieces(dtype):
    """Many chunks on one stack, and shared out, of columns in strips of which threads take one each."""
    to = compute(dtype)
    for shape in ((20_000, TWO_BLOCKS // dtype.itemsize), (5000, 3072 // dtype.itemsize)):
        x = fill(shape, dtype)
        expected = model(x, 0, dtype=to)
        for threads in (1, 2, 3, 8):
            with num_threads(threads):
                assert_bits_of_every_capability(
                    lambda x=x: torch_reduce.sum(x, 0, dtype=to), expected, f"{shape}, {threads} threads"
                )


@pytest.mark.parametrize("op", ["sumsq", "nansum", "nanmean"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_columns_of_lifted_elements(op, dtype):
    """They have no blocks; columns fill vectors, or not."""
    for shape, dim in (((1030, 300), 0), ((64, 5000), 0), ((600, 33), 0), ((5, 300, 40), 1)):
        x = fill(shape, dtype, op=op)
        assert_bits_of_every_capability(
            lambda x=x, dim=dim: getattr(torch_reduce, op)(x, dim), model(x, dim, op=op), str(shape)
        )
