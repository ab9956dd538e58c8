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
    """Its name, unique among all annotators."""
    shape: tuple[int | str, ...]
    """`N` things in the order of `Annotations.paths`, `K` keypoints, `H` rows and `W` columns of the image."""
    dtype: str
    """Type of its values, as NumPy names it; `text` for names."""
    unit: str
    """Unit, or `-`."""
    meaning: str
    """What it holds, in one sentence."""


class Annotator(ABC):
    """Computes some arrays from a frame: the same ones in every image, nothing else, and without changing anything."""

    outputs: ClassVar[tuple[Output, ...]]
    """What it computes."""

    @abstractmethod
    def annotate(self, frame: AnnotatedFrame) -> dict[str, Array]:
        """The arrays by the names of `outputs`."""
