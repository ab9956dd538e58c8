"""A fisheye lens: the equidistant model with the polynomial of Kannala and Brandt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from unlatch.simcore.errors import GeometryError
from unlatch.simcore.geometry.pinhole import Optics

Array = np.ndarray

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
