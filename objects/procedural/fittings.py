"""Fittings that several categories share: hollow boxes, feet, round vessels, inset doors and knobs that turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unlatch.objects.annotation import HandleType, PartKind
from unlatch.objects.procedural.assembly import Assembly, PartMotion
from unlatch.objects.procedural.colours import MARK, RUBBER, darker
from unlatch.objects.procedural.handles import grip_standing_out
from unlatch.objects.procedural.links import LinkBuilder, PanelBuilder, PanelFrame
from unlatch.objects.procedural.parameters import Colour, Draw, draw_uniform
from unlatch.simcore.geometry import Pose

Corner = tuple[float, float, float]
_SKIN_M = 0.0008
LID_GAP_M = 0.002
"""Gap between the rim of a round vessel and its lid."""
_KNOB_GAP_M = 0.002
_SKIRT_M = 0.004


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
        builder.boxes(rgba, boards)
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
        builder.visual.boxes(lining, {f"lining_{name}": corners for name, corners in skins.items()})


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


@dataclass(frozen=True)
class RoundLid:
    """A vessel about the z axis, open above, and the place of its lid."""

    radius_m: float
    """Outer radius of the vessel."""
    wall_m: float
    foot_m: float
    """Height of its bottom over the ground."""
    rim_m: float
    """Height of its upper edge."""
    lid_m: float
    """Thickness of the lid at its edge."""
    overhang_m: float
    """Radius of the lid minus that of the vessel."""

    @property
    def lid_radius_m(self) -> float:
        """Radius of the lid [m]."""
        return self.radius_m + self.overhang_m

    @property
    def hinge(self) -> tuple[float, float, float]:
        """(3,) the hinge, behind the rim, in the body's frame [m]."""
        return -self.lid_radius_m, 0.0, self.rim_m

    @property
    def face_m(self) -> float:
        """Height of the lid's outer face over the hinge [m]."""
        return LID_GAP_M + self.lid_m

    def add_vessel(self, body: LinkBuilder, *, rgba: Colour, inside: Colour) -> None:
        """Adds wall, floor, and a darker visual floor."""
        radius, wall, height = self.radius_m, self.wall_m, (self.foot_m, self.rim_m)
        add_ring_wall(body, "wall", radius_m=radius, wall_m=wall, height=height, rgba=rgba, count=24)
        inner, floor = self.radius_m - self.wall_m, self.foot_m + self.wall_m
        middle = (self.foot_m + floor) / 2
        body.cylinder("floor", (0, 0, middle), axis="z", radius=inner, length=self.wall_m, rgba=rgba)
        body.visual.cylinder("bottom", (0, 0, floor), axis="z", radius=inner * 0.99, length=0.001, rgba=inside)

    def add_hinge(self, body: LinkBuilder, *, rgba: Colour) -> None:
        """Adds a bracket behind the rim, under the lid."""
        x, _, z = self.hinge
        body.box("bracket", (x, -0.022, z - 0.022), (-self.radius_m + self.wall_m * 0.5, 0.022, z), rgba=rgba)
        body.visual.cylinder("hinge", (x, 0.0, z), axis="y", radius=0.005, length=0.05, rgba=rgba)

    def add_disc(self, lid: PanelBuilder, *, rgba: Colour) -> None:
        """Adds the disc of the lid, whose frame is on the hinge."""
        r = self.lid_radius_m
        lid.cylinder("disc", (r, 0, LID_GAP_M + self.lid_m / 2), axis="out", radius=r, length=self.lid_m, rgba=rgba)

    def add_dome(self, lid: PanelBuilder, *, shares: tuple[float, ...], step_m: float, rgba: Colour) -> float:
        """Adds discs on the lid, each smaller than the one below; returns the height of the top over the hinge [m]."""
        r, top = self.lid_radius_m, self.face_m
        for number, share in enumerate(shares):
            middle = (r, 0, top + step_m / 2)
            lid.cylinder(f"dome_{number}", middle, axis="out", radius=r * share, length=step_m, rgba=rgba)
            top += step_m
        return top


