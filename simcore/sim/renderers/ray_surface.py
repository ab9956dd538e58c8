"""A surface that rays can be cast at, and what is seen where they meet it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from simcore.geometry.surface_file import Surface, creased_normals

Array = np.ndarray

_CREASE_RAD = np.radians(30.0)
_LEAST_SIDE_PX = 1


@dataclass(frozen=True)
class RaySurface:
    """Triangles in their own frame, with a tree for rays."""

    box: Array
    """(2, 3) lower and upper corner [m]."""
    normals: Array
    """(F, 3) unit normals of the faces."""
    corner_normals: Array
    """(F, 3, 3) unit normals at their corners, for shading."""
    uvs: Array | None
    """(F, 3, 2) places in a picture; None: it can carry none."""
    uvs_per_m: Array
    """(F,) side of a picture, where uv goes from 0 to 1, that a metre of each face covers."""
    picture: Path | None
    """The picture that its file names."""
    tree: Any
    """Embree's scene."""
    kept: Any
    """What Embree's scene refers to."""

    @classmethod
    def of(cls, surface: Surface, scale: Array) -> RaySurface:
        """Builds the tree.

        Args:
            surface: The surface.
            scale: (3,) factors on its coordinates.
        """
        from embreex.mesh_construction import TriangleMesh
        from embreex.rtcore_scene import EmbreeScene

        vertices = surface.vertices * scale
        corners = vertices[surface.faces]  # (F, 3, 3)
        across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        twice_area = np.maximum(np.linalg.norm(across, axis=1), 1e-30)
        if surface.normals is None:
            at_corners = creased_normals(vertices, surface.faces, crease_rad=_CREASE_RAD)
        else:
            at_corners = surface.normals / scale
            at_corners /= np.maximum(np.linalg.norm(at_corners, axis=-1, keepdims=True), 1e-30)
        density = np.zeros(len(corners))
        if surface.uvs is not None:
            (a, b), (c, d) = (surface.uvs[:, 1] - surface.uvs[:, 0]).T, (surface.uvs[:, 2] - surface.uvs[:, 0]).T
            density = np.sqrt(np.abs(a * d - b * c) / twice_area)
        tree = EmbreeScene(robust=True)
        kept = TriangleMesh(tree, vertices.astype(np.float32), surface.faces.astype(np.int32))
        return cls(
            np.stack([vertices.min(axis=0), vertices.max(axis=0)]),
            (across / twice_area[:, None]).astype(np.float32),
            at_corners.astype(np.float32),
            surface.uvs,
            density,
            surface.picture,
            tree,
            kept,
        )

    @property
    def box_corners(self) -> Array:
        """(8, 3) corners of its box [m]."""
        picks = np.array([[(k >> axis) & 1 for axis in range(3)] for k in range(8)])
        return np.take_along_axis(self.box, picks, axis=0)


class Picture:
    """A picture that repeats, at several sizes: each half of the one before."""

    def __init__(self, path: Path) -> None:
        from PIL import Image

        with Image.open(path) as image:
            level: Array = np.asarray(image.convert("RGB"), dtype=np.float32)
        self._levels = [level]
        while min(level.shape[:2]) > _LEAST_SIDE_PX:
            rows, columns = level.shape[0] // 2 * 2, level.shape[1] // 2 * 2
            level = level[:rows, :columns].reshape(rows // 2, 2, columns // 2, 2, 3).mean(axis=(1, 3))
            self._levels.append(level)

    def at(self, uvs: Array, footprint: Array) -> Array:
        """(N, 3) colours, 0 to 1.

        Args:
            uvs: (N, 2) places.
            footprint: (N,) share of the picture's side that a pixel covers there.
        """
        side = max(self._levels[0].shape[:2])
        with np.errstate(divide="ignore"):
            wanted = np.rint(np.log2(footprint * side))
        which = np.clip(np.nan_to_num(wanted, neginf=0.0), 0, len(self._levels) - 1).astype(int)
        found: Array = np.empty((len(uvs), 3))
        for number in np.unique(which):
            here = which == number
            found[here] = _bilinear(self._levels[number], uvs[here])
        return found / 255.0


def _bilinear(picture: Array, uvs: Array) -> Array:
    height, width = picture.shape[:2]
    x, y = uvs[:, 0] * width - 0.5, (1.0 - uvs[:, 1]) * height - 0.5
    left, top = np.floor(x).astype(int), np.floor(y).astype(int)
    right_share, down_share = (x - left)[:, None], (y - top)[:, None]
    mixed: Array = np.zeros((len(uvs), 3))
    for down, row_share in ((0, 1.0 - down_share), (1, down_share)):
        for right, column_share in ((0, 1.0 - right_share), (1, right_share)):
            mixed += row_share * column_share * picture[(top + down) % height, (left + right) % width]
    return mixed


@lru_cache(maxsize=64)
def picture_of(path: Path, _mtime_ns: int, _size: int) -> Picture:
    """The picture of a file as it is now."""
    return Picture(path)


class SurfaceCache:
    """Surfaces by what they were made from, the last so many that were used."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._found: dict[Any, RaySurface] = {}

    def get(self, key: Any, make: Callable[[], RaySurface]) -> RaySurface:
        """The surface of a key, made where it is not there."""
        surface = self._found.pop(key, None) or make()
        self._found[key] = surface
        while len(self._found) > self._most:
            del self._found[next(iter(self._found))]
        return surface
