"""A countertop oven: a door hinged below with a window and a bar, and knobs beside or above it.

Sizes come from catalogues of countertop and mini ovens of 20 to 45 l: 40 to 55 cm wide, 26 to 37 cm high, 30 to 42 cm
deep. An arm on a table cannot reach a built-in oven, 60 cm wide and a metre off the ground.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from unlatch.objects.procedural.building.assembly import HOLDING, Assembly, ObjectGenerator, flap_motion
from unlatch.objects.procedural.building.carcass import Carcass, add_feet
from unlatch.objects.procedural.building.drawing import Colour, draw_colour, draw_fields, draw_uniform, uniform
from unlatch.objects.procedural.building.finishes import (
    APPLIANCES,
    CHROME,
    DARK,
    GLASS,
    WIRE,
    draw_contrast,
    mark_colour,
    sheet_texture,
)
from unlatch.objects.procedural.building.link_builder import FLAP_BELOW, FRONT, LinkBuilder, PanelBuilder
from unlatch.objects.procedural.building.panel_handles import (
    PUSH_ROOM_M,
    HandlePlace,
    PanelHandle,
    draw_bar,
)
from unlatch.objects.procedural.building.turning_knob import TurningKnobParameters, add_turning_knob, draw_turning_knob

_GAP_M = 0.003
_CAVITY: Colour = (0.30, 0.30, 0.31, 1.0)


@dataclass(frozen=True)
class OvenParameters:
    """The values that vary between ovens."""

    width_m: float
    depth_m: Annotated[float, uniform(0.30, 0.42)]
    """Of the body, without the door."""
    height_m: float
    """Feet included."""
    wall_m: Annotated[float, uniform(0.015, 0.022)]
    feet_m: Annotated[float, uniform(0.012, 0.02)]
    sill_m: Annotated[float, uniform(0.022, 0.034)]
    """Height of the hinge over the feet."""
    panel: str
    """Where the knobs are: `right` of the door or `above` it."""
    panel_m: float
    """Width or height of the control panel."""
    knobs: int
    door_thickness_m: Annotated[float, uniform(0.02, 0.03)]
    most_open_rad: Annotated[float, uniform(1.45, 1.57)]
    handle_inset_m: Annotated[float, uniform(0.024, 0.034)]
    """From the door's upper edge to the bar."""
    holding: Annotated[float, uniform(HOLDING, 1.5)]
    """Friction of the hinge divided by the moment of gravity: a spring balances the door of a real oven."""
    damping_n_m_s: Annotated[float, uniform(0.05, 0.2)]
    door_density_kg_m3: Annotated[float, uniform(700.0, 1000.0)]
    body_density_kg_m3: Annotated[float, uniform(500.0, 800.0)]
    colour: Colour
    front_colour: Colour
    handle_colour: Colour
    knob_colour: Colour
    handle: PanelHandle
    knob: TurningKnobParameters


def draw_parameters(rng: np.random.Generator) -> OvenParameters:
    """Draws an oven, its handle and its knobs."""
    above = rng.random() < 0.35
    width = draw_uniform(rng, 0.40, 0.55)
    height = draw_uniform(rng, 0.32, 0.37) if above else draw_uniform(rng, 0.26, 0.34)
    most = 4 if above else 3 if height > 0.28 else 2
    colour = draw_colour(rng, APPLIANCES)
    front = colour if rng.random() < 0.5 else DARK

    def draw_door_handle(drawn: dict[str, Any]) -> PanelHandle:
        # beside the bar there is room to push
        door = width if above else width - drawn["panel_m"]
        return draw_bar(rng, length=(0.12, door - 2 * PUSH_ROOM_M), thickness=(0.012, 0.020))

    return draw_fields(
        OvenParameters,
        rng,
        width_m=width,
        height_m=height,
        panel="above" if above else "right",
        panel_m=lambda: draw_uniform(rng, 0.066, 0.078) if above else draw_uniform(rng, 0.095, 0.12),
        knobs=lambda: int(rng.integers(2, most + 1)),
        colour=colour,
        front_colour=front,
        handle_colour=lambda: draw_contrast(rng, (CHROME, DARK), GLASS),
        knob_colour=lambda: draw_contrast(rng, (DARK, CHROME), front),
        handle=draw_door_handle,
        knob=lambda: draw_turning_knob(rng, diameter=(0.032, 0.040)),
    )


def build(assembly: Assembly, p: OvenParameters) -> None:
    """Builds an oven.

    The door's frame lies on its hinge, in the plane of the body's front. A knob's frame is where its axis meets the
    panel.
    """
    body = LinkBuilder("body")
    _add_body(body, p)
    assembly.add_body(body, mass_kg=body.mass_kg(p.body_density_kg_m3, digits=3), edge=_upper_edge(p))
    _add_door(assembly, p)
    for number, (y, z) in enumerate(_knob_places(p)):
        add_turning_knob(
            assembly,
            "knob" if number == 0 else f"knob_{number + 1}",
            p.knob,
            frame=FRONT,
            parent="body",
            at=(p.depth_m / 2 + p.door_thickness_m, y, z),
            edge=_upper_edge(p),
            rgba=p.knob_colour,
            mark=mark_colour(p.knob_colour),
        )
    assembly.set_texture(sheet_texture, p.colour, p.front_colour)


generate = ObjectGenerator("oven", draw_parameters, build)


def _upper_edge(p: OvenParameters) -> tuple[float, float, float]:
    return p.depth_m / 2 - 0.05, 0.0, p.height_m


