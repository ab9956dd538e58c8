"""Colours."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from unlatch.simcore.sim.annotators.annotator import Annotator, Output
from unlatch.simcore.sim.annotators.shot import Shot

Array = np.ndarray


class Rgb(Annotator):
    """Colours as they were rendered."""

    outputs: ClassVar[tuple[Output, ...]] = (Output("rgb", ("H", "W", 3), "uint8", "-", "Red, green and blue."),)

    def annotate(self, shot: Shot) -> dict[str, Array]:
        """See `Annotator`."""
        return {"rgb": shot.images.rgb}
