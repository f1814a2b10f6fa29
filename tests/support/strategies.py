"""Hypothesis strategies: tensors with every kind of strides, and dims to reduce."""

import math

import torch
from hypothesis import strategies as st

from torch_reduce.testing import DTYPES, fill

MAX_ELEMENTS = 40_000
# Around the sizes of vectors, warps, leaves and chunks.
SIZES = st.one_of(
    st.integers(0, 9),
    st.sampled_from([15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025, 2050, 5000]),
)


def room(shape) -> int:
    """The product of the sizes that are not 0: what may be left when empty dims are reduced."""
    return math.prod(max(1, size) for size in shape)


@st.composite
def shapes(draw: st.DrawFn, max_dims: int = 5) -> list[int]:
    """Shapes of at most MAX_ELEMENTS elements, 0-d and empty ones too."""
    shape: list[int] = []
    for _ in range(draw(st.integers(0, max_dims))):
        size = draw(SIZES)
        shape.append(size if room(shape) * size <= MAX_ELEMENTS else 1 + size % 3)
    return draw(st.permutations(shape))


@st.composite
def permuted_slices(draw: st.DrawFn, dtype: torch.dtype, op: str) -> torch.Tensor:
    """A permuted tensor with some dims sliced, some expanded, and any alignment: strides that views usually have."""
    shape = draw(shapes())
    steps = [draw(st.sampled_from([1, 1, 1, 2, 3])) for _ in shape]
    widened = [max(1, size) * step for size, step in zip(shape, steps, strict=True)]
    offset = draw(st.integers(0, 17))
    flat = fill((offset + math.prod(widened),), dtype, op=op, start=draw(st.integers(0, 99)))
    x = flat[offset:].view(widened)
    x = x[tuple(slice(0, size * step, step) for size, step in zip(shape, steps, strict=True))]
    for d, size in enumerate(shape):
        if size and draw(st.integers(0, 9)) == 0:
            x = x.narrow(d, 0, 1)
    x = x.expand(shape)
    return x.permute(draw(st.permutations(range(len(shape)))))


@st.composite
def strided(draw: st.DrawFn, dtype: torch.dtype, op: str) -> torch.Tensor:
    """torch.as_strided with any strides, so that elements may overlap in any way."""
    shape = draw(shapes(4))
    strides = [draw(st.sampled_from([0, 1, 1, 2, 3, 7, 16, 64, 257])) for _ in shape]
    offset = draw(st.integers(0, 17))
    last = sum(max(0, size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    flat = fill((offset + last + 1,), dtype, op=op, start=draw(st.integers(0, 99)))
    return flat.as_strided(shape, strides, offset)


@st.composite
def cases(draw: st.DrawFn, op: str, dtypes: tuple[torch.dtype, ...] = DTYPES) -> tuple:
    """(x, dim, keepdim): a tensor of any layout on the CPU and dims to reduce in any order and sign."""
    dtype = draw(st.sampled_from(dtypes))
    x = draw(st.one_of(permuted_slices(dtype, op), strided(dtype, op)))
    return x, draw(dims(x.ndim)), draw(st.booleans())


@st.composite
def dims(draw: st.DrawFn, ndim: int) -> list[int] | int | None:
    """None, one dim, or a list of distinct dims (the empty one too), in any order, some counted from the end."""
    if ndim == 0 or draw(st.integers(0, 5)) == 0:
        return draw(st.sampled_from([None, []]))
    chosen = draw(st.lists(st.integers(0, ndim - 1), unique=True, min_size=1))
    signed = [d - ndim if draw(st.booleans()) else d for d in chosen]
    return signed[0] if len(signed) == 1 and draw(st.booleans()) else signed


def like(x: torch.Tensor, device: str) -> torch.Tensor:
    """``x`` on another device with the same strides, offset and storage: the layout, not a contiguous copy."""
    if device == "cpu":
        return x
    storage = torch.empty(0, dtype=x.dtype).set_(x.untyped_storage())
    return storage.to(device).as_strided(x.shape, x.stride(), x.storage_offset())
