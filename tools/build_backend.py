"""The build backend of pyproject.toml: setuptools, and the tools that a machine may lack, asked for as build
requirements, so that pip fetches them into its isolated build.

CMake where none is on PATH, and, where TORCH_REDUCE_CUDA=1 demands CUDA and there is no nvcc, NVIDIA's wheels of it, of
the CUDA release of the torch that is built for.
"""

import sys

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403

import native_build  # isort: skip  # beside this file, by pyproject.toml's backend-path


def missing_tools() -> list[str]:
    try:
        return native_build.missing_tools()
    except native_build.BuildError as error:
        sys.exit(str(error))


def get_requires_for_build_wheel(config_settings=None) -> list[str]:
    return build_meta.get_requires_for_build_wheel(config_settings) + missing_tools()


def get_requires_for_build_editable(config_settings=None) -> list[str]:
    return build_meta.get_requires_for_build_editable(config_settings) + missing_tools()
