"""A bottle of water, closed: 0.3 to 0.7 kg, with a neck that a hand can hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from unlatch.objects.procedural.building.drawing import Colour, draw_fields, one_of, uniform
from unlatch.objects.procedural.building.link_builder import LinkBuilder
from unlatch.objects.procedural.items.item import ItemGenerator, Stand, add_prism
from unlatch.simcore.sums import sum_in_order

_COLOURS: tuple[Colour, ...] = (
    (0.62, 0.80, 0.90, 1.0),
    (0.55, 0.78, 0.62, 1.0),
    (0.85, 0.88, 0.92, 1.0),
    (0.90, 0.62, 0.30, 1.0),
)
_CAPS: tuple[Colour, ...] = ((0.16, 0.36, 0.66, 1.0), (0.90, 0.90, 0.90, 1.0), (0.78, 0.14, 0.14, 1.0))


@dataclass(frozen=True)
class WaterBottleParameters:
    """The values that vary between bottles."""

    radius_m: Annotated[float, uniform(0.028, 0.034)]
    body_m: Annotated[float, uniform(0.12, 0.16)]
    """Height of the straight body."""
    neck_radius_m: Annotated[float, uniform(0.013, 0.017)]
    neck_m: Annotated[float, uniform(0.025, 0.035)]
    density_kg_m3: Annotated[float, uniform(850.0, 1000.0)]
    colour: Annotated[Colour, one_of(_COLOURS)]
    cap_colour: Annotated[Colour, one_of(_CAPS)]


def draw_parameters(rng: np.random.Generator) -> WaterBottleParameters:
    """Draws a bottle."""
    return draw_fields(WaterBottleParameters, rng)


def build(builder: LinkBuilder, p: WaterBottleParameters) -> Stand:
    """Builds a bottle: body, shoulder, and a cap on the neck."""
    shoulder, neck = p.body_m + 0.02, p.body_m + 0.02 + p.neck_m
    rows = (
        ("body", 0.0, p.body_m, p.radius_m, p.colour),
        ("shoulder", p.body_m, shoulder, 0.7 * p.radius_m, p.colour),
        ("cap", shoulder, neck, p.neck_radius_m, p.cap_colour),
    )
    volume_m3 = sum_in_order(
        add_prism(builder, name, radius=radius, low=low, high=high, rgba=rgba) for name, low, high, radius, rgba in rows
    )
    return Stand(round(volume_m3 * p.density_kg_m3, 4), {})


generate = ItemGenerator("water_bottle", draw_parameters, build)
