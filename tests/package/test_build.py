"""The build: what the library needs and shows, how a wrong one is refused, and what CMake decides."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from consumer import places
from folders import ROOT

import torch_reduce

PACKAGE = Path(torch_reduce.__path__[0])
LIBRARY = PACKAGE / "lib" / "libtorch_reduce.so"
CORE = PACKAGE / "lib" / "libtorch_reduce_core.so"
VERSION = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1]
MODULE = PACKAGE / "lib" / "fast_calls.abi3.so"  # for Python
BUILD = Path("lib", "cmake", "TorchReduce", "build.json")
both = pytest.mark.parametrize("library", [LIBRARY, CORE], ids=lambda library: library.stem)
CMAKE = shutil.which("cmake", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))


def output_of(*command: object) -> str:
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout


# ---- the library -------------------------------------------------------------------------------------------------


def dynamic(library: Path, tag: str) -> set[str]:
    """The values of a tag in a library's dynamic section."""
    return set(re.findall(rf"\({tag}\).*\[(.*)\]", output_of("readelf", "-d", library)))


@both
def test_needs_torch_and_the_system_alone(library: Path):
    """No libpython, so that C++ programs can link it; no libcudart, which lies where only torch finds it; and the core
    not even torch."""
    of_torch = {"libc10.so", "libtorch_cpu.so"} | ({"libc10_cuda.so"} if torch_reduce.build_info()["cuda"] else set())
    if library == CORE:
        of_torch = set()
    else:
        of_torch |= {CORE.name}
    system = r"lib(stdc\+\+|gcc_s|m|c|dl|rt|pthread)\.so\.\d|ld-linux.*"
    needed = dynamic(library, "NEEDED")
    assert of_torch <= needed
    assert {name for name in needed - of_torch if not re.fullmatch(system, name)} == set()


@both
def test_knows_no_python(library: Path):
    symbols = output_of("nm", "-D", library).splitlines()
    assert [line for line in symbols if re.search(r" _?(Py|THP)", line)] == []


@pytest.mark.skipif(not MODULE.is_file(), reason="built without Python's headers")
def test_module_is_for_every_python():
    """The headers see to the limited API. No libpython is named: the Python that loads it has its symbols."""
    assert {name for name in dynamic(MODULE, "NEEDED") if "libpython" in name} == set()
    assert {"libtorch_python.so", LIBRARY.name} <= dynamic(MODULE, "NEEDED")
    assert dynamic(MODULE, "RPATH") | dynamic(MODULE, "RUNPATH") == {"$ORIGIN"}
    assert places(MODULE.read_bytes()) == set()
    defined = [line.split()[-1] for line in output_of("nm", "-D", "--defined-only", MODULE).splitlines()]
    assert [name for name in defined if name.startswith("Py")] == ["PyInit_fast_calls"]
    assert MODULE.stat().st_size <= 100e3


