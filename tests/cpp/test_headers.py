"""Each public header compiles alone, as C++17 and C++20, by GCC and Clang, without a warning."""

import re
import shutil

import pytest
from consumer import PACKAGE, TORCH, must

CONFIG = TORCH / "share" / "cmake" / "Torch" / "TorchConfig.cmake"
OF_TORCH = {"reduce.h"}


def standard_of_torch() -> int:
    return max([17, *(int(n) for n in re.findall(r"(?:CXX_STANDARD |cxx_std_)(\d+)", CONFIG.read_text()))])


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("standard", [17, 20])
@pytest.mark.parametrize("header", ["core.h", "reduce.h", "order.h", "host_device.h"])
def test_compiles_alone(header: str, standard: int, compiler: str):
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    flags = [f"-std=c++{standard}", "-Wall", "-Wextra", "-Werror", "-Wpedantic", "-fsyntax-only", "-x", "c++"]
    flags += [f"-I{PACKAGE}/include"]
    if header in OF_TORCH:
        if standard < standard_of_torch():
            pytest.skip(f"the headers of this torch need C++{standard_of_torch()}")
        flags += [f"-isystem{TORCH}/include", f"-isystem{TORCH}/include/torch/csrc/api/include"]
    must(compiler, *flags, PACKAGE / "include" / "torch_reduce" / header)
