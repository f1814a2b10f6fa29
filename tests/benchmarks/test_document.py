"""Documents show the committed results, and nothing else."""

import re

import pytest
from folders import ROOT

from benchmarks import document


@pytest.mark.parametrize("name", ["README.md", "docs/exact.md", "docs/performance.md"])
def test_documents_show_the_committed_results(name):
    text = (ROOT / name).read_text()
    blocks = document.documents()[ROOT / name]
    assert document.fill(text, blocks) == text, "python -m benchmarks.document writes it anew"
    assert {name for _, name, _ in document.BLOCK.findall(text)} == set(blocks)


def test_exact_sums_are_measured_on_a_gpu():
    rows = document.load("exact")["rows"]
    if not any(r["device"] == "cuda" for r in rows):
        pytest.skip("benchmarks/results/exact.json has no rows of a GPU yet")
    text = (ROOT / "docs" / "exact.md").read_text()
    assert document.NO_GPU not in text
    assert (document.RESULTS / "exact_speed.png").is_file()


SHOWN = {
    "README.md": {f"{device}_{what}.png" for device in ("cpu", "cuda") for what in ("full", "shapes", "host")},
    "docs/exact.md": {"exact_speed.png", "exact_accuracy.png"},
    "docs/performance.md": {"cuda_random.png"},
}


@pytest.mark.parametrize("name", SHOWN)
def test_plots_that_documents_show_are_committed(name):
    plots = [(ROOT / name).parent / plot for plot in re.findall(r"!\[[^\]]+\]\((\S+)\)", (ROOT / name).read_text())]
    assert {plot.name for plot in plots} == SHOWN[name]
    assert all(plot.is_file() for plot in plots)


def test_unknown_blocks_are_not_passed_over():
    with pytest.raises(KeyError, match="nobody"):
        document.fill("<!-- nobody -->\n<!-- end -->", {})
