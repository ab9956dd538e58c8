"""A low cabinet with one or two doors on vertical hinges, as a nightstand or a wall unit.

Sizes come from catalogues of nightstands and bathroom units: 34 to 60 cm wide, 25 to 38 cm deep, 36 to 62 cm high,
boards of 15 to 20 mm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from unlatch.objects.procedural.building.assembly import Assembly, ObjectGenerator, door_motion
from unlatch.objects.procedural.building.carcass import Carcass, add_base
from unlatch.objects.procedural.building.drawing import Colour, draw_fields, draw_uniform, either, uniform, whole
from unlatch.objects.procedural.building.finishes import HANDLE_COLOURS, WOODS, board_texture, darker, draw_contrast
from unlatch.objects.procedural.building.link_builder import LinkBuilder, PanelBuilder, door_frame
from unlatch.objects.procedural.building.panel_handles import (
    HandlePlace,
    PanelHandle,
    draw_handle,
)

_GAP_M = 0.003
_INSIDE: Colour = (0.88, 0.83, 0.74, 1.0)


@dataclass(frozen=True)
class CabinetParameters:
    """The values that vary between cabinets."""

    width_m: float
    depth_m: Annotated[float, uniform(0.25, 0.38)]
    """Of the carcass, without the doors."""
    height_m: float
    """Feet included."""
    wall_m: Annotated[float, uniform(0.015, 0.020)]
    feet_m: Annotated[float, uniform(0.03, 0.10)]
    foot_style: Annotated[str, either("legs", "plinth")]
    doors: int
    hinge_side: Annotated[str, either("left", "right")]
    """Of a single door."""
    front: Annotated[str, either("framed", "plain")]
    """`plain`, or `framed` by a raised border."""
    door_thickness_m: float
    limit_rad: Annotated[float, uniform(1.6, 2.2)]
    handle_inset_m: Annotated[float, uniform(0.026, 0.038)]
    handle_rise_m: Annotated[float, uniform(0.0, 0.08)]
    """Of the handle over the middle of the door."""
    friction_n_m: Annotated[float, uniform(0.2, 0.8)]
    damping_n_m_s: Annotated[float, uniform(0.05, 0.25)]
    density_kg_m3: Annotated[float, uniform(550.0, 750.0)]
    shelves: Annotated[int, whole(0, 3)]
    colour: Colour
    front_colour: Colour
    handle_colour: Colour
    handle: PanelHandle


def draw_parameters(rng: np.random.Generator) -> CabinetParameters:
    """Draws a cabinet and the handle of its doors."""
    doors = 1 if rng.random() < 0.45 else 2
    height = draw_uniform(rng, 0.38, 0.62)
    wood = WOODS[int(rng.integers(len(WOODS)))]
    thickness = draw_uniform(rng, 0.016, 0.022)
    return draw_fields(
        CabinetParameters,
        rng,
        width_m=lambda: draw_uniform(rng, 0.34, 0.45) if doors == 1 else draw_uniform(rng, 0.46, 0.60),
        height_m=height,
        doors=doors,
        door_thickness_m=thickness,
        colour=wood[0],
        front_colour=wood[1],
        handle_colour=lambda: draw_contrast(rng, HANDLE_COLOURS, wood[1]),
        handle=lambda: draw_handle(rng, {"bar": 0.5, "knob": 0.3, "edge": 0.2}, length=(0.10, min(0.20, 0.4 * height))),
    )


def build(assembly: Assembly, p: CabinetParameters) -> None:
    """Builds a cabinet.

    The frame of a door lies on its hinge, in the plane of the carcass' front at the door's mid height.
    """
    body = LinkBuilder("body")
    _add_body(body, p)
    mass_kg = body.mass_kg(p.density_kg_m3, digits=3)
    assembly.add_body(body, mass_kg=mass_kg, edge=(p.depth_m / 2 - 0.05, 0.0, p.height_m))
    sides = [p.hinge_side] if p.doors == 1 else ["right", "left"]
    for number, side in enumerate(sides):
        _add_door(assembly, "door" if number == 0 else f"door_{number + 1}", side, p)
    assembly.set_texture(
        board_texture, p.colour, p.front_colour, _INSIDE, darker(p.colour), darker(p.front_colour, 0.9)
    )


generate = ObjectGenerator("cabinet", draw_parameters, build)


def _add_body(builder: LinkBuilder, p: CabinetParameters) -> None:
    x0, x1, half = -p.depth_m / 2, p.depth_m / 2, p.width_m / 2
    add_base(builder, p.foot_style, (x1, half), height_m=p.feet_m, rgba=p.colour)
    top = p.height_m - 0.018
    room = Carcass((x0, -half, p.feet_m), (x1, half, top), p.wall_m, back_m=0.010)
    room.build(builder, rgba=p.colour, lining=_INSIDE)
    front = x1 + _GAP_M + p.door_thickness_m + 0.006
    builder.box("top", (x0, -half - 0.006, top), (front, half + 0.006, p.height_m), rgba=p.colour)
    (a0, b0, c0), (a1, b1, c1) = room.inner
    for shelf in range(p.shelves):
        z = c0 + (c1 - c0) * (shelf + 1) / (p.shelves + 1)
        builder.box(f"shelf_{shelf}", (a0, b0, z), (a1 - 0.03, b1, z + 0.014), rgba=_INSIDE)


def _add_door(assembly: Assembly, name: str, side: str, p: CabinetParameters) -> None:
    frame = door_frame(side)
    low, high = p.feet_m + _GAP_M / 2, p.height_m - 0.018 - _GAP_M
    width, half = p.width_m / p.doors - _GAP_M / 2, (high - low) / 2
    face = _GAP_M + p.door_thickness_m
    door = PanelBuilder(name, frame)
    door.box("slab", (0.0, -half, _GAP_M), (width, half, face), rgba=p.front_colour)
    if p.front == "framed":
        rgba = darker(p.front_colour, 0.88)
        door.visual.box("field", (0.055, -half + 0.055, face), (width - 0.055, half - 0.055, face + 0.0006), rgba=rgba)
        door.visual.border(
            "bead", (0.05, width - 0.05), half - 0.05, width=0.006, out=(face, face + 0.003), rgba=p.front_colour
        )
    up = float(frame.along[2])
    at = (width - p.handle_inset_m, up * min(p.handle_rise_m, 0.4 * half))
    place = HandlePlace(at, face, edge=width, thickness=p.door_thickness_m, length=2 * half)
    grip = p.handle.add_to(door, place, p.handle_colour)
    motion = door_motion(frame, (p.depth_m / 2, -frame.across[1] * p.width_m / 2, (low + high) / 2), p)
    push = p.handle.push_point(frame, place)
    assembly.add_part(door, motion, grip, mass_kg=door.mass_kg(p.density_kg_m3), push=push)
