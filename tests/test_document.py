"""README.md shows the committed results, and nothing else."""

import json
from pathlib import Path

import pytest

from benchmarks import document

ROOT = Path(__file__).resolve().parent.parent


def test_readme_shows_the_committed_results():
    results = [json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text()) for name in ("cuda", "cpu")]
    text = (ROOT / "README.md").read_text()
    blocks = document.blocks(*results)
    assert document.fill(text, blocks) == text, "python -m benchmarks.document writes it anew"
    assert {name for _, name, _ in document.BLOCK.findall(text)} == set(blocks)


def test_unknown_blocks_are_not_passed_over():
    with pytest.raises(KeyError, match="nobody"):
        document.fill("<!-- nobody -->\n<!-- end -->", {})
