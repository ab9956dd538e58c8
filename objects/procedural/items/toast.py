"""A slice of toast that stands on its edge, as in a rack: 25 to 55 g."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from unlatch.objects.procedural.building.drawing import Colour, draw_fields, one_of, uniform
from unlatch.objects.procedural.building.link_builder import LinkBuilder
from unlatch.objects.procedural.items.item import ItemGenerator, Stand

_COLOURS: tuple[Colour, ...] = ((0.86, 0.66, 0.40, 1.0), (0.78, 0.54, 0.30, 1.0), (0.90, 0.74, 0.50, 1.0))
_CRUST: Colour = (0.50, 0.30, 0.14, 1.0)


@dataclass(frozen=True)
class ToastParameters:
    """The values that vary between slices."""

    thickness_m: Annotated[float, uniform(0.015, 0.020)]
    """Along x."""
    width_m: Annotated[float, uniform(0.085, 0.105)]
    """Along y."""
    height_m: Annotated[float, uniform(0.085, 0.100)]
    density_kg_m3: Annotated[float, uniform(250.0, 320.0)]
    colour: Annotated[Colour, one_of(_COLOURS)]


def draw_parameters(rng: np.random.Generator) -> ToastParameters:
    """Draws a slice."""
    return draw_fields(ToastParameters, rng)


def build(builder: LinkBuilder, p: ToastParameters) -> Stand:
    """Builds a slice: a flat box with a darker crust."""
    half_x, half_y, edge, out = p.thickness_m / 2, p.width_m / 2, 0.006, 0.0002
    builder.box("slice", (-half_x, -half_y, 0.0), (half_x, half_y, p.height_m), rgba=_CRUST)
    low, high = (-half_x - out, -half_y + edge, edge), (half_x + out, half_y - edge, p.height_m - edge)
    builder.visual.box("crumb", low, high, rgba=p.colour)
    return Stand(builder.mass_kg(p.density_kg_m3), {})


generate = ItemGenerator("toast", draw_parameters, build)
