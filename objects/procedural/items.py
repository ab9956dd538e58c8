"""Things that a hand can carry: one link without joints, with the keypoints of an upright object.

Sizes and masses are those of the kitchen: 40 g to 0.7 kg, at most as wide as a hand opens where it holds them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from unlatch.objects.annotation import Articulation, FramedVector
from unlatch.objects.procedural.assembly import LICENCE, GeneratedObject, model_bounds
from unlatch.objects.procedural.colours import CHINA, darker
from unlatch.objects.procedural.links import LinkBuilder
from unlatch.objects.procedural.parameters import (
    Colour,
    Drawn,
    Table,
    draw_table,
    one_of,
    palette,
    parameter_record,
    uniform,
)
from unlatch.simcore.geometry import Pose
from unlatch.simcore.rng import stream, sum_in_order
from unlatch.simcore.urdf.model import UrdfModel

LINK = "item"
"""Name of the only link."""
_OVERLAP = 1.04
"""Neighbouring boards of a round wall overlap by this factor, so that no gap is seen."""


@dataclass(frozen=True)
class Stand:
    """What a generator says of the object that it has built."""

    mass_kg: float
    """Mass of the whole object."""
    keypoints: dict[str, tuple[float, float, float]] = field(default_factory=dict)
    """Further keypoints, root frame [m]."""


@dataclass(frozen=True)
class ItemGenerator:
    """Draws parameters and builds a free object from them; its root frame is at the middle of its underside, z up."""

    category: str
    table: Table
    """What is drawn from a random stream of the seed and the category."""
    build: Callable[[LinkBuilder, Drawn], Stand]
    """Fills the link, without random numbers."""

    def __call__(self, seed: int, *, name: str | None = None) -> GeneratedObject:
        """Generates the object of a seed, any whole number from 0; `name` is that of the robot element in the URDF."""
        drawn = draw_table(self.table, stream(seed, f"assets.procedural.{self.category}"))
        builder = LinkBuilder(LINK)
        stand = self.build(builder, drawn)
        link = builder.build(mass_kg=stand.mass_kg)
        model = UrdfModel(name or self.category, {LINK: link}, {})
        bounds = model_bounds(model)
        points = {
            "bottom_center": (0.0, 0.0, float(bounds[0, 2])),
            "top_center": (0.0, 0.0, float(bounds[1, 2])),
            **stand.keypoints,
        }
        articulation = Articulation(
            category=self.category,
            source={"dataset": "procedural", "id": str(seed), "licence": LICENCE},
            parts={},
            free=True,
            keypoints={key: FramedVector.of("obj", np.round(xyz, 7)) for key, xyz in points.items()},
        )
        record = {**parameter_record(drawn), "mass_kg": stand.mass_kg}
        return GeneratedObject(model, articulation, bounds, friction={}, damping={}, parameters=record)


def add_prism(builder: LinkBuilder, name: str, *, radius: float, low: float, high: float, rgba: Colour) -> float:
    """Adds an upright cylinder that collides as a prism of 16 sides, and returns its volume [m^3].

    Pads rest on a flat side with four contact points. On the primitive cylinder, Bullet keeps contact points of a
    closed finger whose normals point across it: the object then sticks to a finger that opens.

    Args:
        builder: The link.
        name: Name of the cylinder, and beginning of the names of the boxes.
        radius: Radius of the cylinder [m]; the sides of the prism touch it.
        low: Height of its lower end [m].
        high: Height of its upper end [m].
        rgba: Colour.
    """
    sides, middle, length = 16, 0.5 * (low + high), high - low
    builder.visual.cylinder(name, (0.0, 0.0, middle), axis="z", radius=radius, length=length, rgba=rgba)
    width = 2.0 * radius * float(np.tan(np.pi / sides))
    for number in range(sides // 2):
        turn = Pose.from_rpy((0.0, 0.0, middle), (0.0, 0.0, 2.0 * np.pi * number / sides))
        T = Pose(np.round(turn.R, 9), turn.p)
        builder.collider.turned_box(f"{name}_{number}", (2.0 * radius, width, length), T, rgba=rgba)
    return float(np.pi) * radius**2 * length


def add_round_wall(
    builder: LinkBuilder,
    name: str,
    *,
    low: tuple[float, float],
    high: tuple[float, float],
    thickness_m: float,
    boards: int,
    rgba: Colour,
) -> None:
    """Adds a round wall of flat boards, a convex collider each.

    Args:
        builder: The link.
        name: Beginning of the names of the boards.
        low: Outer radius and height of its lower edge [m].
        high: Those of its upper edge [m].
        thickness_m: Thickness of the wall.
        boards: Number of boards.
        rgba: Colour.
    """
    (r0, z0), (r1, z1) = low, high
    slant, length = float(np.arctan2(r1 - r0, z1 - z0)), float(np.hypot(r1 - r0, z1 - z0))
    width = 2.0 * max(r0, r1) * float(np.tan(np.pi / boards)) * _OVERLAP
    radius = 0.5 * (r0 + r1) - 0.5 * thickness_m
    for number in range(boards):
        turn = Pose.from_rpy((0.0, 0.0, 0.0), (0.0, 0.0, 2.0 * np.pi * number / boards))
        tilt = Pose.from_rpy((radius, 0.0, 0.5 * (z0 + z1)), (0.0, slant, 0.0))
        T = turn @ tilt
        builder.turned_box(
            f"{name}_{number}", (thickness_m, width, length), Pose(np.round(T.R, 9), np.round(T.p, 7)), rgba=rgba
        )


# A round fruit: an apple, an orange or a peach of 0.1 to 0.25 kg.

_STALK: Colour = (0.30, 0.20, 0.10, 1.0)
_APPLE = {
    "radius_m": uniform(0.029, 0.035),
    "density_kg_m3": uniform(800.0, 950.0),
    "colour": one_of(palette("74 13 12", "55 70 20", "93 55 13", "90 72 35")),
}


def _build_apple(builder: LinkBuilder, p: Drawn) -> Stand:
    """Builds a fruit: a sphere on a small flat foot, on which it stands."""
    builder.sphere("fruit", (0, 0, p.radius_m), radius=p.radius_m, rgba=p.colour)
    foot = 0.4 * p.radius_m
    builder.cylinder("foot", (0, 0, 0.0015), axis="z", radius=foot, length=0.003, rgba=p.colour)
    top = 2.0 * p.radius_m
    builder.visual.rod("stalk", (0, 0, top - 0.004), (0.003, 0, top + 0.008), radius=0.0015, rgba=_STALK)
    return Stand(builder.mass_kg(p.density_kg_m3))


apple = ItemGenerator("apple", _APPLE, _build_apple)

# A paperback that stands upright: 0.15 to 0.45 kg. One that lies flat is wider than a hand.

_PAGES: Colour = (0.94, 0.92, 0.85, 1.0)
_BOOK = {
    "thickness_m": uniform(0.022, 0.035),  # along x
    "width_m": uniform(0.10, 0.13),  # along y, away from the spine
    "height_m": uniform(0.15, 0.18),
    "density_kg_m3": uniform(450.0, 650.0),
    "colour": one_of(palette("62 16 18", "16 30 50", "20 42 32", "80 60 22", "36 28 44")),
}


def _build_book(builder: LinkBuilder, p: Drawn) -> Stand:
    """Builds a book whose covers face along x, its spine at -y."""
    half_x, half_y, inset = p.thickness_m / 2, p.width_m / 2, 0.0006
    builder.box("book", (-half_x, -half_y, 0.0), (half_x, half_y, p.height_m), rgba=p.colour)
    low, high = (-half_x + 0.002, -half_y + 0.006, 0.001), (half_x - 0.002, half_y + inset, p.height_m + inset)
    builder.visual.box("pages", low, high, rgba=_PAGES)
    return Stand(builder.mass_kg(p.density_kg_m3))


book = ItemGenerator("book", _BOOK, _build_book)

# A bowl of china or wood: 12 to 15 cm across, held at its rim.

_BOWL_BOARDS = 16
_BOWL = {
    "foot_m": uniform(0.030, 0.038),  # outer radius of the floor
    "rim_m": uniform(0.060, 0.075),  # outer radius of the rim
    "height_m": uniform(0.05, 0.065),
    "wall_m": uniform(0.004, 0.006),
    "density_kg_m3": uniform(1000.0, 1900.0),
    "colour": one_of(CHINA),
}


def _build_bowl(builder: LinkBuilder, p: Drawn) -> Stand:
    """Builds a bowl: a floor and two round walls, the upper one steeper."""
    builder.cylinder("floor", (0, 0, p.wall_m / 2), axis="z", radius=p.foot_m, length=p.wall_m, rgba=p.colour)
    bend, middle = 0.45 * p.height_m, p.foot_m + 0.72 * (p.rim_m - p.foot_m)
    for name, low, high in (
        ("lower", (p.foot_m, 0.6 * p.wall_m), (middle, bend)),
        ("upper", (middle, bend - 0.001), (p.rim_m, p.height_m)),
    ):
        add_round_wall(builder, name, low=low, high=high, thickness_m=p.wall_m, boards=_BOWL_BOARDS, rgba=p.colour)
    return Stand(builder.mass_kg(p.density_kg_m3))


bowl = ItemGenerator("bowl", _BOWL, _build_bowl)

# A full drink or food can: 0.2 to 0.4 kg, 52 to 68 mm across.

_METAL: Colour = (0.80, 0.81, 0.83, 1.0)
_CAN = {
    "radius_m": uniform(0.026, 0.034),
    "height_m": uniform(0.09, 0.125),
    "density_kg_m3": uniform(900.0, 1050.0),
    "colour": one_of(palette("78 14 14", "16 36 66", "20 52 30", "92 70 18", "85 85 87")),
}


def _build_can(builder: LinkBuilder, p: Drawn) -> Stand:
    """Builds a can: a cylinder, with rims of metal that are only seen."""
    volume_m3 = add_prism(builder, "can", radius=p.radius_m, low=0.0, high=p.height_m, rgba=p.colour)
    for name, z in (("lower_rim", 0.002), ("upper_rim", p.height_m - 0.002)):
        builder.visual.cylinder(name, (0, 0, z), axis="z", radius=p.radius_m + 0.0004, length=0.004, rgba=_METAL)
    top = p.height_m + 0.0002
    builder.visual.cylinder("lid", (0, 0, top), axis="z", radius=p.radius_m - 0.003, length=0.0006, rgba=_METAL)
    return Stand(round(volume_m3 * p.density_kg_m3, 4))


can = ItemGenerator("can", _CAN, _build_can)

# A box of cereals, tea or pasta that stands upright: 0.15 to 0.4 kg.

_LABEL: Colour = (0.96, 0.95, 0.90, 1.0)
_CEREAL_BOX = {
    "depth_m": uniform(0.040, 0.060),  # along x
    "width_m": uniform(0.09, 0.14),  # along y
    "height_m": uniform(0.13, 0.19),
    "density_kg_m3": uniform(230.0, 380.0),
    "colour": one_of(palette("90 66 20", "72 22 20", "22 46 62", "42 58 28", "84 80 72")),
}


def _build_cereal_box(builder: LinkBuilder, p: Drawn) -> Stand:
    """Builds a box with a label in front."""
    half_x, half_y = p.depth_m / 2, p.width_m / 2
    builder.box("box", (-half_x, -half_y, 0.0), (half_x, half_y, p.height_m), rgba=p.colour)
    low, high = (half_x, -0.7 * half_y, 0.45 * p.height_m), (half_x + 0.0005, 0.7 * half_y, 0.85 * p.height_m)
    builder.visual.box("label", low, high, rgba=_LABEL)
    return Stand(builder.mass_kg(p.density_kg_m3))


cereal_box = ItemGenerator("cereal_box", _CEREAL_BOX, _build_cereal_box)

# A drinking cup without a handle, of plastic or glass: wider above than below.

_CUP_BOARDS = 14
_CUP = {
    "foot_m": uniform(0.022, 0.027),  # outer radius of the foot
    "rim_m": uniform(0.029, 0.034),  # outer radius of the rim
    "height_m": uniform(0.08, 0.11),
    "wall_m": uniform(0.003, 0.004),
    "density_kg_m3": uniform(1200.0, 2300.0),
    "colour": one_of(palette("93 53 30", "36 62 78", "55 72 44", "88 80 50", "86 87 90")),
}


def _build_cup(builder: LinkBuilder, p: Drawn) -> Stand:
    """Builds a cup: a thick floor and a round wall."""
    builder.cylinder("floor", (0, 0, 0.004), axis="z", radius=p.foot_m, length=0.008, rgba=p.colour)
    low, high = (p.foot_m, 0.001), (p.rim_m, p.height_m)
    add_round_wall(builder, "wall", low=low, high=high, thickness_m=p.wall_m, boards=_CUP_BOARDS, rgba=p.colour)
    return Stand(builder.mass_kg(p.density_kg_m3))


cup = ItemGenerator("cup", _CUP, _build_cup)

# A mug of china with a handle: 0.25 to 0.4 kg.

_MUG_BOARDS = 14
_MUG = {
    "radius_m": uniform(0.036, 0.044),
    "height_m": uniform(0.08, 0.105),
    "wall_m": uniform(0.004, 0.006),
    "handle_m": uniform(0.028, 0.036),  # how far the handle stands out
    "handle_width_m": uniform(0.009, 0.013),
    "density_kg_m3": uniform(1900.0, 2300.0),
    "colour": one_of(CHINA),
}


def _build_mug(builder: LinkBuilder, p: Drawn) -> Stand:
    """Builds a mug: a floor, a round wall, and a handle of three bars along +x."""
    inside = p.radius_m - p.wall_m
    builder.cylinder("floor", (0, 0, p.wall_m / 2), axis="z", radius=inside + 0.001, length=p.wall_m, rgba=p.colour)
    foot, rim = (p.radius_m, 0.0), (p.radius_m, p.height_m)
    add_round_wall(builder, "wall", low=foot, high=rim, thickness_m=p.wall_m, boards=_MUG_BOARDS, rgba=p.colour)
    half, out, thick = p.handle_width_m / 2, p.radius_m + p.handle_m, 0.008
    low, high = 0.22 * p.height_m, 0.82 * p.height_m
    builder.box("handle_low", (p.radius_m - 0.002, -half, low), (out, half, low + thick), rgba=p.colour)
    builder.box("handle_high", (p.radius_m - 0.002, -half, high - thick), (out, half, high), rgba=p.colour)
    builder.box("handle_grip", (out - thick, -half, low), (out, half, high), rgba=p.colour)
    handle = (out - thick / 2, 0.0, (low + high) / 2)
    return Stand(builder.mass_kg(p.density_kg_m3), {"handle_center": handle})


mug = ItemGenerator("mug", _MUG, _build_mug)

# A small parcel of cardboard with tape: 0.1 to 0.4 kg.

_PARCEL_TAPE: Colour = (0.86, 0.80, 0.62, 1.0)
_PARCEL = {
    "depth_m": uniform(0.045, 0.065),  # along x
    "width_m": uniform(0.08, 0.13),  # along y
    "height_m": uniform(0.045, 0.070),
    "density_kg_m3": uniform(350.0, 700.0),
    "colour": one_of(palette("72 55 36", "78 62 44", "66 50 34")),
}


def _build_parcel(builder: LinkBuilder, p: Drawn) -> Stand:
    """Builds a parcel with a strip of tape over its top."""
    half_x, half_y = p.depth_m / 2, p.width_m / 2
    builder.box("parcel", (-half_x, -half_y, 0.0), (half_x, half_y, p.height_m), rgba=p.colour)
    top = p.height_m
    builder.visual.box("tape", (-half_x, -0.012, top), (half_x, 0.012, top + 0.0004), rgba=_PARCEL_TAPE)
    return Stand(builder.mass_kg(p.density_kg_m3))


parcel = ItemGenerator("parcel", _PARCEL, _build_parcel)

# A dinner or dessert plate: 17 to 22 cm across, held at its rim.

_PLATE_BOARDS = 18
_PLATE = {
    "floor_m": uniform(0.055, 0.070),  # radius of the flat middle
    "rim_m": uniform(0.085, 0.110),  # outer radius of the rim
    "height_m": uniform(0.018, 0.025),
    "thickness_m": uniform(0.004, 0.005),
    "density_kg_m3": uniform(1700.0, 2200.0),
    "colour": one_of(CHINA),
}


def _build_plate(builder: LinkBuilder, p: Drawn) -> Stand:
    """Builds a plate: a flat middle and a rim that rises outwards."""
    middle = (0.0, 0.0, p.thickness_m / 2)
    builder.cylinder("floor", middle, axis="z", radius=p.floor_m, length=p.thickness_m, rgba=p.colour)
    low, high = (p.floor_m, 0.003), (p.rim_m, p.height_m)
    add_round_wall(builder, "rim", low=low, high=high, thickness_m=p.thickness_m, boards=_PLATE_BOARDS, rgba=p.colour)
    return Stand(builder.mass_kg(p.density_kg_m3))


plate = ItemGenerator("plate", _PLATE, _build_plate)

# A spoon for the kitchen that lies flat: 40 to 100 g, held at its handle.

_SPOON = {
    "handle_m": uniform(0.12, 0.16),  # length of the handle
    "handle_width_m": uniform(0.012, 0.018),
    "thickness_m": uniform(0.010, 0.016),
    "bowl_m": uniform(0.045, 0.060),  # length of the bowl
    "mass_kg": uniform(0.04, 0.10),
    "colour": one_of(palette("80 81 83", "70 50 30", "20 22 24", "75 20 18")),
}


def _build_spoon(builder: LinkBuilder, p: Drawn) -> Stand:
    """Builds a spoon along x, its bowl in front; the origin is below its centre of mass."""
    half, width = p.handle_width_m / 2, 0.36 * p.bowl_m
    volumes = (p.handle_m * 2.0 * half, p.bowl_m * 2.0 * width)
    split = (volumes[0] * p.handle_m / 2 - volumes[1] * p.bowl_m / 2) / sum(volumes)  # bowl and handle meet there
    thick = p.thickness_m
    builder.box("handle", (split - p.handle_m, -half, 0.0), (split + 0.002, half, thick), rgba=p.colour)
    builder.box("bowl", (split, -width, 0.0), (split + p.bowl_m, width, thick), rgba=p.colour)
    tip = split + p.bowl_m
    hollow = (split + 0.006, -width + 0.006, thick), (tip - 0.006, width - 0.006, thick + 0.0003)
    builder.visual.box("hollow", *hollow, rgba=darker(p.colour, 0.7))
    grip = (split - 0.45 * p.handle_m, 0.0, thick / 2)
    return Stand(p.mass_kg, {"handle_center": grip})


spoon = ItemGenerator("spoon", _SPOON, _build_spoon)

# A slice of toast that stands on its edge, as in a rack: 25 to 55 g.

_CRUST: Colour = (0.50, 0.30, 0.14, 1.0)
_TOAST = {
    "thickness_m": uniform(0.015, 0.020),  # along x
    "width_m": uniform(0.085, 0.105),  # along y
    "height_m": uniform(0.085, 0.100),
    "density_kg_m3": uniform(250.0, 320.0),
    "colour": one_of(palette("86 66 40", "78 54 30", "90 74 50")),
}


def _build_toast(builder: LinkBuilder, p: Drawn) -> Stand:
    """Builds a slice: a flat box with a darker crust."""
    half_x, half_y, edge, out = p.thickness_m / 2, p.width_m / 2, 0.006, 0.0002
    builder.box("slice", (-half_x, -half_y, 0.0), (half_x, half_y, p.height_m), rgba=_CRUST)
    low, high = (-half_x - out, -half_y + edge, edge), (half_x + out, half_y - edge, p.height_m - edge)
    builder.visual.box("crumb", low, high, rgba=p.colour)
    return Stand(builder.mass_kg(p.density_kg_m3))


toast = ItemGenerator("toast", _TOAST, _build_toast)

# A bottle of water, closed: 0.3 to 0.7 kg, with a neck that a hand can hold.

_WATER_BOTTLE = {
    "radius_m": uniform(0.028, 0.034),
    "body_m": uniform(0.12, 0.16),  # height of the straight body
    "neck_radius_m": uniform(0.013, 0.017),
    "neck_m": uniform(0.025, 0.035),
    "density_kg_m3": uniform(850.0, 1000.0),
    "colour": one_of(palette("62 80 90", "55 78 62", "85 88 92", "90 62 30")),
    "cap_colour": one_of(palette("16 36 66", "90 90 90", "78 14 14")),
}


def _build_water_bottle(builder: LinkBuilder, p: Drawn) -> Stand:
    """Builds a bottle: body, shoulder, and a cap on the neck."""
    shoulder, neck = p.body_m + 0.02, p.body_m + 0.02 + p.neck_m
    rows = (
        ("body", 0.0, p.body_m, p.radius_m, p.colour),
        ("shoulder", p.body_m, shoulder, 0.7 * p.radius_m, p.colour),
        ("cap", shoulder, neck, p.neck_radius_m, p.cap_colour),
    )
    volume_m3 = sum_in_order(
        add_prism(builder, name, radius=radius, low=low, high=high, rgba=rgba) for name, low, high, radius, rgba in rows
    )
    return Stand(round(volume_m3 * p.density_kg_m3, 4))


water_bottle = ItemGenerator("water_bottle", _WATER_BOTTLE, _build_water_bottle)
