"""A dinner or dessert plate: 17 to 22 cm across, held at its rim."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from unlatch.objects.procedural.building.drawing import Colour, draw_fields, one_of, uniform
from unlatch.objects.procedural.building.finishes import CHINA
from unlatch.objects.procedural.building.link_builder import LinkBuilder
from unlatch.objects.procedural.items.item import ItemGenerator, Stand, add_round_wall

_BOARDS = 18


@dataclass(frozen=True)
class PlateParameters:
    """The values that vary between plates."""

    floor_m: Annotated[float, uniform(0.055, 0.070)]
    """Radius of the flat middle."""
    rim_m: Annotated[float, uniform(0.085, 0.110)]
    """Outer radius of the rim."""
    height_m: Annotated[float, uniform(0.018, 0.025)]
    thickness_m: Annotated[float, uniform(0.004, 0.005)]
    density_kg_m3: Annotated[float, uniform(1700.0, 2200.0)]
    colour: Annotated[Colour, one_of(CHINA)]


def draw_parameters(rng: np.random.Generator) -> PlateParameters:
    """Draws a plate."""
    return draw_fields(PlateParameters, rng)


def build(builder: LinkBuilder, p: PlateParameters) -> Stand:
    """Builds a plate: a flat middle and a rim that rises outwards."""
    middle = (0.0, 0.0, p.thickness_m / 2)
    builder.cylinder("floor", middle, axis="z", radius=p.floor_m, length=p.thickness_m, rgba=p.colour)
    add_round_wall(
        builder,
        "rim",
        low=(p.floor_m, 0.003),
        high=(p.rim_m, p.height_m),
        thickness_m=p.thickness_m,
        boards=_BOARDS,
        rgba=p.colour,
    )
    return Stand(builder.mass_kg(p.density_kg_m3), {})


generate = ItemGenerator("plate", draw_parameters, build)
