"""A carton with two flaps that meet in the middle, and a strip of tape.

Sizes come from catalogues of shipping cartons: 24 to 40 cm by 20 to 32 cm, 14 to 26 cm high. The board is 8 to 9 mm
thick, as that of heavy cartons of two and three layers: thinner flaps are hard to pinch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from unlatch.objects.procedural.building.assembly import HOLDING, Assembly, ObjectGenerator, lid_motion
from unlatch.objects.procedural.building.carcass import Carcass
from unlatch.objects.procedural.building.drawing import Colour, draw_fields, either, one_of, uniform
from unlatch.objects.procedural.building.finishes import darker
from unlatch.objects.procedural.building.link_builder import LinkBuilder, PanelBuilder, PanelFrame, Y, Z
from unlatch.objects.procedural.building.panel_handles import HandlePlace, edge_grip, edge_push
from unlatch.objects.procedural.building.textures import TextureKind

_GAP_M = 0.002
_BOARDS: tuple[Colour, ...] = (
    (0.74, 0.57, 0.38, 1.0),
    (0.80, 0.64, 0.44, 1.0),
    (0.66, 0.49, 0.32, 1.0),
    (0.88, 0.86, 0.82, 1.0),
)
_TAPES: tuple[Colour, ...] = ((0.88, 0.80, 0.60, 1.0), (0.62, 0.45, 0.26, 1.0), (0.80, 0.22, 0.18, 1.0))
_INK: Colour = (0.20, 0.17, 0.15, 1.0)
_FLAPS = {
    "lid": PanelFrame(across=Y, out=Z),
    "lid_2": PanelFrame(across=(0.0, -1.0, 0.0), out=Z),
}
"""Hinges at the sides: the flaps open to the right and to the left, as seen from the front."""


@dataclass(frozen=True)
class CartonParameters:
    """The values that vary between cartons."""

    width_m: Annotated[float, uniform(0.24, 0.36)]
    """Across the flaps."""
    depth_m: Annotated[float, uniform(0.22, 0.36)]
    """Along the flaps."""
    height_m: Annotated[float, uniform(0.14, 0.26)]
    board_m: Annotated[float, uniform(0.008, 0.009)]
    limit_rad: Annotated[float, uniform(2.1, 2.7)]
    holding: Annotated[float, uniform(HOLDING, 1.8)]
    """Friction of the fold divided by the moment of gravity."""
    damping_n_m_s: Annotated[float, uniform(0.005, 0.03)]
    density_kg_m3: Annotated[float, uniform(120.0, 220.0)]
    tape_m: Annotated[float, uniform(0.042, 0.055)]
    print: Annotated[str, either("arrows", "label")]
    colour: Annotated[Colour, one_of(_BOARDS)]
    tape_colour: Annotated[Colour, one_of(_TAPES)]
    handle_kind: str = "edge"
    """Kind of its handle, for the record; it is always the same."""


def draw_parameters(rng: np.random.Generator) -> CartonParameters:
    """Draws a carton."""
    return draw_fields(CartonParameters, rng)


def build(assembly: Assembly, p: CartonParameters) -> None:
    """Builds a carton. The frame of a flap lies on its fold, at the upper outer edge of a side."""
    x0, x1, half = -p.depth_m / 2, p.depth_m / 2, p.width_m / 2
    body = LinkBuilder("body")
    Carcass((x0, -half, 0.0), (x1, half, p.height_m), p.board_m, opening="z").build(
        body, rgba=p.colour, lining=darker(p.colour, 0.85)
    )
    _add_print(body, p)
    mass_kg = body.mass_kg(p.density_kg_m3)
    assembly.add_body(body, mass_kg=mass_kg, edge=(p.depth_m / 2 - p.board_m / 2, 0.0, p.height_m))
    for label, frame in _FLAPS.items():
        _add_flap(assembly, label, frame, p)
    assembly.set_texture(TextureKind.cardboard, p.colour, darker(p.colour, 0.85))


generate = ObjectGenerator("carton", draw_parameters, build)


def _add_flap(assembly: Assembly, label: str, frame: PanelFrame, p: CartonParameters) -> None:
    flap = PanelBuilder(label, frame)
    width, half, face = p.width_m / 2 - 0.0015, p.depth_m / 2, _GAP_M + p.board_m
    flap.box("board", (0.0, -half, _GAP_M), (width, half, face), rgba=p.colour)
    flap.visual.box("crease", (0.012, -half, face), (0.015, half, face + 0.0004), rgba=darker(p.colour, 0.8))
    lower = (width - p.tape_m / 2, -half, face)
    flap.visual.box("tape", lower, (width, half, face + 0.0005), rgba=p.tape_colour)
    side = -frame.across[1]
    place = HandlePlace((width, 0.0), face, edge=width, thickness=p.board_m, length=p.depth_m)
    motion = lid_motion(frame, (0.0, side * p.width_m / 2, p.height_m), p)
    mass_kg, push = flap.mass_kg(p.density_kg_m3), edge_push(frame, place)
    assembly.add_part(flap, motion, edge_grip(frame, place), mass_kg=mass_kg, push=push)


def _add_print(body: LinkBuilder, p: CartonParameters) -> None:
    """Adds the end of the tape on the front, and arrows or a label beside it."""
    x, half, h, skin = p.depth_m / 2, p.width_m / 2, p.height_m, 0.0006
    lower, upper = (x, -p.tape_m / 2, h - 0.055), (x + skin, p.tape_m / 2, h)
    body.visual.box("tape", lower, upper, rgba=p.tape_colour)
    if p.print == "label":
        y, z = 0.45 * half, 0.42 * h
        body.visual.box(
            "label", (x, y - 0.045, z - 0.03), (x + skin, y + 0.045, z + 0.03), rgba=(0.95, 0.95, 0.93, 1.0)
        )
        for number, (low, high) in enumerate(((-0.035, 0.010), (-0.035, 0.030), (-0.035, -0.002))):
            line = z + 0.016 - 0.014 * number
            lower, upper = (x + skin, y + low, line - 0.002), (x + 2 * skin, y + high, line + 0.002)
            body.visual.box(f"line_{number}", lower, upper, rgba=_INK)
        return
    for number, y in enumerate((0.5 * half, 0.5 * half + 0.03)):  # this side up
        foot, tip = 0.28 * h, 0.28 * h + 0.05
        body.visual.box(f"shaft_{number}", (x, y - 0.003, foot), (x + skin, y + 0.003, tip - 0.006), rgba=_INK)
        for wing, sign in enumerate((-1.0, 1.0)):
            pose_at = [x + skin / 2, y + sign * 0.006, tip - 0.008]
            lower, upper = (x, pose_at[1] - 0.006, tip - 0.012), (x + skin, pose_at[1] + 0.006, tip - 0.007)
            body.visual.box(f"wing_{number}_{wing}", lower, upper, rgba=_INK)
        body.visual.box(f"tip_{number}", (x, y - 0.006, tip - 0.007), (x + skin, y + 0.006, tip - 0.002), rgba=_INK)
    body.visual.box(
        "ground", (x, 0.5 * half - 0.012, 0.28 * h - 0.008), (x + skin, 0.5 * half + 0.042, 0.28 * h - 0.005), rgba=_INK
    )
