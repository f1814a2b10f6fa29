"""The rungs as callables: libladder.so through ctypes, memory and stream by torch."""

from __future__ import annotations

import ctypes
import itertools
from pathlib import Path

import torch
from torch import Tensor

import torch_reduce  # noqa: F401  (registers torch.ops.reduce)

from .rungs import Rung
from .tasks import TASKS, Task

ROOT = Path(__file__).resolve().parents[2]
NOT_SUPPORTED = 801  # cudaErrorNotSupported
FACTS = (
    "sms",
    "clock_khz",
    "memory_clock_khz",
    "bus_bits",
    "l2_bytes",
    "shared_bytes_per_sm",
    "shared_bytes_per_block",
    "threads_per_sm",
    "registers_per_sm",
    "cooperative_launch",
    "cluster_launch",
    "copy_engines",
)


class NotOnThisGpu(RuntimeError):
    """The GPU lacks what the rung needs."""


def path() -> Path:
    return ROOT / "build" / f"torch-{torch.__version__}" / "benchmarks" / "ladder" / "libladder.so"


class Library:
    def __init__(self):
        self._dll = ctypes.CDLL(str(path()))

    def has(self, rung: Rung) -> bool:
        return hasattr(self._dll, f"ladder_{rung.name}")

    def blocks_per_sm(self, rung: Rung) -> int | None:
        """How many blocks of the rung's kernel an SM holds at the same time; None for what is no kernel of ours."""
        function = getattr(self._dll, f"ladder_{rung.name}_blocks_per_sm", None)
        return function() if function else None

    def device(self) -> dict[str, int]:
        values = (ctypes.c_int * len(FACTS))()
        _check(self._dll.ladder_device(values), "device query")
        return dict(zip(FACTS, values, strict=True))

    def call(self, rung: Rung, n: int, device: torch.device, spread_outputs: int = 1) -> Call:
        return Call(self._dll, rung, n, device, spread_outputs)

    def limit(self, in_bytes: int, out_bytes: int, device: torch.device, spread_outputs: int = 1):
        """A callable that reads so many bytes and writes so many, and does nothing else (limit.cu)."""
        sms = torch.cuda.get_device_properties(device).multi_processor_count
        in_bytes, out_bytes = in_bytes // 16 * 16, (out_bytes + 15) // 16 * 16
        loads = next((k for k in (8, 4, 2) if in_bytes // (512 * 16 * k) >= sms), 1)
        outs = itertools.cycle(
            [torch.empty(out_bytes, dtype=torch.uint8, device=device) for _ in range(spread_outputs)]
        )

        def run(x: Tensor) -> Tensor:
            out = next(outs)
            sizes = ctypes.c_int64(in_bytes), _pointer(out), ctypes.c_int64(out_bytes), ctypes.c_int(loads)
            _check(self._dll.limit(_pointer(x), *sizes, _stream()), "limit")
            return out

        return run


class Call:
    """A rung on inputs of n elements. Its outputs take turns, `spread_outputs` of them, so that a large one that is
    written again has left the L2 meanwhile."""

    def __init__(self, dll: ctypes.CDLL, rung: Rung, n: int, device: torch.device, spread_outputs: int):
        task: Task = TASKS[rung.task]
        self._function = getattr(dll, f"ladder_{rung.name}")
        self._rung, self._n, self._turn = rung, n, 0
        place = torch.device("cpu") if rung.on_cpu or task.host_output else device
        pin = task.host_output
        self._outs = [
            torch.empty(task.outputs(n), dtype=task.out_dtype, device=place, pin_memory=pin)
            for _ in range(spread_outputs)
        ]
        scratch = n if task.host_output else max(n // 64, 4096)
        self._scratch = torch.zeros(scratch, device="cpu" if rung.on_cpu else device)

    def __call__(self, x: Tensor) -> Tensor:
        """Launches on the current stream. The result is overwritten by later calls."""
        out = self._outs[self._turn]
        self._turn = (self._turn + 1) % len(self._outs)
        stream = None if self._rung.on_cpu else _stream()
        status = self._function(_pointer(x), _pointer(out), _pointer(self._scratch), ctypes.c_int(self._n), stream)
        if status == NOT_SUPPORTED:
            raise NotOnThisGpu(self._rung.name)
        _check(status, self._rung.name)
        return out

    def poison(self) -> None:
        """Overwrites the outputs, so that one that is not written again shows."""
        for out in self._outs:
            out.fill_(float("nan"))


def _pointer(tensor: Tensor) -> ctypes.c_void_p:
    return ctypes.c_void_p(tensor.data_ptr())


def _stream() -> ctypes.c_void_p:
    return ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)


def _check(status: int, what: str) -> None:
    if status != 0:
        raise RuntimeError(f"{what}: cudaError {status}")


def product(rung: Rung):
    """The rungs that are not in the library: the operators of torch.ops.reduce, and torch's."""
    if rung.name == "torch":
        return torch.sum
    if rung.name == "deterministic":
        return torch.ops.reduce.sum
    return lambda x: torch.ops.reduce.sum(x, None, mode=rung.name)


def theoretical_peak(facts: dict[str, int]) -> float:
    """GB/s: both edges of the memory clock, over the width of the bus."""
    return 2 * facts["memory_clock_khz"] * 1e3 * facts["bus_bits"] / 8 / 1e9
