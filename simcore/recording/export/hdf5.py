"""What exporters of HDF5 files share."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np

from unlatch.simcore.extras import import_extra
from unlatch.simcore.recording.export.exporter import Exporter
from unlatch.simcore.recording.export.images import Images
from unlatch.simcore.recording.export.source import ExportSource


class HDF5Exporter(Exporter):
    """Base class of exporters of HDF5 files."""

    def __init__(self, source: ExportSource, cfg: Any) -> None:
        """Imports h5py, an extra.

        Raises:
            PluginError: It is not installed.
        """
        super().__init__(source, cfg)
        self.h5py = import_extra("h5py", extra="hdf5")


def write_points(group: Any, name: str, values: np.ndarray) -> Any:
    """Writes (frames, points, n) numbers as one compressed array of their type; returns the array."""
    return group.create_dataset(
        name, data=values, chunks=(1, *values.shape[1:]), compression="gzip", compression_opts=1
    )


def write_images(group: Any, name: str, images: Images, n_frames: int) -> Any:
    """Writes the first `n_frames` images as one compressed array (n_frames, H, W, 3) uint8; returns the array.

    One frame is in memory at a time.
    """
    shape = (images.size.height, images.size.width, 3)
    dataset = group.create_dataset(
        name, (n_frames, *shape), np.uint8, chunks=(1, *shape), compression="gzip", compression_opts=1
    )
    for index, frame in enumerate(islice(images.frames(), n_frames)):
        dataset[index] = frame
    return dataset
