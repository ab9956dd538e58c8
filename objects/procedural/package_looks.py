"""What cans, bottles, boxes, parcels and books look like: families of shapes, and what is printed on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unlatch.objects.procedural.colours import brightness
from unlatch.objects.procedural.dish_looks import draw_glaze
from unlatch.objects.procedural.looks import INK, STEEL, WHITE, Piece, draw_colour, ink_on, mix, vary
from unlatch.objects.procedural.mesh_makers import Atlas, Profile, bevelled_box, circle, join, lathe, rounded, slab
from unlatch.objects.procedural.parameters import draw_one
from unlatch.objects.procedural.prints import Print, Rgb, draw_brand
from unlatch.simcore.geometry import Pose

# Packages: what is printed on them, and their shapes.

_CANNED = ("TOMATO SOUP", "SWEET CORN", "RED BEANS", "CHOPPED TOMATOES", "PEACHES", "CHICKPEAS", "COCONUT MILK", "PEAS")
_DRINKS = ("COLA", "LEMONADE", "ORANGE", "TONIC", "GINGER ALE", "ICED TEA", "CHERRY", "ENERGY")
_BOXED = ("OAT FLAKES", "RICE PUFFS", "MUESLI", "CORN FLAKES", "PASTA", "BLACK TEA", "SPAGHETTI", "CRACKERS", "COCOA")
_WATERS = ("STILL WATER", "SPARKLING", "SPRING WATER", "ICED TEA", "APPLE JUICE")
BOTTLED = ("TOMATO SAUCE", "HONEY", "OLIVES", "SYRUP", "VINEGAR", "MUSTARD", "APPLE JUICE", "OLIVE OIL", "RED PESTO")
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


def wrap_label(words: Sequence[str], tone: Rgb, rng: np.random.Generator, amount: str, *, height: int = 128) -> Print:
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


def draw_can(p: Any, tone: Rgb, rng: np.random.Generator) -> list[Piece]:
    """Draws a can for drinks or for food, with its label."""
    r, h = p.radius_m, p.height_m
    metal = vary(STEEL, rng, hue=0.5, saturation=0.5, value=0.08)
    family = draw_one(rng, ("drink", "food", "ribbed", "sleek"))
    if family in ("drink", "sleek"):
        neck, foot = (0.84, 0.10) if family == "drink" else (0.90, 0.07)
        label = wrap_label(_DRINKS, tone, rng, draw_one(rng, ("330 ML", "250 ML", "500 ML")))
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
    paper = wrap_label(_CANNED, tone, rng, draw_one(rng, ("400 G", "425 G", "240 G")))
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


def draw_water_bottle(p: Any, tone: Rgb, rng: np.random.Generator) -> list[Piece]:
    """Draws a bottle with its label, or a flask."""
    r, body, neck = p.radius_m, p.body_m, p.neck_radius_m
    low, top = body + 0.02, body + 0.02 + p.neck_m
    family = draw_one(rng, ("pet", "pet", "flask", "glass", "juice"))
    cap_tone = vary(p.cap_rgb, rng)
    ridges: Profile = [(neck, low), (neck, top - 0.003), (0.88 * neck, top), (0.0, top)]
    cap = Piece(lathe([(0.0, low), *ridges], sides=20), cap_tone, "plastic")
    start: Profile = [(0.0, 0.003), (0.55 * r, 0.003), (0.7 * r, 0.0), (0.9 * r, 0.0), (r, 0.008)]
    end: Profile = [(0.98 * r, body), (0.72 * r, body + 0.014), (0.8 * neck, low), (0.8 * neck, low + 0.002)]
    if family == "flask":
        skin = draw_glaze(draw_one(rng, ("plain", "word", "bands", "half")), tone, rng)[0]
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
    label = wrap_label(
        _WATERS, draw_colour(rng, (0.3, 0.9), (0.3, 0.9)), rng, draw_one(rng, ("0.5 L", "0.75 L", "1 L")), height=96
    )
    upper: Profile = rounded([(r, b * body), *end], 0.01, 3)
    out = r + 0.0004
    sleeve: Profile = [(r, a * body), (out, a * body + 0.001), (out, b * body - 0.001), (r, b * body)]
    return [
        Piece(join(lathe(rounded(lower, 0.002, 2)), lathe(upper)), clear, "glass"),
        Piece(lathe(sleeve), WHITE, "cardboard", label),
        cap,
    ]


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
    cover.upright_text(title, w + 0.5 * s, 0.5 * h, (0.56 * h, 0.5 * s), ink)
    full = float(2 * w + s)
    return cover, {
        "-x": (0.0, 0.0, w / full, 1.0),
        "-y": (w / full, 0.0, (w + s) / full, 1.0),
        "+x": ((w + s) / full, 0.0, 1.0, 1.0),
    }


def draw_book(p: Any, tone: Rgb, rng: np.random.Generator) -> list[Piece]:
    """Draws a paperback or a book with boards, with its cover and pages."""
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


def _draw_carton(tone: Rgb, rng: np.random.Generator, depth: float, width: float, height: float) -> tuple[Print, Atlas]:
    """Draws front, side and top of a box of food; returns the picture with its parts by side of the box."""
    px = 160 / height
    w, d, h = round(width * px), max(round(depth * px), 24), 160
    amount = draw_one(rng, ("500 G", "375 G", "250 G", "1 KG"))
    front = draw_label(_BOXED, tone, rng, width=w, height=h, amount=amount)
    picture = Print(w + d, h + d, front.colour_at(1, 1))
    picture.paste(front, 0, 0)
    ground = picture.colour_at(1, h + d - 1)
    ink = ink_on(ground)
    picture.small_print(w + 4, 0.45 * h, w + d - 4, 0.92 * h, ink, rng)
    picture.box(w + 4, 0.2 * h, w + d - 4, 0.42 * h, WHITE)  # what it contains, as a table
    picture.small_print(w + 6, 0.22 * h, w + d - 6, 0.41 * h, INK, rng, row=4.0)
    picture.bar_code(w + 4, 0.03 * h, w + d - 4, 0.17 * h, rng)
    picture.fitted_text(draw_one(rng, _BOXED), 0.5 * w, h + 0.4 * d, (0.7 * w, 0.3 * d), ink)
    x, y = w / (w + d), h / (h + d)
    face, side = (0.0, 0.0, x, y), (x, 0.0, 1.0, y)
    return picture, {"+x": face, "-x": face, "-y": side, "+y": side, "+z": (0.0, y, x, 1.0), "-z": (0.0, y, 0.02, 1.0)}


def draw_cereal_box(p: Any, tone: Rgb, rng: np.random.Generator) -> list[Piece]:
    """Draws a box of food, printed on all sides."""
    x, y, h = p.depth_m / 2, p.width_m / 2, p.height_m
    picture, atlas = _draw_carton(tone, rng, p.depth_m, p.width_m, h)
    bevel = draw_one(rng, (0.0006, 0.0012, 0.003))
    finish = draw_one(rng, ("cardboard", "lacquer"))
    return [Piece(bevelled_box((-x, -y, 0.0), (x, y, h), bevel, atlas=atlas), WHITE, finish, picture)]


def draw_parcel(p: Any, tone: Rgb, rng: np.random.Generator) -> list[Piece]:
    """Draws a parcel with tape and an address, or a box of a shop."""
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
    if kind == "white":  # a bag
        return [Piece(bevelled_box((-x, -y, 0.0), (x, y, h), 0.006, atlas=atlas), WHITE, "plastic", picture)]
    bevel = draw_one(rng, (0.0008, 0.002))
    return [Piece(bevelled_box((-x, -y, 0.0), (x, y, h), bevel, atlas=atlas), WHITE, "cardboard", picture)]
