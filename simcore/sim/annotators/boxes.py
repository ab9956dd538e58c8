"""Boxes around things, in the image and in space."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from unlatch.simcore.geometry import Fisheye
from unlatch.simcore.meshes.silhouette import clip_at_near_plane
from unlatch.simcore.sim.annotators.annotated_frame import AnnotatedFrame
from unlatch.simcore.sim.annotators.annotator import Annotator, Output
from unlatch.simcore.sim.annotators.entity import Entity

Array = np.ndarray


class TightBoxes2d(Annotator):
    """Boxes around the pixels that show a thing."""

    outputs: ClassVar[tuple[Output, ...]] = (
        Output(
            "boxes_2d_tight",
            ("N", 4),
            "int32",
            "px",
            "First and last column and row that show the thing: x_min, y_min, x_max, y_max; -1 if hidden.",
        ),
        Output("visible_px", ("N",), "int32", "px", "Number of pixels that show the thing."),
    )

    def annotate(self, frame: AnnotatedFrame) -> dict[str, Array]:
        """See `Annotator`."""
        boxes: Array = np.full((len(frame.entities), 4), -1, dtype=np.int32)
        for row, entity in enumerate(frame.entities):
            if frame.visible_px(entity):
                boxes[row] = _pixel_range(frame.mask(entity))
        counts = np.array([frame.visible_px(entity) for entity in frame.entities], dtype=np.int32)
        return {"boxes_2d_tight": boxes, "visible_px": counts}


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
        covered = np.isfinite(frame.nearest_triangles(entity.mesh(frame.T_camera_world))[0])
        return np.add(_pixel_range(covered), [-0.5, -0.5, 0.5, 0.5]) if covered.any() else np.full(4, np.nan)
    points = frame.in_camera(entity.hull_points_world)
    if (points[:, 2] < frame.near_m).any():  # the near plane cuts it and makes other points outermost
        points = clip_at_near_plane(entity.mesh(frame.T_camera_world), frame.near_m)[0].vertices
    pixels = frame.optics.project(points)
    outside = np.full(4, np.nan)
    if not len(pixels):
        return outside
    edge = np.array([frame.optics.width, frame.optics.height]) - 0.5  # pixels reach half a pixel beyond their centres
    low, high = pixels.min(axis=0), pixels.max(axis=0)
    if (high < -0.5).any() or (low > edge).any():
        return outside
    return np.concatenate([np.maximum(low, -0.5), np.minimum(high, edge)])


def _pixel_range(mask: Array) -> Array:
    """Returns the first column and row and the last column and row of the true pixels of a mask (height, width)."""
    columns, rows = np.flatnonzero(mask.any(axis=0)), np.flatnonzero(mask.any(axis=1))
    return np.array([columns[0], rows[0], columns[-1], rows[-1]])


class Boxes3d(Annotator):
    """The box around a thing along the axes of its own frame, at the present joint positions."""

    outputs: ClassVar[tuple[Output, ...]] = (
        Output("boxes_3d_extents", ("N", 2, 3), "float64", "m", "Lower and upper corner in the thing's frame."),
        Output("boxes_3d_poses", ("N", 4, 4), "float64", "m", "T_world_thing: pose of the thing's frame."),
        Output("boxes_3d_corners", ("N", 8, 3), "float64", "m", "Corners in the world frame, in the order below."),
        Output("boxes_3d_corners_px", ("N", 8, 2), "float64", "px", "Corners in the image; NaN behind the camera."),
    )

    def annotate(self, frame: AnnotatedFrame) -> dict[str, Array]:
        """See `Annotator`."""
        corners = np.array([entity.corners for entity in frame.entities]).reshape(-1, 8, 3)
        return {
            "boxes_3d_extents": np.array([entity.extents for entity in frame.entities]).reshape(-1, 2, 3),
            "boxes_3d_poses": np.array([e.T_world_entity.matrix for e in frame.entities]).reshape(-1, 4, 4),
            "boxes_3d_corners": corners,
            "boxes_3d_corners_px": frame.optics.project(frame.in_camera(corners).reshape(-1, 3)).reshape(-1, 8, 2),
        }
