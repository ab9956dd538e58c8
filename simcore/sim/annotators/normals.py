"""Directions of surfaces."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from simcore.sim.annotators.annotator import Annotator, Output
from simcore.sim.annotators.shot import Shot

Array = np.ndarray


class Normals(Annotator):
    """Unit normals of what is seen, from the depth around each pixel (`Pinhole.normals`)."""

    outputs: ClassVar[tuple[Output, ...]] = (
        Output("normals", ("H", "W", 3), "float32", "-", "World frame, towards the camera; 0 where nothing is seen."),
    )

    def annotate(self, shot: Shot) -> dict[str, Array]:
        """See `Annotator`."""
        in_world = shot.T_world_camera.rotate(shot.pinhole.normals(shot.images.depth_m))
        return {"normals": in_world.astype(np.float32)}
