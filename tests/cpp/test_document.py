"""docs/cpp.md: the files that it shows, written down as they stand, configured, built and run."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from consumer import CMAKE, CXX, NVCC, PACKAGE, TORCH, build, must, run
from folders import ROOT

DOCUMENT = ROOT / "docs" / "cpp.md"
BLOCK = re.compile(r"^```\w+\n(?:#|//) (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.skipif(CXX is None or not DOCUMENT.is_file(), reason="needs a C++ compiler and the sources")


def files(section: str, folder: Path) -> Path:
    """Writes a section's files into a folder."""
    (text,) = re.findall(rf"^## {section}.*?\n(.*?)(?=^## |\Z)", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
    blocks = BLOCK.findall(text)
    assert "CMakeLists.txt" in dict(blocks)
    folder.mkdir()
    for name, content in blocks:
        (folder / name).write_text(content)
    return folder


def ran(program: Path) -> str:
    """What a program prints. One that needs a GPU and finds none says so by 77."""
    done = run(program)
    if done.returncode == 77:
        pytest.skip("needs a GPU: it was built, and says " + done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_file_is_of_a_section_that_is_tested():
    names = [name for name, _ in BLOCK.findall(DOCUMENT.read_text())]
    assert len(names) == len(re.findall(r"^```(?:cmake|cpp|python)$", DOCUMENT.read_text(), re.MULTILINE)) == 12


def test_operators(tmp_path: Path):
    source = files("Operators in a LibTorch program", tmp_path / "source")
    ran(build(source, tmp_path / "build") / "app")


def test_models(tmp_path: Path):
    if shutil.which("g++") is None and shutil.which("clang++") is None:
        pytest.skip("AOTInductor needs g++ or clang++")
    source = files("Operators by name", tmp_path / "source")
    path = os.environ | {"PYTHONPATH": str(PACKAGE.parent)}
    if shutil.which("g++"):
        path["CXX"] = "g++"  # for Clang, AOTInductor needs an OpenMP that may not be there
    done = subprocess.run([sys.executable, "export.py"], cwd=source, env=path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    programs = build(source, tmp_path / "build")
    for name in ("script", "inductor"):
        words = must("sh", "-c", f"cd {source} && exec {programs / name}")
        assert words.split()[:3] == ["1000"] * 3, name


@pytest.mark.parametrize(("name", "printed"), [("host", "6 15"), ("device", "21")])
def test_without_pytorch(name: str, printed: str, tmp_path: Path):
    folder = build(files("Without PyTorch", tmp_path / "source"), tmp_path / "build")
    if name == "device" and not (folder / name).is_file():
        pytest.skip("needs the CUDA toolkit, which CMake did not find")
    assert ran(folder / name).strip() == printed


@pytest.mark.skipif(NVCC is None, reason="needs nvcc")
def test_order(tmp_path: Path):
    """By CMake, and by the line that needs none."""
    source = files("The order in your own kernel", tmp_path / "source")
    folder = build(source, tmp_path / "build", f"-DCMAKE_CUDA_COMPILER={NVCC}")
    (line,) = re.findall(r"^nvcc (.*)", DOCUMENT.read_text(), re.MULTILINE)
    assert "$(python3 " in line
    words = re.sub(r'"\$\(.*\)', f'"{PACKAGE}', line)
    must("sh", "-c", f"cd {source} && {NVCC} {words} -o {tmp_path}/alone")
    assert ran(tmp_path / "alone").strip() == ran(folder / "fused").strip() == "5000"


def test_subdirectory_is_configured(tmp_path: Path):
    """What of it is built is in test_package.py."""
    source = files("As a subdirectory", tmp_path / "source")
    (source / "torch_reduce").symlink_to(ROOT)
    (source / "app.cpp").touch()
    place = f"-DTORCH_REDUCE_TORCH_DIR={TORCH}"
    must(CMAKE, "-S", source, "-B", tmp_path / "build", place, TORCH_REDUCE_CUDA="0")
