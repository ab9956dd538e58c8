"""A tabletop dishwasher: a door hinged below, controls over it, a basket with plates inside.

Sizes come from catalogues of tabletop dishwashers for 6 settings: 50 to 56 cm wide, 43 to 50 cm high, 42 to 50 cm deep.
An arm on a table cannot reach the upper edge of a built-in one, 82 cm high.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from unlatch.objects.procedural.building.assembly import HOLDING, Assembly, ObjectGenerator, flap_motion
from unlatch.objects.procedural.building.carcass import Carcass, add_feet
from unlatch.objects.procedural.building.drawing import Colour, draw_colour, draw_fields, draw_uniform, uniform, whole
from unlatch.objects.procedural.building.finishes import (
    APPLIANCES,
    CHROME,
    DARK,
    DISPLAY,
    WHITE,
    WIRE,
    draw_contrast,
    mark_colour,
    sheet_texture,
)
from unlatch.objects.procedural.building.link_builder import FLAP_BELOW, LinkBuilder, PanelBuilder
from unlatch.objects.procedural.building.panel_handles import (
    PUSH_ROOM_M,
    HandlePlace,
    PanelHandle,
    draw_handle,
)

_GAP_M = 0.003
_TUB: Colour = (0.66, 0.68, 0.70, 1.0)
_TRIM: Colour = (0.52, 0.54, 0.56, 1.0)


@dataclass(frozen=True)
class DishwasherParameters:
    """The values that vary between dishwashers."""

    width_m: float
    depth_m: Annotated[float, uniform(0.40, 0.46)]
    """Of the body, without the door."""
    height_m: Annotated[float, uniform(0.43, 0.48)]
    wall_m: Annotated[float, uniform(0.025, 0.035)]
    sill_m: Annotated[float, uniform(0.055, 0.075)]
    """Height of the hinge, feet included."""
    fascia_m: Annotated[float, uniform(0.055, 0.070)]
    """Height of the control strip over the door."""
    door_thickness_m: Annotated[float, uniform(0.028, 0.036)]
    most_open_rad: Annotated[float, uniform(1.45, 1.57)]
    handle_inset_m: Annotated[float, uniform(0.030, 0.042)]
    holding: Annotated[float, uniform(HOLDING, 1.5)]
    """Friction of the hinge divided by the moment of gravity: springs balance a real door."""
    damping_n_m_s: Annotated[float, uniform(0.1, 0.4)]
    door_density_kg_m3: Annotated[float, uniform(350.0, 550.0)]
    body_density_kg_m3: Annotated[float, uniform(350.0, 500.0)]
    plates: Annotated[int, whole(3, 8)]
    colour: Colour
    fascia_colour: Colour
    handle_colour: Colour
    handle: PanelHandle


def draw_parameters(rng: np.random.Generator) -> DishwasherParameters:
    """Draws a dishwasher and the handle of its door."""
    colour = draw_colour(rng, APPLIANCES[:3])
    width = draw_uniform(rng, 0.50, 0.56)
    return draw_fields(
        DishwasherParameters,
        rng,
        width_m=width,
        colour=colour,
        fascia_colour=lambda: DARK if rng.random() < 0.6 else colour,
        handle_colour=lambda: draw_contrast(rng, (CHROME, DARK, _TRIM), colour),
        handle=lambda: draw_handle(
            rng, {"bar": 0.65, "edge": 0.35}, length=(0.18, width - 2 * PUSH_ROOM_M), thickness=(0.012, 0.020)
        ),
    )


def build(assembly: Assembly, p: DishwasherParameters) -> None:
    """Builds a dishwasher. The door's frame lies on its hinge, in the plane of the body's front."""
    body = LinkBuilder("body")
    _add_body(body, p)
    mass_kg = body.mass_kg(p.body_density_kg_m3, digits=3)
    assembly.add_body(body, mass_kg=mass_kg, edge=(p.depth_m / 2 - 0.05, 0.0, p.height_m))

    height, half, t = _door_height(p), p.width_m / 2 - 0.001, p.door_thickness_m
    door = PanelBuilder("door", FLAP_BELOW)
    door.box("slab", (0.0, -half, _GAP_M), (height, half, t), rgba=p.colour)
    door.visual.box("inside", (0.02, -half + 0.03, _GAP_M - 0.001), (height - 0.02, half - 0.03, _GAP_M), rgba=_TUB)
    door.visual.box("soap", (0.4 * height, -0.05, _GAP_M - 0.002), (0.62 * height, 0.03, _GAP_M - 0.001), rgba=_TRIM)
    if p.handle.kind == "edge":  # a strip along the edge that is held
        low = (height - 0.014, -half + 0.01, t)
        door.visual.box("strip", low, (height, half - 0.01, t + 0.0008), rgba=p.handle_colour)
    place = HandlePlace((height - p.handle_inset_m, 0.0), t, edge=height, thickness=t, length=2 * half)
    grip = p.handle.add_to(door, place, p.handle_colour)
    motion = flap_motion((p.depth_m / 2, 0.0, p.sill_m), p, p.handle, place)
    push = p.handle.push_beside(FLAP_BELOW, place)
    assembly.add_part(door, motion, grip, mass_kg=door.mass_kg(p.door_density_kg_m3), push=push)
    assembly.set_texture(sheet_texture, p.colour)


generate = ObjectGenerator("dishwasher", draw_parameters, build)


def _door_height(p: DishwasherParameters) -> float:
    return p.height_m - p.fascia_m - _GAP_M - p.sill_m


def _add_body(builder: LinkBuilder, p: DishwasherParameters) -> None:
    x0, x1, half, h = -p.depth_m / 2, p.depth_m / 2, p.width_m / 2, p.height_m
    feet, front, low = 0.018, x1 + p.door_thickness_m, h - p.fascia_m
    add_feet(builder, (x1, half), inset_m=0.04, height_m=feet, radius_m=0.018)
    builder.box("bottom", (x0, -half, feet), (x1, half, p.sill_m - 0.004), rgba=p.colour)
    tub = Carcass((x0, -half, p.sill_m - 0.004), (x1, half, low), p.wall_m)
    tub.build(builder, rgba=p.colour, lining=_TUB)
    builder.box("roof", (x0, -half, low), (x1, half, h), rgba=p.colour)
    builder.box("fascia", (x1, -half, low), (front, half, h), rgba=p.fascia_colour)
    middle, skin, mark = low + p.fascia_m / 2, 0.001, mark_colour(p.fascia_colour)
    lower = (front, -0.045, middle - 0.012)
    builder.visual.box("display", lower, (front + skin, 0.045, middle + 0.012), rgba=DISPLAY)
    for number in range(5):
        y = 0.10 + 0.028 * number
        builder.visual.cylinder(f"button_{number}", (front, y, middle), axis="x", radius=0.007, length=0.004, rgba=mark)
    lower = (front, -half + 0.03, middle - 0.005)
    builder.visual.box("name", lower, (front + skin, -half + 0.11, middle + 0.005), rgba=mark)
    _add_basket(builder, tub, p)


def _add_basket(builder: LinkBuilder, tub: Carcass, p: DishwasherParameters) -> None:
    """Adds a visual basket of wire with plates."""
    (a0, b0, c0), (a1, b1, _) = tub.inner
    low, high, front = c0 + 0.03, c0 + 0.085, a1 - 0.03
    for number, z in enumerate((low, high)):
        lower = (front, b0 + 0.02, z)
        builder.visual.box(f"wire_{number}", lower, (front + 0.004, b1 - 0.02, z + 0.004), rgba=WIRE)
    for number, y in enumerate(np.linspace(b0 + 0.02, b1 - 0.024, 11)):
        lower = (front, float(y), low)
        builder.visual.box(f"post_{number}", lower, (front + 0.004, float(y) + 0.004, high), rgba=WIRE)
        lower = (a0 + 0.02, float(y), low)
        builder.visual.box(f"floor_{number}", lower, (front, float(y) + 0.003, low + 0.003), rgba=WIRE)
    for number in range(p.plates):
        y = b0 + 0.08 + (b1 - b0 - 0.16) * number / 7
        centre = ((a0 + front) / 2, y, low + 0.09)
        builder.visual.cylinder(f"plate_{number}", centre, axis="y", radius=0.10, length=0.007, rgba=WHITE)
