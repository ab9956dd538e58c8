"""Dials that are turned by one command, and replayed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from unlatch.simcore.recording.check import check_dataset
from unlatch.simcore.recording.data_set.data_set import DataSet

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]


def run(words: list[str], cwd: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "UNLATCH_CACHE_DIR": str(cwd / "cache")}
    program = [sys.executable, "-m", "unlatch", *words]
    done = subprocess.run(program, cwd=cwd, env=environment, text=True, capture_output=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_dials_of_safes_are_turned_and_replayed(tmp_path: Path):
    run(["collect", "task=turn_safe_dial", "episodes=3", "workers=1", "pictures=0", "out=made"], tmp_path)
    made = DataSet.open(tmp_path / "made")
    assert check_dataset(tmp_path / "made") == []
    records = [made.read(number) for number in made.numbers()]
    assert [record.success for record in records] == [True] * 3
    for record in records:
        turns = record.skills[-1]["plan"]["turns"]
        assert turns[0]["s_from"] == pytest.approx(0.0, abs=1e-6)
        assert abs(turns[-1]["s_to"]) > 1.5
    run(["replay", "made", "all=true", "check=true"], tmp_path)
