"""Dials that are turned by one command, and replayed."""

from pathlib import Path

import pytest

from tests.e2e.warm_process import WarmProcess
from unlatch.simcore.recording.check import check_dataset
from unlatch.simcore.recording.data_set import DataSet

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def test_dials_of_safes_are_turned_and_replayed(tmp_path: Path, commands: WarmProcess):
    collect = ["collect", "task=turn_safe_dial", "episodes=2", "executor=serial", "pictures=0", "out=made"]
    for words in (collect, ["replay", "made", "all=true", "check=true"]):
        done = commands.run(["unlatch", *words], tmp_path, environment={"UNLATCH_CACHE_DIR": str(tmp_path / "cache")})
        assert (done.returncode, done.stderr) == (0, "")
    made = DataSet.open(tmp_path / "made")
    assert check_dataset(tmp_path / "made") == []
    records = [made.read(number) for number in made.numbers()]
    assert [record.success for record in records] == [True] * 2
    for record in records:
        turns = record.skills[-1]["plan"]["turns"]
        assert turns[0]["s_from"] == pytest.approx(0.0, abs=1e-6)
        assert abs(turns[-1]["s_to"]) > 1.5
