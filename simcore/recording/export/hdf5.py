"""Writes images into HDF5 files."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np

from unlatch.simcore.recording.export.images import Images, ImageSize


def write_images(group: Any, name: str, images: Images, size: ImageSize, n_frames: int) -> Any:
    """Writes the first `n_frames` images as one compressed array (n_frames, H, W, 3) uint8; returns the array.

    One frame is in memory at a time.
    """
    shape = (size.height, size.width, 3)
    dataset = group.create_dataset(
        name, (n_frames, *shape), np.uint8, chunks=(1, *shape), compression="gzip", compression_opts=1
    )
    for index, frame in enumerate(islice(images.frames(), n_frames)):
        dataset[index] = frame
    return dataset
