"""What one call costs the host, apart from the work: tiny inputs, with and without a gradient, by position and by
keyword."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import torch

import torch_reduce
from torch_reduce.testing import num_threads

from ..measure.contenders import OURS
from ..measure.timing_cpu import interleaved
from .rows import row
from .shapes import Case


@dataclass(frozen=True)
class Arguments:
    """The arguments of one call beside its input, as one writes them."""

    shape: tuple[int, ...]
    positional: tuple = ()
    keywords: dict = field(default_factory=dict)

    def __str__(self) -> str:
        named = [f"{name}={str(value).removeprefix('torch.')}" for name, value in self.keywords.items()]
        return ", ".join(["×".join(map(str, self.shape)), *map(str, self.positional), *named])

    @property
    def case(self) -> Case:
        dim = self.positional[0] if self.positional else self.keywords.get("dim")
        return Case("host", self.shape, None if dim is None else (dim,), torch.float32)


CALLS = (
    Arguments((64,)),
    Arguments((64,), keywords={"dtype": torch.float32}),
    Arguments((8, 8), (1,)),
    Arguments((8, 8), keywords={"dim": 1}),
    Arguments((8, 8), (1,), {"keepdim": True}),
    Arguments((8, 8), keywords={"dim": 1, "keepdim": True, "dtype": torch.float32}),
)
ROWS = 2 * len(CALLS)


def calls(given: Arguments, x: torch.Tensor) -> dict[str, partial]:
    """The same call by contender; a mode that is not the default is one more keyword."""
    aten = torch.ops.aten.sum.default if given.case.dims is None else torch.ops.aten.sum.dim_IntList
    modes = OURS[:2] if x.is_cuda else OURS[:1]
    # torch_ops is torch.sum by torch.ops, which reads arguments by the schema.
    operators = dict.fromkeys(modes, torch_reduce.sum) | {"torch": torch.sum, "torch_ops": aten}
    found = {who: partial(op, x, *given.positional, **given.keywords) for who, op in operators.items()}
    return found | {mode: partial(found[mode], mode=mode) for mode in modes[1:]}


def run(device: torch.device, seconds: float) -> Iterator[dict]:
    # A sample's launches all fit into the GPU's queue, so the host never waits for a kernel within one.
    wait = torch.cuda.synchronize if device.type == "cuda" else None
    for given in CALLS:
        for grad in (False, True):
            x = torch.rand(given.shape, device=device, requires_grad=grad)
            with num_threads(1):
                samples = interleaved(calls(given, x), seconds, wait)
            yield row(given.case, device.type, samples, grad=grad, threads=1, label=str(given))
