"""Panels: doors, lids, flaps and fronts, built in directions of their own instead of x, y and z."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unlatch.objects.procedural.building.drawing import Colour
from unlatch.objects.procedural.building.link_builder import LinkBuilder

Array = np.ndarray


@dataclass(frozen=True)
class PanelFrame:
    """How a panel lies in the frame of its link; every direction is plus or minus x, y or z.

    `across` runs from the hinge to the free edge (of a drawer's front: down), `out` to the hand, and `along = out x
    across` along the hinge, which is the contact axis of the annotation.
    """

    across: tuple[float, float, float]
    out: tuple[float, float, float]

    @cached_property
    def rotation(self) -> Array:
        """(3, 3) from panel to link: columns across, along, out."""
        return np.column_stack([self.across, np.cross(self.out, self.across), self.out])

    @property
    def along(self) -> Array:
        """(3,) unit direction."""
        return self.rotation[:, 1]

    def at(self, across: float, along: float, out: float) -> Array:
        """(3,) a point in the frame of the link [m]."""
        point: Array = self.rotation @ np.array([across, along, out])
        return point

    def letter(self, direction: str) -> str:
        """`x`, `y` or `z`: the link's axis that `across`, `along` or `out` runs along."""
        column = self.rotation[:, ("across", "along", "out").index(direction)]
        return "xyz"[int(np.argmax(np.abs(column)))]


X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
FRONT = PanelFrame(across=Y, out=X)
"""What stands in the front; a door that is hinged on the left, as seen by who stands before it."""
FLAP_BELOW = PanelFrame(across=Z, out=X)
"""A door in the front that is hinged below."""
LID_BEHIND = PanelFrame(across=X, out=Z)
"""A lid that is hinged behind."""
DRAWER_FRONT = PanelFrame(across=(0.0, 0.0, -1.0), out=X)
"""A drawer's front; its upper edge is the one that a hand takes."""


def door_frame(hinge_side: str) -> PanelFrame:
    """A door in the front, hinged `left` or `right` as seen by who stands before it."""
    return FRONT if hinge_side == "left" else PanelFrame(across=(0.0, -1.0, 0.0), out=X)


class PanelBuilder(LinkBuilder):
    """A link whose boxes and cylinders are given as (across, along, out) of its panel; axes are one of these words."""

    def __init__(self, name: str, frame: PanelFrame) -> None:
        super().__init__(name)
        self.frame = frame

    def border(
        self,
        name: str,
        span: tuple[float, float],
        half_along: float,
        *,
        width: float,
        out: tuple[float, float],
        rgba: Colour,
    ) -> None:
        """Adds a frame of four strips around a rectangle.

        Args:
            name: Beginning of their names.
            span: From and to, across [m].
            half_along: Half of the rectangle along [m].
            width: Of a strip [m].
            out: From and to, outwards [m].
            rgba: Colour.
        """
        (a, b), (o, p) = span, out
        inner = half_along - width
        strips = {
            "hinge": ((a, -half_along, o), (a + width, half_along, p)),
            "free": ((b - width, -half_along, o), (b, half_along, p)),
            "low": ((a + width, -half_along, o), (b - width, -inner, p)),
            "high": ((a + width, inner, o), (b - width, half_along, p)),
        }
        for side, (low, high) in strips.items():
            self.box(f"{name}_{side}", low, high, rgba=rgba)

    def _place(self, point: Sequence[float]) -> Array:
        """(3,) a point that is given as (across, along, out), in the link frame [m]."""
        return self.frame.at(*point)

    def _letter(self, axis: str) -> str:
        """The link's axis that `across`, `along` or `out` runs along."""
        return self.frame.letter(axis)
