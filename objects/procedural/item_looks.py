"""What things to carry look like: families of shapes for each category, glazes, prints and labels.

A look has the measures of the object and lies on its colliders where a hand holds it; it changes neither mass nor
contact. The main colour of the object is that of its parameters, varied a little.
"""

from __future__ import annotations

import colorsys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from unlatch.objects.procedural.mesh_makers import (
    Atlas,
    Surface,
    bevelled_box,
    circle,
    join,
    lathe,
    rounded,
    slab,
    tube,
)
from unlatch.objects.procedural.parameters import draw_one
from unlatch.objects.procedural.prints import Print, Rgb, draw_brand
from unlatch.simcore.geometry import Pose

Array = np.ndarray
Profile = list[tuple[float, float]]

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


def brightness(rgb: Rgb) -> float:
    """Returns how bright a colour is, 0 to 1."""
    return 0.3 * rgb[0] + 0.6 * rgb[1] + 0.1 * rgb[2]


def ink_on(ground: Rgb) -> Rgb:
    """Returns a colour for type on a ground."""
    return INK if brightness(ground) > 0.5 else WHITE


def mix(a: Rgb, b: Rgb, share: float) -> Rgb:
    """Returns a colour between two."""
    red, green, blue = (x + share * (y - x) for x, y in zip(a, b, strict=True))
    return (red, green, blue)


# Dishes: an outside, an inside and a foot, with a glaze.


def _scaled(shares: Sequence[tuple[float, float]], radius: float, height: float) -> Profile:
    return [(r * radius, z * height) for r, z in shares]


def _wall(outside: Profile, thickness: float, floor: float) -> tuple[Profile, Profile]:
    """Returns the profile of the outside up to the rim, and that of the rim and the inside."""
    radius, height = outside[-1]
    half = 0.5 * thickness
    rim = [
        (radius - 0.3 * half, height - 0.1 * half),
        (radius - half, height),
        (radius - 1.7 * half, height - 0.1 * half),
    ]
    inside = [(max(r - thickness, 0.0), max(z, floor)) for r, z in reversed(outside[:-1]) if z > floor]
    last = inside[-1][0] if inside else radius - thickness
    return outside, [(radius, height - 0.4 * half), *rim, *inside, (0.82 * last, floor), (0.0, floor)]


def _draw_glaze(
    kind: str, tone: Rgb, rng: np.random.Generator, *, width: int = 192, height: int = 96
) -> tuple[Print, Rgb]:
    """Draws the outside of a dish; returns it with the colour of the inside."""
    light = vary(WHITE, rng, hue=0.5, saturation=1.5, value=0.04)
    ground = tone if kind in ("plain", "speckled", "dipped", "worn") else light
    picture = Print(width, height, ground)
    if kind == "speckled":
        picture.scatter(110, (0.5, 1.6), [mix(ground, INK, 0.5), mix(ground, INK, 0.7)], rng)
    elif kind == "dipped":  # the foot is bare clay
        edge = height * float(rng.uniform(0.2, 0.45))
        picture.box(0, 0, width, edge, vary(CLAY, rng))
    elif kind == "bands":
        for _ in range(int(rng.integers(1, 4))):
            y, wide = height * float(rng.uniform(0.1, 0.85)), height * float(rng.uniform(0.02, 0.12))
            picture.box(0, y, width, y + wide, tone)
    elif kind == "half":
        picture.box(0, 0, width, height * float(rng.uniform(0.35, 0.7)), tone)
    elif kind == "dots":
        step = width / int(rng.integers(7, 13))
        for row in range(int(height / step) + 1):
            for column in range(int(width / step) + 1):
                picture.disc((column + 0.5 * (row % 2)) * step, (row + 0.5) * step, 0.24 * step, tone)
    elif kind == "stripes":
        step = width / int(rng.integers(6, 15))
        for x in np.arange(0.0, width, step).tolist():
            picture.box(x, 0, x + 0.45 * step, height, tone)
    elif kind == "word":
        word = draw_one(rng, ("TEA", "COFFEE", "MORNING", "HELLO", "MOM", "NO. 1", "COCOA", draw_brand(rng)))
        style = {"weight": float(rng.uniform(0.08, 0.22)), "slant": draw_one(rng, (0.0, 0.2))}
        for x in (0.25, 0.75):
            picture.fitted_text(word, x * width, 0.38 * height, (0.36 * width, 0.28 * height), tone, **style)
    elif kind == "mark":
        for x in (0.25, 0.75):
            radius = height * float(rng.uniform(0.16, 0.28))
            picture.disc(x * width, 0.52 * height, radius, tone)
            picture.disc(x * width, 0.52 * height, 0.55 * radius, light)
    elif kind == "leaves":
        for _ in range(26):
            x, y = float(rng.uniform(0, width)), float(rng.uniform(0.15, 0.9)) * height
            dx, dy = (float(v) for v in rng.uniform(-7.0, 7.0, size=2))
            picture.stroke(
                x, y, x + dx, y + dy, float(rng.uniform(2.0, 5.0)), mix(tone, light, float(rng.uniform(0, 0.5)))
            )
    if kind in ("plain", "speckled", "dipped", "worn"):
        picture.mottle(0.08, 4, rng)
    return picture, (
        light if kind == "dipped" and rng.random() < 0.6 else mix(ground, light, draw_one(rng, (0.0, 0.0, 0.9)))
    )


_GLAZES = ("plain", "speckled", "dipped", "bands", "half", "dots", "stripes", "word", "mark", "leaves")
_ROUND_GLAZES = ("plain", "speckled", "dipped", "bands", "half", "dots", "stripes", "leaves")


