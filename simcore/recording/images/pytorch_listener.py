"""Gives access to the last batch of images of a `PytorchWriter`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


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
