"""Optics of cameras: pinhole and fisheye lenses, and the pinhole images of which a fisheye image consists."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from unlatch.simcore.errors import GeometryError

Array = np.ndarray
OpticsT = TypeVar("OpticsT", bound="Optics")


@dataclass(frozen=True)
class Optics(ABC):
    """A camera whose frame has x to the right of the image, y down and z forward.

    Columns and rows count from the upper left. Whole numbers are the centres of pixels.
    """

    width: int
    """Pixels across."""
    height: int
    """Pixels down."""
    fx: float
    """Focal length across [pixels]; of a fisheye, pixels per radian at the centre."""
    fy: float
    """Focal length down, as `fx`."""
    cx: float
    """Column of the optical axis [pixels]."""
    cy: float
    """Row of the optical axis [pixels]."""

    def __post_init__(self) -> None:
        if min(self.width, self.height) < 1 or min(self.fx, self.fy) <= 0.0:
            raise GeometryError(
                f"A camera of {self.width} x {self.height} pixels with focal lengths {self.fx} and {self.fy} is "
                "impossible. Give numbers above 0."
            )

    @classmethod
    def from_fov(cls: type[OpticsT], width: int, height: int, fov_rad: float, **lens: Any) -> OpticsT:
        """Returns a camera with equal focal lengths, the axis in the centre and a vertical field of view [rad].

        `lens` are the fields that only this kind of camera has.
        """
        return cls(width, height, 1.0, 1.0, 0.5 * (width - 1), 0.5 * (height - 1), **lens).with_fov(fov_rad)

    @abstractmethod
    def _radius_at(self, angle: Array) -> Array:
        """Returns the distance from the centre, in focal lengths, at which an angle from the axis [rad] appears."""

    @abstractmethod
    def _angle_at(self, radius: Array) -> Array:
        """Returns the angle from the axis [rad] that appears at a distance from the centre, in focal lengths."""

    @abstractmethod
    def rays_at(self, columns: Array, rows: Array) -> Array:
        """Returns directions (..., 3) of any positions (...) in the image [pixels]."""

    @property
    def fov_rad(self) -> float:
        """Vertical field of view if the axis were in the centre of the image [rad]."""
        return float(2.0 * self._angle_at(np.array(0.5 * self.height / self.fy)))

    def with_fov(self: OpticsT, fov_rad: float) -> OpticsT:
        """Returns the camera with another vertical field of view [rad] and the same ratio of its focal lengths.

        The field of view is that of a camera with the axis in the centre of the image.
        """
        focal = 0.5 * self.height / float(self._radius_at(np.array(0.5 * fov_rad)))
        return replace(self, fx=self.fx * focal / self.fy, fy=focal)

    def rays(self) -> Array:
        """Returns the directions (height, width, 3) of all pixels in the camera frame, as `rays_at`."""
        v, u = np.indices((self.height, self.width))
        return self.rays_at(u, v)

    def points(self, lengths: ArrayLike) -> Array:
        """Returns the point of each pixel (height, width, 3) in the camera frame [m]; NaN for an infinite length.

        `lengths` (height, width) are factors on the directions of `rays`: depth for a pinhole, distance for a fisheye
        [m].
        """
        along = np.asarray(lengths, dtype=float)
        return self.rays() * np.where(np.isfinite(along), along, np.nan)[..., None]


@dataclass(frozen=True)
class Pinhole(Optics):
    """A pinhole camera.

    A point (x, y, z) appears at column `u = fx x/z + cx` and row `v = fy y/z + cy`. Depth is z, the distance to the
    image plane, not to the camera's centre.
    """

    def _radius_at(self, angle: Array) -> Array:
        return np.tan(angle)

    def _angle_at(self, radius: Array) -> Array:
        return np.arctan(radius)

    @property
    def matrix(self) -> Array:
        """(3, 3) camera matrix K: `z (u, v, 1) = K p_camera`."""
        return np.array([[self.fx, 0.0, self.cx], [0.0, self.fy, self.cy], [0.0, 0.0, 1.0]])

    def project(self, points_camera: ArrayLike) -> Array:
        """Returns columns and rows (K, 2) of points (K, 3) in the camera frame [m]; NaN behind the camera."""
        points = np.atleast_2d(np.asarray(points_camera, dtype=float))
        pixels = np.full((len(points), 2), np.nan)
        front = points[:, 2] > 0.0
        pixels[front] = (points[front] @ self.matrix.T)[:, :2] / points[front, 2:]
        return pixels

    def rays_at(self, columns: Array, rows: Array) -> Array:
        """Returns directions (..., 3) of any positions (...) in the image [pixels], scaled to z = 1."""
        x, y = (columns - self.cx) / self.fx, (rows - self.cy) / self.fy
        return np.stack([x, y, np.ones(x.shape)], axis=-1)

    @cached_property
    def ray_lengths(self) -> Array:
        """(height, width) distance to the camera's centre divided by distance to the image plane; read-only."""
        lengths = np.linalg.norm(self.rays(), axis=-1)
        lengths.setflags(write=False)
        return lengths

    def normals(self, depth_m: ArrayLike) -> Array:
        """Returns unit normals (height, width, 3) of visible surfaces, in the camera frame, towards the camera.

        Depth (height, width) is infinite where nothing is visible [m]. The inverse depth of a plane is affine in the
        pixel: `1/z = a u + b v + c`, and its normal is along `K^T (a, b, c)`. In each direction, the slope is that to
        the pixel before, to the pixel after, or between both: the one where the inverse depth bends least. So edges
        and creases stay sharp, and planes are exact up to rounding.

        Returns:
            The normals; zero where nothing is visible and on specks of fewer than three pixels.
        """
        depth = np.asarray(depth_m, dtype=float)
        seen = np.isfinite(depth) & (depth > 0.0)
        inverse = np.full(depth.shape, np.nan)
        inverse[seen] = 1.0 / depth[seen]
        a, b = _gradient(inverse), _gradient(inverse.T).T
        v, u = np.indices((self.height, self.width))
        planes = np.stack([a, b, inverse - a * u - b * v], axis=-1)
        away = planes @ self.matrix  # K^T per pixel, (height, width, 3)
        length = np.sqrt(away[..., 0] ** 2 + away[..., 1] ** 2 + away[..., 2] ** 2)
        length[~(length > 0.0)] = np.inf  # so that normals are zero
        return np.where(np.isfinite(length)[..., None], -away / length[..., None], 0.0)


