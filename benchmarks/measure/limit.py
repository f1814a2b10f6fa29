"""The CUDA kernels that belong to the benchmark: the read limit and CUB's sum, built by nvcc, called by ctypes."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import torch

from ..suites.shapes import Case

HERE = Path(__file__).parent


def nvcc() -> str | None:
    """nvcc's path, from $CUDACXX, $CUDA_HOME, PATH or the usual place."""
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    candidates = [os.environ.get("CUDACXX"), shutil.which("nvcc"), *(f"{h}/bin/nvcc" for h in homes if h)]
    return next((c for c in candidates if c and os.access(c, os.X_OK)), None)


def build(source: Path, folder: Path, headers: Path | None = None) -> ctypes.CDLL | None:
    """The library made of one .cu file for the current GPU; None, with a line that says why, where it cannot be.

    Headers in the folder `headers` come before the compiler's own.
    """
    compiler = nvcc()
    if compiler is None:
        print(f"{source.name}: no nvcc found, so its columns say n/a")
        return None
    major, minor = torch.cuda.get_device_capability()
    flags = ["-O3", "-std=c++17", f"-arch=sm_{major}{minor}", "-shared", "-Xcompiler", "-fPIC"]
    flags += ["-I", str(headers.resolve())] if headers else []
    key = hashlib.sha256("\n".join([source.read_text(), compiler, *flags]).encode()).hexdigest()[:16]
    library = folder / f"{source.stem}-{key}.so"
    if not library.exists():
        folder.mkdir(parents=True, exist_ok=True)
        scratch = library.with_suffix(f".{os.getpid()}")
        done = subprocess.run([compiler, *flags, str(source), "-o", str(scratch)], capture_output=True, text=True)
        if done.returncode != 0:
            print(f"{source.name}: nvcc failed, so its columns say n/a:\n{done.stderr[-2000:]}")
            return None
        scratch.rename(library)
    return ctypes.CDLL(str(library))


def _check(status: int, what: str) -> None:
    if status != 0:
        raise RuntimeError(f"{what}: cudaError {status}")


def _stream() -> ctypes.c_void_p:
    return ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)


class Limit:
    """The time to read a case's input and write its output: limit.cu on PyTorch's current stream."""

    def __init__(self, folder: Path):
        library = build(HERE / "limit.cu", folder)
        self._launch = library.limit if library else None
        self._sms = torch.cuda.get_device_properties(torch.cuda.current_device()).multi_processor_count

    @property
    def available(self) -> bool:
        return self._launch is not None

    def loads(self, nbytes: int) -> int:
        """Eight 16-byte loads a thread, fewer where that would leave SMs without a CTA."""
        return next((k for k in (8, 4, 2) if nbytes // (512 * 16 * k) >= self._sms), 1)

    def call(self, case: Case, *, ahead: bool = False):
        """A contender: from an input to an output of the right size whose content means nothing.

        `ahead`: launched before the kernel before has ended, as the operators' kernels are.
        """
        in_bytes, out_bytes = case.in_bytes // 16 * 16, (case.out_bytes + 15) // 16 * 16
        loads = self.loads(in_bytes)

        def run(x: torch.Tensor) -> torch.Tensor:
            out = torch.empty(out_bytes, dtype=torch.uint8, device=x.device)
            status = self._launch(
                ctypes.c_void_p(x.data_ptr() // 16 * 16),  # a view may start anywhere
                ctypes.c_int64(in_bytes),
                ctypes.c_void_p(out.data_ptr()),
                ctypes.c_int64(out_bytes),
                ctypes.c_int(loads),
                ctypes.c_int(ahead),
                _stream(),
            )
            _check(status, "limit")
            return out

        return run


class Cub:
    """cub::DeviceReduce over a whole tensor, accumulating in the operators' compute type.

    `headers` is a folder of CCCL's headers newer than the compiler's own; the levels of determinism need CCCL 3.2.
    """

    def __init__(self, folder: Path, headers: Path | None = None):
        self._library = build(HERE / "cub.cu", folder, headers)
        if self._library and not hasattr(self._library, "cub_gpu_to_gpu_float32"):
            print("cub.cu: CCCL's headers are older than 3.2, so CUB has one level; --cccl names newer ones")

    @property
    def version(self) -> str | None:
        if self._library is None:
            return None
        number = self._library.cub_version()
        return f"{number // 100000}.{number // 100 % 1000}.{number % 100}"

    def covers(self, case: Case, level: str = "sum") -> bool:
        """Whether there is a call at a level: "sum" (CUB's own choice, run_to_run), "not_guaranteed", "gpu_to_gpu"."""
        return (
            self._library is not None
            and (case.op, case.dims, case.layout) == ("sum", None, "contiguous")
            and hasattr(self._library, f"cub_{level}_{case.dtype_name}")
        )

    def call(self, case: Case, level: str = "sum"):
        function = getattr(self._library, f"cub_{level}_{case.dtype_name}")
        n, need = ctypes.c_int64(case.elements), ctypes.c_size_t(0)

        def run(x: torch.Tensor) -> torch.Tensor:
            if need.value == 0:
                _check(function(None, ctypes.byref(need), None, None, n, None), "cub")
            out = torch.empty((), dtype=case.out_dtype, device=x.device)
            scratch = torch.empty(max(need.value, 1), dtype=torch.uint8, device=x.device)
            status = function(
                ctypes.c_void_p(scratch.data_ptr()),
                ctypes.byref(need),
                ctypes.c_void_p(x.data_ptr()),
                ctypes.c_void_p(out.data_ptr()),
                n,
                _stream(),
            )
            _check(status, "cub")
            return out

        return run
