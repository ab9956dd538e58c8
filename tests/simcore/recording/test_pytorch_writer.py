"""Images of all cameras reach the listener as one batch; files are written only where that was asked for."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from simcore.errors import RecordingError
from simcore.recording import pytorch_writer
from simcore.recording.pytorch_listener import PytorchListener
from simcore.recording.pytorch_writer import PytorchWriter


@pytest.fixture(autouse=True)
def without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pytorch_writer, "find_spec", lambda _name: None)


def images(value: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(value)
    return {f"sensors.{name}.rgb_image": rng.integers(0, 256, (6, 8, 3), dtype=np.uint8) for name in ("front", "wrist")}


def test_before_the_first_write_there_is_nothing():
    listener = PytorchListener()
    PytorchWriter(listener)
    assert listener.get_rgb_data() is None


def test_a_write_replaces_the_batch_of_all_cameras():
    listener = PytorchListener()
    writer = PytorchWriter(listener, device="cpu")
    for value in (0, 1):
        given = images(value)
        writer.write({**given, "sensors.front.depth_image_m": np.zeros((6, 8), np.float32)})
    batch = listener.get_rgb_data()
    assert batch.shape == (2, 3, 6, 8)
    assert batch.dtype == np.uint8
    np.testing.assert_array_equal(batch, np.stack(list(given.values())).transpose(0, 3, 1, 2))
    assert listener.data["pytorch_rgb"].shape == (2, 6, 8, 3)
    assert listener.data["device"] == "cpu"


def test_names_and_four_channels_of_the_reference_are_read():
    listener = PytorchListener()
    rgba = np.zeros((6, 8, 4), np.uint8)
    PytorchWriter(listener).write({"rgb-left": rgba, "rgb-right": rgba})
    assert listener.get_rgb_data().shape == (2, 3, 6, 8)


def test_files_are_written_where_a_folder_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    PytorchWriter(PytorchListener()).write(images())
    assert list(tmp_path.iterdir()) == []
    writer = PytorchWriter(PytorchListener(), output_dir=str(tmp_path / "out"))
    writer.write(images(0))
    writer.write(images(1))
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["rgb_0000_front.png", "rgb_0000_wrist.png", "rgb_0001_front.png", "rgb_0001_wrist.png"]
    with Image.open(tmp_path / "out" / "rgb_0001_wrist.png") as picture:
        np.testing.assert_array_equal(np.asarray(picture), images(1)["sensors.wrist.rgb_image"])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "made of: nothing"),
        ({"sensors.front.depth_image_m": np.zeros((6, 8))}, "made of: sensors.front.depth_image_m"),
        ({"rgb-a": np.zeros((6, 8, 3)), "rgb-b": np.zeros((5, 8, 3))}, r"a \[6, 8, 3\], b \[5, 8, 3\]"),
    ],
)
def test_what_makes_no_batch_is_refused(data, message: str):
    with pytest.raises(RecordingError, match=message):
        PytorchWriter(PytorchListener()).write(data)


def test_without_torch_it_says_that_batches_are_arrays(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING):
        writer = PytorchWriter(PytorchListener())
    assert writer.device == "cpu"
    assert "batches are NumPy arrays, and device=cuda is not used" in caplog.text
