"""Configures, builds and installs the native library by CMake, for one torch. The Makefile and setup.py both call it.

    python tools/native_build.py [--prefix FOLDER] [--sanitize] [--target ladder]

One build folder for each torch, so that going back and forth between two environments rebuilds nothing. Releases,
sanitizer builds and installations for GPUs that are not here have their own.
"""

import argparse
import functools
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.machinery import PathFinder
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (2, 11)


class BuildError(RuntimeError):
    """What keeps the library from being built, in one sentence."""


def find_torch() -> tuple[Path, str]:
    """The folder and the version of the torch to build for, without importing it.

    TORCH_REDUCE_TORCH_DIR names it, if set. The environment's own folders are searched too: in its isolated build, pip
    takes them off sys.path by variables that -E ignores, but what is installed has to fit the torch there.
    """
    ask = [sys.executable, "-E", "-c", "import sys; print(*sys.path[1:], sep='\\n')"]
    path = [*sys.path, *subprocess.run(ask, check=True, capture_output=True, text=True).stdout.splitlines()]
    if given := os.environ.get("TORCH_REDUCE_TORCH_DIR"):
        path = [str(Path(given).parent)]
    spec = PathFinder.find_spec("torch", path)
    if spec is None or spec.origin is None:
        raise BuildError(
            f"torch_reduce is built for the torch of the environment, and {sys.executable} has none: "
            "install torch >= 2.11 first, and give uv, whose builds do not see it, --no-build-isolation."
        )
    folder = Path(spec.origin).parent
    version = re.search(r"__version__ = '([^']+)'", (folder / "version.py").read_text())[1]
    if tuple(map(int, version.split(".")[:2])) < OLDEST:
        raise BuildError(f"torch_reduce needs torch >= 2.11, and {folder} is torch {version}.")
    return folder, version


def find_tool(name: str) -> str | None:
    """The first command of that name that runs: those of an environment that are Python do not in pip's isolated build,
    and may hide the machine's own."""
    for folder in (str(Path(sys.executable).parent), *os.environ.get("PATH", os.defpath).split(os.pathsep)):
        tool = shutil.which(name, path=folder)
        if tool and subprocess.run([tool, "--version"], capture_output=True).returncode == 0:
            return tool
    return None


def cuda_of_torch(folder: Path) -> str | None:
    """The CUDA version that the torch in a folder was built for, None for a CPU-only one."""
    found = re.search(r"^cuda: Optional\[str\] = '([^']+)'", (folder / "version.py").read_text(), re.MULTILINE)
    return found and found[1]


