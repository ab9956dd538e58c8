"""A small bin with a pedal and a lid that is hinged behind, round or square.

Sizes come from catalogues of pedal bins of 3 to 15 l: 19 to 27 cm across, 26 to 42 cm high.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from unlatch.objects.procedural.building.assembly import HOLDING, Assembly, ObjectGenerator, lid_motion
from unlatch.objects.procedural.building.carcass import Carcass
from unlatch.objects.procedural.building.drawing import Colour, draw_colour, draw_fields, either, uniform
from unlatch.objects.procedural.building.finishes import (
    CHROME,
    DARK,
    PLASTICS,
    RUBBER,
    darker,
    draw_contrast,
    sheet_texture,
)
from unlatch.objects.procedural.building.link_builder import LID_BEHIND, LinkBuilder, PanelBuilder
from unlatch.objects.procedural.building.panel_handles import (
    HandlePlace,
    PanelHandle,
    draw_handle,
)
from unlatch.objects.procedural.building.round_lid import GAP_M, RoundLid

_CANS: tuple[Colour, ...] = (CHROME, (0.66, 0.67, 0.69, 1.0), *PLASTICS)
_BAG: Colour = (0.22, 0.22, 0.23, 1.0)


@dataclass(frozen=True)
class TrashCanParameters:
    """The values that vary between bins."""

    shape: Annotated[str, either("round", "square", 0.6)]
    radius_m: Annotated[float, uniform(0.095, 0.13)]
    """Outer radius, or half of the width."""
    height_m: Annotated[float, uniform(0.25, 0.40)]
    """Of the rim."""
    wall_m: Annotated[float, uniform(0.005, 0.008)]
    foot_m: Annotated[float, uniform(0.02, 0.035)]
    """Height of the dark ring at the bottom."""
    lid_m: Annotated[float, uniform(0.012, 0.022)]
    overhang_m: Annotated[float, uniform(0.006, 0.012)]
    limit_rad: Annotated[float, uniform(1.3, 1.6)]
    holding: Annotated[float, uniform(HOLDING, 1.6)]
    """Friction of the hinge divided by the moment of gravity."""
    damping_n_m_s: Annotated[float, uniform(0.01, 0.05)]
    density_kg_m3: Annotated[float, uniform(700.0, 1100.0)]
    colour: Colour
    lid_colour: Colour
    handle_colour: Colour
    handle: PanelHandle


def draw_parameters(rng: np.random.Generator) -> TrashCanParameters:
    """Draws a bin and the handle of its lid."""
    colour = draw_colour(rng, _CANS)
    lid_colour = DARK if rng.random() < 0.5 else darker(colour, 0.9)
    return draw_fields(
        TrashCanParameters,
        rng,
        colour=colour,
        lid_colour=lid_colour,
        handle_colour=lambda: draw_contrast(rng, (CHROME, DARK), lid_colour),
        handle=lambda: draw_handle(rng, {"edge": 0.7, "bar": 0.3}, length=(0.08, 0.11)),
    )


def build(assembly: Assembly, p: TrashCanParameters) -> None:
    """Builds a bin.

    The root frame is at the middle of the bottom, z up, x away from the hinge. The lid's frame is on the hinge, at the
    height of the rim.
    """
    vessel = RoundLid(p.radius_m, p.wall_m, p.foot_m, p.height_m, p.lid_m, p.overhang_m)
    body = LinkBuilder("body")
    lid = PanelBuilder("lid", LID_BEHIND)
    reach, face = 2 * vessel.lid_radius_m, vessel.face_m
    if p.shape == "round":
        body.cylinder("foot", (0, 0, p.foot_m / 2), axis="z", radius=p.radius_m + 0.002, length=p.foot_m, rgba=RUBBER)
        vessel.add_vessel(body, rgba=p.colour, inside=_BAG)
        vessel.add_disc(lid, rgba=p.lid_colour)
        face = vessel.add_dome(lid, shares=(0.74,), step_m=0.006, rgba=p.lid_colour)
    else:
        r, side = p.radius_m, vessel.lid_radius_m
        body.box("foot", (-r - 0.002, -r - 0.002, 0.0), (r + 0.002, r + 0.002, p.foot_m), rgba=RUBBER)
        Carcass((-r, -r, p.foot_m), (r, r, p.height_m), p.wall_m, opening="z").build(body, rgba=p.colour, lining=_BAG)
        lid.box("board", (0.0, -side, GAP_M), (reach, side, face), rgba=p.lid_colour)
        lid.box("field", (0.03, -side + 0.03, face), (reach - 0.03, side - 0.03, face + 0.004), rgba=p.lid_colour)
        face += 0.004
    vessel.add_hinge(body, rgba=DARK)
    _add_pedal(body, p)
    assembly.add_body(body, mass_kg=body.mass_kg(p.density_kg_m3), edge=(p.radius_m - p.wall_m / 2, 0.0, p.height_m))

    length = 2 * vessel.lid_radius_m * (1.0 if p.shape == "square" else 0.4)
    place = HandlePlace((0.72 * reach, 0.0), face, edge=reach, thickness=p.lid_m, length=length)
    at_edge = place._replace(face=vessel.face_m)
    grip = p.handle.add_to(lid, at_edge if p.handle.kind == "edge" else place, p.handle_colour)
    motion = lid_motion(LID_BEHIND, vessel.hinge, p)
    push = p.handle.push_point(LID_BEHIND, place)
    assembly.add_part(lid, motion, grip, mass_kg=lid.mass_kg(p.density_kg_m3 * 0.7), push=push)
    assembly.set_texture(sheet_texture(p.colour), p.colour, darker(p.colour, 0.9))


generate = ObjectGenerator("trash_can", draw_parameters, build)


def _add_pedal(body: LinkBuilder, p: TrashCanParameters) -> None:
    """Adds a slot in front, the pedal's arm and its plate."""
    x = p.radius_m
    lower, upper = (x, -0.028, p.foot_m * 0.3), (x + 0.004, 0.028, p.foot_m + 0.012)
    body.visual.box("slot", lower, upper, rgba=(0.05, 0.05, 0.05, 1.0))
    middle = p.foot_m * 0.62
    body.box("arm", (x - 0.004, -0.012, middle - 0.003), (x + 0.03, 0.012, middle + 0.003), rgba=CHROME)
    body.box("pedal", (x + 0.022, -0.032, middle - 0.005), (x + 0.052, 0.032, middle + 0.005), rgba=DARK)
