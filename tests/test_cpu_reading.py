"""The CPU reads elements in many ways: ahead of time or not, copied, transposed. Bits depend on none of them."""

import pytest
import torch

import torch_reduce
from torch_reduce.testing import assert_same_bits, cpu_capability, fill, model

KIB, MIB = 1 << 10, 1 << 20
# Bytes below and above those from which more is fetched ahead (csrc/core/cpu/tuning.h).
SIZES = [200 * KIB, 600 * KIB, MIB, 13 * MIB, 25 * MIB]
SIZE_DTYPES = [torch.int8, torch.float16, torch.bfloat16, torch.float32, torch.float64]


@pytest.fixture(params=["baseline", "avx2", "avx512"])
def capability(request):
    try:
        with cpu_capability(request.param):
            yield request.param
    except ValueError:
        pytest.skip(f"this CPU has no {request.param}")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", SIZE_DTYPES, ids=str)
def test_sizes(dtype, size, capability):
    elements = size // dtype.itemsize + 1000
    for op in ("sum", "amax"):
        x = fill((elements,), dtype, op=op)
        # From element 1 on, whole vectors are not aligned.
        for part, dim in ((x, None), (x[1:], None), (x[: elements // 1000 * 1000].view(-1, 1000), 1)):
            assert_same_bits(getattr(torch_reduce, op)(part, dim), model(part, dim, op=op), f"{op} {tuple(part.shape)}")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_every_length_of_a_chunk(dtype, capability):
    """A chunk's last leaves end anywhere within a vector, a pair, or a subtree."""
    x = fill((3 * 1024,), dtype)
    for n in [*range(1, 300), 511, 512, 513, 767, 769, *range(1000, 1030), 2047, 2049]:
        for start in (0, 1):
            row = x[start : start + n]
            assert_same_bits(torch_reduce.sum(row), model(row), f"{n} from {start}")


@pytest.mark.parametrize("segment", [2, 3, 5, 8, 17, 33, 49, 100, 196, 255, 256, 257, 512, 700, 768, 1024, 1029, 2500])
@pytest.mark.parametrize("dtype", [torch.int8, torch.bfloat16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("op", ["sum", "amax"])
def test_segments(op, dtype, segment, capability):
    """Outputs whose elements lie in segments, which begin at every place of a vector: more than are reduced at a time,
    and with steps of different lengths between their segments."""
    outputs = 37
    x = fill((4000 // segment // 2 + 2, 3, outputs, segment), dtype, op=op)[:, 1:]
    reduce = getattr(torch_reduce, op)
    assert_same_bits(reduce(x, (0, 1, 3)), model(x, (0, 1, 3), op=op))
    few = x.reshape(-1, outputs, segment)[:3, 1:5]
    assert_same_bits(reduce(few, (0, 2)), model(few, (0, 2), op=op))


@pytest.mark.parametrize("dtype", [torch.int8, torch.bfloat16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize(
    "shape",
    [(134, 1959), (2051, 70), (1000, 1000), (40_000, 3), (70, 3, 301), (4, 3136, 32), (2, 512, 256), (3, 2048, 40)],
    ids=str,
)
def test_transposed(shape, dtype, capability):
    """Tiles that are whole squares, and that are not, on lines that are whole chunks, and that are not."""
    x = fill(shape, dtype).transpose(-1, -2)
    for part in (x, x[..., 1:-1, :], x[..., :, 2:]):
        assert_same_bits(torch_reduce.sum(part), model(part), str(tuple(part.shape)))