def _dish(outside: Profile, thickness: float, floor: float, glaze: str, tone: Rgb, rng: np.random.Generator, *,
          finish: str = "enamel", sides: int = 28, rim: Rgb | None = None) -> list[Piece]:  # fmt: skip
    picture, inner = _draw_glaze(glaze, tone, rng)
    outer, inside = _wall(outside, thickness, floor)
    pieces = [
        Piece(lathe([(0.0, outer[0][1]), outer[0]], sides=sides), mix(CLAY, WHITE, 0.5), "plaster"),
        Piece(lathe(outer, sides=sides), WHITE, finish, picture),
    ]
    if rim is None:
        return [*pieces, Piece(lathe(inside, sides=sides), inner, finish)]
    return [
        *pieces,
        Piece(lathe([*outer[-1:], *inside[:4]], sides=sides), rim, finish),
        Piece(lathe(inside[3:], sides=sides), inner, finish),
    ]


_MUGS = {
    "straight": ((0.93, 0.0), (1.0, 0.06), (1.0, 0.5), (1.0, 1.0)),
    "tapered": ((0.84, 0.0), (0.90, 0.04), (0.97, 0.5), (1.0, 1.0)),
    "barrel": ((0.78, 0.0), (0.86, 0.05), (1.0, 0.35), (1.02, 0.55), (0.97, 0.85), (0.95, 1.0)),
    "round": ((0.55, 0.0), (0.72, 0.03), (0.92, 0.15), (1.0, 0.36), (1.0, 0.7), (1.0, 1.0)),
    "tulip": ((0.70, 0.0), (0.92, 0.08), (1.0, 0.28), (0.96, 0.6), (1.02, 1.0)),
}
_HANDLES = {
    "c": ((0.92, 0.0), (0.88, 0.75), (0.55, 1.0), (0.18, 0.8), (0.08, 0.0)),
    "ear": ((0.97, 0.0), (0.99, 0.55), (0.88, 1.0), (0.6, 0.95), (0.2, 0.3), (0.06, 0.0)),
    "d": ((0.97, 0.0), (0.97, 0.95), (0.9, 1.0), (0.15, 1.0), (0.04, 0.9), (0.04, 0.0)),
    "ring": ((0.82, 0.0), (0.86, 0.6), (0.68, 1.0), (0.36, 1.0), (0.16, 0.6), (0.2, 0.0)),
}
"""Axis of a handle: height, and how far it stands out, as shares."""


def _mug(p: Any, tone: Rgb, rng: np.random.Generator) -> list[Piece]:
    glaze = draw_one(rng, _GLAZES)
    tin = rng.random() < 0.15  # enamelled steel with a dark rim
    outside = rounded(
        _scaled(_MUGS["straight" if tin else draw_one(rng, list(_MUGS))], p.radius_m, p.height_m), 0.004, 2
    )
    wall = 0.45 * p.wall_m if tin else p.wall_m
    rim = mix(tone, INK, 0.85) if tin else None
    pieces = _dish(outside, wall, 0.9 * p.wall_m, glaze, tone, rng, finish="lacquer" if tin else "enamel", rim=rim)
    shares = np.array(_HANDLES[draw_one(rng, list(_HANDLES))])
    low, high = 0.22 * p.height_m, 0.82 * p.height_m
    thick = 0.0035 if not tin else 0.0028
    radius = np.interp(low + shares[:, 0] * (high - low), [z for _, z in outside], [r for r, _ in outside])
    out = radius - wall + shares[:, 1] * (p.radius_m + p.handle_m - thick - radius + wall)
    line = [(x, 0.0, z) for x, z in zip(out.tolist(), (low + shares[:, 0] * (high - low)).tolist(), strict=True)]
    path = np.array(rounded(line, 0.012, 4))
    handle = tube(path, [[p.handle_width_m / 2 * (0.6 if tin else 1.0), thick]], sides=10, flat=0.3)
    own = rim if tin and rng.random() < 0.5 else None
    colour = own or (tone if glaze in ("plain", "speckled", "dipped") or rng.random() < 0.35 else WHITE)
    return [*pieces, Piece(handle, colour, "enamel")]


_BOWLS = {
    "half ball": ((1.0, 0.0), (1.0, 0.02), (1.5, 0.16), (1.86, 0.5), (2.0, 1.0)),
    "cone": ((1.0, 0.0), (1.05, 0.05), (1.9, 0.85), (2.0, 1.0)),
    "footed": ((0.9, 0.0), (0.88, 0.1), (1.3, 0.2), (1.75, 0.5), (1.94, 0.8), (2.0, 1.0)),
    "steep": ((1.0, 0.0), (1.5, 0.08), (1.86, 0.3), (1.96, 0.65), (2.0, 1.0)),
    "flared": ((1.0, 0.0), (1.35, 0.2), (1.6, 0.6), (1.76, 0.85), (2.0, 1.0)),
}
"""(radius, height): 1 is the radius of the foot, 2 that of the rim."""


def _bowl(p: Any, tone: Rgb, rng: np.random.Generator) -> list[Piece]:
    shares = np.array(_BOWLS[draw_one(rng, list(_BOWLS))])
    radius = np.interp(shares[:, 0], [0.0, 1.0, 2.0], [0.0, p.foot_m, p.rim_m])
    outside = rounded(
        [(r, z * p.height_m) for r, z in zip(radius.tolist(), shares[:, 1].tolist(), strict=True)], 0.008, 3
    )
    if rng.random() < 0.2:
        return _wooden(outside, p.wall_m, rng, sides=28)
    return _dish(outside, p.wall_m, 1.2 * p.wall_m, draw_one(rng, _ROUND_GLAZES), tone, rng)


