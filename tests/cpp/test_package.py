"""find_package, an installation by CMake, add_subdirectory; and that the operators are registered in programs that
refer to nothing of the library."""

import re
import warnings
from pathlib import Path

import pytest
import torch
from consumer import (
    APP,
    BY_NAME,
    CMAKE,
    DROPPING,
    FIND,
    PACKAGE,
    TORCH,
    build,
    configure,
    copy_of_package,
    loaded,
    must,
    needed,
    of_torch,
    project,
    run,
)
from folders import ROOT

# Loads a model in which the operators are called, and knows not even their names.
BY_MODEL = """
#include <torch/script.h>

int main(int, char** argv) {
  auto model = torch::jit::load(argv[1]);
  return model.forward({at::ones({3, 1000})}).toTensor().equal(at::full({3}, 1000)) ? 0 : 1;
}
"""
# What is wrong with a call is thrown, by the class that torch::sum would throw.
ERRORS = """
#include <ATen/ATen.h>
#include <torch_reduce/reduce.h>

#include <cstdio>

using torch_reduce::Mode;
int failures = 0;

template <class Error, class F>
void throws(const char* what, F f) {
  try {
    f();
  } catch (const Error&) {
    return;
  } catch (const std::exception& e) {
    std::printf("%s: %s\\n", what, e.what());
  }
  ++failures;
}

int main() {
  const auto x = at::ones({2, 3}), whole = at::ones({2, 3}, at::kInt);
  throws<c10::IndexError>("dim out of range", [&] { torch_reduce::sum(x, {2}); });
  throws<c10::Error>("dim twice", [&] { torch_reduce::sum(x, {0, 0}); });
  throws<c10::NotImplementedError>("dtype", [&] { torch_reduce::sum(at::ones({2}, at::kFloat8_e5m2fnuz)); });
  const torch_reduce::Options exact{.dtype = at::kFloat, .mode = Mode::exact};
  throws<c10::NotImplementedError>("exact product", [&] { torch_reduce::prod(x, 1, false, exact); });
  const torch_reduce::Options unknown{.mode = static_cast<Mode>(7)};
  throws<c10::ValueError>("unknown mode", [&] { torch_reduce::sum(x, std::nullopt, false, unknown); });
  throws<c10::Error>("mean of integers", [&] { torch_reduce::mean(whole); });
  throws<c10::Error>("no tensor", [&] { torch_reduce::sum(at::Tensor()); });
  throws<c10::IndexError>("maximum of nothing", [&] { torch_reduce::amax(at::ones({2, 0}), 1); });
  const auto total = torch_reduce::sum(whole, std::nullopt, true, {.dtype = at::kDouble});
  return failures + (total.equal(at::full({1, 1}, 6, at::kDouble)) ? 0 : 100);
}
"""
# Two tensors, and a mask: functions of every signature, and none where the operator takes no mask.
TWO = """
#include <ATen/ATen.h>
#include <torch_reduce/reduce.h>

namespace tr = torch_reduce;

template <class Takes, class = void>
constexpr bool compiles = false;
struct Argmax {
  template <class Tensor>
  static auto call(const Tensor& x) -> decltype(tr::argmax(x, 1, false, x));
};
struct Amax {
  template <class Tensor>
  static auto call(const Tensor& x) -> decltype(tr::amax(x, 1, false, x));
};
template <class Takes>
constexpr bool compiles<Takes, std::void_t<decltype(Takes::call(std::declval<at::Tensor>()))>> = true;
static_assert(compiles<Amax> && !compiles<Argmax>);

int main() {
  const auto x = at::arange(12, at::kFloat).view({3, 4}), row = at::arange(4, at::kFloat);
  const auto mask = at::arange(12).view({3, 4}).remainder(3).eq(0), none = at::zeros({1}, at::kBool);
  const auto kept = x.masked_fill(mask.logical_not(), 0);
  int wrong = 0;
  wrong += !tr::dot(x, row, 1).equal((x * row).sum(1));
  wrong += tr::dot(x, x, std::nullopt, true, {at::kDouble}).item<double>() != 506;
  wrong += !tr::sum(x, {1}, false, {}, mask).equal(kept.sum(1));
  wrong += !tr::sum(x, std::nullopt, true, {at::kDouble}, mask).equal(at::full({1, 1}, 18, at::kDouble));
  wrong += !tr::amax(x, 0, true, mask).equal(kept.amax(0, true));
  wrong += tr::var(x, std::nullopt, false, 0, mask).item<float>() != 11.25;
  wrong += tr::mean(x.clone().requires_grad_(), {}, false, {}, none).isnan().item<bool>() != true;
  const auto leaf = x.clone().requires_grad_();
  tr::sum(leaf, 1, false, {}, mask).sum().backward();
  wrong += !leaf.grad().equal(mask.to(at::kFloat));
  try {
    tr::sum(x, 1, false, {}, row);  // no mask
    ++wrong;
  } catch (const c10::Error&) {
  }
  return wrong;
}
"""
ANCHOR = re.compile(r"^ *torch_reduce_keep\(TorchReduce::torch_reduce .*\n", re.MULTILINE)


