"""A bowl of china or wood: 12 to 15 cm across, held at its rim."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from unlatch.objects.procedural.building.drawing import Colour, draw_fields, one_of, uniform
from unlatch.objects.procedural.building.finishes import CHINA
from unlatch.objects.procedural.building.link_builder import LinkBuilder
from unlatch.objects.procedural.items.item import ItemGenerator, Stand, add_round_wall

_BOARDS = 16


@dataclass(frozen=True)
class BowlParameters:
    """The values that vary between bowls."""

    foot_m: Annotated[float, uniform(0.030, 0.038)]
    """Outer radius of the floor."""
    rim_m: Annotated[float, uniform(0.060, 0.075)]
    """Outer radius of the rim."""
    height_m: Annotated[float, uniform(0.05, 0.065)]
    wall_m: Annotated[float, uniform(0.004, 0.006)]
    density_kg_m3: Annotated[float, uniform(1000.0, 1900.0)]
    colour: Annotated[Colour, one_of(CHINA)]


def draw_parameters(rng: np.random.Generator) -> BowlParameters:
    """Draws a bowl."""
    return draw_fields(BowlParameters, rng)


def build(builder: LinkBuilder, p: BowlParameters) -> Stand:
    """Builds a bowl: a floor and two round walls, the upper one steeper."""
    builder.cylinder("floor", (0, 0, p.wall_m / 2), axis="z", radius=p.foot_m, length=p.wall_m, rgba=p.colour)
    bend, middle = 0.45 * p.height_m, p.foot_m + 0.72 * (p.rim_m - p.foot_m)
    for name, low, high in (
        ("lower", (p.foot_m, 0.6 * p.wall_m), (middle, bend)),
        ("upper", (middle, bend - 0.001), (p.rim_m, p.height_m)),
    ):
        add_round_wall(builder, name, low=low, high=high, thickness_m=p.wall_m, boards=_BOARDS, rgba=p.colour)
    return Stand(builder.mass_kg(p.density_kg_m3), {})


generate = ItemGenerator("bowl", draw_parameters, build)