def _door_span(p: OvenParameters) -> tuple[float, float, float, float]:
    """Returns the lowest and highest y of the door, and the z of its hinge and upper edge [m]."""
    half = p.width_m / 2
    low = p.feet_m + p.sill_m
    # seen along -x, +y is to the right
    if p.panel == "right":
        return -half, half - p.panel_m - _GAP_M, low, p.height_m - 0.004
    return -half, half, low, p.height_m - p.panel_m - _GAP_M


def _knob_places(p: OvenParameters) -> list[tuple[float, float]]:
    """Returns (y, z) of the knobs [m]."""
    if p.panel == "above":
        reach = 0.68 * p.width_m / 2
        return [(float(y), p.height_m - p.panel_m / 2) for y in np.linspace(-reach, reach, p.knobs)]
    y = p.width_m / 2 - p.panel_m / 2
    low, high = p.feet_m + p.sill_m + 0.03, p.height_m - 0.05
    return [(y, float(z)) for z in np.linspace(high, low, p.knobs)]


def _add_body(builder: LinkBuilder, p: OvenParameters) -> None:
    y0, y1, z0, z1 = _door_span(p)
    x0, x1, half, h = -p.depth_m / 2, p.depth_m / 2, p.width_m / 2, p.height_m
    front = x1 + p.door_thickness_m
    add_feet(builder, (x1, half), inset_m=0.03, height_m=p.feet_m, radius_m=0.014)
    builder.box("bottom", (x0, -half, p.feet_m), (x1, half, z0 - 0.004), rgba=p.colour)
    high = h if p.panel == "right" else z1 + _GAP_M
    cavity = Carcass((x0, y0, z0 - 0.004), (x1, y1, high), p.wall_m)
    cavity.build(builder, rgba=p.colour, lining=_CAVITY)
    if p.panel == "right":
        builder.box("controls", (x0, y1, z0 - 0.004), (x1, half, h), rgba=p.colour)
        lower, upper = (x1, y1 + _GAP_M, p.feet_m), (front, half, h)
    else:
        builder.box("controls", (x0, -half, high), (x1, half, h), rgba=p.colour)
        lower, upper = (x1, -half, z1 + _GAP_M), (front, half, h)
    builder.box("fascia", lower, upper, rgba=p.front_colour)
    _add_rack(builder, cavity)
    _add_dial_marks(builder, p, front)


def _add_rack(builder: LinkBuilder, cavity: Carcass) -> None:
    (a0, b0, c0), (a1, b1, c1) = cavity.inner
    z = c0 + 0.4 * (c1 - c0)
    for number, y in enumerate(np.linspace(b0 + 0.02, b1 - 0.02, 9)):
        lower = (a0 + 0.01, float(y) - 0.0015, z)
        builder.visual.box(f"rack_{number}", lower, (a1 - 0.02, float(y) + 0.0015, z + 0.003), rgba=WIRE)
    for number, x in enumerate((a0 + 0.02, a1 - 0.025)):
        lower = (x, b0 + 0.002, z)
        builder.visual.box(f"rail_{number}", lower, (x + 0.005, b1 - 0.002, z + 0.005), rgba=WIRE)


def _add_dial_marks(builder: LinkBuilder, p: OvenParameters, front: float) -> None:
    """Adds ticks around each knob, from its left stop to its right one."""
    rgba = mark_colour(p.front_colour)
    for number, (y, z) in enumerate(_knob_places(p)):
        for tick, angle in enumerate(np.linspace(-2.3, 2.3, 7)):
            across, up = 0.029 * float(np.sin(angle)), 0.029 * float(np.cos(angle))
            lower = (front, y + across - 0.0014, z + up - 0.0014)
            upper = (front + 0.0006, y + across + 0.0014, z + up + 0.0014)
            builder.visual.box(f"tick_{number}_{tick}", lower, upper, rgba=rgba)


def _add_door(assembly: Assembly, p: OvenParameters) -> None:
    y0, y1, z0, z1 = _door_span(p)
    height, half, t = z1 - z0, (y1 - y0) / 2 - 0.001, p.door_thickness_m
    door = PanelBuilder("door", FLAP_BELOW)
    door.box("slab", (0.0, -half, _GAP_M), (height, half, t), rgba=p.front_colour)
    low, high = 0.035, height - p.handle_inset_m - 0.024
    door.visual.box("window", (low, -half + 0.035, t), (high, half - 0.035, t + 0.0008), rgba=GLASS)
    for number, share in enumerate((0.42, 0.5)):  # the rack, seen through the glass
        a = low + share * (high - low)
        lower = (a, -half + 0.05, t + 0.0008)
        door.visual.box(f"seen_{number}", lower, (a + 0.003, half - 0.05, t + 0.0012), rgba=(0.33, 0.34, 0.35, 1.0))
    door.visual.box("inside", (0.012, -half + 0.012, _GAP_M - 0.001), (height - 0.012, half - 0.012, _GAP_M), rgba=DARK)
    place = HandlePlace((height - p.handle_inset_m, 0.0), t, edge=height, thickness=t, length=2 * half)
    grip = p.handle.add_to(door, place, p.handle_colour)
    motion = flap_motion((p.depth_m / 2, (y0 + y1) / 2, z0), p, p.handle, place)
    push = p.handle.push_beside(FLAP_BELOW, place)
    assembly.add_part(door, motion, grip, mass_kg=door.mass_kg(p.door_density_kg_m3), push=push)
