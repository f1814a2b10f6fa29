"""Time of one call: device events around the replay of a graph that holds many calls, each on an input that is not in
the L2."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ..measure.timing_cuda import ALIGNMENT, Flush

GRAPH_US = 2000.0  # what a graph should last at least: its launch is then under a percent
MOST_CALLS = 256
SLOW_US = 20_000.0  # from here on, fewer rounds

Call = Callable[[Tensor], Tensor]


def cut(pool: Tensor, n: int) -> list[Tensor]:
    """Inputs of n elements, one after the other in a flat pool."""
    itemsize = pool.dtype.itemsize
    step = -(-n * itemsize // ALIGNMENT) * ALIGNMENT // itemsize
    return [pool[i * step : i * step + n] for i in range(min(max(1, pool.numel() // step), MOST_CALLS))]


def _event() -> torch.cuda.Event:
    return torch.cuda.Event(enable_timing=True)


def once(call: Call, x: Tensor) -> float:
    """Microseconds of one call by device events, the launch included."""
    start, end = _event(), _event()
    start.record()
    call(x)
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1e3


@dataclass
class Recording:
    """A contender's graph. It holds at most as many calls as there are inputs, so none reads what an earlier one left
    in the L2."""

    call: Call
    inputs: list[Tensor]
    calls: int = 0
    us: float = 0  # about, by one call
    samples: list[float] = field(default_factory=list)

    def __post_init__(self):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self.call(self.inputs[0])  # loads the kernel
            self.us = min(once(self.call, x) for x in self.inputs[:2])
        torch.cuda.current_stream().wait_stream(stream)
        self.calls = min(max(1, round(GRAPH_US / self.us)), len(self.inputs))
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            for x in self.inputs[: self.calls]:
                self.call(x)

    def sample(self, flush: Flush) -> tuple[torch.cuda.Event, torch.cuda.Event]:
        flush()
        start, end = _event(), _event()
        start.record()
        self._graph.replay()
        end.record()
        return start, end


def interleaved(recordings: dict[str, Recording], flush: Flush, rounds: int, progress: Callable[[], None]) -> None:
    """Fills the recordings' samples, microseconds per call. A round replays each contender once, so that a change of
    clocks meets them all; slow ones sit out two of three rounds. The host runs ahead, so no launch is measured."""
    events = []
    for r in range(rounds + 1):
        for recording in recordings.values():
            if r > 0 and r % 3 and recording.us > SLOW_US:
                continue
            pair = recording.sample(flush)
            if r > 0:  # the first round warms up
                events.append((recording, *pair))
        torch.cuda.synchronize()
        progress()
    for recording, start, end in events:
        recording.samples.append(start.elapsed_time(end) * 1e3 / recording.calls)


def by_host_clock(call: Call, x: Tensor, rounds: int) -> list[float]:
    """Microseconds per call for what runs on the CPU."""
    samples = []
    for _ in range(rounds):
        start = time.perf_counter()
        repeat = 0
        while repeat == 0 or (repeat < 10_000 and time.perf_counter() - start < 0.005):
            call(x)
            repeat += 1
        samples.append((time.perf_counter() - start) / repeat * 1e6)
    return samples


def by_events(call: Call, x: Tensor, rounds: int) -> list[float]:
    """Microseconds per call for what no graph can hold: copies from pageable memory, work on several streams."""
    call(x)
    torch.cuda.synchronize()
    return [once(call, x) for _ in range(rounds)]
