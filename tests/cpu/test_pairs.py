"""Two tensors on the CPU: lines of both make blocks, which are reduced as one tensor is (csrc/core/cpu/partner)."""

import random

import pytest
import torch
from capabilities import assert_bits_of_every_capability

import torch_reduce
from torch_reduce.testing import assert_same_bits, fill, num_threads
from torch_reduce.two_model import model_of_dot, model_of_masked

DTYPES = [torch.int16, torch.float16, torch.bfloat16, torch.float32, torch.float64]
# A tensor and what is taken of it. Lines of both follow one another, or are apart; outputs are neighbours in groups,
# and the last group of a block is cut; elements lie in several runs, across the outputs or along them; columns are more
# than a block has, and not a multiple of that; the last block of an output is short.
PLACES = {
    "rows": ((300, 70), lambda x: x, 1),
    "rows apart": ((300, 70), lambda x: x[:, 3:66], 1),
    "groups of rows": ((7, 33, 70), lambda x: x[:, 1:30, :63], 2),
    "runs of a row": ((40, 5, 70), lambda x: x[:, 1:4, :63], (1, 2)),
    "every other element": ((50, 200), lambda x: x[:, ::2], 1),
    "columns": ((70, 300), lambda x: x, 0),
    "few columns": ((70, 9), lambda x: x, 0),
    "long columns": ((2500, 100), lambda x: x[:, 1:99], 0),
    "groups of columns": ((3, 40, 300), lambda x: x[:, :, 5:295], 1),
    "runs of a column": ((30, 5, 70), lambda x: x[:, 1:4, 3:66], (0, 1)),
    "every other column": ((70, 300), lambda x: x[:, ::2], 0),
    "long rows": ((3, 9001), lambda x: x[:, 1:], 1),
    "nothing to reduce": ((300, 1), lambda x: x, 1),
}


def beside(x):
    """The same elements with other strides: in reversed dims, and with a gap between lines."""
    dims = tuple(reversed(range(x.dim())))
    yield x.permute(dims).contiguous().permute(dims)
    wide = torch.zeros((*x.shape[:-1], x.shape[-1] + 5), dtype=x.dtype)
    wide[..., 2:-3] = x
    yield wide[..., 2:-3]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_products(dtype, place):
    shape, part, dim = PLACES[place]
    x, y = part(fill(shape, dtype)), part(fill(shape, dtype, start=7))
    expected = model_of_dot(x, y, dim)
    for other in (y, *beside(y)):
        assert_bits_of_every_capability(lambda other=other: torch_reduce.dot(x, other, dim), expected)
        assert_bits_of_every_capability(lambda other=other: torch_reduce.dot(other, x, dim), expected)
    with num_threads(3):
        assert_same_bits(torch_reduce.dot(x, y, dim), expected, "threads")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("op", ["sum", "mean", "amax", "logsumexp", "var"])
def test_masks(op, place):
    """Of a type that is drawn. Each result of `mean` and `var` is divided by a count of its own."""
    types = [dtype for dtype in (torch.int8, *DTYPES) if dtype.is_floating_point or op in ("sum", "amax")]
    dtype = random.Random(f"{op} {place}").choice(types)
    shape, part, dim = PLACES[place]
    run, x, mask = getattr(torch_reduce, op), part(fill(shape, dtype, op=op)), part(fill(shape, torch.bool, start=5))
    expected = model_of_masked(x, mask, dim, op=op)
    for where in (mask, *beside(mask)):
        assert_bits_of_every_capability(lambda where=where: run(x, dim, where=where), expected)


@pytest.mark.parametrize("shape, dim", [((0, 64), 0), ((64, 0), 1), ((3, 0, 64), 1), ((0, 3), 1), ((0,), 0)], ids=str)
def test_nothing(shape, dim):
    """No elements, along outputs or across them; no outputs."""
    x = torch.ones(shape)
    expected = x.sum(dim)
    assert_bits_of_every_capability(lambda: torch_reduce.dot(x, x, dim), expected)
    assert_bits_of_every_capability(lambda: torch_reduce.sum(x, dim, where=x > 0), expected)
