"""An episode that cannot be read is named, and everything else goes on."""

from __future__ import annotations

import json
import shutil

import pytest

from unlatch import command_table
from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EPISODE_FILE, EpisodeRecord
from unlatch.workflows.cli.terminal import FAILED, OK
from unlatch.workflows.runs.statistics import MOST_NAMED, CorruptEpisodes


@pytest.fixture
def data_set(tmp_path) -> DataSet:
    """Four episodes; of number 2 there is neither a line in the index nor a file that can be read."""
    with DataSet.create_or_resume(tmp_path / "set", header={"config": {}}) as made:
        for number in range(4):
            made.write(EpisodeRecord(number=number, seed=0, success=number > 0, code=None if number else "slipped"))
    shutil.rmtree(made.path / "index")
    (made.folder_of(2) / EPISODE_FILE).write_text("{")
    return made


def test_a_corrupt_episode_raises_an_error_by_default(data_set):
    with pytest.raises(RecordingError, match=EPISODE_FILE):
        data_set.summaries()


def test_watch_and_list_count_corrupt_episodes(data_set, capsys):
    assert command_table.main(["watch", str(data_set.path)]) == OK
    watched = capsys.readouterr().out
    assert "2/3 (21 to 94 %)" in watched
    assert "damaged 1" in watched
    assert "episode 2)" in watched
    assert command_table.main(["list", "data", str(data_set.path)]) == OK
    assert "2/3" in (listed := capsys.readouterr().out)
    assert "damaged 1 (episode 2)" in listed


def test_a_report_names_corrupt_episodes(data_set):
    assert command_table.main(["report", str(data_set.path), "pictures=0"]) == OK
    content = json.loads((data_set.path / "report.json").read_text())
    assert content["total"]["set"]["n"] == 3
    assert [line for line in content["left_out"] if "episode 2 is damaged" in line]


def test_merge_takes_the_readable_episodes(data_set, tmp_path, capsys):
    assert command_table.main(["merge", str(tmp_path / "out"), str(data_set.path)]) == FAILED
    assert "episode 2 is damaged" in capsys.readouterr().err
    assert DataSet.open(tmp_path / "out").numbers() == [0, 1, 3]


def test_merge_replaces_a_corrupt_episode(data_set, tmp_path):
    with DataSet.create_or_resume(tmp_path / "whole", header={"config": {}}) as whole:
        whole.write(EpisodeRecord(number=2, seed=0, success=True))
    assert command_table.main(["merge", str(data_set.path), str(tmp_path / "whole")]) == OK
    assert [summary.number for summary in data_set.summaries()] == [0, 1, 2, 3]


def test_only_the_first_few_corrupt_episodes_are_named():
    damaged = CorruptEpisodes()
    for number in range(20):
        damaged.add(number, RecordingError("it is cut off"))
    assert len(damaged.lines()) == MOST_NAMED + 1
    assert damaged.lines()[-1].startswith("15 more")
    assert damaged.count_text() == ["damaged 20 (episodes 0, 1, 2, 3, 4, ...)"]
    assert len(damaged.lines(most=1000)) == 20
