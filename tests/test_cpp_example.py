"""The LibTorch program of examples/cpp: configured, built and run as a stranger would."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import torch_reduce

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "cpp"
PACKAGE = Path(torch_reduce.__path__[0])
CMAKE = shutil.which("cmake", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))


def run(*command: object) -> subprocess.CompletedProcess:
    return subprocess.run([str(c) for c in command], capture_output=True, text=True)


def configure(folder: Path, package: Path, *arguments: str) -> subprocess.CompletedProcess:
    torch_folder = Path(torch.__file__).parent
    places = [f"-DCMAKE_PREFIX_PATH={package}", f"-DTORCH_REDUCE_TORCH_DIR={torch_folder}"]
    return run(CMAKE, "-S", EXAMPLE, "-B", folder, *places, *arguments)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built the hard way, by a linker that drops every library whose symbols nobody uses."""
    folder = tmp_path_factory.mktemp("example")
    steps = [configure(folder, PACKAGE, "-DCMAKE_EXE_LINKER_FLAGS=-Wl,--as-needed"), run(CMAKE, "--build", folder)]
    for step in steps:
        assert step.returncode == 0, step.stdout + step.stderr
    return folder / "sum_example"


def test_runs(program: Path):
    # Without the paths of the process that runs the tests: the program finds its libraries by itself.
    clean = {name: value for name, value in os.environ.items() if name not in ("LD_LIBRARY_PATH", "LD_PRELOAD")}
    done = subprocess.run([str(program)], env=clean, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "ok"
    assert re.search(r"^gradient: 200(\.0+\d*)?$", done.stdout, re.MULTILINE), done.stdout


def test_links_the_library(program: Path):
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", program).stdout)
    assert "libtorch_reduce.so" in needed


def test_another_torch_is_refused(tmp_path: Path):
    package = tmp_path / "package"
    shutil.copytree(PACKAGE / "cmake", package / "cmake")
    config = package / "cmake" / "TorchReduceConfig.cmake"
    config.write_text(config.read_text().replace(f'"{torch.__version__}"', '"2.10.0"'))
    done = configure(tmp_path / "build", package)
    assert done.returncode != 0
    words = " ".join(done.stderr.split())
    assert f"torch_reduce was built for torch 2.10.0, but this is torch {torch.__version__}" in words
