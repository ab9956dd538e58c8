"""Runs the notebooks of this folder, each from an empty folder, and stores their outputs: `make notebooks`.

python examples/notebooks/run.py [first_data_set ...]
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parent
TIMEOUT_S = 600
"""Longest time for one cell [s]."""


def run_notebook(path: Path, folder: Path) -> nbformat.NotebookNode:
    """Runs a notebook in an empty folder and returns it with its outputs.

    What it installs with pip goes into the folder, not into this environment.

    Raises:
        CellExecutionError: A cell raised an error.
    """
    notebook = nbformat.read(path, as_version=4)
    packages = folder / ".packages"
    packages.mkdir()
    environment = {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join([str(packages), str(FOLDER.parents[1])]),
        "PIP_TARGET": str(packages),
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip reads it the other way round: do not isolate
        "PIP_NO_INDEX": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    with patch.dict(os.environ, environment):
        NotebookClient(notebook, timeout=TIMEOUT_S, resources={"metadata": {"path": str(folder)}}).execute()
    for cell in notebook.cells:
        cell.metadata.clear()  # times of execution
    notebook.metadata.language_info = {"name": "python"}
    return notebook


def main(names: list[str]) -> None:
    """Runs the named notebooks, or all."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        if names and path.stem not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            notebook = run_notebook(path, Path(folder))
        path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")
        print(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
