"""One attribute of a view: its number of values, their unit, and how to read and write them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class ViewAttribute:
    """A quantity of every member of a view."""

    name: str
    width: int
    """Values per member."""
    unit: str
    components: str
    """Meaning of the values, such as `x, y, z` or `one a joint: panda_joint1, ...`."""
    read: Callable[[int], Array]
    """Returns the present values (width,) of a member, by its environment."""
    write: Callable[[int, Array], None]
    """Writes (width,) values of a member."""
    least: float | None = None
    """Smallest meaningful value; smaller ones are raised to it. None: any."""
    most: float | None = None
    """Largest meaningful value."""
    repeat: int | None = None
    """A shorter width that is accepted, too, and repeated: 3 values of a material for all links."""
    brief: bool = False
    """Whether values of `on_interval` act only until the next `step_randomization`: forces and efforts."""

    @property
    def widths(self) -> tuple[int, ...]:
        """Accepted numbers of values, the full one first."""
        return (self.width,) if self.repeat in (None, self.width) else (self.width, int(self.repeat or 0))

    def bounded(self, values: Array) -> Array:
        """Returns values clipped to the meaningful range."""
        if self.least is None and self.most is None:
            return values
        clipped: Array = np.clip(values, self.least, self.most)
        return clipped
