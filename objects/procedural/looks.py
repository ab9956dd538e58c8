"""What looks are made of: pieces of one material, and colours near others."""

from __future__ import annotations

import colorsys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from unlatch.objects.procedural.colours import brightness
from unlatch.objects.procedural.mesh_makers import Surface
from unlatch.objects.procedural.prints import Print, Rgb

WHITE: Rgb = (0.94, 0.94, 0.92)
INK: Rgb = (0.10, 0.10, 0.12)
STEEL: Rgb = (0.78, 0.79, 0.80)
CLAY: Rgb = (0.72, 0.58, 0.45)


@dataclass(frozen=True)
class Piece:
    """A surface of one material."""

    surface: Surface
    rgb: Rgb
    finish: str
    """Name in `FINISHES`."""
    picture: Print | None = None
    """What is printed on it; its colour is then white."""


Look = Callable[[Any, Rgb, np.random.Generator], list[Piece]]
"""Makes the pieces from the parameters of an object, its main colour and a source of randomness."""


def vary(rgb: Rgb, rng: np.random.Generator, *, hue: float = 0.03, saturation: float = 0.2, value: float = 0.12) -> Rgb:
    """Returns a colour near another: `hue` of a turn, the others as shares, are the largest differences."""
    h, s, v = colorsys.rgb_to_hsv(*rgb)
    turn, full, light = (float(x) for x in rng.uniform(-1.0, 1.0, size=3))
    return colorsys.hsv_to_rgb(
        (h + hue * turn) % 1.0, min(1.0, s * (1.0 + saturation * full)), min(0.96, v * (1.0 + value * light))
    )


def draw_colour(rng: np.random.Generator, saturation: tuple[float, float], value: tuple[float, float]) -> Rgb:
    """Draws a colour of any hue."""
    return colorsys.hsv_to_rgb(float(rng.random()), float(rng.uniform(*saturation)), float(rng.uniform(*value)))


def ink_on(ground: Rgb) -> Rgb:
    """Returns a colour for type on a ground."""
    return INK if brightness(ground) > 0.5 else WHITE


def mix(a: Rgb, b: Rgb, share: float) -> Rgb:
    """Returns a colour between two."""
    red, green, blue = (x + share * (y - x) for x, y in zip(a, b, strict=True))
    return (red, green, blue)
