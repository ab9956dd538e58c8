"""Writes images into HDF5 files."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np

from unlatch.simcore.recording.export.images import Images, ImageSize


def write_images(group: Any, name: str, images: Images, size: ImageSize, n_frames: int) -> Any:
    """Writes images as one compressed array (N, H, W, 3) uint8, one frame in memory at a time; returns the array.

    Args:
        group: The HDF5 group.
        name: Name of the array.
        images: The T+1 images.
        size: Their size.
        n_frames: N, number of images.
    """
    shape = (size.height, size.width, 3)
    dataset = group.create_dataset(
        name, (n_frames, *shape), np.uint8, chunks=(1, *shape), compression="gzip", compression_opts=1
    )
    for index, frame in enumerate(islice(images.frames(), n_frames)):
        dataset[index] = frame
    return dataset
