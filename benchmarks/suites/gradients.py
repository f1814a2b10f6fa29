"""Norms, softmax and losses forward and backward, as a step of training has them: all gradients, those of parameters
too. The limit reads and writes what both passes must: the input, its result, and then the gradient, the input (of a
softmax its result) and the input's gradient."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import torch

from torch_reduce.nn import functional as ours

from .works import BF16, F32, Beside, F, Work, liger


@dataclass(frozen=True)
class Step(Work):
    """A call and its gradients, of the input and of parameters."""

    parameters: tuple[torch.Tensor, ...] = field(default=(), compare=False)
    upstream: Callable[[torch.Tensor], torch.Tensor] | None = field(default=None, compare=False)

    def with_second(self, call: Callable[..., torch.Tensor]) -> Callable[[torch.Tensor], tuple[torch.Tensor, ...]]:
        def step(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            given = x.detach().requires_grad_()
            grad = None if self.upstream is None else self.upstream(x)
            return torch.autograd.grad(call(given), (given, *self.parameters), grad)

        return step


def _parameters(count: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    return (
        torch.ones(count, dtype=dtype, device="cuda").requires_grad_(),
        torch.zeros(count, dtype=dtype, device="cuda").requires_grad_(),
    )


def steps() -> Iterator[Work]:
    for dtype in (BF16, F32):
        for rows, n in ((512, 4096), (16384, 4096), (8192, 8192), (65536, 1024), (131072, 128)):
            size = rows * n * dtype.itemsize
            weight, bias = _parameters(n, dtype)
            traffic = {"out_bytes": 2 * size, "besides": 2 * size, "upstream": Beside(torch.randn_like)}
            yield Step(
                "rms_norm", (rows, n), dtype,
                lambda x, w=weight, n=n: ours.rms_norm(x, (n,), w, 1e-6),
                lambda x, w=weight, n=n: F.rms_norm(x, (n,), w, 1e-6), **traffic,
                ligers=lambda x, w=weight: liger.liger_rms_norm(x, w, 1e-6, in_place=False), parameters=(weight,),
            )  # fmt: skip
            yield Step(
                "layer_norm", (rows, n), dtype,
                lambda x, w=weight, b=bias, n=n: ours.layer_norm(x, (n,), w, b),
                lambda x, w=weight, b=bias, n=n: F.layer_norm(x, (n,), w, b), **traffic,
                ligers=lambda x, w=weight, b=bias: liger.liger_layer_norm(x, w, b, 1e-5), parameters=(weight, bias),
            )  # fmt: skip
        for shape, groups in (((2, 320, 64, 64), 32), ((16, 512, 32, 32), 32), ((64, 256, 56, 56), 32)):
            size = math.prod(shape) * dtype.itemsize
            weight, bias = _parameters(shape[1], dtype)
            yield Step(
                f"group_norm {groups}", shape, dtype,
                lambda x, w=weight, b=bias, g=groups: ours.group_norm(x, g, w, b),
                lambda x, w=weight, b=bias, g=groups: F.group_norm(x, g, w, b), 2 * size, None, 2 * size,
                parameters=(weight, bias), upstream=Beside(torch.randn_like),
            )  # fmt: skip
        for shape in ((32, 64, 112, 112), (64, 256, 56, 56), (64, 512, 7, 7)):
            size = math.prod(shape) * dtype.itemsize
            weight, bias = _parameters(shape[1], F32)
            yield Step(
                "batch_norm", shape, dtype,
                lambda x, w=weight, b=bias: ours.batch_norm(x, None, None, w, b, training=True),
                lambda x, w=weight, b=bias: F.batch_norm(x, None, None, w, b, training=True), 2 * size, None, 2 * size,
                parameters=(weight, bias), upstream=Beside(torch.randn_like),
            )  # fmt: skip
    shape = (16384, 2048)
    size = math.prod(shape) * 2
    yield Step(
        "softmax", shape, BF16, lambda x: ours.softmax(x, -1), lambda x: torch.softmax(x, -1), 2 * size, None, 2 * size,
        lambda x: liger.liger_softmax(x), upstream=Beside(torch.randn_like),
    )  # fmt: skip
    for shape in ((4096, 128256), (8192, 50257)):
        size = math.prod(shape) * 2
        target = torch.arange(shape[0], device="cuda") * 7919 % shape[1]
        yield Step(
            "cross_entropy", shape, BF16,
            lambda x, t=target: ours.cross_entropy(x, t), lambda x, t=target: F.cross_entropy(x, t), size, None, size,
        )  # fmt: skip
