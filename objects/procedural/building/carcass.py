"""Hollow boxes, feet and rings of staves for the bodies of objects."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unlatch.objects.procedural.building.drawing import Colour
from unlatch.objects.procedural.building.finishes import RUBBER, darker
from unlatch.objects.procedural.building.link_builder import LinkBuilder
from unlatch.simcore.geometry import Pose

Corner = tuple[float, float, float]
_SKIN_M = 0.0008


@dataclass(frozen=True)
class Carcass:
    """A box of boards that is open in front (+x) or above (+z)."""

    low: Corner
    high: Corner
    wall_m: float
    opening: str = "x"
    """`x` or `z`."""
    back_m: float | None = None
    """Thickness of the side opposite the opening; None: as the walls."""

    @property
    def inner(self) -> tuple[Corner, Corner]:
        """Lower and upper corner of the hollow [m]."""
        w, back = self.wall_m, self.wall_m if self.back_m is None else self.back_m
        (x0, y0, z0), (x1, y1, z1) = self.low, self.high
        if self.opening == "x":
            return (x0 + back, y0 + w, z0 + w), (x1, y1 - w, z1 - w)
        return (x0 + w, y0 + w, z0 + back), (x1 - w, y1 - w, z1)

    def build(self, builder: LinkBuilder, *, rgba: Colour, lining: Colour | None = None) -> None:
        """Adds the boards, and a lining of another colour if one is given."""
        (x0, y0, z0), (x1, y1, z1) = self.low, self.high
        (a0, b0, c0), (a1, b1, c1) = self.inner
        boards = {
            "side_low_y": ((x0, y0, z0), (x1, b0, z1)),
            "side_high_y": ((x0, b1, z0), (x1, y1, z1)),
            "floor": ((x0, b0, z0), (x1, b1, c0)),
            "back": ((x0, b0, c0), (a0, b1, c1)),
        }
        if self.opening == "x":
            boards["ceiling"] = ((x0, b0, c1), (x1, b1, z1))
        else:
            boards["front"] = ((a1, b0, c0), (x1, b1, c1))
        for name, (low, high) in boards.items():
            builder.box(name, low, high, rgba=rgba)
        if lining is None:
            return
        s = _SKIN_M
        skins = {
            "low_y": ((a0, b0, c0), (a1, b0 + s, c1)),
            "high_y": ((a0, b1 - s, c0), (a1, b1, c1)),
            "floor": ((a0, b0, c0), (a1, b1, c0 + s)),
            "back": ((a0, b0, c0), (a0 + s, b1, c1)),
        }
        if self.opening == "x":
            skins["ceiling"] = ((a0, b0, c1 - s), (a1, b1, c1))
        else:
            skins["front"] = ((a1 - s, b0, c0), (a1, b1, c1))
        for name, (low, high) in skins.items():
            builder.visual.box(f"lining_{name}", low, high, rgba=lining)


def add_feet(
    builder: LinkBuilder,
    half: tuple[float, float],
    *,
    inset_m: float,
    height_m: float,
    radius_m: float,
    rgba: Colour = RUBBER,
) -> None:
    """Adds four round feet below a footprint of half extents `half` in x and y; `inset_m` is from its sides to their
    middles [m].
    """
    u, v = half[0] - inset_m, half[1] - inset_m
    for number, (x, y) in enumerate(((-u, -v), (-u, v), (u, -v), (u, v))):
        builder.cylinder(f"foot_{number}", (x, y, height_m / 2), axis="z", radius=radius_m, length=height_m, rgba=rgba)


def add_base(builder: LinkBuilder, style: str, half: tuple[float, float], *, height_m: float, rgba: Colour) -> None:
    """Adds the base of a piece of furniture, darker than `rgba`.

    Args:
        builder: The body.
        style: `legs`, or `plinth`: a closed box whose front is behind that of the furniture.
        half: Half extents of the footprint in x and y [m].
        height_m: Height of the base [m].
        rgba: Colour of the furniture.
    """
    if style == "legs":
        add_feet(builder, half, inset_m=0.03, height_m=height_m, radius_m=0.014, rgba=darker(rgba))
        return
    x, y = half
    builder.box("plinth", (-x, -y + 0.01, 0.0), (x - 0.02, y - 0.01, height_m), rgba=darker(rgba, 0.6))


def add_ring_wall(
    builder: LinkBuilder,
    name: str,
    *,
    radius_m: float,
    wall_m: float,
    height: tuple[float, float],
    rgba: Colour,
    count: int = 20,
    T_link_ring: Pose | None = None,
) -> None:
    """Adds a tube of flat staves about the z axis of the ring.

    Args:
        builder: The link.
        name: Beginning of the names of the staves.
        radius_m: Outer radius at the middle of a stave [m].
        wall_m: Thickness of a stave [m].
        height: Lowest and highest z in the frame of the ring [m].
        rgba: Colour.
        count: Number of staves.
        T_link_ring: Pose of the ring; None: the frame of the link.
    """
    low, high = height
    width = 2 * radius_m * float(np.tan(np.pi / count))
    for number in range(count):
        angle = 2 * np.pi * (number + 0.5) / count
        c, s = float(np.cos(angle)), float(np.sin(angle))
        R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        middle = radius_m - wall_m / 2
        pose = Pose(R, np.round([c * middle, s * middle, (low + high) / 2], 7))
        if T_link_ring is not None:
            pose = T_link_ring @ pose
        builder.turned_box(f"{name}_{number}", (wall_m, width, high - low), pose, rgba=rgba)
