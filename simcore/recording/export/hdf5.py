"""What exporters to HDF5 share: the library, which is an extra, and how arrays are kept."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

from unlatch.simcore.extras import import_extra
from unlatch.simcore.recording.export.images import Images, ImageSize

Array = np.ndarray


def import_h5py() -> ModuleType:
    """The library.

    Raises:
        PluginError: It is not installed.
    """
    return import_extra("h5py", extra="hdf5")


def write_images(group: Any, name: str, images: Images, size: ImageSize, n_frames: int) -> Any:
    """Writes images as one array (N, H, W, 3) uint8, compressed, a frame in memory at a time; returns it.

    Args:
        group: The group that it goes into.
        name: Its name.
        images: The T+1 images.
        size: Their size.
        n_frames: N, how many of them.
    """
    shape = (size.height, size.width, 3)
    dataset = group.create_dataset(
        name, (n_frames, *shape), np.uint8, chunks=(1, *shape), compression="gzip", compression_opts=1
    )
    for index, frame in enumerate(_first(images, n_frames)):
        dataset[index] = frame
    return dataset


def _first(images: Images, n_frames: int) -> Iterator[Array]:
    for index, frame in enumerate(images.frames()):
        if index < n_frames:
            yield frame
