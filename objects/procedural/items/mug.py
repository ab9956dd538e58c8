"""A mug of china with a handle: 0.25 to 0.4 kg."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from unlatch.objects.procedural.building.drawing import Colour, draw_fields, one_of, uniform
from unlatch.objects.procedural.building.finishes import CHINA
from unlatch.objects.procedural.building.link_builder import LinkBuilder
from unlatch.objects.procedural.items.item import ItemGenerator, Stand, add_round_wall

_BOARDS = 14


@dataclass(frozen=True)
class MugParameters:
    """The values that vary between mugs."""

    radius_m: Annotated[float, uniform(0.036, 0.044)]
    height_m: Annotated[float, uniform(0.08, 0.105)]
    wall_m: Annotated[float, uniform(0.004, 0.006)]
    handle_m: Annotated[float, uniform(0.028, 0.036)]
    """How far the handle stands out."""
    handle_width_m: Annotated[float, uniform(0.009, 0.013)]
    density_kg_m3: Annotated[float, uniform(1900.0, 2300.0)]
    colour: Annotated[Colour, one_of(CHINA)]


def draw_parameters(rng: np.random.Generator) -> MugParameters:
    """Draws a mug."""
    return draw_fields(MugParameters, rng)


def build(builder: LinkBuilder, p: MugParameters) -> Stand:
    """Builds a mug: a floor, a round wall, and a handle of three bars along +x."""
    inside = p.radius_m - p.wall_m
    builder.cylinder("floor", (0, 0, p.wall_m / 2), axis="z", radius=inside + 0.001, length=p.wall_m, rgba=p.colour)
    add_round_wall(
        builder,
        "wall",
        low=(p.radius_m, 0.0),
        high=(p.radius_m, p.height_m),
        thickness_m=p.wall_m,
        boards=_BOARDS,
        rgba=p.colour,
    )
    half, out, thick = p.handle_width_m / 2, p.radius_m + p.handle_m, 0.008
    low, high = 0.22 * p.height_m, 0.82 * p.height_m
    builder.box("handle_low", (p.radius_m - 0.002, -half, low), (out, half, low + thick), rgba=p.colour)
    builder.box("handle_high", (p.radius_m - 0.002, -half, high - thick), (out, half, high), rgba=p.colour)
    builder.box("handle_grip", (out - thick, -half, low), (out, half, high), rgba=p.colour)
    handle = (out - thick / 2, 0.0, (low + high) / 2)
    return Stand(builder.mass_kg(p.density_kg_m3), {"handle_center": handle})


generate = ItemGenerator("mug", draw_parameters, build)
