"""tools/environment.py: which Python runs a task, and what it lacks for it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from folders import ROOT

pytestmark = pytest.mark.skipif(not (ROOT / "tools" / "environment.py").is_file(), reason="needs the sources")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """What tools/environment.py reads of a tree, in a place of its own."""
    (tmp_path / "tools").mkdir()
    for name in ("pyproject.toml", "tools/environment.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def asked(tree: Path, question: str, **environment: str) -> str:
    """What Python prints of an expression about that tree's environment.py, e."""
    command = [
        sys.executable,
        "-c",
        f"import sys; sys.path.append('tools'); import environment as e; print({question})",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | environment, cwd=tree)
    return done.stdout.strip()


def test_environment_is_found_once(tree: Path):
    """The active environment has everything, so it is named once, and nothing is installed."""
    command = [sys.executable, str(tree / "tools" / "environment.py"), "-c", "import sys; print(sys.executable)"]
    first, second = (subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(2))
    assert first.stdout.strip() == second.stdout.strip() == sys.executable
    assert first.stderr.strip() == f"environment: torch {torch.__version__} of {sys.executable}"
    assert second.stderr == ""
    assert not (tree / ".venv").exists()


def test_what_tests_need_is_needed_by_tests_alone(tree: Path):
    """An environment without pytest and hypothesis builds and measures as it is, with no network."""
    hide = "import importlib.util as u; find = u.find_spec\n"
    hide += "hidden = 'pytest', 'hypothesis', 'xdist', 'nbclient', 'ipykernel'\n"
    hide += "u.find_spec = lambda name: None if name in hidden else find(name)\n"
    (tree / "sitecustomize.py").write_text(hide)
    environment = {"PYTHONPATH": str(tree)}
    command = [sys.executable, "tools/environment.py", "-c", "import sys; print(sys.executable)"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | environment, cwd=tree)
    assert done.stdout.strip() == sys.executable
    assert not (tree / ".venv").exists()
    missing = asked(tree, "e.missing_in(sys.executable, {'tests'})", **environment)
    assert missing == "['pytest', 'hypothesis', 'pytest-xdist', 'nbclient', 'ipykernel']"


def test_groups_are_read_as_they_are_written(tree: Path):
    """As tomllib reads them, with what they include in its place."""
    tomllib = pytest.importorskip("tomllib")
    written = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]

    def requirements(name: str) -> list[str]:
        parts = ([part] if isinstance(part, str) else requirements(part["include-group"]) for part in written[name])
        return [requirement for part in parts for requirement in part]

    expected = {name: requirements(name) for name in written}
    assert asked(tree, f"{{name: e.group(name) for name in {sorted(written)}}} == {expected}") == "True"
    assert asked(tree, "sorted(e.GROUPS)") == "['bench', 'docs', 'lint', 'test']"


def test_a_changed_group_is_looked_for(tree: Path):
    """The kept answer holds for the requirements that it was found for."""
    command = [sys.executable, str(tree / "tools" / "environment.py"), "-c", "pass"]
    subprocess.run(command, check=True, capture_output=True)
    text = (tree / "pyproject.toml").read_text()
    (tree / "pyproject.toml").write_text(text.replace('"tabulate"]', '"json"]'))
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stderr.startswith("environment: torch")


def test_venv_keeps_what_it_has(tree: Path):
    """It is made anew for another Python or torch alone: not for another kind of task, for changed requirements, nor
    after a task that its own Python ran."""
    text = (tree / "pyproject.toml").read_text().partition("[dependency-groups]")[0]
    groups = 'bench = ["json"]\ntest = ["json"]\nlint = ["a-linter==1.5"]\ndocs = ["a-site==2.5"]\n'
    (tree / "pyproject.toml").write_text(f"{text}[dependency-groups]\n{groups}")
    asked(tree, "e.make_venv(sees_active=True)")
    python = tree / ".venv" / "bin" / "python"
    linter = python.with_name("a-linter")
    linter.write_text("#!/bin/sh\necho a-linter 1.5\n")
    linter.chmod(0o755)
    (site,) = (tree / ".venv").glob("lib/python*/site-packages")
    (site / "a_site-2.5.dist-info").mkdir()
    (site / "a_site-2.5.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: a-site\nVersion: 2.5\n")

    def used(active: str | Path, *kinds: str) -> str:
        command = [str(active), "tools/environment.py", *kinds, "-c", "import sys; print(sys.executable)"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tree)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert used(sys.executable, "--lint") == str(python)
    assert used(sys.executable, "--docs") == str(python)
    assert used(python, "--docs") == str(python)
    (tree / "pyproject.toml").write_text(f"{text}[dependency-groups]\n{groups.replace('json', 'math')}")
    assert used(sys.executable, "--docs") == str(python)
    assert used(sys.executable, "--lint") == str(python)
    assert linter.exists()


def test_tools_are_looked_for_on_another_path(tree: Path):
    """The kept answer holds for the PATH that its tools were found on."""
    command = [sys.executable, str(tree / "tools" / "environment.py"), "-c", "pass"]
    for path in (os.environ["PATH"], os.environ["PATH"] + os.pathsep + str(tree)):
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | {"PATH": path})
        assert done.stderr.startswith("environment: torch")
