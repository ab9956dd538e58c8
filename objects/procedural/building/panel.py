"""Panels: doors, lids, flaps and fronts, built in the directions across, along and out."""

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

    `across` runs from the hinge to the free edge (down on a drawer's front), `out` to the hand, and `along = out x
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
        """Returns (3,) a point in the frame of the link [m]."""
        point: Array = self.rotation @ np.array([across, along, out])
        return point

    def letter(self, direction: str) -> str:
        """Returns `x`, `y` or `z`: the link's axis along `across`, `along` or `out`."""
        column = self.rotation[:, ("across", "along", "out").index(direction)]
        return "xyz"[int(np.argmax(np.abs(column)))]


X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
FRONT = PanelFrame(across=Y, out=X)
"""A panel in the front; a door with its hinge on the left, as seen from the front."""
FLAP_BELOW = PanelFrame(across=Z, out=X)
"""A door in the front that is hinged below."""
LID_BEHIND = PanelFrame(across=X, out=Z)
"""A lid that is hinged behind."""
DRAWER_FRONT = PanelFrame(across=(0.0, 0.0, -1.0), out=X)
"""A drawer's front; a hand holds its upper edge."""


def door_frame(hinge_side: str) -> PanelFrame:
    """Returns the frame of a door in the front, hinged `left` or `right` as seen from the front."""
    return FRONT if hinge_side == "left" else PanelFrame(across=(0.0, -1.0, 0.0), out=X)


class PanelBuilder(LinkBuilder):
    """A link whose boxes and cylinders are given in (across, along, out) of its panel."""

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
        """Adds a frame of four strips around a rectangle; `span` and `out` are from and to, across and outwards [m]."""
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

    def _to_link_point(self, point: Sequence[float]) -> Array:
        """Returns (3,) a point given as (across, along, out), in the link frame [m]."""
        return self.frame.at(*point)

    def _to_link_axis(self, axis: str) -> str:
        """Returns the link's axis along `across`, `along` or `out`."""
        return self.frame.letter(axis)
