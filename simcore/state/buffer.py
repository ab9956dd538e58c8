"""A buffer: one array with tags."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from unlatch.simcore.errors import RecordingError

Array = np.ndarray


class Buffer:
    """Holds one array of simulation data (a joint state, a pose, an image) and its tags.

    The array is copied and read-only, so results of `state_dict` never change.
    """

    def __init__(self, value: ArrayLike | None = None, *, tags: Iterable[str] = ()) -> None:
        """Makes a buffer.

        Args:
            value: First value; None until something is written.
            tags: Names that `Module.state_dict` filters by, such as "rgb".
        """
        if isinstance(tags, str):
            raise RecordingError(f"Tags of a buffer are a list of names, got the text {tags!r}. Write [{tags!r}].")
        self.tags = frozenset(tags)
        self._value: Array | None = None
        self.set_value(value)

    def get_value(self) -> Array | None:
        """Returns the last value, or None before the first; read-only."""
        return self._value

    def set_value(self, value: ArrayLike | None) -> None:
        """Writes a copy of a value.

        Raises:
            RecordingError: The value is not an array of booleans, numbers or text.
        """
        if value is None:
            self._value = None
            return
        try:
            array = np.array(value)
        except ValueError as exc:
            raise RecordingError(f"A buffer holds one array: {exc}. Give rows of equal length.") from exc
        if array.dtype == object:
            raise RecordingError(
                f"A buffer holds an array of booleans, numbers or text, got a {type(value).__name__} that NumPy "
                "keeps as objects. Convert it to an array first."
            )
        array.setflags(write=False)
        self._value = array

    def __repr__(self) -> str:
        shape = "empty" if self._value is None else f"{self._value.dtype}{list(self._value.shape)}"
        return f"Buffer({shape}, tags={sorted(self.tags)})"
