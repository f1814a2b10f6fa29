"""The programs of examples/python, run as a user would. What a comment says after
``prints:`` is a line of the output."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from folders import ROOT

import torch_reduce

EXAMPLES = sorted((ROOT / "examples" / "python").glob("*.py"))
PLOTS = {"repeatable_training.py": "repeatable_training.png"}


def promised(example: Path) -> list[str]:
    return re.findall(r"^ *# prints: (.*)$", example.read_text(), re.MULTILINE)


def test_there_are_examples():
    assert {path.name for path in EXAMPLES} >= PLOTS.keys()
    assert all(promised(path) for path in EXAMPLES)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_prints_what_it_shows(example: Path, device: str, tmp_path: Path):
    """All lines that are shown are printed in their order, beside those that depend on the machine."""
    path = os.environ | {"PYTHONPATH": str(Path(torch_reduce.cmake_prefix_path).parent)}
    done = subprocess.run(
        [sys.executable, str(example), device], env=path, cwd=tmp_path, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    printed = iter(done.stdout.splitlines())
    missing = next((line for line in promised(example) if line not in printed), None)
    assert missing is None, f"not printed in its place: {missing}\n{done.stdout}"
    if example.name in PLOTS and importlib.util.find_spec("matplotlib"):
        assert (tmp_path / PLOTS[example.name]).stat().st_size > 0


def test_the_own_kernel_has_the_bits_of_the_model():
    """Zeros, subnormals and infinities too, which the example does not print."""
    from torch_reduce.testing import assert_same_bits, model

    spec = importlib.util.spec_from_file_location("own_kernel", ROOT / "examples" / "python" / "own_kernel.py")
    own = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(own)
    tiny = torch.finfo(torch.float32).smallest_normal
    for x in (
        torch.full((3, 1500), -0.0),
        torch.linspace(-tiny, tiny, 6000).reshape(2, 3000),
        torch.tensor([[1.0, torch.inf, 2.0], [torch.inf, -torch.inf, 0.0], [3e38, 3e38, -3e38]]),
    ):
        assert_same_bits(own.canonical_sum(x), model(x, 1))