@dataclass(frozen=True)
class TurningKnob:
    """A knob on an axis normal to its panel."""

    style: str
    """`round`, or `blade`: a bar across a disc."""
    diameter_m: float
    depth_m: float
    """How far it stands out of the panel."""
    blade_m: float
    range_rad: float
    friction_n_m: float
    damping_n_m_s: float

    @property
    def grip_m(self) -> float:
        """Across, where the fingers close [m]."""
        return self.blade_m if self.style == "blade" else self.diameter_m

    def record(self) -> dict[str, float | str]:
        """Returns the values that objects record."""
        return {"style": self.style, "diameter_m": self.diameter_m}


def turning_knob(*, diameter: tuple[float, float], depth: tuple[float, float] = (0.030, 0.036)) -> Draw:
    """Declares a knob from a range of diameters and one of depths [m]."""
    return lambda rng, p: TurningKnob(
        style="blade" if rng.random() < 0.65 else "round",
        diameter_m=draw_uniform(rng, *diameter),
        depth_m=draw_uniform(rng, *depth),
        blade_m=draw_uniform(rng, 0.010, 0.014),
        range_rad=draw_uniform(rng, 3.6, 5.0),
        friction_n_m=draw_uniform(rng, 0.2, 0.24),
        damping_n_m_s=draw_uniform(rng, 0.0002, 0.001),
    )


def add_turning_knob(
    assembly: Assembly,
    name: str,
    knob: TurningKnob,
    *,
    frame: PanelFrame,
    parent: str,
    at: Sequence[float],
    edge: Sequence[float],
    rgba: Colour,
    mark: Colour = MARK,
    density_kg_m3: float = 1400.0,
) -> None:
    """Adds a knob that opens clockwise, as seen by the hand.

    Args:
        assembly: The object.
        name: Name of the part.
        knob: The knob.
        frame: Its axis is `frame.out`; the fingers close across.
        parent: Link that carries the knob.
        at: (3,) where the axis meets the panel, in the frame of the parent [m].
        edge: (3,) see `Assembly.add_part`.
        rgba: Colour of the knob.
        mark: Colour of the mark on it.
        density_kg_m3: Density [kg/m^3].
    """
    builder = PanelBuilder(name, frame)
    radius, depth = knob.diameter_m / 2, knob.depth_m
    skirt = _KNOB_GAP_M + _SKIRT_M
    middle, wide = (_KNOB_GAP_M + skirt) / 2, radius if knob.style == "blade" else radius * 1.12
    builder.cylinder("skirt", (0, 0, middle), axis="out", radius=wide, length=_SKIRT_M, rgba=rgba)
    if knob.style == "blade":
        half = knob.blade_m / 2
        builder.box("blade", (-half, -radius * 0.96, skirt), (half, radius * 0.96, depth), rgba=rgba)
        lower = (-0.0015, -radius * 0.9, depth)
    else:
        middle = (skirt + depth) / 2
        builder.cylinder("grip", (0, 0, middle), axis="out", radius=radius, length=depth - skirt, rgba=rgba)
        lower = (-0.0018, -radius * 0.9, depth)
    builder.visual.box("mark", lower, (-lower[0], -radius * 0.2, depth + 0.002), rgba=mark)
    axis = np.abs(np.asarray(frame.out))
    clockwise = -float(np.sign(np.asarray(frame.out) @ axis))
    held_depth = min(0.010, (depth - skirt) / 2)
    size = (depth - skirt, knob.grip_m, knob.diameter_m)
    grip = grip_standing_out(frame, HandleType.knob, at=(0.0, 0.0), out=depth - held_depth, size=size)
    opens = clockwise * knob.range_rad
    motion = PartMotion(PartKind.knob, parent, at, axis.tolist(), opens, knob.friction_n_m, knob.damping_n_m_s)
    push = frame.at(0.0, radius * 0.5, depth)
    assembly.add_part(builder, motion, grip, mass_kg=builder.mass_kg(density_kg_m3, digits=5), push=push, edge=edge)
