"""Runs examples/python/tour.ipynb from top to bottom, and keeps what it prints: python tools/run_notebook.py"""

import os
from pathlib import Path

import nbclient
import nbformat

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOK = ROOT / "examples" / "python" / "tour.ipynb"


def run(folder: Path) -> nbformat.NotebookNode:
    """The notebook as it is after a run in a folder, by this Python, with the package of the tree."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = nbclient.NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=300,
        coalesce_streams=True,
        record_timing=False,
        resources={"metadata": {"path": folder}},
    )
    client.execute(env=os.environ | {"PYTHONPATH": str(ROOT)})  # raises what a cell raises
    return notebook


if __name__ == "__main__":
    nbformat.write(run(NOTEBOOK.parent), NOTEBOOK)
