"""A door inside its frame, flush with the front, with a hinge at the outer edge of its face."""

from __future__ import annotations

from dataclasses import dataclass

from unlatch.objects.procedural.building.carcass import Carcass
from unlatch.objects.procedural.building.drawing import Colour
from unlatch.objects.procedural.building.link_builder import LinkBuilder, PanelBuilder, PanelFrame, door_frame

_HINGE_GAP_M = 0.003
_BARREL_M = 0.005


@dataclass(frozen=True)
class InsetDoor:
    """Place of the door. Its outer face is at 0 outwards, so that it swings clear of the frame beside the hinge."""

    frame: PanelFrame
    at: tuple[float, float, float]
    """(3,) the hinge at mid height, in the body's frame [m]."""
    span: tuple[float, float]
    """From the edge at the hinge to the free edge, across [m]."""
    half_along: float
    """Half of the height of the door [m]."""
    thickness_m: float

    @classmethod
    def of(cls, box: Carcass, *, hinge_side: str, thickness_m: float) -> InsetDoor:
        """Returns the door that fills the opening of a box, hinged `left` or `right` as seen from the front."""
        frame = door_frame(hinge_side)
        (_, b0, c0), (a1, b1, c1) = box.inner
        width = b1 - b0
        # the inner corner of the free edge swings wider than the edge itself
        room = thickness_m**2 / (2 * width) + 0.003
        at = (a1, b0 if frame.across[1] > 0 else b1, (c0 + c1) / 2)
        return cls(frame, at, (_HINGE_GAP_M, width - room), (c1 - c0) / 2 - 0.003, thickness_m)

    def add_slab(self, door: PanelBuilder, *, rgba: Colour) -> None:
        """Adds the slab of the door to its link."""
        (low, high), half = self.span, self.half_along
        door.box("slab", (low, -half, -self.thickness_m), (high, half, 0.0), rgba=rgba)

    def add_hinges(self, body: LinkBuilder, *, rgba: Colour) -> None:
        """Adds two visual barrels to the body, beside the hinge."""
        x, y, z = self.at
        for number, sign in enumerate((-1.0, 1.0)):
            centre = (x, y - self.frame.across[1] * _BARREL_M, z + sign * 0.6 * self.half_along)
            body.visual.cylinder(f"hinge_{number}", centre, axis="z", radius=_BARREL_M, length=0.04, rgba=rgba)
