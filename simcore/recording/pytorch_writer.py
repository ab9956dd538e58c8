"""Sends the images of all cameras to a listener as one batch, for training during a simulation."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from unlatch.simcore.errors import ConfigError, RecordingError


class PytorchListener:
    """Keeps the last batch that a `PytorchWriter` wrote."""

    def __init__(self) -> None:
        self.data: dict[str, Any] = {}
        """`pytorch_rgb`: (C, height, width, 3) images of all cameras; `device`: where they are."""

    def write_data(self, data: Mapping[str, Any]) -> None:
        """Updates the data; names that are not given keep their values."""
        self.data.update(data)

    def get_rgb_data(self) -> Any | None:
        """Returns (C, 3, height, width) uint8 colours of all cameras, a tensor or, without torch, a NumPy array.

        None before the first write.
        """
        images = self.data.get("pytorch_rgb")
        if images is None:
            return None
        return images.transpose(0, 3, 1, 2) if isinstance(images, np.ndarray) else images.permute(0, 3, 1, 2)


logger = logging.getLogger(__name__)

_BUFFER = "rgb_image"
_ANNOTATOR = "rgb"


class PytorchWriter:
    """Sends the colours of all cameras to a listener as one tensor, and writes PNG files if a folder is given.

    Without torch the batch is a NumPy array. If the device does not exist here, tensors are on `cpu`, with a warning.
    """

    def __init__(self, listener: PytorchListener, output_dir: str | Path | None = None, device: str = "cuda") -> None:
        """Makes a writer for a listener and a device as torch names it.

        In `output_dir`, if given, the files are `rgb_<number of the write, 4 digits>_<camera>.png`.

        Raises:
            ConfigError: torch does not know the device.
        """
        self.listener = listener
        self.device = _check_device(device)
        """Device of the tensors."""
        self._output_dir = None if output_dir is None else Path(output_dir)
        self._frame_id = 0

    def write(self, data: Mapping[str, Any]) -> None:
        """Sends the images of all cameras to the listener and, if a folder is given, writes them to files.

        Args:
            data: Arrays (height, width, 3 or 4) uint8 of equal size: `state_dict(include_tags=["rgb"])` of a scene, or
                `rgb` and `rgb-<camera>` as the reference names them. Other entries are ignored.

        Raises:
            RecordingError: There are no images, or their sizes differ.
        """
        images = {
            _camera_of(key): np.asarray(value)[..., :3]
            for key, value in data.items()
            if key.rpartition(".")[2] == _BUFFER or key == _ANNOTATOR or key.startswith(f"{_ANNOTATOR}-")
        }
        shapes = {name: image.shape for name, image in images.items()}
        if not images or len(set(shapes.values())) > 1:
            found = ", ".join(f"{name} {list(shape)}" for name, shape in shapes.items()) or ", ".join(data) or "nothing"
            raise RecordingError(
                f"A batch of images cannot be made of: {found}. Expected colours of one size, under keys such as "
                "'sensors.front.rgb_image' or 'rgb'. Call scene.enable_rgb_rendering(), and give all cameras one size."
            )
        if self._output_dir is not None:
            self._output_dir.mkdir(parents=True, exist_ok=True)
            for name, image in images.items():
                Image.fromarray(image).save(self._output_dir / f"rgb_{self._frame_id:04d}_{name}.png")
        batch: Any = np.stack(list(images.values()))
        if find_spec("torch") is not None:
            import torch

            batch = torch.from_numpy(batch).to(self.device)
        self.listener.write_data({"pytorch_rgb": batch, "device": self.device})
        self._frame_id += 1


def _camera_of(key: str) -> str:
    """Returns the name of the camera: `front` of `sensors.front.rgb_image`, `left` of `rgb-left`."""
    if key.rpartition(".")[2] == _BUFFER:
        return key.split(".")[-2] if "." in key else "camera"
    return key.partition("-")[2] or "camera"


def _check_device(wanted: str) -> str:
    if find_spec("torch") is None:
        logger.warning("Package 'torch' is not installed: batches are NumPy arrays, and device=%s is not used.", wanted)
        return "cpu"
    import torch

    try:
        torch.device(wanted)
    except RuntimeError as exc:
        raise ConfigError(
            f"torch does not know device='{wanted}' ({str(exc).splitlines()[0]}). Expected 'cpu', 'cuda' or "
            "'cuda:<number>'. Change it.",
            key="device",
        ) from exc
    try:
        torch.empty(0, device=wanted)
    except (RuntimeError, AssertionError, NotImplementedError) as exc:  # all of them are errors of torch
        reason = str(exc).splitlines()[0]
        logger.warning("device=%s does not exist here (%s). Batches are on the cpu.", wanted, reason)
        return "cpu"
    return wanted
