"""What things to carry look like, by category.

The main colour of a thing is that of its recorded parameters, varied a little; a look changes neither mass nor contact.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace

import numpy as np

from unlatch.objects.procedural.dish_looks import (
    draw_apple,
    draw_bowl,
    draw_cup,
    draw_mug,
    draw_plate,
    draw_spoon,
    draw_toast,
)
from unlatch.objects.procedural.looks import Look, Piece, vary
from unlatch.objects.procedural.package_looks import (
    draw_book,
    draw_can,
    draw_cereal_box,
    draw_parcel,
    draw_water_bottle,
)
from unlatch.objects.procedural.prints import Rgb

LOOKS: Mapping[str, Look] = {
    "apple": draw_apple,
    "book": draw_book,
    "bowl": draw_bowl,
    "can": draw_can,
    "cereal_box": draw_cereal_box,
    "cup": draw_cup,
    "mug": draw_mug,
    "parcel": draw_parcel,
    "plate": draw_plate,
    "spoon": draw_spoon,
    "toast": draw_toast,
    "water_bottle": draw_water_bottle,
}
"""Looks by category."""


def draw_look(category: str, parameters: Mapping[str, float | str], rng: np.random.Generator) -> list[Piece]:
    """Draws the pieces of an object of a category in `LOOKS` from its recorded parameters, in its root frame."""
    p = SimpleNamespace(**parameters)
    tone = vary(_read_rgb(parameters["colour"]), rng, hue=0.01 if category == "toast" else 0.03)
    if "cap_colour" in parameters:
        p.cap_rgb = _read_rgb(parameters["cap_colour"])
    return LOOKS[category](p, tone, rng)


def _read_rgb(text: float | str) -> Rgb:
    red, green, blue = (float(value) for value in str(text).split(",")[:3])
    return (red, green, blue)
