"""What dishes, spoons, fruit and bread look like: families of shapes, and glazes.

A look has the measures of the object and lies on its colliders where a hand holds it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unlatch.objects.procedural.looks import CLAY, INK, STEEL, WHITE, Piece, mix, vary
from unlatch.objects.procedural.mesh_makers import Profile, circle, join, lathe, loft, rounded, slab, tube
from unlatch.objects.procedural.parameters import draw_one
from unlatch.objects.procedural.prints import Print, Rgb, draw_brand
from unlatch.simcore.geometry import Pose

# Dishes: an outside, an inside and a foot, with a glaze.


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


def draw_glaze(kind: str, tone: Rgb, rng: np.random.Generator) -> tuple[Print, Rgb]:
    """Draws the outside of a dish; returns it with the colour of the inside."""
    width, height = 192, 96
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
    picture, inner = draw_glaze(glaze, tone, rng)
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


def draw_mug(p: Any, tone: Rgb, rng: np.random.Generator) -> list[Piece]:
    """Draws a mug: its wall, and a handle that is rounded."""
    glaze = draw_one(rng, _GLAZES)
    tin = rng.random() < 0.15  # enamelled steel with a dark rim
    shape = _MUGS["straight" if tin else draw_one(rng, list(_MUGS))]
    outside = rounded([(r * p.radius_m, z * p.height_m) for r, z in shape], 0.004, 2)
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


def draw_bowl(p: Any, tone: Rgb, rng: np.random.Generator) -> list[Piece]:
    """Draws a bowl of china or of turned wood."""
    shares = np.array(_BOWLS[draw_one(rng, list(_BOWLS))])
    radius = np.interp(shares[:, 0], [0.0, 1.0, 2.0], [0.0, p.foot_m, p.rim_m])
    outside = rounded(
        [(r, z * p.height_m) for r, z in zip(radius.tolist(), shares[:, 1].tolist(), strict=True)], 0.008, 3
    )
    if rng.random() < 0.2:  # turned wood, with rings of its grain
        wood = vary(draw_one(rng, ((0.62, 0.42, 0.24), (0.45, 0.29, 0.17), (0.74, 0.58, 0.38))), rng)
        grain = draw_grain(wood, rng)
        outer, inside = _wall(outside, p.wall_m, 1.2 * p.wall_m)
        return [Piece(lathe([(0.0, outer[0][1]), *outer, *inside[1:]]), WHITE, "wood", grain)]
    return _dish(outside, p.wall_m, 1.2 * p.wall_m, draw_one(rng, _ROUND_GLAZES), tone, rng)


def draw_grain(wood: Rgb, rng: np.random.Generator) -> Print:
    """Draws streaks of wood along the picture's width."""
    width, height = 64, 128
    picture = Print(width, height, wood)
    steps = 1.0 + 0.16 * (rng.random((height, 1)) - 0.5) + 0.10 * (rng.random((height // 8, 1)).repeat(8, axis=0) - 0.5)
    picture.shade(np.repeat(steps, width, axis=1))
    picture.mottle(0.2, 3, rng)
    return picture


def draw_plate(p: Any, tone: Rgb, rng: np.random.Generator) -> list[Piece]:
    """Draws a plate."""
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


def draw_cup(p: Any, tone: Rgb, rng: np.random.Generator) -> list[Piece]:
    """Draws a cup of plastic, paper, glass with facets, or steel."""
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
        glaze = draw_one(rng, ("word", "mark", "bands", "stripes"))
        return _dish(rounded_outside, 0.5 * p.wall_m, 0.006, glaze, tone, rng, finish="cardboard", rim=WHITE)
    glaze = draw_one(rng, ("plain", "dots", "bands", "half"))
    return _dish(rounded_outside, p.wall_m, 0.006, glaze, tone, rng, finish="plastic")


# Food and cutlery.


def draw_apple(p: Any, tone: Rgb, rng: np.random.Generator) -> list[Piece]:
    """Draws an apple or a peach with a dent and streaks, or an orange with pores."""
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
        up = np.repeat(np.linspace(0.0, 1.0, 64)[:, None], 96, axis=1)
        skin.blend(float(rng.uniform(0.2, 0.9)) * up * up * up, other)
        streaks = np.repeat(rng.random((1, 96)), 64, axis=0)
        skin.blend(0.35 * float(rng.uniform(0.2, 1.0)) * streaks * streaks, other)
        skin.scatter(50, (0.4, 0.8), [mix(tone, WHITE, 0.4)], rng)
    top = profile[-1][1]
    ends = [(0.0, 0.0, top - 0.003), (0.0, 0.0, top + 0.001), (0.0, 0.0, top + 0.0015)]
    stalk = ends if orange else [ends[0], (0.0, 0.0, top + 0.006), (0.004, 0.0, top + 0.014)]
    return [
        Piece(lathe(profile, sides=20 if orange else 24), WHITE, "plastic" if orange else "lacquer", skin),
        Piece(tube(np.array(stalk), [[0.003 if orange else 0.0015] * 2], sides=6), _STALKS[orange], "wood"),
    ]


_STALKS: tuple[Rgb, Rgb] = ((0.32, 0.22, 0.11), (0.35, 0.42, 0.18))
"""Colours of the stalk of an apple, and of the scar of an orange."""
_LOAVES = {
    "square": ((0.46, 0.0), (0.5, 0.06), (0.47, 0.55), (0.5, 0.72), (0.49, 0.9), (0.38, 1.0), (0.0, 1.0)),
    "domed": ((0.40, 0.0), (0.43, 0.06), (0.42, 0.5), (0.5, 0.68), (0.46, 0.86), (0.26, 0.98), (0.0, 1.0)),
    "sourdough": ((0.30, 0.0), (0.45, 0.1), (0.5, 0.35), (0.49, 0.6), (0.38, 0.84), (0.18, 0.97), (0.0, 1.0)),
    "tin": ((0.48, 0.0), (0.5, 0.03), (0.5, 0.94), (0.46, 0.99), (0.0, 1.0)),
}


def draw_toast(p: Any, tone: Rgb, rng: np.random.Generator) -> list[Piece]:
    """Draws a slice of one of several loaves, with a crust and a crumb."""
    w, h, x = p.width_m, p.height_m, p.thickness_m / 2
    half = rounded(_LOAVES[draw_one(rng, list(_LOAVES))], 0.12, 3)
    outline = np.array([*half, *[(-a, b) for a, b in reversed(half[:-1])]]) * [w, h]
    crumb = Print(80, 80, tone)
    toasted = float(rng.uniform(0.0, 0.8))
    across = np.linspace(-1.0, 1.0, 80)
    y, z = across[None, :], across[:, None]
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


def draw_spoon(p: Any, tone: Rgb, rng: np.random.Generator) -> list[Piece]:
    """Draws a spoon of steel, wood or plastic, whose bowl is hollow."""
    half, wide, t = p.handle_width_m / 2, 0.36 * p.bowl_m, p.thickness_m
    volumes = (p.handle_m * 2.0 * half, p.bowl_m * 2.0 * wide)
    split = (volumes[0] * p.handle_m / 2 - volumes[1] * p.bowl_m / 2) / sum(volumes)
    start, middle = split - p.handle_m, 0.5 * t
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
    if finish == "plastic" or rng.random() < 0.6:
        return [Piece(shape, tone, finish)]
    grip = vary(draw_one(rng, (INK, (0.48, 0.31, 0.18), (0.60, 0.20, 0.16))), rng)
    return [Piece(bowl, tone, finish), Piece(handle, grip, "plastic")]
