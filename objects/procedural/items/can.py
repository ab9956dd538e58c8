"""A full drink or food can: 0.2 to 0.4 kg, 52 to 68 mm across."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from unlatch.objects.procedural.building.drawing import Colour, draw_fields, one_of, uniform
from unlatch.objects.procedural.building.link_builder import LinkBuilder
from unlatch.objects.procedural.items.item import ItemGenerator, Stand, add_prism

_COLOURS: tuple[Colour, ...] = (
    (0.78, 0.14, 0.14, 1.0),
    (0.16, 0.36, 0.66, 1.0),
    (0.20, 0.52, 0.30, 1.0),
    (0.92, 0.70, 0.18, 1.0),
    (0.85, 0.85, 0.87, 1.0),
)
_METAL: Colour = (0.80, 0.81, 0.83, 1.0)


@dataclass(frozen=True)
class CanParameters:
    """The values that vary between cans."""

    radius_m: Annotated[float, uniform(0.026, 0.034)]
    height_m: Annotated[float, uniform(0.09, 0.125)]
    density_kg_m3: Annotated[float, uniform(900.0, 1050.0)]
    colour: Annotated[Colour, one_of(_COLOURS)]


def draw_parameters(rng: np.random.Generator) -> CanParameters:
    """Draws a can."""
    return draw_fields(CanParameters, rng)


def build(builder: LinkBuilder, p: CanParameters) -> Stand:
    """Builds a can: a cylinder, with rims of metal that are only seen."""
    volume_m3 = add_prism(builder, "can", radius=p.radius_m, low=0.0, high=p.height_m, rgba=p.colour)
    for name, z in (("lower_rim", 0.002), ("upper_rim", p.height_m - 0.002)):
        builder.visual.cylinder(name, (0, 0, z), axis="z", radius=p.radius_m + 0.0004, length=0.004, rgba=_METAL)
    top = p.height_m + 0.0002
    builder.visual.cylinder("lid", (0, 0, top), axis="z", radius=p.radius_m - 0.003, length=0.0006, rgba=_METAL)
    return Stand(round(volume_m3 * p.density_kg_m3, 4), {})


generate = ItemGenerator("can", draw_parameters, build)
