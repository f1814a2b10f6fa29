"""Finds the native library, checks that it fits the torch of this process, and loads it when imported."""

import json
import sys
from pathlib import Path
from typing import TypedDict

import torch

_FOLDER = Path(__file__).parent / "lib"
_LIBRARY = _FOLDER / "libtorch_reduce.so"
_CORE = _FOLDER / "libtorch_reduce_core.so"  # which the other needs beside it
_BUILD = _FOLDER / "cmake" / "TorchReduce" / "build.json"

cmake_prefix_path = str(Path(__file__).parent)
"""Where CMake finds the package: ``-DCMAKE_PREFIX_PATH=...`` for ``find_package(TorchReduce)``."""


def remedy() -> str:
    """What to do where the library does not load: in a source tree, another package may be the one that was meant."""
    for folder in sys.path:
        package = Path(folder, "torch_reduce").resolve()
        if package != Path(__file__).resolve().parent and (package / "lib" / _LIBRARY.name).is_file():
            return (
                f"Python found the package {_FOLDER.parent} first, which hides the installed {package}: "
                "start Python in another folder, or build the first with `make build`"
            )
    return (
        "build it with `make build`, or install it with `pip install .`, in the source tree, or install another wheel"
    )


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
    elif cuda and torch_cuda and cuda.partition(".")[0] != torch_cuda.partition(".")[0]:
        reason = f"was built with CUDA {cuda} for torch {built}, but this torch {found} uses CUDA {torch_cuda}"
    else:
        return None
    return f"the native library of torch_reduce {reason}: {remedy()}."


def load() -> dict:
    """Loads the native library, which registers ``torch.ops.reduce``.

    Returns:
        What the build wrote to ``build.json``.

    Raises:
        ImportError: the library is missing, or was built for another torch. The check comes before loading, where
            the same mistake would show as an undefined symbol.
    """
    if not all(file.is_file() for file in (_LIBRARY, _CORE, _BUILD)):
        raise ImportError(f"the native library of torch_reduce is missing from {_FOLDER}: {remedy()}.")
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
"""The version of the package, and what it was built for, such as ``0.1.0+torch2.11.0.cu130``."""
