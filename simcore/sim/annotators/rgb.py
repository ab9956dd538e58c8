"""Colours."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from unlatch.simcore.sim.annotators.annotated_frame import AnnotatedFrame
from unlatch.simcore.sim.annotators.annotator import Annotator, Output

Array = np.ndarray


class Rgb(Annotator):
    """Colours without noise."""

    outputs: ClassVar[tuple[Output, ...]] = (Output("rgb", ("H", "W", 3), "uint8", "-", "Red, green and blue."),)

    def annotate(self, frame: AnnotatedFrame) -> dict[str, Array]:
        """See `Annotator`."""
        return {"rgb": frame.images.rgb}
