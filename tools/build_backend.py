"""The build backend of pyproject.toml: setuptools, and the tools that a machine may lack, asked for as build
requirements, so that pip fetches them into its isolated build.

CMake where none is on PATH, and, where TORCH_REDUCE_CUDA=1 demands CUDA and there is no nvcc, NVIDIA's wheels of it, of
the CUDA release of the torch that is built for.
"""

import sys

try:
    import setuptools

    found = setuptools.__version__
except ModuleNotFoundError:
    found = "none"
if found == "none" or int(found.partition(".")[0]) < 77:  # without isolation: else pyproject.toml's are there
    sys.exit(
        f"torch_reduce is built by setuptools >= 77, and {sys.executable} has {found}: "
        "install 'setuptools>=77,<82' and cmake, or let pip build in isolation."
    )

import native_build  # beside this file, by pyproject.toml's backend-path
from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403


def missing_tools() -> list[str]:
    try:
        return native_build.missing_tools()
    except native_build.BuildError as error:
        sys.exit(str(error))


def get_requires_for_build_wheel(config_settings=None) -> list[str]:
    return build_meta.get_requires_for_build_wheel(config_settings) + missing_tools()


def get_requires_for_build_editable(config_settings=None) -> list[str]:
    return build_meta.get_requires_for_build_editable(config_settings) + missing_tools()
