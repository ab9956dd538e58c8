"""A book that lies flat or stands upright on its lower edge: 0.2 to 0.5 kg."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from unlatch.objects.procedural.building.drawing import Colour, draw_fields, one_of, uniform
from unlatch.objects.procedural.building.link_builder import LinkBuilder
from unlatch.objects.procedural.items.item import ItemGenerator, Stand

_COLOURS: tuple[Colour, ...] = (
    (0.62, 0.16, 0.18, 1.0),
    (0.16, 0.30, 0.50, 1.0),
    (0.20, 0.42, 0.32, 1.0),
    (0.80, 0.60, 0.22, 1.0),
    (0.36, 0.28, 0.44, 1.0),
)
_PAGES: Colour = (0.94, 0.92, 0.85, 1.0)


@dataclass(frozen=True)
class BookParameters:
    """The values that vary between books."""

    depth_m: Annotated[float, uniform(0.12, 0.15)]
    """Along x."""
    width_m: Annotated[float, uniform(0.17, 0.21)]
    """Along y."""
    height_m: Annotated[float, uniform(0.018, 0.032)]
    density_kg_m3: Annotated[float, uniform(450.0, 650.0)]
    colour: Annotated[Colour, one_of(_COLOURS)]


def draw_parameters(rng: np.random.Generator) -> BookParameters:
    """Draws a book."""
    return draw_fields(BookParameters, rng)


def build(builder: LinkBuilder, p: BookParameters) -> Stand:
    """Builds a book that lies on its back cover, its spine along y."""
    half_x, half_y = p.depth_m / 2, p.width_m / 2
    builder.box("book", (-half_x, -half_y, 0.0), (half_x, half_y, p.height_m), rgba=p.colour)
    inset = 0.0006
    low, high = (-half_x + 0.006, -half_y - inset, 0.002), (half_x + inset, half_y + inset, p.height_m - 0.002)
    builder.visual.box("pages", low, high, rgba=_PAGES)
    return Stand(builder.mass_kg(p.density_kg_m3), {})


generate = ItemGenerator("book", draw_parameters, build)
