"""A small parcel of cardboard with tape: 0.1 to 0.4 kg."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from unlatch.objects.procedural.building.drawing import Colour, draw_fields, one_of, uniform
from unlatch.objects.procedural.building.link_builder import LinkBuilder
from unlatch.objects.procedural.items.item import ItemGenerator, Stand

_COLOURS: tuple[Colour, ...] = ((0.72, 0.55, 0.36, 1.0), (0.78, 0.62, 0.44, 1.0), (0.66, 0.50, 0.34, 1.0))
_TAPE: Colour = (0.86, 0.80, 0.62, 1.0)


@dataclass(frozen=True)
class ParcelParameters:
    """The values that vary between parcels."""

    depth_m: Annotated[float, uniform(0.045, 0.065)]
    """Along x."""
    width_m: Annotated[float, uniform(0.08, 0.13)]
    """Along y."""
    height_m: Annotated[float, uniform(0.045, 0.070)]
    density_kg_m3: Annotated[float, uniform(350.0, 700.0)]
    colour: Annotated[Colour, one_of(_COLOURS)]


def draw_parameters(rng: np.random.Generator) -> ParcelParameters:
    """Draws a parcel."""
    return draw_fields(ParcelParameters, rng)


def build(builder: LinkBuilder, p: ParcelParameters) -> Stand:
    """Builds a parcel with a strip of tape over its top."""
    half_x, half_y = p.depth_m / 2, p.width_m / 2
    builder.box("parcel", (-half_x, -half_y, 0.0), (half_x, half_y, p.height_m), rgba=p.colour)
    top = p.height_m
    builder.visual.box("tape", (-half_x, -0.012, top), (half_x, 0.012, top + 0.0004), rgba=_TAPE)
    return Stand(builder.mass_kg(p.density_kg_m3), {})


generate = ItemGenerator("parcel", draw_parameters, build)
