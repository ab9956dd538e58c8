"""The runs of a data set tell whether they were made with different code."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from unlatch.workflows.runs.code_versions import describe_mixed_code
from unlatch.workflows.runs.progress import RUNS, RunTime, read_run_times


def run_of(episodes: int = 1, **packages: tuple[str, str]) -> RunTime:
    noted = {name: {"version": version, "sha256": digest} for name, (version, digest) in packages.items()}
    return RunTime(0.0, 0.0, 1.0, episodes, noted)


def write_runs(folder: Path, *runs: RunTime) -> Path:
    (folder / RUNS).mkdir()
    for number, run in enumerate(runs):
        (folder / RUNS / f"host-{number}.json").write_text(json.dumps(asdict(run)))
    return folder


def test_only_packages_that_differ_are_named(tmp_path):
    one, other = run_of(unlatch=("1", "a"), kit=("1.0", "b")), run_of(unlatch=("1", "c"), kit=("1.1", "d"))
    data = write_runs(tmp_path, one, one)
    assert describe_mixed_code(data) == describe_mixed_code(data, one.packages) == ""
    assert describe_mixed_code(data, other.packages) == "kit 1.0 and 1.1, unlatch"


@pytest.mark.parametrize("silent", [run_of(), run_of(0, unlatch=("1", "other"))], ids=["no code noted", "no episode"])
def test_runs_that_tell_nothing_do_not_count(tmp_path, silent):
    assert describe_mixed_code(write_runs(tmp_path, run_of(unlatch=("1", "a")), silent)) == ""


@pytest.mark.parametrize("packages", [["unlatch"], {"unlatch": "1"}, None])
def test_a_note_of_another_form_is_left_out_like_any_run_that_cannot_be_read(tmp_path, packages):
    (tmp_path / RUNS).mkdir()
    noted = {"startup_s": 0.0, "began": 0.0, "ended": 1.0, "episodes": 1, "packages": packages}
    (tmp_path / RUNS / "host-1.json").write_text(json.dumps(noted))
    assert read_run_times(tmp_path) == []
