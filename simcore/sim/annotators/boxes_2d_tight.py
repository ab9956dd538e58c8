"""Boxes in the image around visible pixels."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from unlatch.simcore.sim.annotators.annotated_frame import AnnotatedFrame
from unlatch.simcore.sim.annotators.annotator import Annotator, Output

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
                mask = frame.mask(entity)
                columns, rows = np.flatnonzero(mask.any(axis=0)), np.flatnonzero(mask.any(axis=1))
                boxes[row] = columns[0], rows[0], columns[-1], rows[-1]
        counts = np.array([frame.visible_px(entity) for entity in frame.entities], dtype=np.int32)
        return {"boxes_2d_tight": boxes, "visible_px": counts}
