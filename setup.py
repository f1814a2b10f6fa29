"""The package for pip. All else than the native library is said in pyproject.toml."""

import sys
from pathlib import Path

import setuptools
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "tools"))  # not there in a PEP 517 build
from native_build import BuildError, build, find_torch  # noqa: E402

if int(setuptools.__version__.partition(".")[0]) < 77:
    sys.exit(
        f"torch_reduce is built by setuptools >= 77, and {sys.executable} has {setuptools.__version__}: "
        "upgrade it, or leave out --no-build-isolation."
    )
from setuptools.command.bdist_wheel import bdist_wheel  # noqa: E402


class CMakeBuild(build_ext):
    """Builds by CMake and installs into the package: in the source tree for an editable installation, else in the
    folder from which the wheel is made."""

    def run(self) -> None:
        root = ROOT if self.inplace or self.editable_mode else Path(self.build_lib).absolute()
        try:
            build(root / "torch_reduce")
        except BuildError as error:
            sys.exit(str(error))

    def get_outputs(self) -> list[str]:
        return []

    def get_output_mapping(self) -> dict[str, str]:
        return {}


class Wheel(bdist_wheel):
    """One wheel for every Python: the library does not link libpython."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


def requirement() -> str:
    """The very release built for: torch keeps no binary compatibility between releases."""
    try:
        _, version = find_torch()
    except BuildError:
        if {"sdist", "egg_info"} & set(sys.argv):  # builds nothing
            return "torch>=2.11"
        raise
    return f"torch=={version.partition('+')[0]}"


try:
    setup(
        ext_modules=[Extension("torch_reduce._native", [])],  # has setuptools run CMakeBuild and tag a platform
        cmdclass={"build_ext": CMakeBuild, "bdist_wheel": Wheel},
        install_requires=[requirement()],
    )
except BuildError as error:
    sys.exit(str(error))
