"""C++ programs as a stranger builds them: outside the tree, against an installed package."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import torch
from folders import ROOT

import torch_reduce

EXAMPLES = ROOT / "examples" / "cpp"
PACKAGE = Path(torch_reduce.cmake_prefix_path)
TORCH = Path(torch.__file__).parent
CMAKE = shutil.which("cmake", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
CXX = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
NVCC = os.environ.get("CUDACXX") or shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
# Paths of the process that runs the tests: a program finds its libraries by itself.
CLEAN = {name: value for name, value in os.environ.items() if name not in ("LD_LIBRARY_PATH", "LD_PRELOAD")}

FIND = "find_package(TorchReduce REQUIRED)\n"
APP = """
add_executable(app app.cpp)
target_link_libraries(app PRIVATE TorchReduce::torch_reduce)
"""
# Names no symbol of the library: all it knows is the operator's name, as a program that loads a model does.
BY_NAME = """
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/ones.h>

int main() {
  const auto found = c10::Dispatcher::singleton().findSchema({"reduce::sum", ""});
  if (!found) return 1;
  using Sum = at::Tensor(const at::Tensor&, at::OptionalIntArrayRef, bool, std::optional<at::ScalarType>,
                         c10::string_view);
  const auto sum = found->typed<Sum>().call(at::ones({1000}), std::nullopt, false, std::nullopt, "deterministic");
  return sum.item<float>() == 1000 ? 0 : 2;
}
"""
# What drops libraries and sections that nobody refers to.
DROPPING = [
    "-DCMAKE_CXX_FLAGS=-ffunction-sections -fdata-sections",
    "-DCMAKE_EXE_LINKER_FLAGS=-Wl,--as-needed,--gc-sections",
]


def run(*command: object, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run([str(c) for c in command], env=CLEAN | environment, capture_output=True, text=True)


def must(*command: object, **environment: str) -> str:
    """Runs a command that has to succeed; what it prints."""
    done = run(*command, **environment)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def configure(source: Path, folder: Path, *arguments: str, package: Path = PACKAGE) -> subprocess.CompletedProcess:
    places = [f"-DCMAKE_PREFIX_PATH={package}", f"-DTORCH_REDUCE_TORCH_DIR={TORCH}"]
    return run(CMAKE, "-S", source, "-B", folder, *places, *arguments)


def build(source: Path, folder: Path, *arguments: str, package: Path = PACKAGE, target: str = "all") -> Path:
    """Configures and builds a project; the build folder."""
    done = configure(source, folder, *arguments, package=package)
    assert done.returncode == 0, done.stdout + done.stderr
    must(CMAKE, "--build", folder, "--target", target, "--parallel", 2)
    return folder


def project(folder: Path, lists: str, **sources: str) -> Path:
    """Writes a project: the text of its CMakeLists.txt, and sources by name."""
    folder.mkdir(parents=True)
    head = "cmake_minimum_required(VERSION 3.20)\nproject(app LANGUAGES CXX)\n"
    (folder / "CMakeLists.txt").write_text(head + lists)
    for name, text in sources.items():
        (folder / f"{name}.cpp").write_text(text)
    return folder


def copy_of_package(folder: Path) -> Path:
    """With the library in its place by a link."""
    shutil.copytree(PACKAGE / "lib" / "cmake", folder / "lib" / "cmake")
    (folder / "include").symlink_to(PACKAGE / "include")
    for library in (PACKAGE / "lib").glob("*.so"):
        (folder / "lib" / library.name).symlink_to(library)
    return folder


def needed(binary: Path) -> list[str]:
    """The libraries that a program or library asks for by itself."""
    return re.findall(r"\(NEEDED\).*\[(.*)\]", must("readelf", "-d", binary))


def places(data: bytes) -> set[str]:
    """The absolute paths in a file that this machine may have: whose first folder it has. Not those of the kernel."""
    # Not "/./" and "/../": four chance bytes of compressed code, and every machine has that folder.
    paths = re.findall(rb"(?:(?<![\w./})>-])|(?<=-[IL]))(/(?!\.{1,2}/)[\w.+@-]+)((?:/[\w.+@-]+)+)", data)
    firsts = {first for first, _ in paths if Path(first.decode()).is_dir()} - {b"/dev", b"/proc", b"/sys"}
    return {(first + rest).decode() for first, rest in paths if first in firsts}


def loaded(program: Path) -> list[str]:
    """All libraries that a program starts with, its libraries' own among them, by name: paths and addresses that `ldd`
    prints beside them may hold any letters."""
    return [Path(line.split()[0]).name for line in must("ldd", program).splitlines()]


def of_torch(libraries: list[str]) -> list[str]:
    """Those that need torch: its own, and the operators'."""
    return [name for name in libraries if name.startswith(("libtorch", "libc10")) and "reduce_core" not in name]
