"""The LibTorch program of examples/cpp: configured, built and run as a stranger would."""

import re
from pathlib import Path

import pytest
from consumer import EXAMPLES, build, must, needed


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built the hard way, by a linker that drops every library whose symbols nobody uses."""
    folder = tmp_path_factory.mktemp("example")
    return build(EXAMPLES, folder, "-DCMAKE_EXE_LINKER_FLAGS=-Wl,--as-needed") / "sum_example"


def test_runs(program: Path):
    words = must(program)
    assert words.splitlines()[-1] == "ok"
    assert re.search(r"^gradient: 200(\.0+\d*)?$", words, re.MULTILINE), words


def test_links_the_library(program: Path):
    assert "libtorch_reduce.so" in needed(program)
