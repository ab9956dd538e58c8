"""Poses in the camera frame."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from unlatch.simcore.sim.annotators.annotated_frame import AnnotatedFrame
from unlatch.simcore.sim.annotators.annotator import Annotator, Output

Array = np.ndarray


class Poses(Annotator):
    """Poses of things in the camera frame."""

    outputs: ClassVar[tuple[Output, ...]] = (
        Output(
            "poses",
            ("N", 4, 4),
            "float64",
            "m",
            "T_camera_thing, with the camera frame rotated by camera_rotation_deg.",
        ),
        Output("centers_px", ("N", 2), "float64", "px", "Centre of the thing's 3D box; NaN behind the camera."),
        Output("origins_px", ("N", 2), "float64", "px", "Origin of the thing's frame; NaN behind the camera."),
    )

    def annotate(self, frame: AnnotatedFrame) -> dict[str, Array]:
        """See `Annotator`."""
        T_turned_world = (frame.T_world_camera @ frame.cfg.T_camera_turned).inverse()
        poses = [(T_turned_world @ entity.T_world_entity).matrix for entity in frame.entities]
        centres = np.array([entity.centre for entity in frame.entities]).reshape(-1, 3)
        origins = np.array([entity.T_world_entity.p for entity in frame.entities]).reshape(-1, 3)
        return {
            "poses": np.array(poses).reshape(-1, 4, 4),
            "centers_px": frame.optics.project(frame.in_camera(centres)),
            "origins_px": frame.optics.project(frame.in_camera(origins)),
        }
