"""Boxes in space."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from unlatch.simcore.sim.annotators.annotated_frame import AnnotatedFrame
from unlatch.simcore.sim.annotators.annotator import Annotator, Output

Array = np.ndarray


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
