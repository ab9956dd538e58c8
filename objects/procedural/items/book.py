"""A paperback that stands upright on its lower edge: 0.15 to 0.45 kg. A book that lies flat is wider than a hand."""

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

    thickness_m: Annotated[float, uniform(0.022, 0.035)]
    """Along x."""
    width_m: Annotated[float, uniform(0.10, 0.13)]
    """Along y, away from the spine."""
    height_m: Annotated[float, uniform(0.15, 0.18)]
    density_kg_m3: Annotated[float, uniform(450.0, 650.0)]
    colour: Annotated[Colour, one_of(_COLOURS)]


def draw_parameters(rng: np.random.Generator) -> BookParameters:
    """Draws a book."""
    return draw_fields(BookParameters, rng)


def build(builder: LinkBuilder, p: BookParameters) -> Stand:
    """Builds a book whose covers face along x, its spine at -y."""
    half_x, half_y, inset = p.thickness_m / 2, p.width_m / 2, 0.0006
    builder.box("book", (-half_x, -half_y, 0.0), (half_x, half_y, p.height_m), rgba=p.colour)
    low, high = (-half_x + 0.002, -half_y + 0.006, 0.001), (half_x - 0.002, half_y + inset, p.height_m + inset)
    builder.visual.box("pages", low, high, rgba=_PAGES)
    return Stand(builder.mass_kg(p.density_kg_m3), {})


generate = ItemGenerator("book", draw_parameters, build)
