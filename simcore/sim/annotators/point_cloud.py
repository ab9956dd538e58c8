"""Point clouds."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from unlatch.simcore.sim.annotators.annotated_frame import AnnotatedFrame
from unlatch.simcore.sim.annotators.annotator import Annotator, Output

Array = np.ndarray


class PointCloud(Annotator):
    """The visible point of each pixel, in the order of the image, as of colours and segmentation."""

    outputs: ClassVar[tuple[Output, ...]] = (
        Output("point_cloud", ("H", "W", 3), "float32", "m", "World frame; NaN if the pixel shows nothing."),
    )

    def annotate(self, frame: AnnotatedFrame) -> dict[str, Array]:
        """See `Annotator`."""
        points = frame.T_world_camera @ frame.points_camera()
        return {"point_cloud": points.astype(np.float32)}
