"""The contract of an annotator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unlatch.simcore.sim.annotators.annotated_frame import AnnotatedFrame

Array = np.ndarray


@dataclass(frozen=True)
class Output:
    """One array of an annotator."""

    name: str
    """Name, unique among all annotators."""
    shape: tuple[int | str, ...]
    """`N` things in the order of `Annotations.paths`, `K` keypoints, `H` rows and `W` columns of the image."""
    dtype: str
    """NumPy's name of the type of its values; `text` for names."""
    unit: str
    """Unit, or `-`."""
    meaning: str
    """Its content, in one sentence."""


class Annotator(ABC):
    """Computes the same arrays from every frame, and changes nothing."""

    outputs: ClassVar[tuple[Output, ...]]
    """The arrays that it computes."""

    @abstractmethod
    def annotate(self, frame: AnnotatedFrame) -> dict[str, Array]:
        """Returns the arrays by the names in `outputs`."""
