"""A laptop: a base with keys, a screen on a hinge behind.

Sizes come from catalogues of laptops with screens of 13 to 16 inches: 30 to 37 cm wide, 21 to 26 cm deep, bases of
14 to 20 mm. Lids are 8 to 10 mm thick, as those of sturdy ones are: thinner ones are hard to pinch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from unlatch.objects.procedural.building.assembly import HOLDING, Assembly, ObjectGenerator, lid_motion
from unlatch.objects.procedural.building.drawing import Colour, draw_colour, draw_fields, draw_uniform, uniform
from unlatch.objects.procedural.building.finishes import DARK, RUBBER, darker, sheet_texture
from unlatch.objects.procedural.building.link_builder import LID_BEHIND, LinkBuilder, PanelBuilder
from unlatch.objects.procedural.building.panel_handles import HandlePlace, edge_grip, edge_push

_GAP_M = 0.002
_CASES: tuple[Colour, ...] = (
    (0.73, 0.74, 0.76, 1.0),
    (0.36, 0.37, 0.40, 1.0),
    (0.22, 0.23, 0.25, 1.0),
    (0.84, 0.80, 0.75, 1.0),
    (0.36, 0.46, 0.58, 1.0),
)
_SCREENS: tuple[tuple[Colour, Colour], ...] = (
    ((0.16, 0.36, 0.62, 1.0), (0.30, 0.56, 0.82, 1.0)),
    ((0.36, 0.24, 0.48, 1.0), (0.80, 0.48, 0.46, 1.0)),
    ((0.12, 0.40, 0.38, 1.0), (0.44, 0.70, 0.52, 1.0)),
)
"""Two colours of the picture on the screen."""
_ROWS = (13, 13, 12, 11)


@dataclass(frozen=True)
class LaptopParameters:
    """The values that vary between laptops."""

    width_m: float
    depth_m: float
    base_m: Annotated[float, uniform(0.014, 0.020)]
    """Thickness of the base, without its feet."""
    lid_m: Annotated[float, uniform(0.008, 0.010)]
    overhang_m: Annotated[float, uniform(0.0, 0.002)]
    """The lid reaches over the base in front."""
    limit_rad: Annotated[float, uniform(2.0, 2.4)]
    holding: Annotated[float, uniform(HOLDING, 1.7)]
    """Friction of the hinge divided by the moment of gravity."""
    damping_n_m_s: Annotated[float, uniform(0.01, 0.05)]
    lid_density_kg_m3: Annotated[float, uniform(800.0, 1100.0)]
    base_density_kg_m3: Annotated[float, uniform(1000.0, 1500.0)]
    colour: Colour
    key_colour: Colour
    screen: int


def draw_parameters(rng: np.random.Generator) -> LaptopParameters:
    """Draws a laptop."""
    width = draw_uniform(rng, 0.30, 0.37)
    colour = draw_colour(rng, _CASES)
    return draw_fields(
        LaptopParameters,
        rng,
        width_m=width,
        depth_m=lambda: round(width * draw_uniform(rng, 0.66, 0.71), 4),
        colour=colour,
        key_colour=lambda: DARK if rng.random() < 0.7 else darker(colour, 1.1),
        screen=lambda: int(rng.integers(len(_SCREENS))),
    )


def build(assembly: Assembly, p: LaptopParameters) -> None:
    """Builds a laptop.

    The root frame is at the middle of the footprint, z up from the bottom, x towards the user. The lid's frame is on
    the hinge, at the upper back edge of the base.
    """
    x0, x1, half = -p.depth_m / 2, p.depth_m / 2, p.width_m / 2
    feet, top = 0.003, 0.003 + p.base_m
    body = LinkBuilder("body")
    body.box("base", (x0, -half, feet), (x1, half, top), rgba=p.colour)
    for number, x in enumerate((x0 + 0.02, x1 - 0.02)):
        body.box(f"foot_{number}", (x - 0.006, -half + 0.03, 0.0), (x + 0.006, half - 0.03, feet), rgba=RUBBER)
    _add_keys(body, p, top)
    assembly.add_body(body, mass_kg=body.mass_kg(p.base_density_kg_m3), edge=(x1 - 0.02, 0.0, top))

    lid = PanelBuilder("lid", LID_BEHIND)
    depth, face = p.depth_m + p.overhang_m, _GAP_M + p.lid_m
    lid.box("case", (0.0, -half, _GAP_M), (depth, half, face), rgba=p.colour)
    for number, sign in enumerate((-1.0, 1.0)):
        lid.visual.cylinder(
            f"hinge_{number}", (0.0, sign * 0.6 * half, 0.003), axis="along", radius=0.0045, length=0.04, rgba=DARK
        )
    _add_screen(lid, p, depth)
    lid.visual.cylinder(
        "logo", (depth / 2, 0.0, face), axis="out", radius=0.014, length=0.0008, rgba=darker(p.colour, 0.7)
    )
    place = HandlePlace((depth, 0.0), face, edge=depth, thickness=p.lid_m, length=p.width_m)
    motion = lid_motion(LID_BEHIND, (x0, 0.0, top), p)
    grip, push = edge_grip(LID_BEHIND, place), edge_push(LID_BEHIND, place)
    assembly.add_part(lid, motion, grip, mass_kg=lid.mass_kg(p.lid_density_kg_m3), push=push)
    assembly.set_texture(sheet_texture, p.colour)


generate = ObjectGenerator("laptop", draw_parameters, build)


def _add_keys(body: LinkBuilder, p: LaptopParameters, top: float) -> None:
    """Adds four rows of keys, a row with the space bar, and the pad in front of them."""
    half, back = p.width_m / 2 - 0.024, -p.depth_m / 2 + 0.034
    pitch = 0.40 * p.depth_m / 5
    body.visual.box(
        "well",
        (back - 0.004, -half - 0.003, top),
        (back + 5 * pitch + 0.002, half + 0.003, top + 0.0003),
        rgba=darker(p.colour, 0.6 if p.colour[0] > 0.4 else 1.5),
    )
    rows = [[2 * half / count] * count for count in _ROWS]
    rows.append([2 * half * share for share in (0.1, 0.1, 0.1, 0.4, 0.1, 0.1, 0.1)])
    for row, widths in enumerate(rows):
        x, y = back + row * pitch, -half
        for number, width in enumerate(widths):
            lower, upper = (x + 0.001, y + 0.001, top), (x + pitch - 0.001, y + width - 0.001, top + 0.0012)
            body.visual.box(f"key_{row}_{number}", lower, upper, rgba=p.key_colour)
            y += width
    pad = 0.17 * p.width_m
    x = back + 5 * pitch + 0.014
    body.visual.box("pad", (x, -pad, top), (p.depth_m / 2 - 0.012, pad, top + 0.0005), rgba=darker(p.colour, 0.82))


def _add_screen(lid: PanelBuilder, p: LaptopParameters, depth: float) -> None:
    half = p.width_m / 2
    ground, light = _SCREENS[p.screen]
    low, high, side = 0.020, depth - 0.009, half - 0.008
    lid.visual.box(
        "bezel",
        (0.004, -half + 0.003, _GAP_M - 0.0004),
        (depth - 0.003, half - 0.003, _GAP_M),
        rgba=(0.04, 0.04, 0.05, 1.0),
    )
    lid.visual.box("screen", (low, -side, _GAP_M - 0.0008), (high, side, _GAP_M - 0.0004), rgba=ground)
    lid.visual.box("task_bar", (low, -side, _GAP_M - 0.0012), (low + 0.010, side, _GAP_M - 0.0008), rgba=light)
    for number, (a, b, c, d) in enumerate(((0.22, 0.82, -0.75, -0.05), (0.40, 0.70, 0.10, 0.60))):
        lower = (low + a * (high - low), c * side, _GAP_M - 0.0012)
        upper = (low + b * (high - low), d * side, _GAP_M - 0.0008)
        lid.visual.box(f"page_{number}", lower, upper, rgba=light if number else (0.93, 0.94, 0.95, 1.0))
