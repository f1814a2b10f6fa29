"""The package for pip. All else than the native library is said in pyproject.toml.

scikit-build-core would not leave less code: it makes the metadata before CMake runs, and the version holds what CMake
decides; values that Python finds, as the folder of torch, do not reach its CMake; and native_build.py, which serves the
Makefile too, would stay, with a build folder beside its own.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.command.egg_info import egg_info

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "tools"))  # not there in a PEP 517 build
from native_build import BuildError, build, find_torch, version_of_build  # noqa: E402
from pypi_page import page, urls  # noqa: E402

FILES = os.environ.get("TORCH_REDUCE_REPOSITORY")
BUILDS = not {"sdist", "egg_info"} & set(sys.argv)  # not so: for no torch, with the plain version


@contextmanager
def one_sentence() -> Iterator[None]:
    try:
        yield
    except BuildError as error:
        sys.exit(str(error))


class Metadata(egg_info):
    """Adds what is built for to the version: what CMake says, since it decides whether CUDA is built."""

    def finalize_options(self) -> None:
        if BUILDS:
            with one_sentence():
                self.tag_build = "+" + version_of_build().partition("+")[2]
        super().finalize_options()


class CMakeBuild(build_ext):
    """Builds by CMake and installs into the package: in the source tree for an editable installation, else in the
    folder from which the wheel is made."""

    def run(self) -> None:
        root = ROOT if self.inplace or self.editable_mode else Path(self.build_lib).absolute()
        with one_sentence():
            build(root / "torch_reduce", installs=True)

    def get_outputs(self) -> list[str]:
        return []

    def get_output_mapping(self) -> dict[str, str]:
        return {}


class Wheel(bdist_wheel):
    """One wheel for every Python: the library does not link libpython, and the module for Python, which not all of them
    load, is optional and keeps to the limited API."""

    def run(self) -> None:
        # setuptools would put into the wheel what an earlier build has left there.
        shutil.rmtree(self.get_finalized_command("build").build_lib, ignore_errors=True)
        super().run()

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


def requirement() -> str:
    """The very release built for: torch keeps no binary compatibility between releases."""
    if not BUILDS:
        return "torch>=2.11"
    with one_sentence():
        return f"torch=={find_torch()[1].partition('+')[0]}"


setup(
    ext_modules=[Extension("torch_reduce._native", [])],  # has setuptools run CMakeBuild and tag a platform
    cmdclass={"egg_info": Metadata, "build_ext": CMakeBuild, "bdist_wheel": Wheel},
    install_requires=[requirement()],
    long_description=page((ROOT / "README.md").read_text(), FILES),
    project_urls=urls(FILES),
    long_description_content_type="text/markdown",
)
