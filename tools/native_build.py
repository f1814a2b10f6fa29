"""Configures, builds and installs the native library by CMake, for one torch. The Makefile and setup.py both call it.

    python tools/native_build.py [--prefix FOLDER] [--sanitize] [--target ladder]

One build folder for each torch, so that going back and forth between two environments rebuilds nothing.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from importlib.machinery import PathFinder
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (2, 11)


class BuildError(RuntimeError):
    """What keeps the library from being built, in one sentence."""


def find_torch() -> tuple[Path, str]:
    """The folder and the version of the torch to build for, without importing it.

    The environment's own folders are searched too: in its isolated build, pip takes them off sys.path, but what is
    installed into the environment has to fit the torch there.
    """
    path = [*sys.path, *(sysconfig.get_path(name) for name in ("purelib", "platlib"))]
    spec = PathFinder.find_spec("torch", path)
    if spec is None or spec.origin is None:
        raise BuildError(
            f"torch_reduce is built for the torch of the environment, and {sys.executable} has none: "
            "install torch >= 2.11 first."
        )
    folder = Path(spec.origin).parent
    version = re.search(r"__version__ = '([^']+)'", (folder / "version.py").read_text())[1]
    if tuple(map(int, version.split(".")[:2])) < OLDEST:
        raise BuildError(f"torch_reduce needs torch >= 2.11, and {folder} is torch {version}.")
    return folder, version


def find_tool(name: str) -> str | None:
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.is_file() else shutil.which(name)


def run(command: list[str], show: str) -> None:
    """Runs a command; of its output only lines that hold `show` are printed, and everything if it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        print(done.stdout, file=sys.stderr)
        raise BuildError(f"{' '.join(command[:2])} failed; its output is above.")
    for line in done.stdout.splitlines():
        if show in line:
            print(line.removeprefix("-- "), flush=True)


def build(prefix: Path | None, sanitize: bool = False, target: str | None = None) -> Path:
    """Brings the library under `prefix` up to date: lib/, include/ and cmake/. With a `target`, that target of CMake's
    is built instead and nothing is installed. Returns the build folder."""
    torch, version = find_torch()
    cmake = find_tool("cmake")
    if cmake is None:
        raise BuildError("torch_reduce is built by CMake, and no cmake is on PATH: install cmake >= 3.20.")
    folder = ROOT / "build" / f"torch-{version}{'-sanitize' if sanitize else ''}"
    configure = [cmake, "-S", str(ROOT), "-B", str(folder), f"-DTORCH_REDUCE_TORCH_DIR={torch}"]
    configure.append(f"-DTORCH_REDUCE_SANITIZE={'ON' if sanitize else 'OFF'}")
    ninja = find_tool("ninja")
    if ninja and not (folder / "CMakeCache.txt").is_file():
        configure += ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"]
    run(configure, show="torch_reduce:")
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
