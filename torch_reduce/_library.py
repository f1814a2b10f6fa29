"""Finds the native library, checks that it fits the torch of this process, and loads it when imported."""

import json
from pathlib import Path
from typing import TypedDict

import torch

_FOLDER = Path(__file__).parent / "lib"
_LIBRARY = _FOLDER / "libtorch_reduce.so"
_CORE = _FOLDER / "libtorch_reduce_core.so"  # which the other needs beside it
_BUILD = _FOLDER / "cmake" / "TorchReduce" / "build.json"
_REMEDY = "build it with `make build` or `pip install --no-build-isolation .` in the source tree"

cmake_prefix_path = str(Path(__file__).parent)
"""Where CMake finds the package: ``-DCMAKE_PREFIX_PATH=...`` for ``find_package(TorchReduce)``."""


def mismatch(build: dict, torch_version: str, torch_cuda: str | None) -> str | None:
    """Says in one sentence why a library cannot be loaded into a torch, or returns None where it can.

    torch promises no binary compatibility from one release to the next, not even between patch releases, so the
    release must be equal. A library with CUDA code needs a torch with the same CUDA major version, as drivers do; one
    without loads into either.

    Args:
        build: what the build wrote to ``build.json``: ``torch``, the version built against; ``cuda``, the CUDA version
            or None.
        torch_version: ``torch.__version__`` of the process.
        torch_cuda: ``torch.version.cuda`` of the process, None for a CPU-only torch.
    """
    built, found, cuda = str(build["torch"]), str(torch_version), build["cuda"]
    if built.partition("+")[0] != found.partition("+")[0]:
        reason = f"was built for torch {built}, but this is torch {found}"
    elif cuda and torch_cuda is None:
        reason = f"was built with CUDA {cuda} for torch {built}, but this is torch {found} without CUDA"
    elif cuda and cuda.partition(".")[0] != torch_cuda.partition(".")[0]:
        reason = f"was built with CUDA {cuda} for torch {built}, but this torch {found} uses CUDA {torch_cuda}"
    else:
        return None
    return f"the native library of torch_reduce {reason}: {_REMEDY}."


def load() -> dict:
    """Loads the native library, which registers ``torch.ops.reduce``.

    Returns:
        What the build wrote to ``build.json``.

    Raises:
        ImportError: the library is missing, or was built for another torch. The check comes before loading, where
            the same mistake would show as an undefined symbol.
    """
    if not all(file.is_file() for file in (_LIBRARY, _CORE, _BUILD)):
        raise ImportError(f"the native library of torch_reduce is missing from {_FOLDER}: {_REMEDY}.")
    build = json.loads(_BUILD.read_text())
    if sentence := mismatch(build, torch.__version__, torch.version.cuda):
        raise ImportError(sentence)
    torch.ops.load_library(_LIBRARY)
    return build


class BuildInfo(TypedDict):
    """What a library was built for."""

    torch: str
    """The version of PyTorch."""
    cuda: bool
    """Whether there are kernels for GPUs."""
    cuda_version: str | None
    """nvcc's."""
    architectures: list[str]
    """Of GPUs, such as ``"90-real"``, as CMake writes them."""


def build_info() -> BuildInfo:
    """What the loaded library was built for."""
    return json.loads(torch.ops.reduce._build_info())


__version__: str = load()["version"]
"""The version of the package."""