def test_works_without_the_module(package: Path):
    """Through functions of Python."""
    shutil.copytree(PACKAGE / "lib", package / "lib", dirs_exist_ok=True, ignore=shutil.ignore_patterns(MODULE.name))
    code = "import torch, torch_reduce as r; assert r.sum(torch.ones(2, 3), 1, keepdim=True).tolist() == [[3], [3]]"
    done = subprocess.run([sys.executable, "-c", code], cwd=package.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@both
def test_knows_no_place(library: Path):
    beside = {"$ORIGIN"} if library == LIBRARY else set()
    assert dynamic(library, "RPATH") | dynamic(library, "RUNPATH") == beside
    assert places(library.read_bytes()) == set()


def test_a_place_is_seen():
    """In what tests look for places of the machine."""
    for place in (ROOT / "file", Path(torch.__file__), Path(sys.prefix, "file")):
        assert places(f'"{place}":12, -I{place} lib/{place} /proc/cpuinfo /./0 /../0'.encode()) == {str(place)}


EXPORTS = {
    LIBRARY: ["registered()"],
    CORE: ["core::cuda_error()", "core::name(", "core::reduce_on_cuda(", "core::reduce_on_host("],
}


@both
def test_shows_what_its_header_declares(library: Path):
    """And nothing else: no symbol of the CUDA runtime inside, of torch's or of the standard library's templates."""
    symbols = [line.split(" ", 2) for line in output_of("nm", "-DC", "--defined-only", library).splitlines()]
    node = f"TORCH_REDUCE_{'CORE_' if library == CORE else ''}{VERSION.rpartition('.')[0]}"
    # What the core shows to its neighbour alone has another version.
    private = "TORCH_REDUCE_PRIVATE"
    assert {name for _, kind, name in symbols if kind == "A"} - {private} == {node}
    shown = sorted(name for _, kind, name in symbols if kind != "A" and not name.endswith(f"@@{private}"))
    assert len(shown) == len(EXPORTS[library])
    for name, expected in zip(shown, EXPORTS[library], strict=True):
        assert name.startswith("torch_reduce::" + expected) and name.endswith("@@" + node)
    header = (PACKAGE / "include" / "torch_reduce" / ("core.h" if library == CORE else "reduce.h")).read_text()
    declared = re.findall(r"^(?:TORCH_REDUCE_PUBLIC|__attribute__.*\)\)\)) [\w* ]*?(\w+)\(", header, re.MULTILINE)
    assert sorted(declared) == [re.search(r"(\w+)\(", name)[1] for name in EXPORTS[library]]


def test_size():
    """Of the libraries and the Python module together: a set of kernels has some 0.4 MB for CPUs, and 0.8 for GPUs; an
    element type of all reductions 0.7."""
    assert sum(path.stat().st_size for path in CORE.parent.glob("*.so")) <= 36e6


def test_code_for_newer_processors_stays_in_its_namespace():
    """An inline function that such an object keeps a copy of could become the one that the linker takes for all."""
    objects = sorted(
        (ROOT / "build" / f"torch-{torch.__version__}" / "CMakeFiles").glob("torch_reduce_cpu_avx*.dir/**/*.o")
    )
    if not objects:
        pytest.skip("the library was not built here, or not for x86-64")
    for path in objects:
        capability = re.search(r"cpu_(\w+)\.dir", str(path))[1]
        symbols = [line.split(" ", 2) for line in output_of("nm", "-C", "--defined-only", path).splitlines()]
        shared = [name for _, kind, name in symbols if kind == "W" and f"torch_reduce::cpu::{capability}::" not in name]
        assert shared == [], path


# ---- what it was built for ---------------------------------------------------------------------------------------


def test_says_what_it_was_built_for():
    file, library = json.loads((PACKAGE / BUILD).read_text()), torch_reduce.build_info()
    assert file["torch"] == library["torch"] == torch.__version__
    assert bool(file["cuda"]) is library["cuda"]
    if library["cuda"]:
        assert file["cuda"] == library["cuda_version"]
        assert re.fullmatch(r"(\d+[af]?-(real|virtual),?)+", ",".join(file["architectures"]))


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package, without the library."""
    copy = tmp_path / "torch_reduce"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("lib", "include", "__pycache__"))
    (copy / BUILD).parent.mkdir(parents=True)
    return copy


def words_of_import(package: Path, **environment: str) -> str:
    """The last line that a new process says when it imports the package; empty if that works."""
    command = [sys.executable, "-c", "import torch_reduce"]
    done = subprocess.run(command, cwd=package.parent, env=os.environ | environment, capture_output=True, text=True)
    return done.stderr.strip().splitlines()[-1] if done.returncode else ""


def test_loads_from_another_place(package: Path):
    shutil.copytree(PACKAGE / "lib", package / "lib", dirs_exist_ok=True)
    assert words_of_import(package) == ""


@pytest.mark.parametrize("missing", [LIBRARY, CORE], ids=lambda library: library.stem)
def test_missing_library_is_named(package: Path, missing: Path):
    shutil.copytree(PACKAGE / "lib", package / "lib", dirs_exist_ok=True, ignore=shutil.ignore_patterns(missing.name))
    assert re.match(r"ImportError: the native library of torch_reduce is missing from \S+:", words_of_import(package))


def test_hidden_package_is_named(package: Path, tmp_path: Path):
    """A source tree that was not built, in the folder where Python starts, hides the installed package."""
    installed = tmp_path / "site" / "torch_reduce"
    shutil.copytree(PACKAGE, installed, ignore=shutil.ignore_patterns("__pycache__"))
    words = words_of_import(package, PYTHONPATH=str(installed.parent))
    assert f"Python found the package {package} first, which hides the installed {installed}: " in words
    assert words.endswith("start Python in another folder, or build the first with `make build`.")
    assert words_of_import(installed, PYTHONPATH=str(package.parent)) == ""


def test_library_for_another_torch_is_refused_before_loading(package: Path):
    for library in (LIBRARY, CORE):
        (package / "lib" / library.name).write_bytes(b"would fail if it were loaded")
    build = {"torch": "2.10.0+cu130", "cuda": "13.0", "architectures": ["90-real"]}
    (package / BUILD).write_text(json.dumps(build))
    words = words_of_import(package)
    assert words.startswith("ImportError: ")
    assert f"was built for torch 2.10.0+cu130, but this is torch {torch.__version__}" in words


# ---- what CMake decides ------------------------------------------------------------------------------------------


def configure(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    command = [CMAKE, "-S", ROOT, "-B", folder, f"-DTORCH_REDUCE_TORCH_DIR={Path(torch.__file__).parent}", *arguments]
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True)


def test_cuda_can_be_left_out(tmp_path: Path):
    done = configure(tmp_path, TORCH_REDUCE_CUDA="0")
    assert done.returncode == 0, done.stderr
    line = f"torch_reduce: CPU only, for torch {torch.__version__} (CUDA not built: TORCH_REDUCE_CUDA=0)"
    assert line in done.stdout
    assert json.loads((tmp_path / "build.json").read_text()) == {
        "version": f"{VERSION}+torch{torch.__version__.partition('+')[0]}.cpu",
        "torch": torch.__version__,
        "cuda": None,
        "architectures": [],
    }


def test_torch_can_be_left_out(tmp_path: Path):
    done = configure(
        tmp_path, "-DTORCH_REDUCE_CORE_ONLY=ON", "-DTORCH_REDUCE_TORCH_DIR=/nowhere", TORCH_REDUCE_CUDA="0"
    )
    assert done.returncode == 0, done.stderr
    assert "torch_reduce: CPU only, for programs without torch" in done.stdout


def test_cuda_can_be_demanded(tmp_path: Path):
    done = configure(tmp_path, "-DTORCH_REDUCE_SANITIZE=ON", TORCH_REDUCE_CUDA="1")
    assert done.returncode != 0
    words = " ".join(done.stderr.split())
    assert "TORCH_REDUCE_CUDA=1, but CUDA cannot be built: a sanitizer build has the CPU part alone" in words


def architectures(folder: Path, known: str, portable: bool = False, **environment: str) -> str:
    """What cmake/Architectures.cmake chooses on a machine without a GPU, for an nvcc that knows some architectures."""
    nvcc = folder / "nvcc"
    nvcc.write_text("#!/bin/sh\nprintf 'compute_%s\\n' " + known)
    nvcc.chmod(0o755)
    script = folder / "ask.cmake"
    script.write_text(
        f"include({ROOT}/cmake/Architectures.cmake)\n"
        "set(TORCH_REDUCE_NVIDIA_SMI false)\n"  # the command: it prints nothing
        f"set(TORCH_REDUCE_PORTABLE {portable})\n"
        f'torch_reduce_architectures(answer "{nvcc}")\nmessage("${{answer}}")\n'
    )
    names = ("TORCH_CUDA_ARCH_LIST", "TORCH_REDUCE_RELEASE")
    inherited = {name: value for name, value in os.environ.items() if name not in names}
    command = [CMAKE, "-P", str(script)]
    return subprocess.run(command, env=inherited | environment, capture_output=True, text=True).stderr.strip()


@pytest.mark.parametrize(
    ("environment", "chosen"),
    [
        ({}, "90-real"),
        ({"TORCH_CUDA_ARCH_LIST": "8.0"}, "80-real"),
        ({"TORCH_CUDA_ARCH_LIST": "8.6 9.0a+PTX"}, "86-real;90a-real;90a-virtual"),
        ({"TORCH_CUDA_ARCH_LIST": "8.0;12.0", "TORCH_REDUCE_RELEASE": "1"}, "80-real;120-real"),
        ({"TORCH_REDUCE_RELEASE": "1"}, "80-real;90-real;100-real;120-real;120-virtual"),
    ],
)
def test_architectures(environment: dict, chosen: str, tmp_path: Path):
    known = "75 80 86 87 89 90 100 103 120 121"
    assert architectures(tmp_path, known, **environment) == chosen
    installed = chosen if environment else "80-real;90-real;90-virtual"
    assert architectures(tmp_path, known, portable=True, **environment) == installed


def test_an_installation_without_a_gpu_is_for_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    from native_build import is_for_other_gpus

    torch_folder = tmp_path / "torch"
    torch_folder.mkdir()
    (torch_folder / "__init__.py").touch()
    (torch_folder / "version.py").write_text("__version__ = '2.15.0+cu132'\ncuda: Optional[str] = '13.2'\n")
    smi = tmp_path / "nvidia-smi"
    smi.write_text("#!/bin/sh\necho 'GPU 0: one'\n")
    smi.chmod(0o755)
    for name in ("TORCH_REDUCE_CUDA", "TORCH_CUDA_ARCH_LIST", "TORCH_REDUCE_RELEASE", "CUDAARCHS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TORCH_REDUCE_TORCH_DIR", str(torch_folder))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert is_for_other_gpus()
    for name, value in (("TORCH_CUDA_ARCH_LIST", "9.0"), ("TORCH_REDUCE_CUDA", "0"), ("PATH", f"{tmp_path}:/usr/bin")):
        with monkeypatch.context() as other:
            other.setenv(name, value)
            assert not is_for_other_gpus(), name


def test_release_leaves_out_what_nvcc_does_not_know(tmp_path: Path):
    chosen = architectures(tmp_path, "50 75 80 86 87 89 90", TORCH_REDUCE_RELEASE="1")
    assert chosen == "80-real;90-real;90-virtual"


def test_unknown_architecture_is_named(tmp_path: Path):
    words = " ".join(architectures(tmp_path, "90", TORCH_CUDA_ARCH_LIST="Hopper").split())
    assert 'TORCH_CUDA_ARCH_LIST holds "Hopper"; accepted are values such as 9.0, 9.0a and 9.0+PTX.' in words
