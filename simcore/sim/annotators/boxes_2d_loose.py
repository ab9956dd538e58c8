"""Boxes in the image around whole things, hidden or not."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from unlatch.simcore.geometry import Fisheye
from unlatch.simcore.meshes.silhouette import in_front
from unlatch.simcore.sim.annotators.annotated_frame import AnnotatedFrame
from unlatch.simcore.sim.annotators.annotator import Annotator, Output
from unlatch.simcore.sim.annotators.entity import Entity

Array = np.ndarray


class LooseBoxes2d(Annotator):
    """Extents of the projected triangles, clipped to the image."""

    outputs: ClassVar[tuple[Output, ...]] = (
        Output(
            "boxes_2d_loose",
            ("N", 4),
            "float32",
            "px",
            "x_min, y_min, x_max, y_max of the outline with hidden parts, cut at the image's edges; NaN outside.",
        ),
    )

    def annotate(self, frame: AnnotatedFrame) -> dict[str, Array]:
        """See `Annotator`."""
        boxes = [_box_of_entity(frame, entity) for entity in frame.entities]
        return {"boxes_2d_loose": np.array(boxes, dtype=np.float32).reshape(-1, 4)}


def _box_of_entity(frame: AnnotatedFrame, entity: Entity) -> Array:
    if isinstance(frame.optics, Fisheye):  # a fisheye bends straight lines: corners do not bound the projection
        return _of_pixels(np.isfinite(frame.nearest(entity.mesh(frame.T_camera_world))[0]))
    points = frame.in_camera(entity.outermost_world)
    if (points[:, 2] < frame.near_m).any():  # the near plane cuts it and makes other points outermost
        points = in_front(entity.mesh(frame.T_camera_world), frame.near_m)[0].vertices
    pixels = frame.optics.project(points)
    outside = np.full(4, np.nan)
    if not len(pixels):
        return outside
    edge = np.array([frame.optics.width, frame.optics.height]) - 0.5  # pixels reach half a pixel beyond their centres
    low, high = pixels.min(axis=0), pixels.max(axis=0)
    if (high < -0.5).any() or (low > edge).any():
        return outside
    return np.concatenate([np.maximum(low, -0.5), np.minimum(high, edge)])


def _of_pixels(covered: Array) -> Array:
    """Returns the box around the true pixels of an image (height, width)."""
    columns, rows = np.flatnonzero(covered.any(axis=0)), np.flatnonzero(covered.any(axis=1))
    if not len(rows):
        return np.full(4, np.nan)
    return np.array([columns[0] - 0.5, rows[0] - 0.5, columns[-1] + 0.5, rows[-1] + 0.5])
