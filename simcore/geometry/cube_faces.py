"""The faces of a cube around a camera: pinhole images that together cover a fisheye image."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from unlatch.simcore.geometry.fisheye import Fisheye
from unlatch.simcore.geometry.pinhole import Pinhole

Array = np.ndarray

_OVERSAMPLING = 1.5
"""Resolution of a face over that of the fisheye image, at the centres of both."""
_RIM_PX = 2
"""Width of the rim of each face, which interpolation at its edge needs."""
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
"""Orientations of the faces in the camera frame: forward, right, left, down, up, back."""


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
    ray_lengths: Array
    """(N,) distance to the camera's centre divided by distance to the face's image plane."""


@lru_cache(maxsize=16)
def cube_faces(lens: Fisheye) -> tuple[tuple[CubeFace, ...], Array]:
    """Returns the faces that fill any pixels, and the cosine of each pixel's angle to the axis (height, width)."""
    rays = lens.rays()
    seen = np.isfinite(rays).all(axis=-1)
    size = max(8, round(2.0 * _OVERSAMPLING * max(lens.fx, lens.fy)))
    focal, width = 0.5 * size, size + 2 * _RIM_PX
    pinhole = Pinhole(width, width, focal, focal, 0.5 * (width - 1), 0.5 * (width - 1))
    cosines = np.stack([np.where(seen, rays @ R[:, 2], -2.0) for R in _R_CAMERA_FACES])
    nearest = np.argmax(cosines, axis=0)
    faces = []
    for index, R in enumerate(_R_CAMERA_FACES):
        pixels = seen & (nearest == index)
        if not pixels.any():
            continue
        x, y, z = (rays[pixels] @ R).T
        faces.append(CubeFace(R, pinhole, pixels, x / z * focal + pinhole.cx, y / z * focal + pinhole.cy, 1.0 / z))
    return tuple(faces), np.where(seen, rays[..., 2], 0.0)
