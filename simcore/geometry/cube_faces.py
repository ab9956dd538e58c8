"""The faces of a cube around a camera: pinhole images that together cover a fisheye image."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from unlatch.simcore.geometry.fisheye import Fisheye
from unlatch.simcore.geometry.pinhole import Pinhole

Array = np.ndarray

_FINER = 1.5
"""Pixels of a face per pixel of the image, along a side, at the centre of both."""
_RIM_PX = 2
_R_CAMERA_FACES = tuple(
    np.array(R, dtype=float)
    for R in (
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        [[0, 0, 1], [0, 1, 0], [-1, 0, 0]],
        [[0, 0, -1], [0, 1, 0], [1, 0, 0]],
        [[1, 0, 0], [0, 0, 1], [0, -1, 0]],
        [[1, 0, 0], [0, 0, -1], [0, 1, 0]],
        [[-1, 0, 0], [0, 1, 0], [0, 0, -1]],
    )
)
"""Columns: x, y and z of each face's camera; forward, right, left, down, up, back."""


@dataclass(frozen=True)
class CubeFace:
    """One face of the cube: its camera, and the pixels of the fisheye image that it fills."""

    R_camera_face: Array
    pinhole: Pinhole
    pixels: Array
    """(height, width) bool."""
    column: Array
    """(N,) column in the face's image."""
    row: Array
    """(N,) row in the face's image."""
    stretch: Array
    """(N,) distance to the camera's centre divided by distance to the face's image plane."""


@lru_cache(maxsize=16)
def cube_faces(lens: Fisheye) -> tuple[tuple[CubeFace, ...], Array]:
    """Returns the faces that fill any pixel, and the cosine (height, width) of every pixel's angle from the axis."""
    rays = lens.rays()
    seen = np.isfinite(rays).all(axis=-1)
    size = max(8, round(2.0 * _FINER * max(lens.fx, lens.fy)))
    focal, whole = 0.5 * size, size + 2 * _RIM_PX
    pinhole = Pinhole(whole, whole, focal, focal, 0.5 * (whole - 1), 0.5 * (whole - 1))
    along = np.stack([np.where(seen, rays @ R[:, 2], -2.0) for R in _R_CAMERA_FACES])
    nearest = np.argmax(along, axis=0)
    faces = []
    for index, R in enumerate(_R_CAMERA_FACES):
        pixels = seen & (nearest == index)
        if not pixels.any():
            continue
        x, y, z = (rays[pixels] @ R).T
        faces.append(CubeFace(R, pinhole, pixels, x / z * focal + pinhole.cx, y / z * focal + pinhole.cy, 1.0 / z))
    return tuple(faces), np.where(seen, rays[..., 2], 0.0)
