"""What one call costs the host, apart from the work: tiny inputs, with and without a gradient."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch

from . import contenders
from .rows import row
from .shapes import Case
from .timing_cpu import interleaved, threads


def run(device: torch.device, seconds: float) -> Iterator[dict]:
    # A sample's launches all fit into the GPU's queue, so the host never waits for a kernel within one.
    wait = torch.cuda.synchronize if device.type == "cuda" else None
    modes = contenders.OURS[:2] if device.type == "cuda" else contenders.OURS[:1]
    for shape, dims in (((64,), None), ((8, 8), (1,))):
        case = Case("host", shape, dims, torch.float32)
        calls = {mode: contenders.ours(case, mode) for mode in modes}
        calls |= {"torch": contenders.eager(case), "torch_ops": contenders.torch_ops(case)}
        for grad in (False, True):
            x = torch.rand(shape, device=device, requires_grad=grad)
            with threads(1):
                samples = interleaved({name: partial(call, x) for name, call in calls.items()}, seconds, wait)
            yield row(case, device.type, samples, grad=grad, threads=1)
