"""A spoon for the kitchen that lies flat: 40 to 100 g, held at its handle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from unlatch.objects.procedural.building.drawing import Colour, draw_fields, one_of, uniform
from unlatch.objects.procedural.building.finishes import darker
from unlatch.objects.procedural.building.link_builder import LinkBuilder
from unlatch.objects.procedural.items.item import ItemGenerator, Stand

_COLOURS: tuple[Colour, ...] = (
    (0.80, 0.81, 0.83, 1.0),
    (0.70, 0.50, 0.30, 1.0),
    (0.20, 0.22, 0.24, 1.0),
    (0.75, 0.20, 0.18, 1.0),
)


@dataclass(frozen=True)
class SpoonParameters:
    """The values that vary between spoons."""

    handle_m: Annotated[float, uniform(0.12, 0.16)]
    """Length of the handle."""
    handle_width_m: Annotated[float, uniform(0.012, 0.018)]
    thickness_m: Annotated[float, uniform(0.010, 0.016)]
    bowl_m: Annotated[float, uniform(0.045, 0.060)]
    """Length of the bowl."""
    mass_kg: Annotated[float, uniform(0.04, 0.10)]
    colour: Annotated[Colour, one_of(_COLOURS)]


def draw_parameters(rng: np.random.Generator) -> SpoonParameters:
    """Draws a spoon."""
    return draw_fields(SpoonParameters, rng)


def build(builder: LinkBuilder, p: SpoonParameters) -> Stand:
    """Builds a spoon along x, its bowl in front; the origin is below its centre of mass."""
    half, width = p.handle_width_m / 2, 0.36 * p.bowl_m
    volumes = (p.handle_m * 2.0 * half, p.bowl_m * 2.0 * width)
    split = (volumes[0] * p.handle_m / 2 - volumes[1] * p.bowl_m / 2) / sum(volumes)  # bowl and handle meet there
    thick = p.thickness_m
    builder.box("handle", (split - p.handle_m, -half, 0.0), (split + 0.002, half, thick), rgba=p.colour)
    builder.box("bowl", (split, -width, 0.0), (split + p.bowl_m, width, thick), rgba=p.colour)
    tip = split + p.bowl_m
    hollow = (split + 0.006, -width + 0.006, thick), (tip - 0.006, width - 0.006, thick + 0.0003)
    builder.visual.box("hollow", *hollow, rgba=darker(p.colour, 0.7))
    grip = (split - 0.45 * p.handle_m, 0.0, thick / 2)
    return Stand(p.mass_kg, {"handle_center": grip})


generate = ItemGenerator("spoon", draw_parameters, build)
