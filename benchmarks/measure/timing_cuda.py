"""Time on a GPU: CUDA events around replays of CUDA graphs that hold many calls on cold inputs."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import torch

from ..suites.shapes import Case, MiB
from .contenders import Call

POOL = 1024 * MiB  # the least size of a pool of inputs
COLD = 640 * MiB  # bytes to read between two uses of an input: more than ten times the largest L2 (60 MB)
LEAST = 8192 * MiB  # bytes that one graph reads: about 2 ms, of which its launch is under a percent
MOST_CALLS = 512
ALIGNMENT = 512  # of every input, in bytes: what the allocator gives to a tensor of its own


@dataclass
class Inputs:
    """Views into one pool of random elements, to be used in turn."""

    tensors: list[torch.Tensor]
    calls: int  # how many calls one graph makes
    flush: bool  # the inputs of one graph fit into the L2, which must be filled with something else before a replay


def cut(pool: torch.Tensor, case: Case) -> Inputs:
    """Cuts a flat pool of the case's dtype, at least one input long, into inputs."""
    step = -(-case.memory_elements * case.dtype.itemsize // ALIGNMENT) * ALIGNMENT
    calls = min(max(LEAST // step, 4), MOST_CALLS)
    bytes_in_pool = pool.numel() * pool.dtype.itemsize
    count = min(max(1, bytes_in_pool // step), calls)
    stride = step // pool.dtype.itemsize
    tensors = [case.view(pool[i * stride : i * stride + case.memory_elements]) for i in range(count)]
    return Inputs(tensors, calls, flush=count * step < COLD)


class Recording:
    """One contender's graph. `outputs[i]` is the result that every replay writes for `of[i]`."""

    def __init__(self, call: Call, inputs: Inputs, out_bytes: int):
        tensors = inputs.tensors
        # The outputs rotate as the inputs do: one that is written again and again would never leave the L2.
        keep = min(inputs.calls, 1 + COLD // max(out_bytes, 1))
        kept: deque[tuple[torch.Tensor, torch.Tensor]] = deque(maxlen=keep)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for x in tensors[:2]:
                call(x)
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            for i in range(inputs.calls):
                x = tensors[i % len(tensors)]
                kept.append((x, call(x)))
        self.of = [x for x, _ in kept]
        self.outputs = [y for _, y in kept]

    def replay(self) -> None:
        self.graph.replay()


class Flush:
    """Fills the L2 with lines that nobody needs, by reading: lines written would have to be written back later."""

    def __init__(self, device: torch.device):
        self._buffer = torch.zeros(256 * MiB // 4, dtype=torch.float32, device=device)

    def __call__(self) -> None:
        torch.sum(self._buffer)


def interleaved(recordings: dict[str, Recording], inputs: Inputs, flush: Flush, rounds: int) -> dict[str, list[float]]:
    """Microseconds per call, one sample a round and contender.

    A round replays every contender once, in an order that rotates, so that a change of clocks or of temperature
    meets them all. Nothing waits for the GPU in between: the host runs ahead, and so the time between the start
    event and the graph's first kernel holds no launch latency.
    """
    names = list(recordings)
    events: list[tuple[str, torch.cuda.Event, torch.cuda.Event]] = []
    for r in range(rounds + 1):
        for name in names[r % len(names) :] + names[: r % len(names)]:
            if inputs.flush:
                flush()
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            recordings[name].replay()
            end.record()
            if r > 0:  # the first round warms up
                events.append((name, start, end))
    torch.cuda.synchronize()
    samples: dict[str, list[float]] = {name: [] for name in names}
    for name, start, end in events:
        samples[name].append(start.elapsed_time(end) * 1e3 / inputs.calls)
    return samples


def scratch_bytes(call: Call, x: torch.Tensor) -> int:
    """Device memory that a call allocates beside its output, by the caching allocator's own count."""
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    y = call(x)
    peak = torch.cuda.max_memory_allocated()
    kept = torch.cuda.memory_allocated() - before
    del y
    return peak - before - kept
