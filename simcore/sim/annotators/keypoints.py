"""Keypoints in the image."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from unlatch.simcore.geometry import Fisheye
from unlatch.simcore.sim.annotators.annotated_frame import AnnotatedFrame
from unlatch.simcore.sim.annotators.annotator import Annotator, Output

Array = np.ndarray


class Keypoints(Annotator):
    """Positions of keypoints in the image, and their visibility."""

    outputs: ClassVar[tuple[Output, ...]] = (
        Output("keypoint_names", ("K",), "text", "-", "`<object>.<part>.<keypoint>`."),
        Output("keypoints_px", ("K", 2), "float64", "px", "Column and row; NaN behind the camera."),
        Output(
            "keypoints_camera",
            ("K", 3),
            "float64",
            "m",
            "Position in the camera frame, rotated by camera_rotation_deg.",
        ),
        Output("keypoints_in_image", ("K",), "bool", "-", "Whether it is in front of the camera and inside the image."),
        Output(
            "keypoints_visibility",
            ("K",),
            "int32",
            "-",
            "0: outside of the image; 1: hidden; 2: seen, at most keypoint_tolerance_m behind the surface.",
        ),
    )

    def annotate(self, frame: AnnotatedFrame) -> dict[str, Array]:
        """See `Annotator`."""
        points = np.array(list(frame.keypoints.values()), dtype=float).reshape(-1, 3)
        in_camera = frame.in_camera(points)
        pixels = frame.optics.project(in_camera)
        nearest = np.rint(np.nan_to_num(pixels, nan=-1.0))
        inside = ((nearest >= 0) & (nearest < [frame.optics.width, frame.optics.height])).all(axis=1)
        columns, rows = np.where(inside[:, None], nearest, 0).astype(int).T
        lengths = np.linalg.norm(in_camera, axis=1) if isinstance(frame.optics, Fisheye) else in_camera[:, 2]
        seen = lengths <= frame.lengths_m[rows, columns] + frame.cfg.keypoint_tolerance_m
        return {
            "keypoint_names": np.array(list(frame.keypoints), dtype=str),
            "keypoints_px": pixels,
            "keypoints_camera": frame.cfg.T_camera_turned.inverse() @ in_camera,
            "keypoints_in_image": inside,
            "keypoints_visibility": np.where(inside, np.where(seen, 2, 1), 0).astype(np.int32),
        }
