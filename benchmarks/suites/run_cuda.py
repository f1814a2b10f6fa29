"""The suites on a GPU."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass

import torch

import torch_reduce

from ..measure import check, contenders
from ..measure.limit import Cub, Limit
from ..measure.timing_cuda import POOL, Flush, Inputs, Recording, cut, interleaved, scratch_bytes
from .rows import row
from .shapes import Case

MOST_SECONDS = 2e-3
"""Of a peer's call. A slower one is not timed, as its many calls would take minutes."""


@dataclass
class Bench:
    device: torch.device
    limit: Limit
    cub: Cub | None
    compile_peer: bool
    rounds: int
    runs: int  # calls on one input whose bits are compared

    def __post_init__(self):
        self._flush = Flush(self.device)

    def run(self, cases: list[Case]) -> Iterator[dict]:
        """A row for every case; cases whose inputs may share a pool come one after the other."""
        groups: dict[tuple, list[Case]] = {}
        for case in cases:
            groups.setdefault(check.fill_key(case), []).append(case)
        for key, group in groups.items():
            nbytes = max(POOL, *(case.memory_elements * case.dtype.itemsize for case in group))
            pool = torch.empty(nbytes // key[0].itemsize, dtype=key[0], device=self.device)
            check.fill(pool, group[0])
            for case in group:
                yield self._case(case, cut(pool, case))
            del pool

    def _case(self, case: Case, inputs: Inputs) -> dict:
        failed: dict[str, str] = {}
        recordings: dict[str, Recording] = {}
        calls = self._calls(case)
        for name, call in list(calls.items()):
            try:
                if name in contenders.PEERS and (seconds := self._seconds(call, inputs)) > MOST_SECONDS:
                    raise TimeoutError(f"a call takes {seconds * 1e3:.0f} ms")
                recordings[name] = Recording(call, inputs, case.out_bytes)
            except Exception as error:  # the other contenders are still worth a row; the report names this one
                failed[name] = f"{type(error).__name__}: {error}"
                del calls[name]
        samples = interleaved(recordings, inputs, self._flush, self.rounds)
        parts = 1
        if "atomic" in recordings:
            parts = torch_reduce.explain(inputs.tensors[0], case.dims, op=case.op, mode="atomic").split
        entry = row(case, "cuda", samples, bounds=check.bounds(case, parts), failed=failed)
        for name in ("limit", "limit_ahead"):
            if name in recordings:
                del recordings[name], calls[name]  # its output means nothing
        self._check(case, entry, calls, recordings)
        return entry

    def _seconds(self, call: contenders.Call, inputs: Inputs) -> float:
        """Of the second of two calls."""
        for _ in range(2):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            call(inputs.tensors[0])
            torch.cuda.synchronize()
        return time.perf_counter() - begin

    def _calls(self, case: Case) -> dict[str, contenders.Call]:
        calls: dict[str, contenders.Call] = {}
        if self.limit.available:
            calls["limit"] = self.limit.call(case)
            if case.suite in ("full", "exact", "shapes"):
                calls["limit_ahead"] = self.limit.call(case, ahead=True)
        for mode in contenders.modes(case):
            calls[mode] = contenders.ours(case, mode)
        calls["torch"] = contenders.eager(case)
        if self.compile_peer:
            calls["inductor"] = contenders.inductor(case)
        if contenders.has_fp64(case):
            calls["torch_fp64"] = contenders.fp64(case)
        if self.cub is not None and self.cub.covers(case):
            calls["cub"] = self.cub.call(case)
            if case.suite in ("exact", "data"):
                levels = [level for level in contenders.CUB_LEVELS if self.cub.covers(case, level)]
                calls |= {f"cub_{level}": self.cub.call(case, level) for level in levels}
        return calls

    def _check(self, case: Case, entry: dict, calls: dict, recordings: dict[str, Recording]) -> None:
        """Adds errors, repetition of bits and memory to a row. Looks at what the replays wrote, after poisoning it."""
        if not recordings:
            return
        for recording in recordings.values():
            for y in recording.outputs:
                check.poison(y)
            recording.replay()
        x = next(iter(recordings.values())).of[-1]
        expected = check.reference(case, x)
        for name, recording in recordings.items():
            contender = entry["contenders"][name]
            if case.suite != "data":  # there an fp64 reference is no better than what it would judge
                contender["error"] = expected.error(recording.outputs[-1])
            replayed = int(check.fingerprint(recording.outputs[-1]))
            prints = check.repeats(calls[name], x, self.runs) | {replayed}
            contender.update(distinct=len(prints), runs=self.runs + 1)
            if name in ("deterministic", "exact"):
                on_cpu = calls[name](x.cpu())
                contender["equals_cpu"] = int(check.fingerprint(on_cpu)) == replayed
            if name in contenders.OURS:
                contender["scratch_bytes"] = scratch_bytes(calls[name], x)
                mode = {"mode": name} if contenders.has_modes(case) else {}
                if not case.scans:
                    contender["plan"] = json.loads(torch.ops.reduce._explain(x, case.dims, op=case.op, **mode))
