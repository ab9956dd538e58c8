"""One value slot with tags."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

Array = np.ndarray


class Buffer:
    """Holds one array of simulation data (a joint state, a pose, an image) and the tags it is selected by."""

    def __init__(self, value: ArrayLike | None = None, *, tags: Iterable[str] = ()) -> None:
        """Makes a buffer.

        Args:
            value: First value; None until something is written.
            tags: Names that `Module.state_dict` filters by, such as "rgb".
        """
        self.tags = frozenset(tags)
        self._value: Array | None = None if value is None else np.array(value)

    def get_value(self) -> Array | None:
        """The value last written, or None before the first."""
        return self._value

    def set_value(self, value: ArrayLike | None) -> None:
        """Writes a value; the array is copied in."""
        self._value = None if value is None else np.array(value)

    def __repr__(self) -> str:
        shape = "empty" if self._value is None else f"{self._value.dtype}{list(self._value.shape)}"
        return f"Buffer({shape}, tags={sorted(self.tags)})"
