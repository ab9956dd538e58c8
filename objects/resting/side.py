"""The side on which an object lies."""

from __future__ import annotations

from enum import Enum

import numpy as np

from unlatch.simcore.errors import UnlatchError


class RestsOn(Enum):
    """The side of an object that is down. Left and right are as seen from in front of the object as it stands."""

    bottom = "bottom"
    """As the object stands by itself."""
    back = "back"
    left = "left"
    right = "right"
    front = "front"
    top = "top"
    any = "any"
    """As it stands; where a search for a layout finds no plan, the search tries the other sides."""

    @property
    def down_rotation(self) -> np.ndarray:
        """(3, 3) exact rotation that turns this side of a standing object down.

        Raises:
            UnlatchError: `any` names no side.
        """
        if self not in _COLUMNS:
            raise UnlatchError(f"rests_on={self.value} names no side. Choose one of {', '.join(_NAMES)}.")
        return np.array(_COLUMNS[self], dtype=float).T


# the directions to which x (out of the front), y (to the right as seen from in front) and z (up) of the standing object
# point as it lies
_COLUMNS = {
    RestsOn.bottom: ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    RestsOn.back: ((0, 0, 1), (0, 1, 0), (-1, 0, 0)),
    RestsOn.left: ((1, 0, 0), (0, 0, 1), (0, -1, 0)),
    RestsOn.right: ((1, 0, 0), (0, 0, -1), (0, 1, 0)),
    RestsOn.front: ((0, 0, -1), (0, 1, 0), (1, 0, 0)),
    RestsOn.top: ((1, 0, 0), (0, -1, 0), (0, 0, -1)),
}
_NAMES = [side.value for side in _COLUMNS]

OTHER_SIDES = tuple(side for side in _COLUMNS if side is not RestsOn.bottom)
"""All sides but the bottom, in the order in which they are tried."""
