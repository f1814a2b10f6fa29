"""What models are made of, and reductions of two tensors: each a call in our words, in torch's and in liger's."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import torch

import torch_reduce
from torch_reduce.nn import functional as ours

try:
    from liger_kernel.transformers import functional as liger
except ImportError:
    liger = None

F = torch.nn.functional
BF16, F32 = torch.bfloat16, torch.float32


@dataclass(frozen=True)
class Work:
    """A call on a tensor; with a second one, if there is one, of so many bytes."""

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    ours: Callable[..., torch.Tensor] = field(compare=False)
    torchs: Callable[..., torch.Tensor] = field(compare=False)
    out_bytes: int = 0
    second: Callable[[torch.Tensor], torch.Tensor] | None = field(default=None, compare=False)
    besides: int = 0
    ligers: Callable[..., torch.Tensor] | None = field(default=None, compare=False)

    def with_second(self, call: Callable[..., torch.Tensor]) -> Callable[[torch.Tensor], torch.Tensor]:
        second = self.second
        return call if second is None else lambda x: call(x, second(x))

    @property
    def memory_elements(self) -> int:
        return math.prod(self.shape)

    @property
    def in_bytes(self) -> int:
        return self.memory_elements * self.dtype.itemsize + self.besides

    @property
    def label(self) -> str:
        return f"{'×'.join(map(str, self.shape))} {str(self.dtype).removeprefix('torch.')}"

    def view(self, flat: torch.Tensor) -> torch.Tensor:
        return flat.view(self.shape)


class Beside:
    """A second tensor for each first one, by its address: they rotate together."""

    def __init__(self, make: Callable[[torch.Tensor], torch.Tensor]):
        self._make, self._made = make, {}

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        if x.data_ptr() not in self._made:
            self._made[x.data_ptr()] = self._make(x)
        return self._made[x.data_ptr()]


def some(x: torch.Tensor) -> torch.Tensor:
    """A mask of half of the elements."""
    return torch.rand_like(x, dtype=F32) < 0.5


def add_rms_norm(x: torch.Tensor, residual: torch.Tensor, n: int, weight: torch.Tensor) -> tuple[torch.Tensor, ...]:
    total = x + residual
    return F.rms_norm(total, (n,), weight, 1e-6), total


def of_rows() -> Iterator[Work]:
    """Norms, softmax and losses, as tokens, the heads of 4096 tokens and vocabularies have them."""
    for rows, n in ((1, 4096), (16, 4096), (64, 4096), (16384, 4096), (4096 * 32, 128)):
        weight, bias = torch.ones(n, dtype=BF16, device="cuda"), torch.zeros(n, dtype=BF16, device="cuda")
        size = rows * n * 2
        yield Work(
            "rms_norm", (rows, n), BF16,
            lambda x, w=weight, n=n: ours.rms_norm(x, (n,), w, 1e-6),
            lambda x, w=weight, n=n: F.rms_norm(x, (n,), w, 1e-6), size,
            ligers=lambda x, w=weight: liger.liger_rms_norm(x, w, 1e-6, in_place=False),
        )  # fmt: skip
        yield Work(
            "add_rms_norm", (rows, n), BF16,
            lambda x, y, w=weight, n=n: ours.add_rms_norm(x, y, (n,), w, 1e-6),
            lambda x, y, w=weight, n=n: add_rms_norm(x, y, n, w), 2 * size, Beside(torch.randn_like), size,
            lambda x, y, w=weight: liger.liger_fused_add_rms_norm(x, y, w, 1e-6, in_place=False),
        )  # fmt: skip
        yield Work(
            "layer_norm", (rows, n), BF16,
            lambda x, w=weight, b=bias, n=n: ours.layer_norm(x, (n,), w, b),
            lambda x, w=weight, b=bias, n=n: F.layer_norm(x, (n,), w, b), size,
            ligers=lambda x, w=weight, b=bias: liger.liger_layer_norm(x, w, b, 1e-5),
        )  # fmt: skip
    for shape in ((16384, 2048), (16384, 2047), (65536, 128)):
        yield Work(
            "softmax", shape, BF16, lambda x: ours.softmax(x, -1), lambda x: torch.softmax(x, -1),
            math.prod(shape) * 2, ligers=lambda x: liger.liger_softmax(x),
        )  # fmt: skip
        yield Work(
            "softmax mask= scale=", shape, BF16, lambda x, m: ours.softmax(x, -1, mask=m, scale=0.125),
            lambda x, m: torch.softmax((x * 0.125).masked_fill(~m, -math.inf), -1),
            math.prod(shape) * 2, Beside(some), math.prod(shape),
        )  # fmt: skip
    for shape in ((1, 128256), (16, 128256), (256, 151936), (4096, 32000), (1000, 50257)):
        yield Work(
            "log_softmax to fp32", shape, BF16,
            lambda x: ours.log_softmax(x, -1, dtype=F32), lambda x: torch.log_softmax(x, -1, dtype=F32),
            math.prod(shape) * 4,
        )  # fmt: skip
    for shape in ((16, 128256), (4096, 128256)):
        target = torch.arange(shape[0], device="cuda") * 7919 % shape[1]
        yield Work(
            "cross_entropy", shape, BF16,
            lambda x, t=target: ours.cross_entropy(x, t), lambda x, t=target: F.cross_entropy(x, t), 4,
        )  # fmt: skip


def selections() -> Iterator[Work]:
    """The best of a vocabulary, or of some experts."""
    for shape, k in (
        ((1, 128256), 50),
        ((16, 128256), 50),
        ((4096, 32000), 20),
        ((16384, 64), 8),
        ((1, 1 << 20), 500),
        ((8, 1 << 20), 1000),
    ):
        for dtype in (F32, BF16):
            yield Work(
                f"topk k={k}", shape, dtype, lambda x, k=k: torch_reduce.topk(x, k), lambda x, k=k: torch.topk(x, k),
                shape[0] * k * (dtype.itemsize + 8),
            )  # fmt: skip


SHAPES = [((1 << 20,), None), ((1 << 26,), None), ((16, 128256), (1,)), ((65536, 1024), (1,)), ((65536, 1024), (0,))]
SHAPES += [((64, 256, 56, 56), (0, 2, 3)), ((4096, 64), (0,)), ((1 << 20, 64), (1,))]


def of_two() -> Iterator[Work]:
    """Two tensors of one shape."""
    for shape, dims in SHAPES:
        for dtype in (F32, BF16):
            n = math.prod(shape)
            kept = 1 if dims is None else math.prod(s for d, s in enumerate(shape) if d not in dims)
            where = f"/{'all' if dims is None else ','.join(map(str, dims))}"
            yield Work(
                f"dot {where}", shape, dtype,
                lambda x, y, d=dims: torch_reduce.dot(x, y, d), lambda x, y, d=dims: (x * y).sum(d),
                kept * dtype.itemsize, Beside(torch.randn_like), n * dtype.itemsize,
            )  # fmt: skip
            yield Work(
                f"sum where= {where}", shape, dtype,
                lambda x, m, d=dims: torch_reduce.sum(x, d, where=m), lambda x, m, d=dims: torch.where(m, x, 0).sum(d),
                kept * dtype.itemsize, Beside(some), n,
            )  # fmt: skip


def exact_products() -> Iterator[Work]:
    """Beside torch's in fp64, which round each product of fp64 elements and each addition."""
    shapes = [((1 << 12,), None), *SHAPES, ((1 << 20, 8), (1,))]
    for dtype in (torch.float16, BF16, F32, torch.float64):
        for shape, dims in shapes:
            n = math.prod(shape)
            kept = 1 if dims is None else math.prod(s for d, s in enumerate(shape) if d not in dims)
            where = f"/{'all' if dims is None else ','.join(map(str, dims))}"
            yield Work(
                f"exact dot {where}", shape, dtype,
                lambda x, y, d=dims: torch_reduce.dot(x, y, d, mode="exact"),
                lambda x, y, d=dims: (x.double() * y).sum(d).to(x.dtype),
                kept * dtype.itemsize, Beside(torch.randn_like), n * dtype.itemsize,
            )  # fmt: skip
            if n == 1 << 26:
                yield Work(
                    f"exact sumsq {where}", shape, dtype,
                    lambda x, d=dims: torch_reduce.sumsq(x, d, mode="exact"),
                    lambda x, d=dims: x.double().square().sum(d).to(x.dtype), kept * dtype.itemsize,
                )  # fmt: skip
