"""Boxes about all of a thing, whatever hides it."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from unlatch.simcore.geometry import Fisheye
from unlatch.simcore.meshes.silhouette import in_front
from unlatch.simcore.sim.annotators.annotator import Annotator, Output
from unlatch.simcore.sim.annotators.entity import Entity
from unlatch.simcore.sim.annotators.shot import Shot

Array = np.ndarray


class LooseBoxes2d(Annotator):
    """Extents of the projection of every triangle, within the image."""

    outputs: ClassVar[tuple[Output, ...]] = (
        Output(
            "boxes_2d_loose",
            ("N", 4),
            "float32",
            "px",
            "x_min, y_min, x_max, y_max of the outline with hidden parts, cut at the image's edges; NaN outside.",
        ),
    )

    def annotate(self, shot: Shot) -> dict[str, Array]:
        """See `Annotator`."""
        boxes = [_box(shot, entity) for entity in shot.entities]
        return {"boxes_2d_loose": np.array(boxes, dtype=np.float32).reshape(-1, 4)}


def _box(shot: Shot, entity: Entity) -> Array:
    if isinstance(shot.optics, Fisheye):  # straight lines are curved: what its corners span is not all
        return _of_pixels(np.isfinite(shot.nearest(entity.mesh(shot.T_camera_world))[0]))
    points = shot.in_camera(entity.outermost_world)
    if (points[:, 2] < shot.near_m).any():  # of what is cut off, others are outermost
        points = in_front(entity.mesh(shot.T_camera_world), shot.near_m)[0].vertices
    pixels = shot.optics.project(points)
    outside = np.full(4, np.nan)
    if not len(pixels):
        return outside
    edge = np.array([shot.optics.width, shot.optics.height]) - 0.5  # pixels reach half a pixel beyond their centres
    low, high = pixels.min(axis=0), pixels.max(axis=0)
    if (high < -0.5).any() or (low > edge).any():
        return outside
    return np.concatenate([np.maximum(low, -0.5), np.minimum(high, edge)])


def _of_pixels(covered: Array) -> Array:
    """The box about pixels (height, width)."""
    columns, rows = np.flatnonzero(covered.any(axis=0)), np.flatnonzero(covered.any(axis=1))
    if not len(rows):
        return np.full(4, np.nan)
    return np.array([columns[0] - 0.5, rows[0] - 0.5, columns[-1] + 0.5, rows[-1] + 0.5])
