"""A drinking cup without a handle, of plastic or glass: wider above than below."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from unlatch.objects.procedural.building.drawing import Colour, draw_fields, one_of, uniform
from unlatch.objects.procedural.building.link_builder import LinkBuilder
from unlatch.objects.procedural.items.item import ItemGenerator, Stand, add_round_wall

_BOARDS = 14
_COLOURS: tuple[Colour, ...] = (
    (0.93, 0.53, 0.30, 1.0),
    (0.36, 0.62, 0.78, 1.0),
    (0.55, 0.72, 0.44, 1.0),
    (0.88, 0.80, 0.50, 1.0),
    (0.86, 0.87, 0.90, 1.0),
)


@dataclass(frozen=True)
class CupParameters:
    """The values that vary between cups."""

    foot_m: Annotated[float, uniform(0.022, 0.027)]
    """Outer radius of the foot."""
    rim_m: Annotated[float, uniform(0.029, 0.034)]
    """Outer radius of the rim."""
    height_m: Annotated[float, uniform(0.08, 0.11)]
    wall_m: Annotated[float, uniform(0.003, 0.004)]
    density_kg_m3: Annotated[float, uniform(1200.0, 2300.0)]
    colour: Annotated[Colour, one_of(_COLOURS)]


def draw_parameters(rng: np.random.Generator) -> CupParameters:
    """Draws a cup."""
    return draw_fields(CupParameters, rng)


def build(builder: LinkBuilder, p: CupParameters) -> Stand:
    """Builds a cup: a thick floor and a round wall."""
    builder.cylinder("floor", (0, 0, 0.004), axis="z", radius=p.foot_m, length=0.008, rgba=p.colour)
    add_round_wall(
        builder,
        "wall",
        low=(p.foot_m, 0.001),
        high=(p.rim_m, p.height_m),
        thickness_m=p.wall_m,
        boards=_BOARDS,
        rgba=p.colour,
    )
    return Stand(builder.mass_kg(p.density_kg_m3), {})


generate = ItemGenerator("cup", draw_parameters, build)
