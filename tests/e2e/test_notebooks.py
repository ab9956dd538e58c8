"""The notebooks of `examples/notebooks` run from an empty folder, and their stored outputs are those of their code."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import nbformat
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "notebooks"
NAMES = ("first_data_set", "own_object", "own_skill", "train_policy")
MOST_BYTES = 1_500_000
"""Of all notebooks together."""


def read(name: str) -> nbformat.NotebookNode:
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def outputs(notebook: nbformat.NotebookNode) -> list[set[str]]:
    """The kinds of the outputs of each code cell: MIME types, `stdout`, or `error`. What is printed comes in pieces."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [
        {kind for item in cell.outputs for kind in (item.get("data") or {item.get("name", "error"): None})}
        for cell in cells
    ]


def printed(notebook: nbformat.NotebookNode) -> str:
    return "".join(item.get("text", "") for cell in notebook.cells for item in cell.get("outputs", []))


def run(name: str, folder: Path) -> nbformat.NotebookNode:
    """Runs a notebook in an empty folder."""
    spec = importlib.util.spec_from_file_location("run_notebooks", FOLDER / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.run_notebook(FOLDER / f"{name}.ipynb", folder)


def test_there_are_no_other_notebooks():
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_has_pictures_and_tells_nothing_about_the_machine_that_ran_it(name: str):
    notebook = read(name)
    nbformat.validate(notebook)
    kinds = set.union(*outputs(notebook))
    assert "text/html" in kinds  # the moving picture
    assert not {"stderr", "error"} & kinds
    assert notebook.cells[1].outputs == []  # it installs nothing where Unlatch is installed
    assert not re.search(r"/(home|root|tmp|Users|work)/", printed(notebook))


def test_the_notebooks_are_small():
    assert sum((FOLDER / f"{name}.ipynb").stat().st_size for name in NAMES) < MOST_BYTES


@pytest.mark.heavy
@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs_from_an_empty_folder_and_ends_with_its_result(name: str, tmp_path: Path):
    if name == "train_policy":
        pytest.importorskip("torch", reason="extra train")
    made = run(name, tmp_path)
    assert outputs(made) == outputs(read(name))
    said = printed(made)
    if name == "first_data_set":
        assert "replay: largest deviation 0" in said
        assert re.search(r"exported: [1-3] episodes", said)
    elif name == "own_object":
        assert "the robot acts on: door" in said
        assert re.search(r"success \| the door moves from 0.00 to 1.\d\d rad", said)
    elif name == "own_skill":
        assert "success | 1.7 s longer" in said  # wait_s=2.0 in place of 0.3
    else:
        closed, n = map(int, re.search(r"the drawer is closed in (\d)/(\d) ", said).groups())
        assert (closed >= 4, n) == (True, 8), said  # before training, it closes 0 of 8