def find_nvcc() -> Path | None:
    """The nvcc of an installation, as cmake/Cuda.cmake finds it."""
    homes = [Path(os.environ[name]) / "bin" for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    places = [*map(str, homes), os.environ.get("PATH", ""), "/usr/local/cuda/bin"]
    found = os.environ.get("CUDACXX") or shutil.which("nvcc", path=os.pathsep.join(places))
    return Path(found) if found else None


def find_nvcc_of_wheels() -> Path | None:
    """The nvcc of NVIDIA's wheels on sys.path: with its headers and libraries in nvidia/cu13 and the like."""
    places = (Path(folder, "nvidia") for folder in sys.path)
    return next((nvcc for place in places for nvcc in sorted(place.glob("cu*/bin/nvcc"))), None)


def missing_tools() -> list[str]:
    """What pip may fetch for a build, as requirements."""
    missing = [] if find_tool("cmake") else ["cmake>=3.20"]
    if not find_tool("ninja") and not find_tool("make"):
        missing.append("ninja")
    if os.environ.get("TORCH_REDUCE_CUDA") == "1" and find_nvcc() is None:
        folder, version = find_torch()
        cuda = cuda_of_torch(folder)
        if cuda and int(cuda.split(".")[0]) < 13:  # their nvcc wheels hold ptxas, and no nvcc
            raise BuildError(
                f"torch_reduce: TORCH_REDUCE_CUDA=1, but no nvcc is on PATH, and NVIDIA's wheels have none for the "
                f"CUDA {cuda} of torch {version}: install that toolkit, or a torch for CUDA 13."
            )
        if cuda:
            missing.append(f"cuda-toolkit[nvcc]=={'.'.join(cuda.split('.')[:2])}.*")
    return missing


def why_without_cuda() -> str | None:
    """Why no CUDA code is wanted, in words for a sentence; None where it is."""
    if os.environ.get("TORCH_REDUCE_CUDA") == "0":
        return "TORCH_REDUCE_CUDA=0"
    torch, version = find_torch()
    return None if cuda_of_torch(torch) else f"torch {version} has no CUDA"


def is_for_other_gpus() -> bool:
    """Whether what is installed will run elsewhere: no GPU is here, and no variable names architectures."""
    named = any(map(os.environ.get, ("TORCH_CUDA_ARCH_LIST", "TORCH_REDUCE_RELEASE", "CUDAARCHS")))
    if named or why_without_cuda():
        return False
    smi = find_tool("nvidia-smi")
    listing = smi and subprocess.run([smi, "-L"], capture_output=True, text=True).stdout
    return "GPU" not in (listing or "")


def run(command: list[str], show: str) -> None:
    """Runs a command; of its output only lines that hold `show` are printed, and everything if it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        print(done.stdout, file=sys.stderr)
        raise BuildError(f"{' '.join(command[:2])} failed; its output is above.")
    for line in done.stdout.splitlines():
        if show in line:
            print(line.removeprefix("-- "), flush=True)


@functools.cache  # once a process: setup.py asks for the version, then builds
def configure(sanitize: bool = False, installs: bool = False) -> Path:
    """Brings the build folder for the environment's torch up to date, and returns it."""
    torch, version = find_torch()
    cmake = find_tool("cmake")
    if cmake is None:
        raise BuildError("torch_reduce is built by CMake, and no cmake is on PATH: install cmake >= 3.20.")
    wheels = find_nvcc_of_wheels() if find_nvcc() is None and not sanitize else None
    release = os.environ.get("TORCH_REDUCE_RELEASE") == "1"
    without_cuda = os.environ.get("TORCH_REDUCE_CUDA") == "0"
    portable = installs and is_for_other_gpus()
    kinds = {
        "sanitize": sanitize,
        "wheels": wheels,
        "release": release,
        "cpu": release and without_cuda,
        "portable": portable,
    }
    folder = ROOT / "build" / "-".join([f"torch-{version}", *(kind for kind, is_so in kinds.items() if is_so)])
    if wheels:  # may lie in an environment that lasts for one build, so nothing of an earlier one is kept
        shutil.rmtree(folder, ignore_errors=True)
    command = [cmake, "-S", str(ROOT), "-B", str(folder), f"-DTORCH_REDUCE_TORCH_DIR={torch}"]
    command.append(f"-DPython_EXECUTABLE={sys.executable}")
    command.append(f"-DTORCH_REDUCE_SANITIZE={'ON' if sanitize else 'OFF'}")
    command.append(f"-DTORCH_REDUCE_PORTABLE={'ON' if portable else 'OFF'}")
    if wheels:
        command += [f"-DTORCH_REDUCE_NVCC={wheels}", f"-DCMAKE_CUDA_FLAGS=-L{wheels.parent.parent / 'lib'}"]
    ninja, cache = find_tool("ninja"), folder / "CMakeCache.txt"
    # Each time: the one of an earlier build may have gone with its environment.
    if ninja and (not cache.is_file() or "CMAKE_GENERATOR:INTERNAL=Ninja\n" in cache.read_text()):
        command += ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"]
    run(command, show="torch_reduce:")
    return folder


def version_of_build() -> str:
    """The version of the package that would be built: with torch and CUDA in its local part (cmake/Package.cmake)."""
    return json.loads((configure(installs=True) / "build.json").read_text())["version"]


def build(prefix: Path | None, sanitize: bool = False, target: str | None = None, *, installs: bool = False) -> Path:
    """Brings the libraries under `prefix` up to date: lib/ and include/. With a `target`, that target of CMake's
    is built instead and nothing is installed. What `installs` may move to a machine with other GPUs. Returns the build
    folder."""
    folder, cmake = configure(sanitize, installs), find_tool("cmake")
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or str(len(os.sched_getaffinity(0)))
    command = [cmake, "--build", str(folder), "--parallel", jobs, *(["--target", target] if target else [])]
    if subprocess.run(command).returncode != 0:
        raise BuildError(f"the {target or 'native library'} did not compile; the compiler's words are above.")
    if target:
        return folder
    run([cmake, "--install", str(folder), "--prefix", str(prefix)], show="Installing: " + str(prefix / "lib"))
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=Path, default=ROOT / "torch_reduce", help="the package's folder")
    parser.add_argument("--sanitize", action="store_true", help="the CPU part under ASan and UBSan")
    parser.add_argument("--target", help="build this target of CMake's alone, and install nothing")
    arguments = parser.parse_args()
    try:
        build(arguments.prefix.absolute(), arguments.sanitize, arguments.target)
    except BuildError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
