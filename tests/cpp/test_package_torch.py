"""find_package beside a torch that does not fit the library, or that does."""

import re
from pathlib import Path

import pytest
from consumer import FIND, configure, copy_of_package, project


def package_for(folder: Path, torch_version: str, cuda: str) -> Path:
    """The package as a build for that torch and with that CUDA would write it; "" is none."""
    package = copy_of_package(folder)
    config = package / "lib" / "cmake" / "TorchReduce" / "TorchReduceConfig.cmake"
    text = config.read_text()
    for name, value in ("built", torch_version), ("cuda", cuda):
        text, replaced = re.subn(rf'set\(_{name} ".*"\)', f'set(_{name} "{value}")', text)
        assert replaced == 1
    config.write_text(text)
    return package


def torch_of(folder: Path, version: str, cuda: str | None) -> Path:
    """As much of a torch as is looked at before it is linked; without a version, a LibTorch archive that says none."""
    marker = folder / "share" / "cmake" / "Torch" / "TorchConfig.cmake"
    marker.parent.mkdir(parents=True)
    marker.touch()
    if version:
        (folder / "version.py").write_text(f"__version__ = '{version}'\ncuda: Optional[str] = {cuda!r}\n")
    return folder


MISFITS = {
    "release": ("2.10.0", "", "2.11.0+cpu", None, "was built for torch 2.10.0, but this is torch 2.11.0+cpu"),
    "no CUDA": (
        "2.11.0+cu130",
        "13.0",
        "2.11.0+cpu",
        None,
        "was built with CUDA 13.0 for torch 2.11.0+cu130, but this is torch 2.11.0+cpu without CUDA",
    ),
    "other CUDA": (
        "2.11.0+cu130",
        "13.0",
        "2.11.0+cu128",
        "12.8",
        "was built with CUDA 13.0 for torch 2.11.0+cu130, but this torch 2.11.0+cu128 uses CUDA 12.8",
    ),
    "no version": ("2.11.0", "", "", None, "does not say which version of torch it is."),
    "no torch": ("2.11.0", "", None, None, "no torch found: name the folder"),
}


@pytest.mark.parametrize("case", MISFITS.values(), ids=MISFITS)
def test_a_torch_that_does_not_fit(case: tuple, tmp_path: Path):
    """Is not found, with one sentence, by which REQUIRED fails; what needs no torch is found all the same."""
    *built, version, cuda, words = case
    package = package_for(tmp_path / "package", *built)
    found = tmp_path / "nowhere" if version is None else torch_of(tmp_path / "torch", version, cuda)
    lists = """
find_package(TorchReduce ${REQUIRED})
if(TorchReduce_FOUND OR TARGET TorchReduce::torch_reduce OR TARGET TorchReduce::torch)
  message(FATAL_ERROR "found")
endif()
message(STATUS "says: ${TorchReduce_NOT_FOUND_MESSAGE}")
find_package(TorchReduce REQUIRED COMPONENTS core OPTIONAL_COMPONENTS torch_reduce)
if(NOT TARGET TorchReduce::core OR TorchReduce_torch_reduce_FOUND)
  message(FATAL_ERROR "core alone was to be found")
endif()
"""
    source = project(tmp_path / "source", lists)
    place = f"-DTORCH_REDUCE_TORCH_DIR={found}"
    done = configure(source, tmp_path / "build", place, package=package)
    assert done.returncode == 0, done.stderr
    (line,) = re.findall("says: (.*)", done.stdout)
    assert words in line and line.endswith(".")
    assert "was built" not in words or line.startswith("torch_reduce was built")

    done = configure(source, tmp_path / "build", place, "-DREQUIRED=REQUIRED", package=package)
    assert done.returncode != 0
    assert words in " ".join(done.stderr.split())


@pytest.mark.parametrize(("cuda", "of_torch"), [("", None), ("", "13.0"), ("13.0", "13.2")])
def test_a_torch_that_fits(cuda: str, of_torch: str | None, tmp_path: Path):
    """A library without CUDA fits either, one with CUDA the same major version, and local versions do not count."""
    package = package_for(tmp_path / "package", "2.11.0+cu130", cuda)
    found = torch_of(tmp_path / "torch", "2.11.0+other", of_torch)
    source = project(tmp_path / "source", FIND)
    done = configure(source, tmp_path / "build", f"-DTORCH_REDUCE_TORCH_DIR={found}", package=package)
    assert done.returncode == 0, done.stderr
