"""Frames of a render run are counted while its episodes are not finished, in the areas of its workers."""

import pytest

from unlatch.simcore.recording.episode_folders import EpisodeFolders
from unlatch.workflows.images import render, render_job
from unlatch.workflows.images.render import RunFrames
from unlatch.workflows.images.render_job import _FrameFile, count_unfinished


@pytest.fixture
def folders(tmp_path, monkeypatch) -> EpisodeFolders:
    monkeypatch.setattr(render_job, "_COUNT_PERIOD_S", 0.0)
    monkeypatch.setattr(render, "_READ_PERIOD_S", 0.0)
    return EpisodeFolders(tmp_path, root=tmp_path)


def test_frames_of_running_episodes_are_those_of_all_workers_of_the_run(folders, tmp_path):
    other = EpisodeFolders(tmp_path, root=tmp_path)
    frames = RunFrames(folders, "run", {3: 20, 7: 30})  # type: ignore[arg-type]
    assert (frames.total, frames.count_done()) == (50, 0)
    with _FrameFile(folders, "run") as one, _FrameFile(other, "run") as two, _FrameFile(other, "foreign") as foreign:  # type: ignore[arg-type]
        for _ in range(4):
            one.count()
        two.count()
        foreign.count()
        assert frames.count_done() == 5
    assert count_unfinished(folders, "run") == 0  # type: ignore[arg-type]
    assert frames.count_done() == 0
    frames.finish([7])
    assert frames.count_done() == 30
    frames.finish([3])
    assert frames.count_done() == frames.total
