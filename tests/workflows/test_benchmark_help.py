"""Programs in `benchmarks/`: `--help` prints what they do in place of a run or a traceback."""

import ast
import sys
from pathlib import Path

import pytest

from unlatch.workflows.cli.terminal import run_guarded

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
OTHER_PYTHON = {"lerobot_arrays.py"}
"""Programs that the Python of another package runs, without Unlatch."""
PROGRAMS = [
    path
    for path in sorted(BENCHMARKS.glob("*.py"))
    if "__main__" in path.read_text(encoding="utf-8") and path.name not in OTHER_PYTHON
]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_gives_its_description_as_its_usage(path):
    *_, last = ast.parse(path.read_text(encoding="utf-8")).body
    assert isinstance(last, ast.If)
    assert ast.unparse(last.body).startswith("sys.exit(run_guarded(")
    assert ast.unparse(last.body).endswith("usage=__doc__))")


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_prints_the_usage_and_runs_nothing(flag, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["benchmark.py", flag])
    assert run_guarded(pytest.fail, usage="Measures something.") == 0
    assert capsys.readouterr().out == "Measures something.\n"


def test_a_program_that_returns_nothing_has_succeeded(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["benchmark.py"])
    assert run_guarded(lambda: None, usage="Measures something.") == 0