def _gradient(values: Array) -> Array:
    """Returns the slope along the rows of (M, N), from the straightest three neighbours; NaN without any."""
    gap = np.full((values.shape[0], 1), np.nan)
    step = np.diff(values, axis=1)
    after = np.concatenate([step, gap], axis=1)
    before = np.concatenate([gap, step], axis=1)
    bend: Array = np.full((values.shape[0], values.shape[1] + 2), np.inf)  # around each pixel, and one on either side
    bend[:, 2 : 2 + max(0, step.shape[1] - 1)] = np.abs(np.diff(step, axis=1))
    bend[np.isnan(bend)] = np.inf
    between, behind, ahead = bend[:, 1:-1], bend[:, :-2], bend[:, 2:]
    least = np.minimum(between, ahead)
    slope = np.where(between <= ahead, 0.5 * (before + after), after)
    slope = np.where(behind < least, before, slope)
    return np.where(np.isfinite(np.minimum(least, behind)), slope, np.nan)


WIDEST_RAD = float(np.radians(110.0))
"""Largest visible angle from the optical axis."""
_ANGLE_SAMPLES = 4000


@dataclass(frozen=True)
class Fisheye(Optics):
    """A fisheye camera.

    A point at the angle t from the z axis appears at the radius `r = t + k1 t^3 + k2 t^5 + k3 t^7 + k4 t^9` around the
    centre, in its direction: `u = fx r x/hypot(x, y) + cx`, `v = fy r y/hypot(x, y) + cy` (Kannala and Brandt 2006, as
    in OpenCV's fisheye module). With all k at 0 the lens is equidistant.
    """

    k: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    """k1 to k4."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if np.any(np.diff(self._radius_at(np.linspace(0.0, WIDEST_RAD, _ANGLE_SAMPLES))) <= 0.0):
            raise GeometryError(
                f"The distortion k={list(self.k)} folds the image: its radius does not grow up to "
                f"{np.degrees(WIDEST_RAD):.0f} degrees from the axis. Give smaller values."
            )

    def project(self, points_camera: ArrayLike) -> Array:
        """Returns columns and rows (K, 2) of points (K, 3) in the camera frame [m]; NaN beyond `WIDEST_RAD`."""
        points = np.atleast_2d(np.asarray(points_camera, dtype=float))
        aside = np.hypot(points[:, 0], points[:, 1])
        angle = np.arctan2(aside, points[:, 2])
        with np.errstate(invalid="ignore", divide="ignore"):
            along = np.where(aside[:, None] > 0.0, points[:, :2] / aside[:, None], 0.0)
        pixels = self._radius_at(angle)[:, None] * along * [self.fx, self.fy] + [self.cx, self.cy]
        pixels[(angle > WIDEST_RAD) | ~np.any(points, axis=1)] = np.nan
        return pixels

    def rays_at(self, columns: Array, rows: Array) -> Array:
        """Returns unit directions (..., 3) of any positions (...) in the image [pixels]; NaN outside the lens."""
        x, y = (columns - self.cx) / self.fx, (rows - self.cy) / self.fy
        radius = np.hypot(x, y)
        angle = self._angle_at(radius)
        with np.errstate(invalid="ignore", divide="ignore"):
            scale = np.where(radius > 0.0, np.sin(angle) / radius, 1.0)
        return np.stack([x * scale, y * scale, np.cos(angle)], axis=-1)

    def _radius_at(self, angle: Array) -> Array:
        return angle * (1.0 + sum(value * angle ** (2 * i + 2) for i, value in enumerate(self.k)))

    def _angle_at(self, radius: Array) -> Array:
        """As in `Optics`; NaN beyond `WIDEST_RAD`."""
        angles = np.linspace(0.0, WIDEST_RAD, _ANGLE_SAMPLES)
        radii = self._radius_at(angles)
        angle: Array = np.interp(radius, radii, angles, right=np.nan)
        for _ in range(2):  # Newton, from a guess with an error of a few microradians
            slope = 1.0 + sum((2 * i + 3) * k * angle ** (2 * i + 2) for i, k in enumerate(self.k))
            angle = angle - (self._radius_at(angle) - radius) / slope
        return angle


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
    # resolution of a face over that of the fisheye image, at the centres of both
    size = max(8, round(2.0 * 1.5 * max(lens.fx, lens.fy)))
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
