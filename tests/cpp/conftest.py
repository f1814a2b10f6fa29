"""The core's C functions, compiled once."""

import ctypes

import pytest
from core_calls import compiled
from folders import TESTS

SHIM = TESTS / "cpp" / "core_shim.cpp"


@pytest.fixture(scope="session")
def core(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    shim = compiled(SHIM, tmp_path_factory.mktemp("core") / "shim.so", "-fPIC", "-shared", "-pthread")
    functions = ctypes.CDLL(str(shim))
    functions.status_name.restype = ctypes.c_char_p
    return functions
