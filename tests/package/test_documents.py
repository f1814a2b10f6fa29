"""The documents: examples print what they show, no public name and no environment variable is missing, and every page
is in the site's navigation."""

import doctest
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from folders import ROOT

import torch_reduce

PAGES = sorted((ROOT / "docs").glob("*.md"))
PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# (\w+\.py)\n")

pytestmark = pytest.mark.skipif(not PAGES, reason="needs the sources")


def python_blocks(path: Path) -> list[str]:
    return PYTHON_BLOCK.findall(path.read_text())


# ---- examples ----------------------------------------------------------------------------------------------------


WITH_EXAMPLES = [p for p in (ROOT / "README.md", *PAGES) if any(b.startswith(">>>") for b in python_blocks(p))]


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: path.stem)
def test_examples_print_what_they_show(path: Path):
    """The blocks of a page are one session."""
    session = "\n".join(block for block in python_blocks(path) if block.startswith(">>>"))
    found = doctest.DocTestParser().get_doctest(session, {}, path.name, path.name, 0)
    said: list[str] = []
    failed, tried = doctest.DocTestRunner().run(found, out=said.append)
    assert failed == 0, "".join(said)
    assert tried > 0


# By tests/cpp/test_document.py, which needs a compiler, and by test_ranks below.
RUN_AS_FILES = {"cpp.md": ["export.py"], "shards.md": ["ranks.py"]}


@pytest.mark.parametrize("path", [ROOT / "README.md", *PAGES], ids=lambda path: path.stem)
def test_every_example_is_run(path: Path):
    others = [block for block in python_blocks(path) if not block.startswith(">>>")]
    assert [(FILE.match(block) or [block, block])[1] for block in others] == RUN_AS_FILES.get(path.name, [])


def test_ranks(tmp_path: Path):
    text = (ROOT / "docs" / "shards.md").read_text()
    (program,) = (block for block in python_blocks(ROOT / "docs" / "shards.md") if FILE.match(block))
    (tmp_path / "ranks.py").write_text(program)
    shown = re.findall(r"^\$ torchrun (.*)\n(.*)$", text, re.MULTILINE)
    assert len(shown) == 2
    path = os.environ | {"PYTHONPATH": str(Path(torch_reduce.__path__[0]).parent)}
    for arguments, printed in shown:
        command = [sys.executable, "-m", "torch.distributed.run", *arguments.split()]
        done = subprocess.run(command, cwd=tmp_path, env=path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]
        assert done.stdout.strip() == printed


# ---- references --------------------------------------------------------------------------------------------------


def test_every_public_name_is_in_the_reference():
    shown = re.findall(r"^::: (torch_reduce\.[\w.]+)$", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE)
    names, of_nn = [], []
    for place in shown:
        module, _, name = place.rpartition(".")
        if module.startswith("torch_reduce.nn") and name not in torch_reduce.__all__:
            assert hasattr(import_module(module), name), place
            of_nn.append(name)
        elif module != "torch_reduce":  # of a module it shows what it says itself
            assert getattr(import_module(module), name) is getattr(torch_reduce, name), place
            names.append(name)
    assert sorted(names) == sorted(torch_reduce.__all__)
    modules = set(torch_reduce.nn.__all__) - {"functional"}
    assert sorted(set(of_nn)) == sorted([*torch_reduce.nn.functional.__all__, *modules, "functional"])


READ = {
    ".py": r"environ(?:\.get\(|\[)[\"'](\w+)[\"']",
    ".cmake": r"\$ENV\{(\w+)\}",
    ".txt": r"\$ENV\{(\w+)\}",
    ".in": r"\$ENV\{(\w+)\}",
    "Makefile": r"\$\((\w+)\)",
    "run": r"\$\{(\w+):-",
    **dict.fromkeys((".h", ".cuh", ".def", ".cpp", ".cu"), r"getenv\(\"(\w+)\"\)"),
}
SOURCES = ["setup.py", "CMakeLists.txt", "Makefile", ".ci", "cmake", "tools", "torch_reduce", "csrc", "include"]
SOURCES += ["benchmarks", "examples", "tests"]
INSTALLED = (ROOT / "torch_reduce" / "lib", ROOT / "torch_reduce" / "include")


def variables() -> dict[str, set[str]]:
    """The files that read each environment variable. One that a loop names is found where another file names it."""
    found: dict[str, set[str]] = {}
    for source in SOURCES:
        for path in [ROOT / source, *(ROOT / source).rglob("*")]:
            pattern = READ.get(path.suffix) or READ.get(path.name)
            if pattern is None or not path.is_file() or any(path.is_relative_to(folder) for folder in INSTALLED):
                continue
            text = path.read_text()
            own = set(re.findall(r"^(\w+) :=", text, re.MULTILINE)) if path.name == "Makefile" else set()
            for name in set(re.findall(pattern, text)) - own:
                found.setdefault(name, set()).add(path.relative_to(ROOT).as_posix())
    return found


def test_environment_variables_are_those_that_are_read():
    text = (ROOT / "docs" / "environment.md").read_text()
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    shown = {row[0].strip("`"): set(re.findall(r"`([^`]+)`", row[-1])) for row in rows}
    found = variables()
    assert set(shown) == set(found) and len(rows) == len(shown)
    for name, readers in shown.items():
        missing = {f for f in found[name] if not any(f == r or f.startswith(f"{r}/") for r in readers)}
        assert missing == set(), f"{name} is read there, too"
        for reader in readers:
            files = [p for p in [ROOT / reader, *(ROOT / reader).rglob("*.py")] if p.is_file()]
            assert any(re.search(rf"\b{name}\b", p.read_text()) for p in files), f"{reader} does not read {name}"


def test_every_page_is_in_the_navigation():
    navigation = re.findall(r"^ +- (\w+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(navigation) == sorted([path.name for path in PAGES] + ["tour.md"])  # the notebook: tools/docs_hook.py
