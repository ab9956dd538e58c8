"""The image as points."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from unlatch.simcore.sim.annotators.annotated_frame import AnnotatedFrame
from unlatch.simcore.sim.annotators.annotator import Annotator, Output

Array = np.ndarray


class PointCloud(Annotator):
    """Where each pixel's ray meets a surface, in the order of the image: colours and segmentation belong to it."""

    outputs: ClassVar[tuple[Output, ...]] = (
        Output("point_cloud", ("H", "W", 3), "float32", "m", "World frame; NaN if the pixel shows nothing."),
    )

    def annotate(self, frame: AnnotatedFrame) -> dict[str, Array]:
        """See `Annotator`."""
        points = frame.T_world_camera @ frame.points_camera()
        return {"point_cloud": points.astype(np.float32)}
