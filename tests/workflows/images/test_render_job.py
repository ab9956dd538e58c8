"""Frames are encoded in a thread of their own, in order, and errors reach the caller."""

from functools import partial

import pytest

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode_folders import EpisodeFolders
from unlatch.workflows.images import render, render_job
from unlatch.workflows.images.export import LabelCfg, label
from unlatch.workflows.images.render import RunFrames
from unlatch.workflows.images.render_job import _EncoderThread, _FrameFile, count_unfinished


def test_frames_are_encoded_in_their_order_before_the_context_ends():
    encoded: list[int] = []
    with _EncoderThread() as encoder:
        for frame in range(20):
            encoder.run(partial(encoded.append, frame))
    assert encoded == list(range(20))


def test_an_error_of_the_last_frame_is_raised_when_the_context_ends():
    def fail() -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"), _EncoderThread() as encoder:
        encoder.run(fail)


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


def test_a_failed_call_leaves_no_folder(tmp_path):
    with DataSet.create_or_resume(tmp_path / "d", header={"config": {}}) as data_set:
        out = tmp_path / "out"
        with pytest.raises(ConfigError, match="Did you mean 'part'"):
            label(data_set, LabelCfg(out=str(out), semantic_types=["prt"]))
        with pytest.raises(ConfigError, match="nothing to label"):
            label(data_set, LabelCfg(out=str(out)))
    assert not out.exists()
