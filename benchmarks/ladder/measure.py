"""The run: every rung at every size, timed, checked, and compared with the rung below."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from ..measure.timing_cuda import COLD, Flush, MiB
from ..suites.rows import quartiles
from . import library, rungs
from .rungs import HOST_TASKS, Rung
from .tasks import TASKS, uniform
from .timing import Call, Recording, by_events, by_host_clock, cut, interleaved

SUM_SIZES = (1 << 22, 1 << 23, 1 << 29)
ONE_BLOCK = 2048
MATRIX_SIZES = (1024 * 1024, 8192 * 8192)
COMPUTE_SIZE = 1 << 24  # of lessons that are about instructions
COPY_SIZE = 1 << 26
SWEEP = tuple(1 << e for e in range(12, 30))
POOL = 2048 * MiB
RUNS_SECONDS = 4.0  # runs whose bits are compared: fewer than asked for where these would last longer
LONGEST = {"atomic_each": 1 << 23, "transpose_serial": 1 << 20}  # a larger size takes a second a call, or more


def sizes(rung: Rung) -> tuple[int, ...]:
    """The numbers of elements that a rung has rows for."""
    if rung.task in HOST_TASKS:
        return (COPY_SIZE,)
    if rung.task == "transpose":
        return MATRIX_SIZES
    if rung.group == "memory" and TASKS[rung.task].elementwise:
        return (COMPUTE_SIZE,)
    if rung.most <= ONE_BLOCK:
        return (ONE_BLOCK,)
    return (ONE_BLOCK, *SUM_SIZES) if rung.group == "product" or rung.on_cpu else SUM_SIZES


def grade(share_of_peak: float) -> str:
    limits = ((0.40, "poor"), (0.60, "fair"), (0.75, "good"))
    return next((word for below, word in limits if share_of_peak < below), "very good")


@dataclass
class Bench:
    library: library.Library
    device: torch.device
    rounds: int
    runs: int  # calls on one input whose bits are compared
    most: int  # the largest number of elements
    progress: Callable[[str, int], None]  # what goes on, and how many rows were finished

    def __post_init__(self):
        self._flush = Flush(self.device)
        self._peak = library.theoretical_peak(self.library.device())
        self._pools = {torch.float32: uniform(POOL // 4, torch.float32, self.device, seed=1)}

    def plan(self, chosen: list[Rung]) -> list[tuple[int, list[Rung]]]:
        """The sizes, each with the rungs that have a row there."""
        every = sorted({n for rung in chosen for n in sizes(rung) if n <= self.most})
        return [(n, [rung for rung in chosen if n in sizes(rung)]) for n in every]

    def run(self, chosen: list[Rung]) -> list[dict]:
        rows: list[dict] = []
        for n, here in self.plan(chosen):
            rows += self._size(n, here)
        compare(rows)
        return rows

    def sweep(self, names: list[str]) -> list[dict]:
        """The share of the read limit that some rungs reach at each of many sizes."""
        found = []
        for n in SWEEP:
            if n <= self.most:
                recordings = {name: self._record(rungs.BY_NAME[name], n) for name in names}
                recordings["limit"] = self._limit(4 * n, 4, cut(self.pool(torch.float32), n))
                interleaved(recordings, self._flush, self.rounds, lambda n=n: self.progress(f"sweep, {n} elements", 0))
                us = {name: quartiles(r.samples)["median"] for name, r in recordings.items()}
                found.append({"elements": n, "us": us})
        return found

    def pool(self, dtype: torch.dtype) -> Tensor:
        """2^29 numbers from 0 to 1."""
        if dtype not in self._pools:
            self._pools[dtype] = self._pools[torch.float32].to(dtype)
        return self._pools[dtype]

    # ---- one size ----------------------------------------------------------------------------------------------

    def _size(self, n: int, here: list[Rung]) -> Iterator[dict]:
        notes, recordings = {}, {}
        for rung in here:
            if n > LONGEST.get(rung.name, n):
                notes[rung.name] = "not measured: a second a call, or more"
            elif not (rung.on_cpu or rung.task in HOST_TASKS):
                try:
                    recordings[rung.name] = self._record(rung, n)
                except library.NotOnThisGpu:
                    notes[rung.name] = "not on this GPU"
                    continue
                moved = _moved(rung, n)
                if f"limit {moved}" not in recordings:
                    recordings[f"limit {moved}"] = self._limit(*moved, recordings[rung.name].inputs)
        interleaved(recordings, self._flush, self.rounds, lambda: self.progress(f"{n} elements", 0))
        for rung in here:
            if rung.name in notes:
                yield {"rung": rung.name, "group": rung.group, "elements": n, "note": notes[rung.name]}
            elif rung.task in HOST_TASKS:
                yield self._host_lesson(rung, n)
            else:
                yield self._row(rung, n, recordings)
            self.progress(f"{n} elements, {rung.name}", 1)

    def _call(self, rung: Rung, n: int) -> Call:
        if not rung.in_library:
            return library.product(rung)
        large = TASKS[rung.task].elementwise and rung.task not in HOST_TASKS
        return self.library.call(rung, n, self.device, spread_outputs=1 + COLD // (4 * n) if large else 1)

    def _record(self, rung: Rung, n: int) -> Recording:
        return Recording(self._call(rung, n), cut(self.pool(getattr(torch, rung.dtype)), n))

    def _limit(self, in_bytes: int, out_bytes: int, inputs: list[Tensor]) -> Recording:
        spread = 1 if out_bytes <= 4 else 1 + COLD // out_bytes
        return Recording(self.library.limit(in_bytes, out_bytes, self.device, spread), inputs)

    def _row(self, rung: Rung, n: int, recordings: dict[str, Recording]) -> dict:
        data = self.pool(getattr(torch, rung.dtype))[:n]
        if rung.on_cpu:
            data, call = data.cpu(), self._call(rung, n)
            row = self._times(rung, n, by_host_clock(call, data, 3 if n > 1 << 24 else 7))
        else:
            call = recordings[rung.name].call
            row = self._times(rung, n, recordings[rung.name].samples)
            row["limit_us"] = quartiles(recordings[f"limit {_moved(rung, n)}"].samples)["median"]
            row["share_of_limit"] = row["limit_us"] / row["us"]["median"]
            row["share_of_peak"] = row["gb_per_s"] / self._peak
            row["grade"] = grade(row["share_of_peak"])
        return row | self._check(rung, n, call, data)

    def _times(self, rung: Rung, n: int, samples: list[float]) -> dict:
        us = quartiles(samples)
        rate = sum(_moved(rung, n)) / us["median"] / 1e3
        row = {"rung": rung.name, "group": rung.group, "elements": n, "dtype": rung.dtype, "us": us, "gb_per_s": rate}
        if rung.in_library and (blocks := self.library.blocks_per_sm(rung)) is not None:
            row["blocks_per_sm"] = blocks
        if rung.published:
            row["published"] = rung.published
        return row

    def _check(self, rung: Rung, n: int, call: Call, data: Tensor) -> dict:
        """Whether the rung is right where the result is known; its error and whether its bits repeat, on `data` if the
        task is a sum."""
        task = TASKS[rung.task]
        known = task.fill(n, getattr(torch, rung.dtype), data.device, 2)
        found: dict = {"right": task.right(poisoned(call, known), known)}
        if "sum" not in rung.task:
            return found | {"error": task.error(call(known), known)}
        torch.cuda.synchronize()
        start = time.perf_counter()
        found["error"] = task.error(call(data), data)
        runs = max(3, min(self.runs, int(RUNS_SECONDS / (time.perf_counter() - start))))
        return found | {"distinct": len(repeats(call, data, runs).unique()), "runs": runs}

    def _host_lesson(self, rung: Rung, n: int) -> dict:
        task, call = TASKS[rung.task], self._call(rung, n)
        x = task.fill(n, torch.float32, torch.device("cpu"), 2)
        x = x if rung.name == "copy_pageable" else x.pin_memory()
        row = self._times(rung, n, by_events(call, x, self.rounds))
        result = poisoned(call, x)
        torch.cuda.synchronize()
        return row | {"right": task.right(result, x), "error": task.error(result, x)}


def _moved(rung: Rung, n: int) -> tuple[int, int]:
    """Bytes that a rung has to read and to write: between the GPU and its memory, or the host and the GPU."""
    task = TASKS[rung.task]
    if rung.task == "copy":
        return 4 * n, 0
    return n * getattr(torch, rung.dtype).itemsize, max(task.outputs(n) * task.out_dtype.itemsize, 4)


def poisoned(call: Call, x: Tensor) -> Tensor:
    """The result of a call whose output held NaN before."""
    if isinstance(call, library.Call):
        call.poison()
    return call(x)


def repeats(call: Call, x: Tensor, runs: int) -> Tensor:
    """The results of so many calls on one input."""
    return torch.stack([call(x).reshape(()).clone() for _ in range(runs)])


def compare(rows: list[dict]) -> None:
    """Adds speed-ups: against the rung below, against the first rung, against the CPU."""
    times = {(row["rung"], row["elements"]): row["us"]["median"] for row in rows if "us" in row}
    for row in rows:
        if "us" not in row:
            continue
        rung, n = rungs.BY_NAME[row["rung"]], row["elements"]
        for key, other in (("step", rung.below), ("cumulative", rungs.base(rung, n)), ("against_cpu", "cpu_loop")):
            if (other, n) in times and not (key == "against_cpu" and rung.group == "memory"):
                row[key] = times[other, n] / times[rung.name, n]
