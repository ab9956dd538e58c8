"""A round fruit: an apple, an orange or a peach of 0.1 to 0.25 kg."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from unlatch.objects.procedural.building.drawing import Colour, draw_fields, one_of, uniform
from unlatch.objects.procedural.building.link_builder import LinkBuilder
from unlatch.objects.procedural.items.item import ItemGenerator, Stand

_COLOURS: tuple[Colour, ...] = (
    (0.74, 0.13, 0.12, 1.0),
    (0.55, 0.70, 0.20, 1.0),
    (0.93, 0.55, 0.13, 1.0),
    (0.90, 0.72, 0.35, 1.0),
)
_STALK: Colour = (0.30, 0.20, 0.10, 1.0)


@dataclass(frozen=True)
class AppleParameters:
    """The values that vary between fruits."""

    radius_m: Annotated[float, uniform(0.029, 0.035)]
    density_kg_m3: Annotated[float, uniform(800.0, 950.0)]
    colour: Annotated[Colour, one_of(_COLOURS)]


def draw_parameters(rng: np.random.Generator) -> AppleParameters:
    """Draws a fruit."""
    return draw_fields(AppleParameters, rng)


def build(builder: LinkBuilder, p: AppleParameters) -> Stand:
    """Builds a fruit: a sphere on a small flat foot, on which it stands."""
    builder.sphere("fruit", (0, 0, p.radius_m), radius=p.radius_m, rgba=p.colour)
    foot = 0.4 * p.radius_m
    builder.cylinder("foot", (0, 0, 0.0015), axis="z", radius=foot, length=0.003, rgba=p.colour)
    top = 2.0 * p.radius_m
    builder.visual.rod("stalk", (0, 0, top - 0.004), (0.003, 0, top + 0.008), radius=0.0015, rgba=_STALK)
    return Stand(builder.mass_kg(p.density_kg_m3), {})


generate = ItemGenerator("apple", draw_parameters, build)
