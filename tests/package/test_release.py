"""make release: what it refuses, and the page that PyPI shows. What is in a wheel: test_wheel.py."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from folders import ROOT

pytestmark = pytest.mark.skipif(not (ROOT / "tools" / "make_release.py").is_file(), reason="needs the sources")
LINKED = re.compile(r"\]\(([^)]*)\)")


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules of tools/ can be imported."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))


def test_a_large_file_is_refused(tools: None, tmp_path: Path):
    import make_release

    with (tmp_path / "large.whl").open("wb") as file:
        file.truncate(make_release.MOST_BYTES + 1)
    with pytest.raises(make_release.BuildError, match="large.whl has 100000001 bytes; at most 100000000 are taken"):
        make_release.check(tmp_path)


def test_an_unknown_part_is_named():
    done = subprocess.run([sys.executable, ROOT / "tools" / "make_release.py", "rocm"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.endswith("error: a part is one of sdist, cpu, cuda, got rocm\n")


def test_a_release_without_cuda_says_why(tools: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from make_release import why_without_cuda

    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").touch()
    version = tmp_path / "torch" / "version.py"
    monkeypatch.setenv("TORCH_REDUCE_TORCH_DIR", str(version.parent))
    monkeypatch.delenv("TORCH_REDUCE_CUDA", raising=False)
    version.write_text("__version__ = '2.15.0+cpu'\ncuda: Optional[str] = None\n")
    assert why_without_cuda() == "torch 2.15.0+cpu has no CUDA"
    version.write_text("__version__ = '2.15.0+cu132'\ncuda: Optional[str] = '13.2'\n")
    assert why_without_cuda() is None
    monkeypatch.setenv("TORCH_REDUCE_CUDA", "0")
    assert why_without_cuda() == "TORCH_REDUCE_CUDA=0"


def test_links_of_the_page_lead_to_the_files(tools: None):
    from pypi_page import page

    readme, files = (ROOT / "README.md").read_text(), "https://example.org/blob/v1"
    before, after = LINKED.findall(readme), LINKED.findall(page(readme, files))
    assert len(before) == len(after)
    relative = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    assert {new.removesuffix("?raw=true") for _, new in relative} == {f"{files}/{old}" for old, _ in relative}
    assert all(re.match(r"\w+:", link) for link in after)
    assert all((ROOT / old).is_file() for old, _ in relative) and relative


def test_without_an_address_no_link_is_relative(tools: None):
    from pypi_page import page

    text = page((ROOT / "README.md").read_text(), None)
    assert all(re.match(r"\w+:", link) for link in LINKED.findall(text))
    assert "![" not in text


def test_the_page_leaves_code_alone(tools: None):
    from pypi_page import page

    assert page("[a](b.md)\n```\n[a](b.md)\n```\n", None) == "a\n```\n[a](b.md)\n```\n"


def test_the_page_links_to_files_that_are_here(tools: None):
    from pypi_page import urls

    files = "https://example.org/owner/name/blob/v1"
    links = urls(files)
    assert links.pop("Source") == "https://example.org/owner/name"
    assert len(links) == 3 and all((ROOT / link.removeprefix(f"{files}/")).is_file() for link in links.values())
    assert urls(None) == {}
