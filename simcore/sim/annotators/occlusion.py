"""The hidden share of a thing."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from unlatch.simcore.sim.annotators.annotated_frame import AnnotatedFrame
from unlatch.simcore.sim.annotators.annotator import Annotator, Output
from unlatch.simcore.sim.annotators.entity import Entity

Array = np.ndarray

_BEHIND_M = 1e-3
"""A surface hides a thing only if it is this much closer, since outlines are rounded differently [m]."""


class Occlusion(Annotator):
    """The share of a thing's pixels that something else hides."""

    outputs: ClassVar[tuple[Output, ...]] = (
        Output("occlusion", ("N",), "float64", "-", "0: fully visible, 1: fully hidden; NaN: outside of the image."),
        Output("alone_px", ("N",), "int32", "px", "Number of pixels that it would cover without other things."),
    )

    def annotate(self, frame: AnnotatedFrame) -> dict[str, Array]:
        """See `Annotator`."""
        found = [_count_hidden_and_alone(frame, entity) for entity in frame.entities]
        counts = np.array(found, dtype=np.int32).reshape(-1, 2)
        with np.errstate(invalid="ignore"):
            share = counts[:, 0] / counts[:, 1]
        return {"occlusion": share, "alone_px": counts[:, 1]}


def _count_hidden_and_alone(frame: AnnotatedFrame, entity: Entity) -> tuple[int, int]:
    alone_m, _ = frame.nearest_triangles(entity.mesh(frame.T_camera_world))
    hidden = ~frame.mask(entity) & (frame.lengths_m < alone_m - _BEHIND_M)
    covered = np.isfinite(alone_m)
    return int(np.count_nonzero(hidden & covered)), int(np.count_nonzero(covered))
