"""One attribute of a view: how many values it has, in what unit, how they are read and written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class ViewAttribute:
    """A quantity that every member of a view has."""

    name: str
    width: int
    """Values a member."""
    unit: str
    components: str
    """What the values are, in words: `x, y, z`, `one a joint: panda_joint1, ...`."""
    read: Callable[[int], Array]
    """(width,) values of a member now, by its environment."""
    write: Callable[[int, Array], None]
    """Writes (width,) values of a member."""
    least: float | None = None
    """Smallest value that means anything; what is below is raised to it. None = any."""
    most: float | None = None
    """Largest value that means anything."""
    repeat: int | None = None
    """A shorter width that is taken too, repeated to the whole: 3 values of a material for all links."""
    brief: bool = False
    """Whether what `on_interval` writes acts until the next `step_randomization` only: a force, an effort."""

    @property
    def widths(self) -> tuple[int, ...]:
        """Numbers of values that a draw may have, the full one first."""
        return (self.width,) if self.repeat in (None, self.width) else (self.width, int(self.repeat or 0))

    def bounded(self, values: Array) -> Array:
        """Values brought into the range that means anything."""
        if self.least is None and self.most is None:
            return values
        clipped: Array = np.clip(values, self.least, self.most)
        return clipped
