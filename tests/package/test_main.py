"""What a user sees of the package: its version, its names, and ``python -m torch_reduce``."""

import json
import re
import subprocess
import sys
import typing

import pytest
import torch
from folders import ROOT, TESTS
from packaging.version import Version

import torch_reduce
from torch_reduce import __main__ as program
from torch_reduce.testing import OPS


def test_version():
    (written,) = re.findall(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    build = torch_reduce.build_info()
    device = "cu" + build["cuda_version"].replace(".", "") if build["cuda"] else "cpu"
    assert torch_reduce.__version__ == f"{written}+torch{torch.__version__.partition('+')[0]}.{device}"
    assert str(Version(torch_reduce.__version__)) == torch_reduce.__version__  # as PEP 440 writes it


def test_version_has_an_entry():
    versions = re.findall(r"^## \[(\d.*?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert versions[0] == torch_reduce.__version__.partition("+")[0]


def test_names_are_public_ones():
    assert set(OPS) < set(dir(torch_reduce))
    assert all(hasattr(torch_reduce, name) for name in dir(torch_reduce))
    private = {name for name in dir(torch_reduce) if name.startswith("_")}
    assert private == {"__version__"}


def test_modes_are_named():
    assert typing.get_type_hints(torch_reduce.sum)["mode"] is torch_reduce.Mode
    assert set(typing.get_args(torch_reduce.Mode)) == {"deterministic", "atomic", "exact"}


def test_build_info_is_what_it_says():
    hints = typing.get_type_hints(torch_reduce.BuildInfo)
    assert torch_reduce.build_info().keys() == hints.keys()


def test_sums_are_those_of_the_contract():
    vectors = json.loads((TESTS / "data" / "vectors.json").read_text())["vectors"]
    fixed = {vector["n"]: int(vector["sum_float32"], 16) for vector in vectors}
    assert program.SUMS.items() <= fixed.items()


def test_program():
    done = subprocess.run([sys.executable, "-m", "torch_reduce"], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"torch_reduce {torch_reduce.__version__}, built for PyTorch {torch.__version__}")
    checked = [
        re.fullmatch(r"self-check, (\w+): (\d+) of (\d+) cases have their bits, [\d.]+ s", line) for line in lines
    ]
    found = {match[1]: int(match[3]) for match in checked if match and match[2] == match[3]}
    assert min(found.values()) > 10 * len(OPS)
    assert set(found) == {"cpu"} | ({"cuda"} if torch.cuda.is_available() else set())


def test_program_says_what_is_wrong(monkeypatch, capsys):
    monkeypatch.setitem(program.SUMS, 1, 0)
    monkeypatch.setattr(program, "OPS", ())
    monkeypatch.setattr(program, "SCANS", ())
    assert program.main([]) == 1
    assert "  wrong: sum of 1 elements: bc283900, not 00000000\n" in capsys.readouterr().out


@pytest.mark.parametrize("argument, status", [("--help", 0), ("cuda", 2)])
def test_program_has_no_arguments(argument, status, capsys):
    with pytest.raises(SystemExit) as caught:
        program.main([argument])
    assert caught.value.code == status
    assert "self-check" not in capsys.readouterr().out


WITHOUT_NUMPY = (
    "import sys; sys.modules['numpy'] = None\nimport runpy, torch, torch_reduce\nx = torch.arange(6.0).reshape(2, 3)\n"
)


def without_numpy(code: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-W", "ignore", "-c", WITHOUT_NUMPY + code]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


def test_numpy_is_not_needed():
    """By anything of the public interface."""
    code = """
ours = [name for name in dir(torch_reduce) if name in torch_reduce._schemas.REDUCTIONS]
for op in ours:
    getattr(torch_reduce, op)(x, 1), torch_reduce.explain(x, 1, op=op)
    print(op, len(torch_reduce.compare(x, 1, op=op, seconds=0.01).rows) > 1)
"""
    done = without_numpy(code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"{op} True" for op in sorted(OPS)]


def test_program_needs_numpy():
    done = without_numpy("runpy.run_module('torch_reduce', run_name='__main__')")
    assert done.returncode == 1
    assert (
        done.stderr == "python -m torch_reduce compares with a model in NumPy, which is missing: pip install numpy.\n"
    )
