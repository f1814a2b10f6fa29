"""examples/python/tour.ipynb runs, and prints what is committed. A cell whose output depends on the machine has the tag
``machine``."""

import sys
from pathlib import Path

import pytest
from folders import ROOT

nbformat = pytest.importorskip("nbformat", reason="needs nbclient and ipykernel: pip install nbclient ipykernel")
pytest.importorskip("nbclient", reason="needs nbclient: pip install nbclient")
pytest.importorskip("ipykernel", reason="needs ipykernel: pip install ipykernel")
if not (ROOT / "tools" / "run_notebook.py").is_file():
    pytest.skip("needs the sources", allow_module_level=True)
sys.path.append(str(ROOT / "tools"))
from run_notebook import NOTEBOOK, run  # noqa: E402


def code_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def printed(cell: nbformat.NotebookNode) -> str:
    assert all(output.output_type == "stream" and output.name == "stdout" for output in cell.outputs), cell.outputs
    return "".join(output.text for output in cell.outputs)


def test_was_run_from_top_to_bottom():
    cells = code_cells(nbformat.read(NOTEBOOK, as_version=4))
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))


def test_prints_what_it_shows(device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    if device == "cpu":
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    committed = code_cells(nbformat.read(NOTEBOOK, as_version=4))
    compared = 0
    for shown, found in zip(committed, code_cells(run(tmp_path)), strict=True):
        if "machine" in shown.metadata.get("tags", []):
            assert printed(shown) and printed(found), shown.source
        else:
            assert printed(found) == printed(shown), shown.source
            compared += bool(printed(shown))
    assert compared > len(committed) / 2
