"""The programs of examples/cpp: configured, built and run as a stranger would."""

import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from consumer import EXAMPLES, PACKAGE, build, loaded, must, needed, of_torch, run
from once import once

import torch_reduce


@pytest.fixture(scope="module")
def programs(shared_folder: Path) -> Path:
    """Built the hard way, by a linker that drops every library whose symbols nobody uses."""
    folder = shared_folder / "examples"
    return once(folder, lambda: build(EXAMPLES, folder, "-DCMAKE_EXE_LINKER_FLAGS=-Wl,--as-needed"))


def test_sum(programs: Path):
    words = must(programs / "sum")
    assert words.splitlines()[-1] == "ok"
    assert re.search(r"^gradient: 200(\.0+\d*)?$", words, re.MULTILINE), words
    assert "libtorch_reduce.so" in needed(programs / "sum")
    assert {"libtorch_reduce.so", "libc10.so"} <= set(of_torch(loaded(programs / "sum")))


def test_train(programs: Path, device: str):
    assert "learned, the same bits twice" in must(programs / "train", device)


def test_infer_without_python(programs: Path, device: str, tmp_path: Path):
    """A package that AOTInductor compiles in one process, and a program without Python runs in another."""
    if shutil.which("g++") is None and shutil.which("clang++") is None:
        pytest.skip("AOTInductor needs g++ or clang++")
    package = tmp_path / "model.pt2"
    command = [sys.executable, str(EXAMPLES / "export_model.py"), str(package), device]
    path = os.environ | {"PYTHONPATH": str(PACKAGE.parent)}
    if shutil.which("g++"):
        path["CXX"] = "g++"  # for Clang, AOTInductor needs an OpenMP that may not be there
    if device == "cuda" and Path("/usr/local/cuda/include/cuda.h").is_file():
        path.setdefault("CUDA_HOME", "/usr/local/cuda")  # torch takes it from nvcc, which may be a script elsewhere
    done = subprocess.run(command, env=path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert not [name for name in needed(programs / "infer") if "python" in name]
    assert "equal to the operators, no Python" in must(programs / "infer", package, device)


def test_streams(programs: Path):
    done = run(programs / "streams")
    if done.returncode == 77:
        pytest.skip("needs a GPU: it was built, and says " + done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    assert "every stream has its bits" in done.stdout


# ---- without PyTorch ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def file_sum(shared_folder: Path) -> Path:
    folder = shared_folder / "core"
    return once(folder, lambda: build(EXAMPLES / "core", folder)) / "file_sum"


@pytest.mark.parametrize("n", [0, 1, 1023, 1024, 1025, 5000, 3_000_017])
def test_file_in_pieces_has_the_bits_of_the_whole(file_sum: Path, n: int, tmp_path: Path):
    numbers = (np.random.default_rng(n).standard_normal(n) * 1000).astype(np.float32)
    path = tmp_path / "numbers.f32"
    numbers.tofile(path)
    total = torch_reduce.sum(torch.from_numpy(numbers)).item()
    (bits,) = struct.unpack("<I", struct.pack("<f", total))
    for piece in (1024, 4096, 1 << 20, 1 << 22):
        assert f"{n} numbers, " in (words := must(file_sum, path, piece))
        assert words.split()[-1] == f"{bits:08x}", words


def test_file_larger_than_the_memory_it_may_use(file_sum: Path, tmp_path: Path):
    """256 MiB of numbers, a sparse file of zeros but for the ends, under a limit of 128 MiB of address space."""
    n = 1 << 26
    path = tmp_path / "numbers.f32"
    with open(path, "wb") as file:
        file.write(struct.pack("<f", 1.5))
        file.truncate(4 * n - 4)
        file.seek(0, 2)
        file.write(struct.pack("<f", 2.0))
    done = run("sh", "-c", f"ulimit -v {128 << 10}; exec {file_sum} {path} {1 << 20}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{n} numbers, sum 3.5,")


def test_device_sum(file_sum: Path):
    program = file_sum.with_name("device_sum")
    if not program.is_file():
        pytest.skip("needs the CUDA toolkit, which CMake did not find")
    done = run(program)
    if done.returncode == 77:
        pytest.skip("needs a GPU: it was built, and says " + done.stdout.strip())
    if not torch_reduce.build_info()["cuda"]:
        assert done.stdout.strip() == "no_cuda"
        return
    assert done.returncode == 0, done.stdout
    assert "host and GPU equal" in done.stdout


def test_file_sum_needs_no_torch(file_sum: Path):
    assert of_torch(loaded(file_sum)) == []


def test_bad_arguments_are_said(file_sum: Path, tmp_path: Path):
    assert "No such file" in run(file_sum, tmp_path / "none").stderr
    path = tmp_path / "numbers.f32"
    path.write_bytes(b"0000")
    for piece in (1000, 512, 0):
        done = run(file_sum, path, piece)
        assert done.returncode == 2
        assert "a power of two, at least 1024" in done.stderr
