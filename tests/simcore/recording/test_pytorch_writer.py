"""Images of all cameras reach the listener as one batch; files are written only where that was asked for."""

from __future__ import annotations

import logging
import sys
from types import ModuleType

import numpy as np
import pytest
from PIL import Image

from unlatch.simcore.errors import ConfigError, RecordingError
from unlatch.simcore.recording import pytorch_writer
from unlatch.simcore.recording.pytorch_writer import PytorchListener, PytorchWriter


class Tensor:
    """What the writer and the listener ask of torch's tensors."""

    def __init__(self, array: np.ndarray, device: str = "cpu") -> None:
        self.array, self.device = array, device

    def to(self, device: str) -> Tensor:
        return Tensor(self.array, device)

    def permute(self, *axes: int) -> Tensor:
        return Tensor(self.array.transpose(axes), self.device)


class Torch(ModuleType):
    """torch on a machine with one device beside its processor."""

    present = "cuda:1"

    def device(self, name: str) -> None:
        if name.partition(":")[0] not in ("cpu", "cuda", "mps"):
            raise RuntimeError(f"Expected one of cpu, cuda, mps device type at start of device string: {name}\nmore")

    def empty(self, size: int, device: str) -> Tensor:
        if device not in ("cpu", self.present):
            raise AssertionError("Torch not compiled with CUDA enabled")
        return Tensor(np.empty(size), device)

    def from_numpy(self, array: np.ndarray) -> Tensor:
        return Tensor(array)


def images(value=0):
    rng = np.random.default_rng(value)
    return {f"sensors.{name}.rgb_image": rng.integers(0, 256, (6, 8, 3), dtype=np.uint8) for name in ("front", "wrist")}


def batch_of(given):
    return np.stack(list(given.values())).transpose(0, 3, 1, 2)


class TestWithTorch:
    @pytest.fixture(autouse=True)
    def torch(self, monkeypatch):
        made = Torch("torch")
        monkeypatch.setattr(pytorch_writer, "find_spec", lambda _name: object())
        monkeypatch.setitem(sys.modules, "torch", made)
        return made

    @pytest.mark.parametrize("device", ["cpu", "cuda:1"])
    def test_tensors_are_on_the_requested_device(self, device):
        listener = PytorchListener()
        writer = PytorchWriter(listener, device=device)
        writer.write(images())
        batch = listener.get_rgb_data()
        assert isinstance(batch, Tensor)
        assert writer.device == listener.data["device"] == batch.device == device
        np.testing.assert_array_equal(batch.array, batch_of(images()))

    def test_a_missing_device_gives_a_warning_and_tensors_on_the_cpu(self, caplog):
        listener = PytorchListener()
        with caplog.at_level(logging.WARNING):
            writer = PytorchWriter(listener, device="cuda:7")
        writer.write(images())
        assert (writer.device, listener.get_rgb_data().device) == ("cpu", "cpu")
        said = "device=cuda:7 does not exist here (Torch not compiled with CUDA enabled). Batches are on the cpu."
        assert said in caplog.text

    def test_a_device_that_torch_does_not_know_is_refused(self):
        with pytest.raises(ConfigError, match=r"torch does not know device='gpu' \(Expected one of .* string: gpu\)\."):
            PytorchWriter(PytorchListener(), device="gpu")


class TestWithoutTorch:
    @pytest.fixture(autouse=True)
    def without_torch(self, monkeypatch):
        monkeypatch.setattr(pytorch_writer, "find_spec", lambda _name: None)

    def test_batches_are_arrays_with_a_warning(self, caplog):
        with caplog.at_level(logging.WARNING):
            assert PytorchWriter(PytorchListener()).device == "cpu"
        assert "batches are NumPy arrays, and device=cuda is not used" in caplog.text

    def test_a_write_replaces_the_batch_of_all_cameras(self):
        listener = PytorchListener()
        writer = PytorchWriter(listener, device="cpu")
        assert listener.get_rgb_data() is None
        for value in (0, 1):
            writer.write({**images(value), "sensors.front.depth_image_m": np.zeros((6, 8), np.float32)})
        batch = listener.get_rgb_data()
        assert (batch.shape, batch.dtype, listener.data["device"]) == ((2, 3, 6, 8), np.uint8, "cpu")
        np.testing.assert_array_equal(batch, batch_of(images(1)))
        assert listener.data["pytorch_rgb"].shape == (2, 6, 8, 3)

    def test_names_and_four_channels_of_the_reference_are_read(self):
        listener = PytorchListener()
        rgba = np.zeros((6, 8, 4), np.uint8)
        PytorchWriter(listener).write({"rgb-left": rgba, "rgb-right": rgba})
        assert listener.get_rgb_data().shape == (2, 3, 6, 8)

    def test_files_are_written_where_a_folder_is_given(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        PytorchWriter(PytorchListener()).write(images())
        assert list(tmp_path.iterdir()) == []
        writer = PytorchWriter(PytorchListener(), output_dir=str(tmp_path / "out"))
        for value in (0, 1):
            writer.write(images(value))
        names = sorted(path.name for path in (tmp_path / "out").iterdir())
        assert names == [f"rgb_000{number}_{camera}.png" for number in (0, 1) for camera in ("front", "wrist")]
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
    def test_images_that_do_not_form_a_batch_are_refused(self, data, message):
        with pytest.raises(RecordingError, match=message):
            PytorchWriter(PytorchListener()).write(data)
