"""A small safe: a thick door, flush with the front, with a bar and a dial.

Sizes come from catalogues of home and hotel safes: 31 to 43 cm wide, 25 to 36 cm deep, 22 to 40 cm high.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from unlatch.objects.procedural.building.assembly import Assembly, ObjectGenerator, door_motion
from unlatch.objects.procedural.building.carcass import Carcass
from unlatch.objects.procedural.building.drawing import (
    Colour,
    draw_colour,
    draw_fields,
    draw_uniform,
    either,
    one_of,
    uniform,
)
from unlatch.objects.procedural.building.finishes import BRASS, CHROME, DARK, PAINTS, darker, mark_colour
from unlatch.objects.procedural.building.inset_door import InsetDoor
from unlatch.objects.procedural.building.link_builder import LinkBuilder, PanelBuilder
from unlatch.objects.procedural.building.panel_handles import (
    HandlePlace,
    PanelHandle,
    draw_bar,
)
from unlatch.objects.procedural.building.textures import TextureKind
from unlatch.objects.procedural.building.turning_knob import TurningKnobParameters, add_turning_knob, draw_turning_knob

_TICKS = 20


@dataclass(frozen=True)
class SafeParameters:
    """The values that vary between safes."""

    width_m: Annotated[float, uniform(0.33, 0.43)]
    depth_m: Annotated[float, uniform(0.25, 0.36)]
    height_m: float
    wall_m: Annotated[float, uniform(0.022, 0.032)]
    hinge_side: Annotated[str, either("left", "right", 0.6)]
    door_thickness_m: Annotated[float, uniform(0.026, 0.036)]
    limit_rad: Annotated[float, uniform(1.6, 2.0)]
    handle_inset_m: Annotated[float, uniform(0.040, 0.055)]
    dial_share: Annotated[float, uniform(0.36, 0.44)]
    """Place of the dial between hinge and bar, as a share of the door's width."""
    dial_rise_m: Annotated[float, uniform(0.0, 0.03)]
    friction_n_m: Annotated[float, uniform(0.4, 1.5)]
    damping_n_m_s: Annotated[float, uniform(0.1, 0.5)]
    density_kg_m3: Annotated[float, uniform(2200.0, 3500.0)]
    colour: Annotated[Colour, one_of(PAINTS)]
    metal: Colour
    handle: PanelHandle
    dial: TurningKnobParameters


def draw_parameters(rng: np.random.Generator) -> SafeParameters:
    """Draws a safe, its handle and its dial."""
    height = draw_uniform(rng, 0.24, 0.40)
    return draw_fields(
        SafeParameters,
        rng,
        height_m=height,
        metal=lambda: draw_colour(rng, (CHROME, BRASS)),
        handle=lambda: draw_bar(rng, length=(0.11, min(0.16, height - 0.1)), thickness=(0.014, 0.022)),
        dial=lambda: draw_turning_knob(rng, diameter=(0.048, 0.058), depth=(0.038, 0.046)),
    )


def build(assembly: Assembly, p: SafeParameters) -> None:
    """Builds a safe.

    The door's frame lies on its hinge, at the outer edge of its face at mid height. The dial's frame is where its axis
    meets the door.
    """
    x0, x1, half = -p.depth_m / 2, p.depth_m / 2, p.width_m / 2
    body = LinkBuilder("body")
    box = Carcass((x0, -half, 0.0), (x1, half, p.height_m), p.wall_m)
    box.build(body, rgba=p.colour, lining=darker(p.colour, 0.55))
    inset = InsetDoor.of(box, hinge_side=p.hinge_side, thickness_m=p.door_thickness_m)
    inset.add_hinges(body, rgba=p.metal)
    assembly.add_body(body, mass_kg=body.mass_kg(p.density_kg_m3, digits=3), edge=(x1 - 0.05, 0.0, p.height_m))

    frame, (low, high), half_z = inset.frame, inset.span, inset.half_along
    door = PanelBuilder("door", frame)
    inset.add_slab(door, rgba=darker(p.colour, 1.12))
    inner = (
        (low + 0.015, -half_z + 0.015, -p.door_thickness_m - 0.0008),
        (high - 0.015, half_z - 0.015, -p.door_thickness_m),
    )
    door.visual.box("lining", *inner, rgba=DARK)
    door.visual.border(
        "groove",
        (low + 0.012, high - 0.012),
        half_z - 0.012,
        width=0.003,
        out=(0.0, 0.0006),
        rgba=darker(p.colour, 0.6),
    )
    place = HandlePlace((high - p.handle_inset_m, 0.0), 0.0)
    grip = p.handle.add_to(door, place, p.metal)
    up = float(frame.along[2])
    spot = (p.dial_share * high, up * p.dial_rise_m)
    _add_ticks(door, spot, p.dial)
    motion = door_motion(frame, inset.at, p)
    push = p.handle.push_point(frame, place) - frame.along * up * 0.32 * half_z * 2
    assembly.add_part(door, motion, grip, mass_kg=door.mass_kg(p.density_kg_m3), push=push)
    add_turning_knob(
        assembly,
        "knob",
        p.dial,
        frame=frame,
        parent="door",
        at=frame.at(*spot, 0.001).tolist(),
        edge=frame.at((low + high) / 2, up * half_z, 0.0).tolist(),
        rgba=p.metal,
        mark=DARK,
        density_kg_m3=2700.0,
    )
    assembly.set_texture(TextureKind.hammered_metal, p.colour, darker(p.colour, 1.12), darker(p.colour, 0.55))


generate = ObjectGenerator("safe", draw_parameters, build)


def _add_ticks(door: PanelBuilder, spot: tuple[float, float], dial: TurningKnobParameters) -> None:
    """Adds a dark ring with ticks around the dial, every fourth one longer."""
    radius = dial.diameter_m / 2 * 1.12
    centre = (*spot, 0.0005)
    door.visual.cylinder("ring", centre, axis="out", radius=radius + 0.016, length=0.001, rgba=DARK)
    for number in range(_TICKS):
        angle = 2 * np.pi * number / _TICKS
        long = number % 4 == 0
        middle = radius + (0.0075 if long else 0.006)
        across = spot[0] + middle * float(np.cos(angle))
        along = spot[1] + middle * float(np.sin(angle))
        side = 0.0030 if long else 0.0016
        lower, upper = (across - side, along - side, 0.001), (across + side, along + side, 0.0030)
        door.visual.box(f"tick_{number}", lower, upper, rgba=mark_colour(DARK))
