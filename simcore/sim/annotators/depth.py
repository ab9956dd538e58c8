"""Depth images."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from unlatch.simcore.sim.annotators.annotated_frame import AnnotatedFrame
from unlatch.simcore.sim.annotators.annotator import Annotator, Output

Array = np.ndarray


class DistanceToImagePlane(Annotator):
    """Distance along the camera's z axis."""

    outputs: ClassVar[tuple[Output, ...]] = (
        Output(
            "distance_to_image_plane", ("H", "W"), "float32", "m", "Depth along z; infinite if the pixel shows nothing."
        ),
    )

    def annotate(self, frame: AnnotatedFrame) -> dict[str, Array]:
        """See `Annotator`."""
        return {"distance_to_image_plane": frame.images.depth_m}


class DistanceToCamera(Annotator):
    """Distance to the camera's centre along the ray of each pixel."""

    outputs: ClassVar[tuple[Output, ...]] = (
        Output(
            "distance_to_camera",
            ("H", "W"),
            "float32",
            "m",
            "Distance from the camera's centre; infinite if the pixel shows nothing.",
        ),
    )

    def annotate(self, frame: AnnotatedFrame) -> dict[str, Array]:
        """See `Annotator`."""
        return {"distance_to_camera": frame.distance_m}
