"""find_package, an installation by CMake, add_subdirectory; and that the operators are registered in programs that
refer to nothing of the library."""

import re
import shutil
from pathlib import Path

import pytest
import torch
from consumer import CMAKE, PACKAGE, ROOT, build, configure, must, needed, project, run

FIND = "find_package(TorchReduce REQUIRED)\n"
APP = """
add_executable(app app.cpp)
target_link_libraries(app PRIVATE TorchReduce::torch_reduce)
"""
# Names no symbol of the library: all it knows is the operator's name, as a program that loads a model does.
BY_NAME = """
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

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
ANCHOR = re.compile(r"^ *torch_reduce_keep\(TorchReduce::torch_reduce .*\n", re.MULTILINE)


@pytest.fixture(scope="module")
def by_name(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return project(tmp_path_factory.mktemp("by_name") / "source", FIND + APP, app=BY_NAME)


def copy_of_package(folder: Path) -> Path:
    """With the library in its place by a link."""
    shutil.copytree(PACKAGE / "lib" / "cmake", folder / "lib" / "cmake")
    (folder / "include").symlink_to(PACKAGE / "include")
    for library in (PACKAGE / "lib").glob("*.so"):
        (folder / "lib" / library.name).symlink_to(library)
    return folder


def test_a_program_that_knows_names_alone_finds_the_operators(by_name: Path, tmp_path: Path):
    """And does not, where the line of the package that anchors the library is removed."""
    app = build(by_name, tmp_path / "build", *DROPPING) / "app"
    assert "libtorch_reduce.so" in needed(app)
    must(app)

    package = copy_of_package(tmp_path / "package")
    config = package / "lib" / "cmake" / "TorchReduce" / "TorchReduceConfig.cmake"
    text, removed = ANCHOR.subn("", config.read_text())
    assert removed == 1
    config.write_text(text)
    app = build(by_name, tmp_path / "without", *DROPPING, package=package) / "app"
    assert run(app).returncode == 1


def test_installed_by_cmake(by_name: Path, tmp_path: Path):
    built = ROOT / "build" / f"torch-{torch.__version__}"
    if not (built / "CMakeCache.txt").is_file():
        pytest.skip("the library was not built here")
    prefix = tmp_path / "prefix"
    must(CMAKE, "--install", built, "--prefix", prefix)
    files = sorted(str(path.relative_to(prefix)) for path in prefix.rglob("*") if path.is_file())
    assert "lib/cmake/TorchReduce/TorchReduceConfig.cmake" in files
    assert {name.split("/")[0] for name in files} == {"include", "lib"}
    app = build(by_name, tmp_path / "build", *DROPPING, package=prefix) / "app"
    must(app)
    assert str(prefix / "lib") in must("readelf", "-d", app)


def test_as_a_subdirectory(tmp_path: Path):
    """Without CUDA and without optimisation, as this builds the whole library."""
    if not (ROOT / "CMakeLists.txt").is_file():
        pytest.skip("needs the sources")
    lists = (
        f'add_subdirectory("{ROOT}" torch_reduce)\n'
        + APP
        + """
add_executable(core core.cpp)
target_link_libraries(core PRIVATE TorchReduce::core)
"""
    )
    core = "#include <torch_reduce/core.h>\nint main() { return *torch_reduce::core::name({}) == 's' ? 0 : 1; }\n"
    source = project(tmp_path / "source", lists, app=BY_NAME, core=core)
    debug = ["-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0"]
    arguments = ["-S", source, "-B", tmp_path / "build", *debug, *DROPPING[1:]]
    must(CMAKE, *arguments, TORCH_REDUCE_CUDA="0", PYTHONPATH=str(Path(torch.__file__).parent.parent))
    must(CMAKE, "--build", tmp_path / "build", "--target", "app", "core", "--parallel", 2)
    must(tmp_path / "build" / "app")
    must(tmp_path / "build" / "core")


def test_core_needs_no_torch(tmp_path: Path):
    """find_package for the component alone looks for no torch, and the program links none."""
    lists = """
find_package(TorchReduce REQUIRED COMPONENTS core)
if(TARGET TorchReduce::torch OR TARGET TorchReduce::torch_reduce)
  message(FATAL_ERROR "torch came along")
endif()
add_executable(app app.cpp)
target_link_libraries(app PRIVATE TorchReduce::core)
"""
    app = "#include <torch_reduce/core.h>\nint main() { return *torch_reduce::core::name({}) == 's' ? 0 : 1; }\n"
    source = project(tmp_path / "source", lists, app=app)
    arguments = [f"-DCMAKE_PREFIX_PATH={PACKAGE}", "-DTORCH_REDUCE_TORCH_DIR=/nowhere"]
    must(CMAKE, "-S", source, "-B", tmp_path / "build", *arguments)
    must(CMAKE, "--build", tmp_path / "build")
    must(tmp_path / "build" / "app")
    assert not re.search("torch_cpu|c10", must("ldd", tmp_path / "build" / "app"))


def test_unknown_component_is_named(tmp_path: Path):
    source = project(tmp_path / "source", "find_package(TorchReduce REQUIRED COMPONENTS cudnn)\n")
    done = configure(source, tmp_path / "build")
    assert done.returncode != 0
    assert 'has no component "cudnn"' in " ".join(done.stderr.split())


def test_another_torch_is_refused(by_name: Path, tmp_path: Path):
    package = copy_of_package(tmp_path / "package")
    config = package / "lib" / "cmake" / "TorchReduce" / "TorchReduceConfig.cmake"
    config.write_text(config.read_text().replace(f'"{torch.__version__}"', '"2.10.0"'))
    done = configure(by_name, tmp_path / "build", package=package)
    assert done.returncode != 0
    words = " ".join(done.stderr.split())
    assert f"torch_reduce was built for torch 2.10.0, but this is torch {torch.__version__}" in words