def _wooden(outside: Profile, thickness: float, rng: np.random.Generator, *, sides: int) -> list[Piece]:
    """Returns a turned bowl of wood, with rings of its grain."""
    wood = vary(draw_one(rng, ((0.62, 0.42, 0.24), (0.45, 0.29, 0.17), (0.74, 0.58, 0.38))), rng)
    grain = draw_grain(wood, rng)
    outer, inside = _wall(outside, thickness, 1.2 * thickness)
    return [Piece(lathe([(0.0, outer[0][1]), *outer, *inside[1:]], sides=sides), WHITE, "wood", grain)]


def draw_grain(wood: Rgb, rng: np.random.Generator, *, width: int = 64, height: int = 128) -> Print:
    """Draws streaks of wood along the picture's width."""
    picture = Print(width, height, wood)
    steps = 1.0 + 0.16 * (rng.random((height, 1)) - 0.5) + 0.10 * (rng.random((height // 8, 1)).repeat(8, axis=0) - 0.5)
    picture.shade(np.repeat(steps, width, axis=1))
    picture.mottle(0.2, 3, rng)
    return picture


def _plate(p: Any, tone: Rgb, rng: np.random.Generator) -> list[Piece]:
    kind = draw_one(rng, ("coupe", "rimmed", "deep", "rimmed"))
    low, bend = 0.2 * p.floor_m, p.floor_m
    rim, top, t = p.rim_m, p.height_m, p.thickness_m
    bends: dict[str, list[tuple[float, float]]] = {
        "coupe": [(bend, 0.0), (0.5 * (bend + rim), 0.3 * top), (rim, top)],
        "rimmed": [(bend, 0.0), (bend + 0.25 * (rim - bend), 0.6 * top), (rim, top)],
        "deep": [(bend, 0.0), (bend + 0.1 * (rim - bend), 0.75 * top), (rim, top)],
    }
    outside: Profile = rounded([(low, 0.0), *bends[kind]], 0.006, 3)
    glaze, light = draw_one(rng, _ROUND_GLAZES), vary(WHITE, rng, hue=0.5, saturation=1.5, value=0.04)
    outer, inside = _wall(outside, t, t)
    top_side = Print(192, 96, tone if glaze in ("plain", "speckled", "dipped") else light)
    if glaze == "speckled":
        top_side.scatter(150, (0.5, 1.5), [mix(tone, INK, 0.5)], rng)
    elif glaze in ("bands", "half", "stripes", "dots", "leaves"):
        for _ in range(int(rng.integers(1, 4))):
            y = 96 * float(rng.uniform(0.02, 0.42))
            top_side.box(0, y, 192, y + 96 * float(rng.uniform(0.01, 0.08)), tone)
        if glaze == "leaves":
            for x in np.arange(4.0, 192.0, 12.0).tolist():
                top_side.stroke(x, 20, x + 6, 30, 4.0, mix(tone, light, 0.2))
    under = tone if glaze == "plain" else light
    return [
        Piece(lathe([(0.0, 0.0), *outer], sides=36), under, "enamel"),
        Piece(lathe(inside, sides=36), WHITE, "enamel", top_side),
    ]


_CUPS = {
    "tumbler": ((1.0, 0.0), (1.0, 0.02), (1.3, 0.3), (2.0, 1.0)),
    "bell": ((1.0, 0.0), (1.25, 0.1), (1.45, 0.55), (2.0, 1.0)),
    "round": ((0.9, 0.0), (1.3, 0.06), (1.75, 0.3), (1.9, 0.7), (2.0, 1.0)),
    "straight": ((1.0, 0.0), (1.06, 0.02), (2.0, 1.0)),
}


def _cup(p: Any, tone: Rgb, rng: np.random.Generator) -> list[Piece]:
    shares = np.array(_CUPS[draw_one(rng, list(_CUPS))])
    radius = np.interp(shares[:, 0], [0.0, 1.0, 2.0], [0.0, p.foot_m, p.rim_m])
    outside: Profile = [(r, z * p.height_m) for r, z in zip(radius.tolist(), shares[:, 1].tolist(), strict=True)]
    kind = draw_one(rng, ("plastic", "paper", "facets", "steel", "plastic"))
    if kind == "facets":
        return _dish(outside, p.wall_m, 0.008, "plain", vary(tone, rng), rng, finish="glass", sides=10)
    if kind == "steel":
        return _dish(outside, p.wall_m, 0.006, "plain", vary(STEEL, rng), rng, finish="brushed_metal")
    rounded_outside: Profile = rounded(outside, 0.004, 2)
    if kind == "paper":
        return _dish(rounded_outside, 0.5 * p.wall_m, 0.006, draw_one(rng, ("word", "mark", "bands", "stripes")), tone, rng,
                     finish="cardboard", rim=WHITE)  # fmt: skip
    return _dish(rounded_outside, p.wall_m, 0.006, draw_one(rng, ("plain", "dots", "bands", "half")), tone, rng,
                 finish="plastic")  # fmt: skip


# Packages: what is printed on them, and their shapes.

_CANNED = ("TOMATO SOUP", "SWEET CORN", "RED BEANS", "CHOPPED TOMATOES", "PEACHES", "CHICKPEAS", "COCONUT MILK", "PEAS")
_DRINKS = ("COLA", "LEMONADE", "ORANGE", "TONIC", "GINGER ALE", "ICED TEA", "CHERRY", "ENERGY")
_BOXED = ("OAT FLAKES", "RICE PUFFS", "MUESLI", "CORN FLAKES", "PASTA", "BLACK TEA", "SPAGHETTI", "CRACKERS", "COCOA")
_WATERS = ("STILL WATER", "SPARKLING", "SPRING WATER", "ICED TEA", "APPLE JUICE")
_STYLES = ("block", "band", "round", "tall", "plain")


def draw_label(
    words: Sequence[str], tone: Rgb, rng: np.random.Generator, *, width: int, height: int, amount: str
) -> Print:
    """Draws a label for the front: an invented maker, what is inside, how much, and a picture of simple shapes."""
    ground = tone if rng.random() < 0.7 else mix(tone, WHITE, 0.85)
    accent = draw_colour(rng, (0.5, 0.9), (0.45, 0.95))
    ink, style = ink_on(ground), draw_one(rng, _STYLES)
    label = Print(width, height, ground)
    kind = {"weight": float(rng.uniform(0.12, 0.24)), "slant": draw_one(rng, (0.0, 0.0, 0.18))}
    middle, product = 0.5 * width, draw_one(rng, words)
    at = 0.66 * height
    if style == "block":
        label.box(0, 0.55 * height, width, height, accent)
        ink_top = ink_on(accent)
    elif style == "band":
        label.box(0, 0.52 * height, width, 0.88 * height, WHITE)
        label.box(0, 0.5 * height, width, 0.52 * height, accent)
        ink_top = mix(tone, INK, 0.3) if brightness(tone) < 0.6 else INK
    elif style == "round":
        label.disc(middle, 0.58 * height, 0.36 * min(width, height), accent)
        ink_top, at = ink_on(accent), 0.56 * height
    elif style == "tall":
        for x in np.arange(0.0, width, width / 9).tolist():
            label.box(x, 0, x + width / 24, height, mix(ground, ink, 0.12))
        ink_top = ink
    else:
        ink_top = ink
    label.fitted_text(draw_brand(rng), middle, at, (0.8 * width, 0.2 * height), ink_top, **kind)
    label.fitted_text(product, middle, 0.4 * height, (0.7 * width, 0.08 * height), ink, weight=0.15)
    for _ in range(int(rng.integers(2, 6))):  # fruit, leaves, grains
        x, y = float(rng.uniform(0.2, 0.8)) * width, float(rng.uniform(0.12, 0.3)) * height
        label.disc(x, y, height * float(rng.uniform(0.03, 0.09)), mix(accent, WHITE, float(rng.uniform(0.0, 0.5))))
    label.fitted_text(amount, 0.8 * width, 0.05 * height, (0.25 * width, 0.05 * height), ink, weight=0.14)
    return label


def _wrap_label(words: Sequence[str], tone: Rgb, rng: np.random.Generator, amount: str, *, height: int = 128) -> Print:
    """Draws a label that goes around: two fronts, and a back with small print and a bar code between them."""
    front = draw_label(words, tone, rng, width=112, height=height, amount=amount)
    label = Print(288, height, (0.0, 0.0, 0.0))
    label.paste(front, 0, 0)
    label.paste(front, 144, 0)
    for x in (112, 256):
        label.box(x, 0, x + 32, height, front.colour_at(1, 1))
    label.small_print(114, 0.45 * height, 142, 0.9 * height, ink_on(front.colour_at(1, 1)), rng)
    label.bar_code(113, 0.1 * height, 143, 0.36 * height, rng)
    label.roll(-56)  # the middle of the front is at +x
    return label


def _can(p: Any, tone: Rgb, rng: np.random.Generator) -> list[Piece]:
    r, h = p.radius_m, p.height_m
    metal = vary(STEEL, rng, hue=0.5, saturation=0.5, value=0.08)
    family = draw_one(rng, ("drink", "food", "ribbed", "sleek"))
    if family in ("drink", "sleek"):
        neck, foot = (0.84, 0.10) if family == "drink" else (0.90, 0.07)
        label = _wrap_label(_DRINKS, tone, rng, draw_one(rng, ("330 ML", "250 ML", "500 ML")))
        low: Profile = rounded(
            [(0.0, 0.004), (0.78 * r, 0.004), (0.80 * r, 0.0), (0.84 * r, 0.0), (r, 0.06 * h)], 0.002, 2
        )
        body: Profile = rounded([(r, 0.06 * h), (r, (1 - foot) * h), (neck * r + 0.001, h - 0.004)], 0.006, 3)
        top: Profile = [(neck * r + 0.001, h - 0.004), (neck * r + 0.0015, h - 0.001), (neck * r, h),
                        (neck * r - 0.002, h - 0.001), (neck * r - 0.004, h - 0.005), (0.0, h - 0.005)]  # fmt: skip
        tab = slab(circle(14) * [0.010, 0.006], 0.0, 0.0012, bevel_m=0.0004, steps=1)
        return [
            Piece(lathe(low), metal, "brushed_metal"),
            Piece(lathe(body), WHITE, "lacquer", label),
            Piece(join(lathe(top), tab.moved(Pose.from_translation((0.005, 0.0, h - 0.0048)))), metal, "brushed_metal"),
        ]
    paper = _wrap_label(_CANNED, tone, rng, draw_one(rng, ("400 G", "425 G", "240 G")))
    inset = 0.0012
    wall: Profile = [(r, 0.005), (r - inset, 0.006)]
    if family == "ribbed":
        for z in np.linspace(0.2 * h, 0.8 * h, 9).tolist():
            wall += [(r - inset, z - 0.002), (r - 0.4 * inset, z), (r - inset, z + 0.002)]
    wall += [(r - inset, h - 0.006), (r, h - 0.005)]
    ends: list[Profile] = [
        [(0.0, 0.002), (r - 0.003, 0.002), (r - 0.002, 0.0), (r - 0.0005, 0.0), (r, 0.001), (r, 0.005)],
        [(r, h - 0.005), (r, h - 0.001), (r - 0.0005, h), (r - 0.002, h), (r - 0.003, h - 0.003), (0.6 * r, h - 0.003),
         (0.58 * r, h - 0.0022), (0.0, h - 0.0022)],
    ]  # fmt: skip
    metals = [lathe(profile) for profile in (*ends, *([wall] if family == "ribbed" and rng.random() < 0.4 else []))]
    pieces = [Piece(join(*metals), metal, "brushed_metal")]
    return pieces if len(metals) == 3 else [*pieces, Piece(lathe(wall), WHITE, "cardboard", paper)]


def _water_bottle(p: Any, tone: Rgb, rng: np.random.Generator) -> list[Piece]:
    r, body, neck = p.radius_m, p.body_m, p.neck_radius_m
    low, top = body + 0.02, body + 0.02 + p.neck_m
    family = draw_one(rng, ("pet", "pet", "flask", "glass", "juice"))
    cap_tone = vary(p.cap_rgb, rng)
    ridges: Profile = [(neck, low), (neck, top - 0.003), (0.88 * neck, top), (0.0, top)]
    cap = Piece(lathe([(0.0, low), *ridges], sides=20), cap_tone, "plastic")
    start: Profile = [(0.0, 0.003), (0.55 * r, 0.003), (0.7 * r, 0.0), (0.9 * r, 0.0), (r, 0.008)]
    end: Profile = [(0.98 * r, body), (0.72 * r, body + 0.014), (0.8 * neck, low), (0.8 * neck, low + 0.002)]
    if family == "flask":
        skin = _draw_glaze(draw_one(rng, ("plain", "word", "bands", "half")), tone, rng)[0]
        wall: Profile = rounded([(0.9 * r, 0.0), (r, 0.004), (r, body - 0.004), *end], 0.008, 3)
        bare = Piece(lathe([(0.0, 0.0), (0.9 * r, 0.0)]), STEEL, "brushed_metal")
        return [bare, Piece(lathe(wall), WHITE, "paint", skin), cap]
    a, b = (0.42, 0.78) if family != "juice" else (0.15, 0.85)
    lower: Profile = [*start]
    if family == "pet":
        for share in (0.12, 0.2, 0.28, 0.36):
            z = share * body
            lower += [(r, z - 0.004), (0.955 * r, z), (r, z + 0.004)]
    lower += [(r, a * body)]
    clear = mix(tone, WHITE, 0.35) if family != "glass" else mix(tone, (0.2, 0.35, 0.25), 0.5)
    label = _wrap_label(
        _WATERS, draw_colour(rng, (0.3, 0.9), (0.3, 0.9)), rng, draw_one(rng, ("0.5 L", "0.75 L", "1 L")), height=96
    )
    upper: Profile = rounded([(r, b * body), *end], 0.01, 3)
    return [
        Piece(join(lathe(rounded(lower, 0.002, 2)), lathe(upper)), clear, "glass"),
        Piece(lathe([(r, a * body), (r + 0.0004, a * body + 0.001), (r + 0.0004, b * body - 0.001), (r, b * body)]), WHITE,
              "cardboard", label),
        cap,
    ]  # fmt: skip


_PAPER: Rgb = (0.93, 0.91, 0.85)
_TITLES = ("THE LONG RIVER", "NIGHT TRAINS", "A SMALL GARDEN", "WINTER LIGHT", "SALT", "THE ATLAS", "NORTH WIND",
           "GEOMETRY", "BREAD AND OIL", "ISLANDS", "THE CLOCK", "FIELD NOTES", "LETTERS HOME", "ORCHARD")  # fmt: skip
_AUTHORS = ("A. MERLOW", "J. VANTEN", "E. SORIK", "L. HADLEN", "M. OKARO", "T. BRISTEN", "R. ALDANE", "K. YUMERI")


def _draw_cover(
    tone: Rgb, rng: np.random.Generator, thickness: float, width: float, height: float
) -> tuple[Print, Atlas]:
    """Draws front, back and spine of a book side by side; returns the picture with its parts by side of the box."""
    px = 144 / height
    w, s, h = round(width * px), max(round(thickness * px), 12), 144
    cover = Print(2 * w + s, h, tone)
    ink, accent = ink_on(tone), draw_colour(rng, (0.4, 0.9), (0.4, 0.95))
    title, author = draw_one(rng, _TITLES), draw_one(rng, _AUTHORS)
    kind, x = draw_one(rng, ("classic", "circle", "hills", "stripes", "type")), w + s
    if kind == "circle":
        cover.disc(x + 0.5 * w, 0.42 * h, 0.3 * w, accent)
    elif kind == "hills":
        cover.box(x, 0, x + w, 0.62 * h, mix(accent, WHITE, 0.5))
        for number in range(3):
            edge = np.arange(w)
            bumps = np.abs((edge / w * (2 + number) + float(rng.random())) % 1.0 - 0.5)
            for column, bump in zip(edge.tolist(), bumps.tolist(), strict=True):
                cover.box(
                    x + column,
                    0,
                    x + column + 1,
                    h * (0.5 - 0.13 * number - 0.2 * bump),
                    mix(accent, tone, 0.3 * number),
                )
    elif kind == "stripes":
        for y in np.arange(0.1 * h, 0.6 * h, 0.08 * h).tolist():
            cover.box(x, y, x + w, y + 0.04 * h, accent)
    elif kind == "classic":
        for inset in (5, 8):
            for y0, y1 in ((inset, inset + 1), (h - inset - 1, h - inset)):
                cover.box(x + inset, y0, x + w - inset, y1, ink)
            for x0 in (x + inset, x + w - inset - 1):
                cover.box(x0, inset, x0 + 1, h - inset, ink)
    style = {"weight": float(rng.uniform(0.1, 0.22)), "slant": draw_one(rng, (0.0, 0.0, 0.2))}
    for number, word in enumerate(title.split()):
        cover.fitted_text(word, x + 0.5 * w, (0.73 - 0.12 * number) * h, (0.76 * w, 0.085 * h), ink, **style)
    cover.fitted_text(author, x + 0.5 * w, 0.88 * h, (0.6 * w, 0.05 * h), ink, weight=0.14)
    cover.small_print(0.12 * w, 0.5 * h, 0.88 * w, 0.86 * h, ink, rng)
    cover.bar_code(0.5 * w, 0.06 * h, 0.88 * w, 0.24 * h, rng)
    cover.box(w, 0.82 * h, w + s, 0.86 * h, accent)
    cover.box(w, 0.14 * h, w + s, 0.18 * h, accent)
    cover.upright_text(title, w + 0.5 * s, 0.5 * h, (0.56 * h, 0.5 * s), ink, weight=0.16)
    full = float(2 * w + s)
    return cover, {
        "-x": (0.0, 0.0, w / full, 1.0),
        "-y": (w / full, 0.0, (w + s) / full, 1.0),
        "+x": ((w + s) / full, 0.0, 1.0, 1.0),
    }


def _book(p: Any, tone: Rgb, rng: np.random.Generator) -> list[Piece]:
    x, y, h = p.thickness_m / 2, p.width_m / 2, p.height_m
    hard = rng.random() < 0.5
    board, inset = (0.0028, 0.003) if hard else (0.0008, 0.0003)
    picture, atlas = _draw_cover(tone, rng, p.thickness_m, p.width_m, h)
    bevel = 0.0008 if hard else 0.0002
    covers = [
        bevelled_box((-x, -y, 0.0), (-x + board, y, h), bevel, atlas={"-x": atlas["-x"]}),
        bevelled_box((x - board, -y, 0.0), (x, y, h), bevel, atlas={"+x": atlas["+x"]}),
        bevelled_box((-x, -y, 0.0), (x, -y + 1.5 * board, h), bevel, atlas={"-y": atlas["-y"]}),
    ]
    # the edges of covers have the colour in the lower left corner of the picture
    pages = Print(32, 32, _PAPER)
    pages.shade(np.repeat(1.0 - 0.12 * rng.random((1, 32)), 32, axis=0))
    span: tuple[float, float, float, float] = (0.0, 0.0, 1.0, 1.0)
    block = bevelled_box(
        (-x + board, -y + board, inset),
        (x - board, y - inset, h - inset),
        0.0,
        atlas={"+y": span, "+z": span, "-z": span},
    )
    return [
        Piece(join(*covers), WHITE, "cloth" if hard and rng.random() < 0.4 else "lacquer", picture),
        Piece(block, WHITE, "cardboard", pages),
    ]


def _draw_carton(
    words: Sequence[str], tone: Rgb, rng: np.random.Generator, depth: float, width: float, height: float
) -> tuple[Print, Atlas]:
    """Draws front, side and top of a box of food; returns the picture with its parts by side of the box."""
    px = 160 / height
    w, d, h = round(width * px), max(round(depth * px), 24), 160
    front = draw_label(words, tone, rng, width=w, height=h, amount=draw_one(rng, ("500 G", "375 G", "250 G", "1 KG")))
    picture = Print(w + d, h + d, front.colour_at(1, 1))
    picture.paste(front, 0, 0)
    ground = picture.colour_at(1, h + d - 1)
    ink = ink_on(ground)
    picture.small_print(w + 4, 0.45 * h, w + d - 4, 0.92 * h, ink, rng)
    picture.box(w + 4, 0.2 * h, w + d - 4, 0.42 * h, WHITE)  # what it contains, as a table
    picture.small_print(w + 6, 0.22 * h, w + d - 6, 0.41 * h, INK, rng, row=4.0)
    picture.bar_code(w + 4, 0.03 * h, w + d - 4, 0.17 * h, rng)
    picture.fitted_text(draw_one(rng, words), 0.5 * w, h + 0.4 * d, (0.7 * w, 0.3 * d), ink)
    x, y = w / (w + d), h / (h + d)
    face, side = (0.0, 0.0, x, y), (x, 0.0, 1.0, y)
    return picture, {"+x": face, "-x": face, "-y": side, "+y": side, "+z": (0.0, y, x, 1.0), "-z": (0.0, y, 0.02, 1.0)}


def _cereal_box(p: Any, tone: Rgb, rng: np.random.Generator) -> list[Piece]:
    x, y, h = p.depth_m / 2, p.width_m / 2, p.height_m
    picture, atlas = _draw_carton(_BOXED, tone, rng, p.depth_m, p.width_m, h)
    bevel = draw_one(rng, (0.0006, 0.0012, 0.003))
    finish = draw_one(rng, ("cardboard", "lacquer"))
    return [Piece(bevelled_box((-x, -y, 0.0), (x, y, h), bevel, atlas=atlas), WHITE, finish, picture)]


def _parcel(p: Any, tone: Rgb, rng: np.random.Generator) -> list[Piece]:
    x, y, h = p.depth_m / 2, p.width_m / 2, p.height_m
    w, d = 128, 64
    kind = draw_one(rng, ("kraft", "kraft", "kraft", "white", "shop"))
    ground = {
        "kraft": vary(tone, rng, hue=0.015),
        "white": vary(WHITE, rng),
        "shop": draw_colour(rng, (0.3, 0.8), (0.3, 0.8)),
    }[kind]
    picture = Print(w, 2 * d, ground)
    picture.mottle(0.12 if kind == "kraft" else 0.03, 9, rng)
    tape = mix(ground, (0.86, 0.80, 0.62), 0.6) if kind != "shop" else mix(ground, WHITE, 0.5)
    ink, brand = ink_on(ground), draw_brand(rng)
    middle = float(rng.uniform(0.4, 0.6)) * w
    picture.box(middle - 9, 0, middle + 9, 2 * d, tape)
    if kind == "shop":
        picture.fitted_text(brand, 0.5 * w, 0.35 * d, (0.8 * w, 0.3 * d), ink, weight=0.2)
    else:
        at = 6.0 if rng.random() < 0.5 else w - 58.0
        picture.box(at, d + 8, at + 52, d + 54, (0.96, 0.96, 0.95))
        picture.small_print(at + 3, d + 34, at + 30, d + 52, INK, rng, row=4.0)
        picture.bar_code(at + 3, d + 10, at + 49, d + 32, rng)
        for place in (14.0, 26.0):  # this side up
            picture.stroke(w - place, 0.25 * d, w - place, 0.6 * d, 2.0, ink)
            picture.stroke(w - place, 0.62 * d, w - place - 4, 0.5 * d, 2.0, ink)
            picture.stroke(w - place, 0.62 * d, w - place + 4, 0.5 * d, 2.0, ink)
        picture.fitted_text(brand, 0.25 * w, 0.3 * d, (0.36 * w, 0.14 * d), ink, weight=0.18)
    face, top = (0.0, 0.0, 1.0, 0.5), (0.0, 0.5, 1.0, 1.0)
    atlas = {
        "+x": face,
        "-x": face,
        "+z": top,
        "-y": (0.0, 0.2, 0.12, 0.5),
        "+y": (0.0, 0.2, 0.12, 0.5),
        "-z": (0.0, 0.2, 0.12, 0.4),
    }
    return [
        Piece(
            bevelled_box((-x, -y, 0.0), (x, y, h), draw_one(rng, (0.0008, 0.002)), atlas=atlas),
            WHITE,
            "cardboard",
            picture,
        )
    ]


# Food and cutlery.


def _apple(p: Any, tone: Rgb, rng: np.random.Generator) -> list[Piece]:
    r = p.radius_m
    orange = tone[0] > 0.85 and 0.4 < tone[1] < 0.65
    angles = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 13)
    dent = 0.0 if orange else float(rng.uniform(0.12, 0.22))
    shoulder = 1.0 if orange else float(rng.uniform(0.0, 1.0))
    profile: Profile = []
    for angle in angles.tolist():
        side, up = float(np.cos(angle)), float(np.sin(angle))
        wide = side * (1.0 + (0.0 if orange else 0.10 * up * shoulder * side))
        sink = dent * (1.0 - min(side / 0.5, 1.0)) ** 2
        profile.append((r * min(wide, 1.0), r * (1.0 + up - (sink if up > 0 else -0.5 * sink))))
    profile[0], profile[-1] = (0.0, profile[0][1]), (0.0, profile[-1][1])
    skin = Print(96, 64, tone)
    other = vary(draw_one(rng, ((0.86, 0.75, 0.30), (0.62, 0.70, 0.25), (0.75, 0.20, 0.15))), rng)
    if orange:
        skin.scatter(260, (0.4, 1.0), [mix(tone, INK, 0.12), mix(tone, WHITE, 0.12)], rng)
    else:
        from_above = np.repeat(np.linspace(0.0, 1.0, 64)[:, None], 96, axis=1) ** 3
        skin.blend(float(rng.uniform(0.2, 0.9)) * from_above, other)
        streaks = np.repeat(rng.random((1, 96)), 64, axis=0)
        skin.blend(0.35 * float(rng.uniform(0.2, 1.0)) * streaks * streaks, other)
        skin.scatter(50, (0.4, 0.8), [mix(tone, WHITE, 0.4)], rng)
    pieces = [Piece(lathe(profile, sides=24), WHITE, "lacquer" if not orange else "plastic", skin)]
    top = profile[-1][1]
    stalk = [(0.0, 0.0, top - 0.003), (0.0, 0.0, top + 0.006), (0.004, 0.0, top + 0.014)]
    height = 0.003 if orange else 0.014
    return [*pieces, Piece(tube(np.array(stalk) * [1, 1, 1] if not orange else np.array([(0, 0, top - 0.002), (0, 0, top + height / 2), (0, 0, top + height / 2 + 0.0005)]),
                                [[0.0015 if not orange else 0.003] * 2], sides=6), (0.32, 0.22, 0.11) if not orange else (0.35, 0.42, 0.18), "wood")]  # fmt: skip


_LOAVES = {
    "square": ((0.46, 0.0), (0.5, 0.06), (0.47, 0.55), (0.5, 0.72), (0.49, 0.9), (0.38, 1.0), (0.0, 1.0)),
    "domed": ((0.40, 0.0), (0.43, 0.06), (0.42, 0.5), (0.5, 0.68), (0.46, 0.86), (0.26, 0.98), (0.0, 1.0)),
    "sourdough": ((0.30, 0.0), (0.45, 0.1), (0.5, 0.35), (0.49, 0.6), (0.38, 0.84), (0.18, 0.97), (0.0, 1.0)),
    "tin": ((0.48, 0.0), (0.5, 0.03), (0.5, 0.94), (0.46, 0.99), (0.0, 1.0)),
}


def _toast(p: Any, tone: Rgb, rng: np.random.Generator) -> list[Piece]:
    w, h, x = p.width_m, p.height_m, p.thickness_m / 2
    half = rounded(_LOAVES[draw_one(rng, list(_LOAVES))], 0.12, 3)
    outline = np.array([*half, *[(-a, b) for a, b in reversed(half[:-1])]]) * [w, h]
    crumb = Print(80, 80, tone)
    toasted = float(rng.uniform(0.0, 0.8))
    y, z = np.meshgrid(np.linspace(-1, 1, 80), np.linspace(-1, 1, 80))
    crumb.mottle(0.25, 7, rng)
    crumb.blend(np.clip(toasted * (0.75 - 0.35 * (y * y + z * z)), 0.0, 1.0), vary((0.50, 0.29, 0.12), rng))
    crumb.scatter(110, (0.5, 1.6), [mix(tone, (0.45, 0.28, 0.12), 0.6), mix(tone, WHITE, 0.3)], rng)
    crust = vary((0.50, 0.30, 0.14), rng, value=0.3)
    # the outline is in the plane of y and z
    stand = Pose(np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), np.zeros(3))
    inner = (outline - [0.0, h / 2]) * (1.0 - 0.007 / np.array([0.5 * w, 0.5 * h])) + [0.0, h / 2]
    return [
        Piece(slab(outline, -x + 0.0008, x - 0.0008, bevel_m=0.0022).moved(stand), crust, "cardboard"),
        Piece(slab(inner, -x, x, bevel_m=0.0004, steps=1).moved(stand), WHITE, "cloth", crumb),
    ]


def _spoon(p: Any, tone: Rgb, rng: np.random.Generator) -> list[Piece]:
    half, wide, t = p.handle_width_m / 2, 0.36 * p.bowl_m, p.thickness_m
    volumes = (p.handle_m * 2.0 * half, p.bowl_m * 2.0 * wide)
    split = (volumes[0] * p.handle_m / 2 - volumes[1] * p.bowl_m / 2) / sum(volumes)
    start, tip, middle = split - p.handle_m, split + p.bowl_m, 0.5 * t
    grey, brown = max(tone) - min(tone) < 0.08 and tone[0] > 0.5, tone[0] > tone[2] + 0.25 and tone[1] > 0.3
    finish = "chrome" if grey else "wood" if brown else "plastic"
    family = draw_one(rng, ("oval", "pointed", "round", "deep"))
    ring = circle(28)
    if family == "pointed":
        ring = ring * np.column_stack([np.ones(28), 1.0 - 0.28 * np.clip(ring[:, 0], 0.0, 1.0)])
    length = 0.5 * p.bowl_m
    depth = t if family == "deep" else 0.8 * t
    shares = [(0.0, 0.0), (0.45, 0.04), (0.75, 0.24), (0.94, 0.62), (1.0, 1.0)]
    skin = 0.16 if finish == "chrome" else 0.28
    inside = [
        (1.0 - 0.4 * skin, 1.02),
        (1.0 - skin, 0.98),
        (0.72 - 0.5 * skin, 0.30 + skin),
        (0.4, 0.12 + skin),
        (0.0, 0.08 + skin),
    ]
    rows = [*shares, *inside]
    rings = np.stack([np.column_stack([ring * [r * length, r * wide], np.full(28, z * depth)]) for r, z in rows])
    from unlatch.objects.procedural.mesh_makers import loft

    bowl = loft(rings).moved(Pose.from_translation((split + length, 0.0, 0.0)))
    waist = draw_one(rng, (0.45, 0.7, 1.0)) if finish == "chrome" else draw_one(rng, (0.75, 1.0))
    places = np.array([0.0, 0.03, 0.3, 0.6, 0.85, 1.0])
    widths = np.array([0.7, 1.0, 1.0, 1.0, waist, waist]) * half
    thick = np.array([0.7, 1.0, 1.0, 1.0, 0.8, 0.55]) * middle
    xs = start + places * (p.handle_m + 0.1 * p.bowl_m)
    rise = np.array([0.0, 0.0, 0.0, 0.0, 0.1, 0.25]) * middle
    handle = tube(
        np.column_stack([xs, np.zeros(6), middle + rise]), np.column_stack([widths, thick]), sides=12, flat=0.35
    )
    shape = join(bowl, handle)
    if finish == "wood":
        return [Piece(shape, WHITE, "wood", draw_grain(tone, rng))]
    pieces = [Piece(shape if finish == "plastic" or rng.random() < 0.6 else bowl, tone, finish)]
    if len(pieces[0].surface.corners) == len(bowl.corners):  # a handle of another material
        pieces.append(Piece(handle, vary(draw_one(rng, (INK, (0.48, 0.31, 0.18), (0.60, 0.20, 0.16))), rng), "plastic"))
    del tip
    return pieces


LOOKS: Mapping[str, Look] = {
    "apple": _apple,
    "book": _book,
    "bowl": _bowl,
    "can": _can,
    "cereal_box": _cereal_box,
    "cup": _cup,
    "mug": _mug,
    "parcel": _parcel,
    "plate": _plate,
    "spoon": _spoon,
    "toast": _toast,
    "water_bottle": _water_bottle,
}
"""Looks by category."""


def draw_look(category: str, parameters: Mapping[str, float | str], rng: np.random.Generator) -> list[Piece]:
    """Draws the pieces of an object of a category in `LOOKS` from its recorded parameters; they lie in its root frame."""
    p = SimpleNamespace(**parameters)
    tone = vary(_read_rgb(parameters["colour"]), rng, hue=0.01 if category == "toast" else 0.03)
    if "cap_colour" in parameters:
        p.cap_rgb = _read_rgb(parameters["cap_colour"])
    return LOOKS[category](p, tone, rng)


def _read_rgb(text: float | str) -> Rgb:
    red, green, blue = (float(value) for value in str(text).split(",")[:3])
    return (red, green, blue)
