"""The workflows of GitHub: what they name is what the project has, and they may do no more than they need."""

import re

import pytest
import yaml
from folders import ROOT

FOLDER = ROOT / ".github" / "workflows"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="needs the sources")


def workflow(name: str) -> dict:
    return yaml.safe_load((FOLDER / f"{name}.yml").read_text())


def jobs() -> list[tuple[str, dict]]:
    found = {path.stem: workflow(path.stem)["jobs"] for path in FOLDER.glob("*.yml")}
    return [(f"{stem}: {name}", job) for stem, by_name in found.items() for name, job in by_name.items()]


def release_matrix() -> dict:
    return workflow("release")["jobs"]["build"]["strategy"]["matrix"]


def minor(version: str) -> tuple[int, int]:
    major, number = version.split(".")[:2]
    return int(major), int(number)


def tool(name: str, monkeypatch: pytest.MonkeyPatch):
    """A module of tools/."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return __import__(name)


def test_make_has_the_targets():
    """Those that a step names, or a matrix for it."""
    known = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1].split()
    for name, job in jobs():
        for step in job["steps"]:
            for target in re.findall(r"\bmake (\$\{\{ [\w.]+ \}\}|\S+)", step.get("run", "")):
                varied = re.fullmatch(r"\$\{\{ matrix\.(\w+) \}\}", target)
                assert set(job["strategy"]["matrix"][varied[1]] if varied else [target]) <= set(known), name


def test_a_release_has_all_parts(monkeypatch: pytest.MonkeyPatch):
    matrix = release_matrix()
    parts = matrix["part"] + [extra["part"] for extra in matrix["include"]]
    assert sorted(parts) == sorted(tool("make_release", monkeypatch).PARTS)


def test_a_release_is_for_every_supported_torch(monkeypatch: pytest.MonkeyPatch):
    """From the oldest that builds take on, one of each minor release; and the documents say so."""
    versions = release_matrix()["torch"]
    minors = [minor(version) for version in versions]
    oldest = tool("native_build", monkeypatch).OLDEST
    assert minors == [(oldest[0], oldest[1] + i) for i in range(len(versions))]
    assert minor(tool("environment", monkeypatch).PINNED_TORCH.partition("==")[2]) in minors
    of_ci = re.search(r"^CPU_TORCH=(.*)$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)[1]
    assert of_ci in versions
    assert f"{versions[0]} to {versions[-1]}" in (ROOT / "docs" / "supported.md").read_text()
    assert [extra["torch"] for extra in release_matrix()["include"]] == [versions[-1]]


def test_tests_run_on_the_oldest_and_the_newest():
    versions, tested = release_matrix()["torch"], workflow("test")["jobs"]["test"]["strategy"]["matrix"]["include"]
    assert [row["torch"] for row in tested] == [versions[0], versions[-1]]
    oldest = re.search(r'requires-python = ">=(.*)"', (ROOT / "pyproject.toml").read_text())[1]
    assert tested[0]["python"] == oldest
    assert workflow("test")["jobs"]["checks"]["strategy"]["matrix"]["torch"] == [versions[-1]]


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.yml")))
def test_a_workflow_may_read_alone(name: str):
    """Unless a job says what else it has to do. What it uses is of a version."""
    assert workflow(name)["permissions"] in ({}, {"contents": "read"})
    for job in workflow(name)["jobs"].values():
        for step in job["steps"]:
            assert re.search(r"@(v\d+|release/v\d+|[0-9a-f]{40})$", step.get("uses", "@v0"))


def test_one_job_alone_publishes_to_an_index():
    """And no part that it would refuse."""

    def publishes(job: dict) -> bool:
        return any("gh-action-pypi-publish" in str(step.get("uses")) for step in job["steps"])

    (job,) = (job for _, job in jobs() if publishes(job))
    assert job["permissions"] == {"id-token": "write"}
    assert [step["with"]["pattern"] for step in job["steps"] if "with" in step] == ["sdist-*"]
