"""A box of cereals, tea or pasta that stands upright: 0.15 to 0.4 kg."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from unlatch.objects.procedural.building.drawing import Colour, draw_fields, one_of, uniform
from unlatch.objects.procedural.building.link_builder import LinkBuilder
from unlatch.objects.procedural.items.item import ItemGenerator, Stand

_COLOURS: tuple[Colour, ...] = (
    (0.90, 0.66, 0.20, 1.0),
    (0.72, 0.22, 0.20, 1.0),
    (0.22, 0.46, 0.62, 1.0),
    (0.42, 0.58, 0.28, 1.0),
    (0.84, 0.80, 0.72, 1.0),
)
_LABEL: Colour = (0.96, 0.95, 0.90, 1.0)


@dataclass(frozen=True)
class CerealBoxParameters:
    """The values that vary between boxes."""

    depth_m: Annotated[float, uniform(0.040, 0.060)]
    """Along x."""
    width_m: Annotated[float, uniform(0.09, 0.14)]
    """Along y."""
    height_m: Annotated[float, uniform(0.13, 0.19)]
    density_kg_m3: Annotated[float, uniform(230.0, 380.0)]
    colour: Annotated[Colour, one_of(_COLOURS)]


def draw_parameters(rng: np.random.Generator) -> CerealBoxParameters:
    """Draws a box."""
    return draw_fields(CerealBoxParameters, rng)


def build(builder: LinkBuilder, p: CerealBoxParameters) -> Stand:
    """Builds a box with a label in front."""
    half_x, half_y = p.depth_m / 2, p.width_m / 2
    builder.box("box", (-half_x, -half_y, 0.0), (half_x, half_y, p.height_m), rgba=p.colour)
    low, high = (half_x, -0.7 * half_y, 0.45 * p.height_m), (half_x + 0.0005, 0.7 * half_y, 0.85 * p.height_m)
    builder.visual.box("label", low, high, rgba=_LABEL)
    return Stand(builder.mass_kg(p.density_kg_m3), {})


generate = ItemGenerator("cereal_box", draw_parameters, build)
