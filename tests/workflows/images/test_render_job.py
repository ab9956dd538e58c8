"""Frames are encoded in a thread of their own, in order, and errors reach the caller."""

from functools import partial

import pytest

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.recording.data_set import DataSet
from unlatch.workflows.images.export import LabelCfg, label
from unlatch.workflows.images.render_job import _EncoderThread


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


def test_a_failed_call_leaves_no_folder(tmp_path):
    with DataSet.create_or_resume(tmp_path / "d", header={"config": {}}) as data_set:
        out = tmp_path / "out"
        with pytest.raises(ConfigError, match="Did you mean 'part'"):
            label(data_set, LabelCfg(out=str(out), semantic_types=["prt"]))
        with pytest.raises(ConfigError, match="nothing to label"):
            label(data_set, LabelCfg(out=str(out)))
    assert not out.exists()
