"""Documents show the committed results, and nothing else."""

import re

import pytest
from folders import ROOT

from benchmarks import document, operators
from torch_reduce._schemas import REDUCTIONS, SCANS


@pytest.mark.parametrize("name", ["README.md", "docs/exact.md", "docs/operators.md", "docs/performance.md"])
def test_documents_show_the_committed_results(name):
    text = (ROOT / name).read_text()
    blocks = document.documents()[ROOT / name]
    assert document.fill(text, blocks) == text, "python -m benchmarks.document writes it anew"
    assert {name for _, name, _ in document.BLOCK.findall(text)} == set(blocks)


def test_the_table_has_every_operator_and_every_error():
    lines = operators.table().splitlines()
    shown = [line.split("`")[1] for line in lines if line.startswith("| `")]
    assert shown == operators.names() and {"dot", "softmax", *REDUCTIONS, *SCANS} <= set(shown)
    assert set(operators.errors()) <= set(shown)


def test_exact_sums_are_measured_on_a_gpu():
    rows = document.load("exact")["rows"]
    if not any(r["device"] == "cuda" for r in rows):
        pytest.skip("benchmarks/results/exact.json has no rows of a GPU yet")
    text = (ROOT / "docs" / "exact.md").read_text()
    assert document.NO_GPU not in text
    assert (document.RESULTS / "exact_speed.png").is_file()


SHOWN = {
    "README.md": {"cuda_shapes.png"},
    "docs/exact.md": {"exact_speed.png", "exact_accuracy.png"},
    "docs/performance.md": {"cuda_full.png", "cuda_host.png", "cuda_random.png"}
    | {f"cpu_{what}.png" for what in ("full", "shapes", "host")},
}


@pytest.mark.parametrize("name", SHOWN)
def test_plots_that_documents_show_are_committed(name):
    plots = [(ROOT / name).parent / plot for plot in re.findall(r"!\[[^\]]+\]\((\S+)\)", (ROOT / name).read_text())]
    assert {plot.name for plot in plots} == SHOWN[name]
    assert all(plot.is_file() for plot in plots)


def test_unknown_blocks_are_not_passed_over():
    with pytest.raises(KeyError, match="nobody"):
        document.fill("<!-- nobody -->\n<!-- end -->", {})


DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def headings(path) -> list[str]:
    text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"^#+ (.+)$", text, re.MULTILINE)


def anchor(heading: str) -> str:
    """As GitHub makes it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_relative_links_resolve(path):
    links = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"\s*\n\s*", " ", path.read_text()))
    for link in links:
        if re.match(r"\w+:", link):
            continue
        name, _, part = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        assert target.exists() and target.is_relative_to(ROOT), link
        if part:
            assert part in map(anchor, headings(target)), link


def test_readme_is_short():
    assert len((ROOT / "README.md").read_text().split()) <= 1200


def test_decisions_are_under_headings_of_performance():
    decisions, tables = (document.load("decisions")[name] for name in ("decisions", "tables"))
    known = set(headings(ROOT / "docs" / "performance.md"))
    assert {d["subject"] for d in decisions + tables} <= known
    for d in decisions:
        assert {"subject", "tried", "figures", "kept", "reason"} <= set(d) <= {*d, "machine"} and d["figures"], d
        assert isinstance(d["kept"], bool) and d["tried"] and d["reason"]
    assert all(len(row) == len(t["columns"]) for t in tables for row in t["rows"])