@pytest.fixture(scope="module")
def by_name(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return project(tmp_path_factory.mktemp("by_name") / "source", FIND + APP, app=BY_NAME)


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


def test_a_program_that_loads_a_model_finds_the_operators(tmp_path: Path):
    class Rows(torch.nn.Module):
        def forward(self, x):
            return torch.ops.reduce.sum(x, [1])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.jit.save(torch.jit.script(Rows()), tmp_path / "model.pt")
    source = project(tmp_path / "source", FIND + APP, app=BY_MODEL)
    must(build(source, tmp_path / "build", *DROPPING) / "app", tmp_path / "model.pt")


def test_folders_whose_names_hold_a_space_and_a_comma(by_name: Path, tmp_path: Path):
    """The package's and torch's. Without run paths, as CMake's own option for those splits at a comma."""
    package = copy_of_package(tmp_path / "a, b" / "package")
    (tmp_path / "a, b" / "torch").symlink_to(TORCH)
    places = [f"-DTORCH_REDUCE_TORCH_DIR={tmp_path}/a, b/torch", "-DCMAKE_SKIP_RPATH=ON"]
    app = build(by_name, tmp_path / "build", *places, *DROPPING, package=package) / "app"
    must(app, LD_LIBRARY_PATH=f"{PACKAGE}/lib:{TORCH}/lib")


def test_bad_input_is_thrown(tmp_path: Path):
    """And options have names in C++20."""
    source = project(tmp_path / "source", "set(CMAKE_CXX_STANDARD 20)\n" + FIND + APP, app=ERRORS)
    must(build(source, tmp_path / "build") / "app")


def test_two_tensors(tmp_path: Path):
    source = project(tmp_path / "source", FIND + APP, app=TWO)
    must(build(source, tmp_path / "build") / "app")


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
    """In a folder whose name is no plain word. All of it is configured, and the core is built, of the least that there
    is: the rest takes minutes."""
    if not (ROOT / "CMakeLists.txt").is_file():
        pytest.skip("needs the sources")
    sources = tmp_path / "a, b"
    sources.symlink_to(ROOT)
    lists = (
        f'add_subdirectory("{sources}" torch_reduce)\n'
        + APP
        + """
add_executable(core core.cpp)
target_link_libraries(core PRIVATE TorchReduce::core)
"""
    )
    core = "#include <torch_reduce/core.h>\nint main() { return *torch_reduce::core::name({}) == 's' ? 0 : 1; }\n"
    source = project(tmp_path / "source", lists, app=BY_NAME, core=core)
    least = ["-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0", "-DTORCH_REDUCE_BASELINE_ONLY=ON"]
    arguments = ["-S", source, "-B", tmp_path / "build", *least, *DROPPING[1:]]
    must(CMAKE, *arguments, TORCH_REDUCE_CUDA="0", PYTHONPATH=str(Path(torch.__file__).parent.parent))
    must(CMAKE, "--build", tmp_path / "build", "--target", "core", "--parallel", 2)
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
    assert of_torch(loaded(tmp_path / "build" / "app")) == []


def test_unknown_component_is_named(tmp_path: Path):
    source = project(tmp_path / "source", "find_package(TorchReduce REQUIRED COMPONENTS cudnn)\n")
    done = configure(source, tmp_path / "build")
    assert done.returncode != 0
    assert 'has no component "cudnn"' in " ".join(done.stderr.split())
