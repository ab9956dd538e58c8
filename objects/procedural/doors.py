"""The one builder of boxes with doors: kitchen appliances, safes, cabinets, a door in its frame.

A category states a table of its values and four functions: where its doors are, and what is added to the body, to a
door and to the whole object. The rest is the same for all: slab, handle, hinge, masses and push points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from unlatch.objects.annotation import PartKind
from unlatch.objects.procedural.assembly import Assembly, flap_motion, hinge_motion
from unlatch.objects.procedural.fittings import Carcass, Corner
from unlatch.objects.procedural.handles import HandlePlace, PanelHandle
from unlatch.objects.procedural.links import FLAP_BELOW, LinkBuilder, PanelBuilder, PanelFrame, door_frame
from unlatch.objects.procedural.parameters import Colour, Drawn

_HINGE_GAP_M = 0.003
_BARREL_M = 0.005


@dataclass(frozen=True)
class Door:
    """One door; across, along and out are directions of its frame."""

    frame: PanelFrame
    at: Corner
    """(3,) origin of its link, on the hinge, in the body's frame [m]."""
    span: tuple[float, float]
    """From the edge at the hinge to the free edge, across [m]."""
    half: float
    """Half of its extent along the hinge [m]."""
    out: tuple[float, float]
    """Where its inner and its outer face lie outwards [m]."""
    hold: tuple[float, float]
    """Middle of the handle, across and along [m]."""
    handle: PanelHandle
    handle_rgba: Colour
    rgba: Colour
    thickness_m: float
    """Thickness of its free edge."""
    name: str = "door"
    push: np.ndarray | None = None
    """(3,) a clear spot of the outer face, link frame [m]; None: where the handle leaves room."""
    swing: PanelFrame | None = None
    """The frame of its motion and of its axes; None: `frame`."""
    edge_length_m: float | None = None
    """Length of the free edge; None: the whole door."""
    has_slab: bool = True
    """Whether the door is a slab; else the category adds its shapes."""

    @classmethod
    def inset(
        cls,
        box: Carcass,
        p: Drawn,
        *,
        thickness_m: float,
        hold: Callable[[Door], tuple[float, float]],
        handle: PanelHandle,
        rgba: Colour,
    ) -> Door:
        """Returns the door that fills the opening of a box, inside its frame, hinged at `p.hinge_side`.

        Its outer face is at 0 outwards, so that it swings clear of the frame beside the hinge. `hold` returns the
        middle of the handle across and along the door [m]; the handle has the colour `p.metal`.
        """
        frame = door_frame(p.hinge_side)
        (_, b0, c0), (a1, b1, c1) = box.inner
        width = b1 - b0
        # the inner corner of the free edge swings wider than the edge itself
        room = thickness_m**2 / (2 * width) + 0.003
        at = (a1, b0 if frame.across[1] > 0 else b1, (c0 + c1) / 2)
        span, out = (_HINGE_GAP_M, width - room), (-thickness_m, 0.0)
        door = cls(frame, at, span, (c1 - c0) / 2 - 0.003, out, (0.0, 0.0), handle, p.metal, rgba, thickness_m)
        return replace(door, hold=hold(door))

    def add_hinges(self, body: LinkBuilder) -> None:
        """Adds two visual barrels to the body, beside the hinge."""
        (x, y, z), rgba = self.at, self.handle_rgba
        for number, sign in enumerate((-1.0, 1.0)):
            centre = (x, y - self.frame.across[1] * _BARREL_M, z + sign * 0.6 * self.half)
            body.visual.cylinder(f"hinge_{number}", centre, axis="z", radius=_BARREL_M, length=0.04, rgba=rgba)

    @property
    def up(self) -> float:
        """1 if `along` points up, -1 if it points down."""
        return float(self.frame.along[2])

    @property
    def place(self) -> HandlePlace:
        """Where its handle sits."""
        length = 2 * self.half if self.edge_length_m is None else self.edge_length_m
        return HandlePlace(self.hold, self.out[1], edge=self.span[1], thickness=self.thickness_m, length=length)


def numbered(name: str, number: int) -> str:
    """Returns the name of a part among several of its kind: `door`, `door_2`, `door_3`."""
    return name if number == 0 else f"{name}_{number + 1}"


@dataclass(frozen=True)
class BoxWithDoors:
    """Builds the boxes of one category.

    Its table has `depth_m`, `height_m`, what the joint of a door needs (see `hinge_motion` and `flap_motion`), and for
    `body` and `door` a mass, as `body_mass_kg`, or a density, as `body_density_kg_m3`, or one `density_kg_m3` for both.
    """

    doors: Callable[[Drawn], Sequence[Door]]
    add_body: Callable[[LinkBuilder, Drawn], None]
    """Adds all shapes of the body."""
    add_to_door: Callable[[PanelBuilder, Drawn, Door], None]
    """Adds what lies on the slab of a door, apart from its handle."""
    finish: Callable[[Assembly, Drawn, Sequence[Door]], None]
    """Adds further parts, and the textures."""
    edge_inset_m: float = 0.05
    """Distance of the base contact point behind the front."""
    add_after_handle: Callable[[PanelBuilder, Drawn, Door], None] | None = None
    """Adds what follows the handle of a door in the file."""

    def __call__(self, assembly: Assembly, p: Drawn) -> None:
        """Builds a box. The frame of a door lies on its hinge."""
        body = LinkBuilder("body")
        self.add_body(body, p)
        edge = (p.depth_m / 2 - self.edge_inset_m, 0.0, p.height_m)
        assembly.add_body(body, mass_kg=_link_mass(body, p, "body", digits=3), edge=edge)
        doors = self.doors(p)
        for door in doors:
            self._add_door(assembly, p, door)
        self.finish(assembly, p, doors)

    def _add_door(self, assembly: Assembly, p: Drawn, door: Door) -> None:
        panel = PanelBuilder(door.name, door.frame)
        if door.has_slab:
            (low, high), (back, face) = door.span, door.out
            panel.box("slab", (low, -door.half, back), (high, door.half, face), rgba=door.rgba)
        self.add_to_door(panel, p, door)
        grip = door.handle.add_to(panel, door.place, door.handle_rgba)
        if self.add_after_handle is not None:
            self.add_after_handle(panel, p, door)
        swing = door.swing or door.frame
        if door.frame is FLAP_BELOW:
            motion, push = flap_motion(door.at, p, door.place), door.handle.push_beside(door.frame, door.place)
        else:
            motion = hinge_motion(PartKind.hinge_vertical, swing, door.at, p)
            push = door.handle.push_point(door.frame, door.place)
        push = push if door.push is None else door.push
        mass_kg = _link_mass(panel, p, "door")
        assembly.add_part(panel, motion, replace(grip, frame=swing), mass_kg=mass_kg, push=push)


def _link_mass(builder: LinkBuilder, p: Drawn, link: str, *, digits: int = 4) -> float:
    """Returns the mass of a link that the table states, or that of its density [kg]."""
    stated = vars(p)
    if f"{link}_mass_kg" in stated:
        return float(stated[f"{link}_mass_kg"])
    density = stated[f"{link}_density_kg_m3" if f"{link}_density_kg_m3" in stated else "density_kg_m3"]
    return builder.mass_kg(density, digits=digits)
