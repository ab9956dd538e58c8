"""Colours and textures of generated objects."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import numpy as np

from unlatch.objects.procedural.parameters import Colour, Draw, draw_one, palette
from unlatch.simcore.sim.visuals.visual_shapes import FINISHES, Finish

WHITE: Colour = (0.93, 0.93, 0.91, 1.0)
LINING: Colour = (0.86, 0.87, 0.87, 1.0)
DARK: Colour = (0.15, 0.15, 0.16, 1.0)
RUBBER: Colour = (0.17, 0.17, 0.18, 1.0)
GLASS: Colour = (0.07, 0.08, 0.09, 1.0)
SHELF: Colour = (0.74, 0.83, 0.85, 1.0)
BIN: Colour = (0.73, 0.82, 0.84, 1.0)
"""Colour of the bins of doors, which hide what stands in them."""
TOAST: Colour = (0.80, 0.58, 0.32, 1.0)
TOAST_CRUST: Colour = (0.55, 0.34, 0.16, 1.0)
"""Colours of the bread in a toaster, which is drawn as slices of a loaf."""
TURNTABLE: Colour = (0.70, 0.78, 0.80, 1.0)
LID_GLASS: Colour = (0.70, 0.79, 0.82, 1.0)
MICROWAVE_GLASS: Colour = (0.05, 0.06, 0.07, 1.0)
WIRE: Colour = (0.60, 0.61, 0.63, 1.0)
CHROME: Colour = (0.80, 0.81, 0.83, 1.0)
BRASS: Colour = (0.86, 0.72, 0.42, 1.0)
DISPLAY: Colour = (0.12, 0.62, 0.52, 1.0)
MARK: Colour = (0.96, 0.96, 0.94, 1.0)

BODY_COLOURS = palette("93 93 91", "24 25 27", "72 74 76", "72 20 17", "62 75 72")
"""Colours of casings: white, anthracite, steel, red, mint."""

CHINA = palette("94 93 90", "36 52 66", "80 36 26", "52 62 50", "90 78 50")
"""Colours of dishes: white, blue, terracotta, sage, straw."""

HANDLE_COLOURS = palette("80 81 83", "12 12 13", "86 72 42")
"""Colours of handles: chrome, black, brass."""

APPLIANCES: tuple[Colour, ...] = (WHITE, *palette("34 35 37", "70 72 74", "72 20 17", "62 76 72", "91 86 74"))
"""Colours of appliances: white, anthracite, steel, red, mint, cream."""

_CARCASSES, _FRONTS = (
    palette("76 60 40", "40 27 18", "86 86 84", "33 40 47", "43 53 43"),
    palette("85 71 51", "51 35 24", "95 95 94", "46 54 61", "56 66 55"),
)
WOODS: tuple[tuple[Colour, Colour], ...] = tuple(zip(_CARCASSES, _FRONTS, strict=True))
"""Colours of carcass and front: beech, walnut, white, blue-grey, green."""

PAINTS = palette("30 32 35", "20 27 24", "55 57 58", "22 26 36")
"""Colours of painted steel: grey, green, light grey, blue."""

PLASTICS = palette("28 46 66", "79 30 24", "86 86 83", "32 55 40", "35 36 38")
"""Colours of plastic: blue, red, white, green, grey."""

METALS: tuple[Colour, ...] = (CHROME, (0.66, 0.67, 0.69, 1.0), (0.16, 0.16, 0.17, 1.0), (0.78, 0.62, 0.38, 1.0))
"""Colours of metal: chrome, brushed steel, black, brass."""


BOTTLES = palette("32 52 36", "46 28 14", "72 84 88", "90 90 88", "84 42 16", "55 14 16")
"""Colours of bottles and jars: green and brown glass, clear, milk, juice, jam."""

PANES = palette("66 82 90", "74 86 88")
"""Colours of the glass of windows."""

CLEAR: dict[Colour, float] = {SHELF: 0.6, TURNTABLE: 0.6, LID_GLASS: 0.4, **dict.fromkeys(PANES, 0.4)}
"""How much of what is drawn in these colours covers what is behind it, 0 to 1."""

FINISH_OF_COLOUR: dict[Colour, Finish] = {
    **dict.fromkeys((colour for pair in WOODS for colour in pair), FINISHES["painted_wood"]),
    **dict.fromkeys(PLASTICS, FINISHES["plastic"]),
    **dict.fromkeys(PAINTS, FINISHES["paint"]),
    **dict.fromkeys((*BODY_COLOURS, *APPLIANCES, LINING), FINISHES["enamel"]),
    **dict.fromkeys((*METALS, *HANDLE_COLOURS, CHROME, WIRE, BRASS), FINISHES["chrome"]),
    **dict.fromkeys(((0.12, 0.12, 0.13, 1.0), (0.16, 0.16, 0.17, 1.0), DARK, MARK, BIN), FINISHES["plastic"]),
    **dict.fromkeys((GLASS, MICROWAVE_GLASS, *CLEAR, *BOTTLES), FINISHES["glass"]),
    RUBBER: FINISHES["rubber"],
    DISPLAY: FINISHES["lamp"],
}
"""How surfaces of generated objects reflect light, by their colour; a texture states its own finish."""


def darker(colour: Colour, factor: float = 0.8) -> Colour:
    """Returns a darker or lighter shade of a colour."""
    r, g, b, a = colour
    return (round(r * factor, 4), round(g * factor, 4), round(b * factor, 4), a)


def draw_contrast(rng: np.random.Generator, colours: Sequence[Colour], ground: Colour) -> Colour:
    """Draws one of the colours that contrast with their background; if none does, the one with the most contrast."""
    clear = [colour for colour in colours if abs(brightness(colour) - brightness(ground)) > _LEAST_CONTRAST]
    return draw_one(rng, clear or [max(colours, key=lambda c: abs(brightness(c) - brightness(ground)))])


def contrast(colours: Sequence[Colour], with_name: str) -> Draw:
    """Declares a colour that contrasts with the colour called `with_name`, see `draw_contrast`."""
    return lambda rng, p: draw_contrast(rng, colours, getattr(p, with_name))


def mark_colour(ground: Colour) -> Colour:
    """Returns a light colour for marks on a dark ground, a dark one on a light ground."""
    return MARK if brightness(ground) < 0.5 else DARK


def board_texture(colour: Colour) -> TextureKind:
    """Returns the texture of a board: grain for browns, a faint grain for other colours."""
    return TextureKind.wood if colour[0] - colour[2] > _WOOD_TINT else TextureKind.painted_wood


def sheet_texture(colour: Colour) -> TextureKind | None:
    """Returns the texture of a casing: brushed for steel; None for enamel and plastic."""
    return TextureKind.brushed_metal if colour in _STEELS else None


_STEELS: tuple[Colour, ...] = (CHROME, *palette("66 67 69", "70 72 74", "72 74 76", "73 74 76", "74 75 77"))
_WOOD_TINT = 0.1
"""A colour counts as wood if its red exceeds its blue by more than this."""
_LEAST_CONTRAST = 0.25
"""Difference in brightness that is seen at a glance."""


def brightness(colour: Sequence[float]) -> float:
    """Returns how bright red, green and blue are together, 0 to 1."""
    return 0.3 * colour[0] + 0.6 * colour[1] + 0.1 * colour[2]


class TextureKind(Enum):
    """The materials."""

    wood = "wood"
    painted_wood = "painted_wood"
    brushed_metal = "brushed_metal"
    hammered_metal = "hammered_metal"
    cast_metal = "cast_metal"
    cardboard = "cardboard"
    stone = "stone"
