"""Textures of surfaces."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
from PIL import Image

Array = np.ndarray


class Picture:
    """A repeating picture at several resolutions, each half of the previous one."""

    def __init__(self, path: Path) -> None:
        with Image.open(path) as image:
            level: Array = np.asarray(image.convert("RGB"), dtype=np.float32) / np.float32(255.0)
        self._levels = [level]
        while min(level.shape[:2]) > 1:
            rows, columns = level.shape[0] // 2 * 2, level.shape[1] // 2 * 2
            level = level[:rows, :columns].reshape(rows // 2, 2, columns // 2, 2, 3).mean(axis=(1, 3))
            self._levels.append(level)

    def at(self, uvs: Array, footprint: Array) -> Array:
        """Returns colours (N, 3), 0 to 1.

        Args:
            uvs: (N, 2) texture coordinates.
            footprint: (N,) share of the picture's side that a pixel covers.
        """
        side = max(self._levels[0].shape[:2])
        wanted = np.rint(np.log2(np.maximum(footprint * side, 1.0)))
        which = np.minimum(wanted, len(self._levels) - 1).astype(int)
        found: Array = np.empty((len(uvs), 3), dtype=np.float32)
        for number in np.flatnonzero(np.bincount(which)):
            here = np.flatnonzero(which == number)
            found[here] = _sample_bilinear(self._levels[number], uvs.take(here, axis=0))
        return found


def _sample_bilinear(picture: Array, uvs: Array) -> Array:
    height, width = picture.shape[:2]
    x, y = uvs[:, 0] * width - 0.5, (1.0 - uvs[:, 1]) * height - 0.5
    left, top = np.floor(x).astype(int), np.floor(y).astype(int)
    right_share, down_share = (x - left)[:, None], (y - top)[:, None]
    texels = picture.reshape(-1, 3)
    rows, columns = (top % height * width, (top + 1) % height * width), (left % width, (left + 1) % width)

    def mixed(row: Array) -> Array:
        left_colour: Array = texels.take(row + columns[0], axis=0)
        return left_colour + right_share * (texels.take(row + columns[1], axis=0) - left_colour)

    upper = mixed(rows[0])
    return upper + down_share * (mixed(rows[1]) - upper)


def read_picture(path: Path) -> Picture:
    """Returns the picture of a file; a changed file is read again."""
    status = path.stat()
    return _read_picture(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=64)
def _read_picture(path: Path, _mtime_ns: int, _size: int) -> Picture:
    return Picture(path)
