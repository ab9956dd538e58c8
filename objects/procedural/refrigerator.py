"""A small refrigerator with one door, or with a second one above for the freezer.

Sizes come from catalogues of mini bars and table-top refrigerators: 44 to 50 cm wide, 42 to 50 cm deep, 48 to 85 cm
high. An arm on a table cannot reach the handles of a kitchen refrigerator, 60 cm wide and 1.5 m high.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from unlatch.objects.procedural.building.assembly import Assembly, ObjectGenerator, door_motion
from unlatch.objects.procedural.building.carcass import Carcass, add_feet
from unlatch.objects.procedural.building.drawing import (
    Colour,
    draw_colour,
    draw_fields,
    draw_uniform,
    either,
    uniform,
    whole,
)
from unlatch.objects.procedural.building.finishes import (
    APPLIANCES,
    BRASS,
    CHROME,
    DARK,
    LINING,
    RUBBER,
    SHELF,
    WHITE,
    draw_contrast,
    mark_colour,
    sheet_texture,
)
from unlatch.objects.procedural.building.link_builder import LinkBuilder, PanelBuilder, door_frame
from unlatch.objects.procedural.building.panel_handles import (
    HandlePlace,
    PanelHandle,
    draw_handle,
)

_SEAL_M = 0.008
"""Gap between the body and the doors, filled by the seal."""
_GAP_M = 0.006
"""Gap between two doors."""


@dataclass(frozen=True)
class RefrigeratorParameters:
    """The values that vary between refrigerators."""

    width_m: Annotated[float, uniform(0.44, 0.50)]
    depth_m: Annotated[float, uniform(0.40, 0.47)]
    """Of the body, without the doors."""
    height_m: float
    wall_m: Annotated[float, uniform(0.035, 0.045)]
    feet_m: Annotated[float, uniform(0.015, 0.03)]
    doors: int
    freezer_share: Annotated[float, uniform(0.34, 0.42)]
    """Share of the height that the upper of two doors has."""
    hinge_side: Annotated[str, either("left", "right")]
    door_thickness_m: Annotated[float, uniform(0.030, 0.038)]
    limit_rad: Annotated[float, uniform(1.6, 2.1)]
    handle_inset_m: Annotated[float, uniform(0.030, 0.045)]
    """From the free edge to the middle of the handle."""
    friction_n_m: Annotated[float, uniform(0.3, 1.2)]
    damping_n_m_s: Annotated[float, uniform(0.1, 0.4)]
    door_density_kg_m3: Annotated[float, uniform(250.0, 400.0)]
    body_density_kg_m3: Annotated[float, uniform(300.0, 450.0)]
    shelves: Annotated[int, whole(1, 3)]
    colour: Colour
    door_colour: Colour
    handle_colour: Colour
    handle: PanelHandle


def draw_parameters(rng: np.random.Generator) -> RefrigeratorParameters:
    """Draws a refrigerator and the handle of its doors."""
    height = draw_uniform(rng, 0.48, 0.85)
    doors = 2 if height > 0.62 and rng.random() < 0.6 else 1
    colour = draw_colour(rng, APPLIANCES)
    door_colour = colour if rng.random() < 0.75 else APPLIANCES[2]

    def draw_door_handle(drawn: dict[str, Any]) -> PanelHandle:
        upper = drawn["freezer_share"] if doors == 2 else 1.0
        longest = min(0.30, 0.7 * upper * height - 0.02)
        return draw_handle(rng, {"bar": 0.7, "edge": 0.3}, length=(0.10, longest), thickness=(0.012, 0.022))

    return draw_fields(
        RefrigeratorParameters,
        rng,
        height_m=height,
        doors=doors,
        colour=colour,
        door_colour=door_colour,
        handle_colour=lambda: draw_contrast(rng, (CHROME, DARK, BRASS), door_colour),
        handle=draw_door_handle,
    )


def build(assembly: Assembly, p: RefrigeratorParameters) -> None:
    """Builds a refrigerator.

    The frame of a door lies on its hinge, in the plane of the body's front at the door's mid height.
    """
    body = LinkBuilder("body")
    _add_body(body, p)
    mass_kg = body.mass_kg(p.body_density_kg_m3, digits=3)
    assembly.add_body(body, mass_kg=mass_kg, edge=(p.depth_m / 2 - 0.05, 0.0, p.height_m))
    for number, span in enumerate(_door_spans(p)):
        _add_door(assembly, "door" if number == 0 else f"door_{number + 1}", p, span)
    assembly.set_texture(sheet_texture, p.colour, p.door_colour)


generate = ObjectGenerator("refrigerator", draw_parameters, build)


def _door_spans(p: RefrigeratorParameters) -> list[tuple[float, float]]:
    """Returns the lower and upper z of the doors, the largest first [m]."""
    low, high = p.feet_m + 0.004, p.height_m - 0.012
    if p.doors == 1:
        return [(low, high)]
    middle = high - p.freezer_share * (high - low)
    return [(low, middle - _GAP_M / 2), (middle + _GAP_M / 2, high)]


def _add_body(builder: LinkBuilder, p: RefrigeratorParameters) -> None:
    x0, x1, half, h = -p.depth_m / 2, p.depth_m / 2, p.width_m / 2, p.height_m
    add_feet(builder, (x1, half), inset_m=0.04, height_m=p.feet_m, radius_m=0.018)
    front = x1 + _SEAL_M + p.door_thickness_m
    builder.box("top", (x0, -half, h - 0.010), (front, half, h), rgba=p.colour)
    spans = _door_spans(p)
    rooms = [(spans[0][0], h - 0.010)] if p.doors == 1 else [(spans[0][0], spans[1][0]), (spans[1][0], h - 0.010)]
    for number, (low, high) in enumerate(rooms):
        room = Carcass((x0, -half, low - 0.004 * (number == 0)), (x1, half, high), p.wall_m)
        room.build(builder, rgba=p.colour, lining=LINING)
        (a0, b0, c0), (a1, b1, c1) = room.inner
        for shelf in range(p.shelves if number == 0 else 0):
            z = c0 + (c1 - c0) * (shelf + 1) / (p.shelves + 1)
            builder.box(f"shelf_{shelf}", (a0, b0, z), (a1 - 0.06, b1, z + 0.006), rgba=SHELF)


def _add_door(assembly: Assembly, name: str, p: RefrigeratorParameters, span: tuple[float, float]) -> None:
    frame = door_frame(p.hinge_side)
    width, half = p.width_m, (span[1] - span[0]) / 2
    face = _SEAL_M + p.door_thickness_m
    door = PanelBuilder(name, frame)
    door.box("slab", (0.0, -half, _SEAL_M), (width, half, face), rgba=p.door_colour)
    door.visual.border("seal", (0.014, width - 0.014), half - 0.014, width=0.02, out=(0.001, _SEAL_M), rgba=RUBBER)
    door.visual.box("inside", (0.034, -half + 0.034, 0.002), (width - 0.034, half - 0.034, _SEAL_M), rgba=WHITE)
    up = float(frame.along[2])
    is_main = name == "door"
    # of two doors, the lower one is held high and the upper one low
    rise = 0.0 if p.doors == 1 else 0.25 * half * (1.0 if is_main else -1.0)
    at = (width - p.handle_inset_m, up * rise)
    if is_main:
        low = (width * 0.12, up * (half - 0.050), face)
        badge = (width * 0.12 + 0.09, up * (half - 0.036), face + 0.001)
        door.visual.box("badge", low, badge, rgba=CHROME if mark_colour(p.door_colour) == DARK else WHITE)
    if p.handle.kind == "edge":  # a pocket at the edge that is held
        pocket = 0.35 * half
        low, high = (width - 0.028, at[1] - pocket, face), (width - 0.004, at[1] + pocket, face + 0.0008)
        door.visual.box("pocket", low, high, rgba=DARK)
    for number in range(2 if is_main else 0):  # bins in the door
        foot = up * (-half + 0.05 + number * 0.9 * half)
        lower, upper = (0.06, min(foot, foot + up * 0.07), -0.045), (width - 0.06, max(foot, foot + up * 0.07), 0.002)
        door.visual.box(f"bin_{number}", lower, upper, rgba=SHELF)
    place = HandlePlace(at, face, edge=width, thickness=p.door_thickness_m, length=2 * half)
    grip = p.handle.add_to(door, place, p.handle_colour)
    away = frame.across[1]
    motion = door_motion(frame, (p.depth_m / 2, -away * p.width_m / 2, (span[0] + span[1]) / 2), p)
    push = p.handle.push_point(frame, place)
    assembly.add_part(door, motion, grip, mass_kg=door.mass_kg(p.door_density_kg_m3), push=push)
