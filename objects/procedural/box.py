"""A storage box with a hinged lid, of wood or of plastic.

Sizes come from catalogues of keepsake and storage boxes: 24 to 42 cm wide, 17 to 30 cm deep, 10 to 24 cm high.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from unlatch.objects.procedural.building.assembly import HOLDING, Assembly, ObjectGenerator, lid_motion
from unlatch.objects.procedural.building.carcass import Carcass
from unlatch.objects.procedural.building.drawing import Colour, draw_colour, draw_fields, draw_uniform, uniform
from unlatch.objects.procedural.building.finishes import (
    BRASS,
    CHROME,
    DARK,
    PLASTICS,
    WOODS,
    board_texture,
    darker,
    draw_contrast,
)
from unlatch.objects.procedural.building.link_builder import LID_BEHIND, LinkBuilder, PanelBuilder
from unlatch.objects.procedural.building.panel_handles import (
    HandlePlace,
    PanelHandle,
    draw_handle,
)

_GAP_M = 0.002


@dataclass(frozen=True)
class BoxParameters:
    """The values that vary between boxes."""

    width_m: Annotated[float, uniform(0.24, 0.42)]
    depth_m: Annotated[float, uniform(0.18, 0.30)]
    height_m: Annotated[float, uniform(0.10, 0.22)]
    """Without the lid."""
    wall_m: Annotated[float, uniform(0.008, 0.012)]
    lid_m: Annotated[float, uniform(0.010, 0.018)]
    overhang_m: Annotated[float, uniform(0.010, 0.018)]
    """Of the lid, in front and at the sides."""
    material: str
    limit_rad: Annotated[float, uniform(1.6, 2.0)]
    holding: Annotated[float, uniform(HOLDING, 1.6)]
    """Friction of the hinge divided by the moment of gravity."""
    damping_n_m_s: Annotated[float, uniform(0.02, 0.08)]
    density_kg_m3: float
    colour: Colour
    lid_colour: Colour
    trim_colour: Colour
    handle_colour: Colour
    handle: PanelHandle


def draw_parameters(rng: np.random.Generator) -> BoxParameters:
    """Draws a box and the handle of its lid."""
    wooden = rng.random() < 0.5
    wood, plastic = WOODS[int(rng.integers(2))], draw_colour(rng, PLASTICS)
    lid_colour = wood[1] if wooden else darker(plastic, 1.15 if rng.random() < 0.5 else 0.8)
    metal = draw_contrast(rng, (CHROME, BRASS, DARK), lid_colour)
    return draw_fields(
        BoxParameters,
        rng,
        material="wood" if wooden else "plastic",
        density_kg_m3=lambda: draw_uniform(rng, 450.0, 700.0) if wooden else draw_uniform(rng, 500.0, 900.0),
        colour=wood[0] if wooden else plastic,
        lid_colour=lid_colour,
        trim_colour=BRASS if wooden else DARK,
        handle_colour=metal,
        handle=lambda: draw_handle(rng, {"edge": 0.5, "knob": 0.25, "bar": 0.25}, length=(0.09, 0.14)),
    )


def build(assembly: Assembly, p: BoxParameters) -> None:
    """Builds a box. The lid's frame lies on the hinge, at the upper back edge of the box."""
    x0, x1, half = -p.depth_m / 2, p.depth_m / 2, p.width_m / 2
    body = LinkBuilder("body")
    Carcass((x0, -half, 0.0), (x1, half, p.height_m), p.wall_m, opening="z").build(
        body, rgba=p.colour, lining=darker(p.colour, 0.8)
    )
    _add_trim(body, p)
    assembly.add_body(body, mass_kg=body.mass_kg(p.density_kg_m3), edge=(x1 - p.wall_m / 2, 0.0, p.height_m))

    lid = PanelBuilder("lid", LID_BEHIND)
    depth, side, face = p.depth_m + p.overhang_m, half + p.overhang_m / 2, _GAP_M + p.lid_m
    lid.box("board", (0.0, -side, _GAP_M), (depth, side, face), rgba=p.lid_colour)
    rgba = darker(p.lid_colour, 0.85)
    if p.material == "plastic":  # a raised field, as on lids that stack
        lid.visual.border("rim", (0.006, depth - 0.006), side - 0.006, width=0.016, out=(face, face + 0.002), rgba=rgba)
    else:
        for number, along in enumerate((-0.33, 0.33)):
            lower = (0.0, along * side - 0.0008, face)
            lid.visual.box(f"seam_{number}", lower, (depth, along * side + 0.0008, face + 0.0004), rgba=rgba)
    place = HandlePlace((depth - 0.035, 0.0), face, edge=depth, thickness=p.lid_m, length=2 * side)
    grip = p.handle.add_to(lid, place, p.handle_colour)
    motion = lid_motion(LID_BEHIND, (x0, 0.0, p.height_m), p)
    push = p.handle.push_point(LID_BEHIND, place)
    assembly.add_part(lid, motion, grip, mass_kg=lid.mass_kg(p.density_kg_m3), push=push)
    if p.material == "wood":
        assembly.set_texture(board_texture, p.colour, p.lid_colour, darker(p.colour, 0.8))


generate = ObjectGenerator("box", draw_parameters, build)


def _add_trim(body: LinkBuilder, p: BoxParameters) -> None:
    """Adds straps to a wooden box, a label and grips to a plastic one, hinges to both."""
    x0, x1, half = -p.depth_m / 2, p.depth_m / 2, p.width_m / 2
    for number, sign in enumerate((-1.0, 1.0)):
        y, skin = sign * 0.55 * half, 0.0012
        centre = (x0 - 0.003, y, p.height_m - 0.004)
        body.visual.cylinder(f"hinge_{number}", centre, axis="y", radius=0.004, length=0.035, rgba=p.trim_colour)
        if p.material == "wood":
            lower, upper = (x1, y - 0.011, 0.0), (x1 + skin, y + 0.011, p.height_m)
            body.visual.box(f"strap_{number}", lower, upper, rgba=p.trim_colour)
        side = sign * half
        grip = (
            (-0.035, min(side, side + sign * skin), 0.62 * p.height_m),
            (0.035, max(side, side + sign * skin), 0.62 * p.height_m + 0.022),
        )
        body.visual.box(f"grip_{number}", *grip, rgba=darker(p.colour, 0.45))
    if p.material == "wood":
        lower = (x1, -0.014, p.height_m - 0.035)
        body.visual.box("lock", lower, (x1 + 0.003, 0.014, p.height_m - 0.003), rgba=p.trim_colour)
    else:
        low, high = 0.3 * p.height_m, 0.65 * p.height_m
        body.visual.box("label", (x1, -0.045, low), (x1 + 0.0008, 0.045, high), rgba=(0.93, 0.92, 0.88, 1.0))
