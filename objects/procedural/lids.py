"""Things with a lid: a storage box, a carton with flaps, a laptop, a cooking pot and a pedal bin.

Sizes come from catalogues: boxes of 24 to 42 cm, shipping cartons of 24 to 40 cm by 20 to 32 cm, laptops of 13 to 16
inches, pots of 2 to 5 l, bins of 3 to 15 l. Boards and lids that a hand pinches are as thick as those of sturdy ones, 8
to 10 mm.
"""

from __future__ import annotations

import numpy as np

from unlatch.objects.annotation import Handle, HandleType, PartKind
from unlatch.objects.annotation_entries import FixedHandle
from unlatch.objects.mechanisms import Detent, Mimic
from unlatch.objects.procedural.assembly import (
    HOLDING,
    Assembly,
    ObjectGenerator,
    PartMotion,
    gravity_moment,
    lid_motion,
)
from unlatch.objects.procedural.colours import (
    BRASS,
    CHROME,
    DARK,
    LID_GLASS,
    PLASTICS,
    RUBBER,
    WOODS,
    TextureKind,
    board_texture,
    contrast,
    darker,
    sheet_texture,
)
from unlatch.objects.procedural.fittings import LID_GAP_M, Carcass, RoundLid
from unlatch.objects.procedural.handles import EdgeHandle, HandlePlace, PanelGrip, handle
from unlatch.objects.procedural.links import LID_BEHIND, LinkBuilder, PanelBuilder, PanelFrame, Y, Z
from unlatch.objects.procedural.parameters import (
    Colour,
    Drawn,
    by,
    derived,
    draw_uniform,
    either,
    one_of,
    palette,
    uniform,
)

_GAP_M = 0.002
"""Gap between a body and its lid."""

# A storage box with a hinged lid, of wood or of plastic.


_BOX = {
    "material": either("wood", "plastic"),
    "_wood": lambda rng, p: WOODS[int(rng.integers(2))],
    "_plastic": one_of(PLASTICS),
    "lid_colour": lambda rng, p: (
        p._wood[1] if p.material == "wood" else darker(p._plastic, 1.15 if rng.random() < 0.5 else 0.8)
    ),
    "handle_colour": contrast((CHROME, BRASS, DARK), "lid_colour"),
    "width_m": uniform(0.24, 0.42),
    "depth_m": uniform(0.18, 0.30),
    "height_m": uniform(0.10, 0.22),  # without the lid
    "wall_m": uniform(0.008, 0.012),
    "lid_m": uniform(0.010, 0.018),
    "overhang_m": uniform(0.010, 0.018),  # of the lid, in front and at the sides
    "limit_rad": uniform(1.6, 2.0),
    "holding": uniform(HOLDING, 1.6),  # friction of the hinge divided by the moment of gravity
    "damping_n_m_s": uniform(0.02, 0.08),
    "density_kg_m3": by("material", {"wood": uniform(450.0, 700.0), "plastic": uniform(500.0, 900.0)}),
    "colour": derived(lambda p: p._wood[0] if p.material == "wood" else p._plastic),
    "trim_colour": derived(lambda p: BRASS if p.material == "wood" else DARK),
    "handle": handle({"edge": 0.5, "knob": 0.25, "bar": 0.25}, length=(0.09, 0.14)),
}


def _build_box(assembly: Assembly, p: Drawn) -> None:
    """Builds a box. The lid's frame lies on the hinge, at the upper back edge of the box."""
    x0, x1, half = -p.depth_m / 2, p.depth_m / 2, p.width_m / 2
    body = LinkBuilder("body")
    Carcass((x0, -half, 0.0), (x1, half, p.height_m), p.wall_m, opening="z").build(
        body, rgba=p.colour, lining=darker(p.colour, 0.8)
    )
    _add_box_trim(body, p)
    if "ear_m" in vars(p):
        assembly.handles |= _add_ears(
            body, p, 0.62 * p.height_m, foot=half, out=half + p.ear_m, x=p.ear_share * x1
        )  # fmt: skip
    assembly.add_body(body, mass_kg=body.mass_kg(p.density_kg_m3), edge=(x1 - p.wall_m / 2, 0.0, p.height_m))

    lid = PanelBuilder("lid", LID_BEHIND)
    depth, side, face = p.depth_m + p.overhang_m, half + p.overhang_m / 2, _GAP_M + p.lid_m
    lid.box("board", (0.0, -side, _GAP_M), (depth, side, face), rgba=p.lid_colour)
    rgba = darker(p.lid_colour, 0.85)
    if p.material == "plastic":  # a raised field, as on lids that stack
        lid.visual.border("rim", (0.006, depth - 0.006), side - 0.006, width=0.016, out=(face, face + 0.002), rgba=rgba)
    else:
        for number, along in enumerate((-0.33, 0.33)):
            lower = (0.0, along * side - 0.0008, face)
            lid.visual.box(f"seam_{number}", lower, (depth, along * side + 0.0008, face + 0.0004), rgba=rgba)
    place = HandlePlace((depth - 0.035, 0.0), face, edge=depth, thickness=p.lid_m, length=2 * side)
    motion = lid_motion(LID_BEHIND, (x0, 0.0, p.height_m), p)
    assembly.add_panel(lid, motion, p.handle, place, rgba=p.handle_colour, density_kg_m3=p.density_kg_m3)
    if p.material == "wood":
        assembly.set_texture(board_texture, p.colour, p.lid_colour, darker(p.colour, 0.8))


def _add_box_trim(body: LinkBuilder, p: Drawn) -> None:
    """Adds straps to a wooden box, a label and grips to a plastic one, hinges to both."""
    x0, x1, half = -p.depth_m / 2, p.depth_m / 2, p.width_m / 2
    for number, sign in enumerate((-1.0, 1.0)):
        y, skin = sign * 0.55 * half, 0.0012
        centre = (x0 - 0.003, y, p.height_m - 0.004)
        body.visual.cylinder(f"hinge_{number}", centre, axis="y", radius=0.004, length=0.035, rgba=p.trim_colour)
        if p.material == "wood":
            lower, upper = (x1, y - 0.011, 0.0), (x1 + skin, y + 0.011, p.height_m)
            body.visual.box(f"strap_{number}", lower, upper, rgba=p.trim_colour)
        side = sign * half
        lower, upper = (-0.035, side, 0.62 * p.height_m), (0.035, side + sign * skin, 0.62 * p.height_m + 0.022)
        body.visual.box(f"grip_{number}", lower, upper, rgba=darker(p.colour, 0.45))
    if p.material == "wood":
        lower = (x1, -0.014, p.height_m - 0.035)
        body.visual.box("lock", lower, (x1 + 0.003, 0.014, p.height_m - 0.003), rgba=p.trim_colour)
    else:
        low, high = 0.3 * p.height_m, 0.65 * p.height_m
        body.visual.box("label", (x1, -0.045, low), (x1 + 0.0008, 0.045, high), rgba=(0.93, 0.92, 0.88, 1.0))


box = ObjectGenerator("box", _BOX, _build_box)

# A light box that nothing fastens: without a hand at its side handle, it tips when its lid is raised.

_LIGHT_BOX = {
    "material": derived(lambda p: "plastic"),
    "height_m": uniform(0.15, 0.20),
    "wall_m": uniform(0.004, 0.005),
    "lid_m": uniform(0.008, 0.010),
    "density_kg_m3": uniform(250.0, 400.0),  # of foamed plastic, or of twin-wall sheet
    "damping_n_m_s": uniform(0.01, 0.04),
    "ear_m": uniform(0.035, 0.045),  # how far a side handle stands out
    "ear_width_m": uniform(0.07, 0.09),
    "ear_share": uniform(0.3, 0.5),  # place of the side handles in front of the middle, as a share of half the depth
}


light_box = box.variant("light_box", _LIGHT_BOX)

# A carton with two flaps that meet in the middle, and a strip of tape.

_INK: Colour = (0.20, 0.17, 0.15, 1.0)
_FLAPS = {
    "lid": PanelFrame(across=Y, out=Z),
    "lid_2": PanelFrame(across=(0.0, -1.0, 0.0), out=Z),
}
"""Hinges at the sides: the flaps open to the right and to the left, as seen from the front."""
_CARTON = {
    "width_m": uniform(0.24, 0.36),  # across the flaps
    "depth_m": uniform(0.22, 0.36),  # along the flaps
    "height_m": uniform(0.14, 0.26),
    "board_m": uniform(0.008, 0.009),
    "limit_rad": uniform(2.1, 2.7),
    "holding": uniform(HOLDING, 1.8),  # friction of the fold divided by the moment of gravity
    "damping_n_m_s": uniform(0.005, 0.03),
    "density_kg_m3": uniform(120.0, 220.0),
    "tape_m": uniform(0.042, 0.055),
    "print": either("arrows", "label"),
    "colour": one_of(palette("74 57 38", "80 64 44", "66 49 32", "88 86 82")),
    "tape_colour": one_of(palette("88 80 60", "62 45 26", "80 22 18")),
    "handle_kind": "edge",
}


def _build_carton(assembly: Assembly, p: Drawn) -> None:
    """Builds a carton. The frame of a flap lies on its fold, at the upper outer edge of a side."""
    x0, x1, half = -p.depth_m / 2, p.depth_m / 2, p.width_m / 2
    body = LinkBuilder("body")
    Carcass((x0, -half, 0.0), (x1, half, p.height_m), p.board_m, opening="z").build(
        body, rgba=p.colour, lining=darker(p.colour, 0.85)
    )
    _add_print(body, p)
    mass_kg = body.mass_kg(p.density_kg_m3)
    assembly.add_body(body, mass_kg=mass_kg, edge=(p.depth_m / 2 - p.board_m / 2, 0.0, p.height_m))
    for label, frame in _FLAPS.items():
        _add_flap(assembly, label, frame, p)
    assembly.set_texture(TextureKind.cardboard, p.colour, darker(p.colour, 0.85))


def _add_flap(assembly: Assembly, label: str, frame: PanelFrame, p: Drawn) -> None:
    flap = PanelBuilder(label, frame)
    width, half, face = p.width_m / 2 - 0.0015, p.depth_m / 2, _GAP_M + p.board_m
    flap.box("board", (0.0, -half, _GAP_M), (width, half, face), rgba=p.colour)
    flap.visual.box("crease", (0.012, -half, face), (0.015, half, face + 0.0004), rgba=darker(p.colour, 0.8))
    lower = (width - p.tape_m / 2, -half, face)
    flap.visual.box("tape", lower, (width, half, face + 0.0005), rgba=p.tape_colour)
    side = -frame.across[1]
    place = HandlePlace((width, 0.0), face, edge=width, thickness=p.board_m, length=p.depth_m)
    motion = lid_motion(frame, (0.0, side * p.width_m / 2, p.height_m), p)
    assembly.add_panel(flap, motion, EdgeHandle(), place, rgba=p.colour, density_kg_m3=p.density_kg_m3)


def _add_print(body: LinkBuilder, p: Drawn) -> None:
    """Adds the end of the tape on the front, and arrows or a label beside it."""
    x, half, h, skin = p.depth_m / 2, p.width_m / 2, p.height_m, 0.0006
    body.visual.box("tape", (x, -p.tape_m / 2, h - 0.055), (x + skin, p.tape_m / 2, h), rgba=p.tape_colour)
    if p.print == "label":
        y, z = 0.45 * half, 0.42 * h
        lower, upper = (x, y - 0.045, z - 0.03), (x + skin, y + 0.045, z + 0.03)
        body.visual.box("label", lower, upper, rgba=(0.95, 0.95, 0.93, 1.0))
        for number, (low, high) in enumerate(((-0.035, 0.010), (-0.035, 0.030), (-0.035, -0.002))):
            line = z + 0.016 - 0.014 * number
            lower, upper = (x + skin, y + low, line - 0.002), (x + 2 * skin, y + high, line + 0.002)
            body.visual.box(f"line_{number}", lower, upper, rgba=_INK)
        return
    for number, y in enumerate((0.5 * half, 0.5 * half + 0.03)):  # this side up
        foot, tip = 0.28 * h, 0.28 * h + 0.05
        body.visual.box(f"shaft_{number}", (x, y - 0.003, foot), (x + skin, y + 0.003, tip - 0.006), rgba=_INK)
        for wing, sign in enumerate((-1.0, 1.0)):
            middle = y + sign * 0.006
            lower, upper = (x, middle - 0.006, tip - 0.012), (x + skin, middle + 0.006, tip - 0.007)
            body.visual.box(f"wing_{number}_{wing}", lower, upper, rgba=_INK)
        body.visual.box(f"tip_{number}", (x, y - 0.006, tip - 0.007), (x + skin, y + 0.006, tip - 0.002), rgba=_INK)
    lower, upper = (x, 0.5 * half - 0.012, 0.28 * h - 0.008), (x + skin, 0.5 * half + 0.042, 0.28 * h - 0.005)
    body.visual.box("ground", lower, upper, rgba=_INK)


carton = ObjectGenerator("carton", _CARTON, _build_carton)

# A laptop: a base with keys, a screen on a hinge behind.

_SCREENS: tuple[tuple[Colour, Colour], ...] = (
    ((0.16, 0.36, 0.62, 1.0), (0.30, 0.56, 0.82, 1.0)),
    ((0.36, 0.24, 0.48, 1.0), (0.80, 0.48, 0.46, 1.0)),
    ((0.12, 0.40, 0.38, 1.0), (0.44, 0.70, 0.52, 1.0)),
)
"""Two colours of the picture on the screen."""
_ROWS = (13, 13, 12, 11)
_LAPTOP = {
    "width_m": uniform(0.30, 0.37),
    "colour": one_of(palette("73 74 76", "36 37 40", "22 23 25", "84 80 75", "36 46 58")),
    "depth_m": lambda rng, p: round(p.width_m * draw_uniform(rng, 0.66, 0.71), 4),
    "base_m": uniform(0.014, 0.020),  # thickness of the base, without its feet
    "lid_m": uniform(0.008, 0.010),
    "overhang_m": uniform(0.0, 0.002),  # the lid reaches over the base in front
    "limit_rad": uniform(2.0, 2.4),
    "holding": uniform(HOLDING, 1.7),  # friction of the hinge divided by the moment of gravity
    "damping_n_m_s": uniform(0.01, 0.05),
    "lid_density_kg_m3": uniform(800.0, 1100.0),
    "base_density_kg_m3": uniform(1000.0, 1500.0),
    "key_colour": lambda rng, p: DARK if rng.random() < 0.7 else darker(p.colour, 1.1),
    "screen": lambda rng, p: int(rng.integers(len(_SCREENS))),
}


def _build_laptop(assembly: Assembly, p: Drawn) -> None:
    """Builds a laptop.

    The root frame is at the middle of the footprint, z up from the bottom, x towards the user. The lid's frame is on
    the hinge, at the upper back edge of the base.
    """
    x0, x1, half = -p.depth_m / 2, p.depth_m / 2, p.width_m / 2
    feet, top = 0.003, 0.003 + p.base_m
    body = LinkBuilder("body")
    body.box("base", (x0, -half, feet), (x1, half, top), rgba=p.colour)
    for number, x in enumerate((x0 + 0.02, x1 - 0.02)):
        body.box(f"foot_{number}", (x - 0.006, -half + 0.03, 0.0), (x + 0.006, half - 0.03, feet), rgba=RUBBER)
    _add_keys(body, p, top)
    assembly.add_body(body, mass_kg=body.mass_kg(p.base_density_kg_m3), edge=(x1 - 0.02, 0.0, top))

    lid = PanelBuilder("lid", LID_BEHIND)
    depth, face = p.depth_m + p.overhang_m, _GAP_M + p.lid_m
    lid.box("case", (0.0, -half, _GAP_M), (depth, half, face), rgba=p.colour)
    for number, sign in enumerate((-1.0, 1.0)):
        barrel = (0.0, sign * 0.6 * half, 0.003)
        lid.visual.cylinder(f"hinge_{number}", barrel, axis="along", radius=0.0045, length=0.04, rgba=DARK)
    _add_screen(lid, p, depth)
    logo = (depth / 2, 0.0, face)
    lid.visual.cylinder("logo", logo, axis="out", radius=0.014, length=0.0008, rgba=darker(p.colour, 0.7))
    place = HandlePlace((depth, 0.0), face, edge=depth, thickness=p.lid_m, length=p.width_m)
    motion = lid_motion(LID_BEHIND, (x0, 0.0, top), p)
    assembly.add_panel(lid, motion, EdgeHandle(), place, rgba=p.colour, density_kg_m3=p.lid_density_kg_m3)
    assembly.set_texture(sheet_texture, p.colour)


def _add_keys(body: LinkBuilder, p: Drawn, top: float) -> None:
    """Adds four rows of keys, a row with the space bar, and the pad in front of them."""
    half, back = p.width_m / 2 - 0.024, -p.depth_m / 2 + 0.034
    pitch = 0.40 * p.depth_m / 5
    lower, upper = (back - 0.004, -half - 0.003, top), (back + 5 * pitch + 0.002, half + 0.003, top + 0.0003)
    body.visual.box("well", lower, upper, rgba=darker(p.colour, 0.6 if p.colour[0] > 0.4 else 1.5))
    rows = [[2 * half / count] * count for count in _ROWS]
    rows.append([2 * half * share for share in (0.1, 0.1, 0.1, 0.4, 0.1, 0.1, 0.1)])
    for row, widths in enumerate(rows):
        x, y = back + row * pitch, -half
        for number, width in enumerate(widths):
            lower, upper = (x + 0.001, y + 0.001, top), (x + pitch - 0.001, y + width - 0.001, top + 0.0012)
            body.visual.box(f"key_{row}_{number}", lower, upper, rgba=p.key_colour)
            y += width
    pad = 0.17 * p.width_m
    x = back + 5 * pitch + 0.014
    body.visual.box("pad", (x, -pad, top), (p.depth_m / 2 - 0.012, pad, top + 0.0005), rgba=darker(p.colour, 0.82))


def _add_screen(lid: PanelBuilder, p: Drawn, depth: float) -> None:
    half = p.width_m / 2
    ground, light = _SCREENS[p.screen]
    low, high, side = 0.020, depth - 0.009, half - 0.008
    lower, upper = (0.004, -half + 0.003, _GAP_M - 0.0004), (depth - 0.003, half - 0.003, _GAP_M)
    lid.visual.box("bezel", lower, upper, rgba=(0.04, 0.04, 0.05, 1.0))
    lid.visual.box("screen", (low, -side, _GAP_M - 0.0008), (high, side, _GAP_M - 0.0004), rgba=ground)
    lid.visual.box("task_bar", (low, -side, _GAP_M - 0.0012), (low + 0.010, side, _GAP_M - 0.0008), rgba=light)
    for number, (a, b, c, d) in enumerate(((0.22, 0.82, -0.75, -0.05), (0.40, 0.70, 0.10, 0.60))):
        lower = (low + a * (high - low), c * side, _GAP_M - 0.0012)
        upper = (low + b * (high - low), d * side, _GAP_M - 0.0008)
        lid.visual.box(f"page_{number}", lower, upper, rgba=light if number else (0.93, 0.94, 0.95, 1.0))


laptop = ObjectGenerator("laptop", _LAPTOP, _build_laptop)

# A cooking pot with two handles. Most lids are loose; a task with a joint needs a hinged one, as on kettles.

_EAR_RADIUS_M = 0.0055
_POT = {
    "colour": one_of(palette("74 75 77", "72 18 14", "24 25 27", "18 33 50", "90 86 76")),
    "lid_style": either("glass", "solid"),  # `glass` with a metal rim
    "_lid_colour": derived(lambda p: LID_GLASS if p.lid_style == "glass" else p.colour),
    "radius_m": uniform(0.09, 0.125),
    "height_m": uniform(0.09, 0.15),  # of the rim
    "wall_m": uniform(0.004, 0.006),
    "lid_m": uniform(0.008, 0.010),
    "dome_m": uniform(0.004, 0.008),  # height of one of the two steps of the lid's dome
    "ear_m": uniform(0.035, 0.045),  # how far a side handle stands out
    "ear_width_m": uniform(0.07, 0.09),
    "limit_rad": uniform(1.5, 1.9),
    "holding": uniform(HOLDING, 1.6),  # friction of the hinge divided by the moment of gravity
    "damping_n_m_s": uniform(0.01, 0.05),
    "density_kg_m3": uniform(1500.0, 2500.0),
    "trim_colour": contrast((CHROME, DARK, BRASS), "colour"),
    "handle_colour": contrast((CHROME, DARK, BRASS), "_lid_colour"),
    "handle": handle({"knob": 0.65, "bar": 0.35}, length=(0.08, 0.10)),
}


def _build_pot(assembly: Assembly, p: Drawn) -> None:
    """Builds a pot.

    The root frame is at the middle of the bottom, z up, x away from the hinge. The lid's frame is on the hinge, at the
    height of the rim.
    """
    vessel = RoundLid(p.radius_m, p.wall_m, 0.0, p.height_m, p.lid_m, 0.004)
    body = LinkBuilder("body")
    vessel.add_vessel(body, rgba=p.colour, inside=(0.62, 0.63, 0.64, 1.0))
    vessel.add_hinge(body, rgba=p.trim_colour)
    foot = float(np.sqrt(p.radius_m**2 - (p.ear_width_m / 2) ** 2)) + 0.002
    assembly.handles |= _add_ears(body, p, 0.72 * p.height_m, foot=foot, out=p.radius_m + p.ear_m)
    assembly.add_body(body, mass_kg=body.mass_kg(p.density_kg_m3), edge=(p.radius_m - p.wall_m / 2, 0.0, p.height_m))

    lid = PanelBuilder("lid", LID_BEHIND)
    glass = p.lid_style == "glass"
    vessel.add_disc(lid, rgba=CHROME if glass else p.colour)
    rgba = LID_GLASS if glass else darker(p.colour, 1.08)
    top = vessel.add_dome(lid, shares=(0.88, 0.62), step_m=p.dome_m, rgba=rgba)
    at = (vessel.lid_radius_m, 0.0)
    lid.visual.cylinder("plate", (*at, top + 0.001), axis="out", radius=0.026, length=0.002, rgba=p.handle_colour)
    motion, place = lid_motion(LID_BEHIND, vessel.hinge, p), HandlePlace(at, top)
    push, density = LID_BEHIND.at(2 * vessel.lid_radius_m - 0.014, 0.0, vessel.face_m), p.density_kg_m3 * 0.6
    assembly.add_panel(lid, motion, p.handle, place, rgba=p.handle_colour, density_kg_m3=density, push=push)
    assembly.set_texture(sheet_texture, p.colour)


def _add_ears(
    body: LinkBuilder, p: Drawn, z: float, *, foot: float, out: float, x: float = 0.0
) -> dict[str, FixedHandle]:
    """Adds a loop on either side, from `foot` to `out` from the middle; the names are as seen from the front."""
    handles = {}
    half = p.ear_width_m / 2
    for number, (side_name, sign) in enumerate((("left_handle", -1.0), ("right_handle", 1.0))):
        corners = [(-half, foot), (-half * 0.8, out), (half * 0.8, out), (half, foot)]
        points = [np.array([x + along, sign * y, z]) for along, y in corners]
        for side in range(3):
            body.rod(f"ear_{number}_{side}", points[side], points[side + 1], radius=_EAR_RADIUS_M, rgba=p.trim_colour)
        for side in (1, 2):
            body.visual.sphere(f"bend_{number}_{side}", points[side], radius=_EAR_RADIUS_M, rgba=p.trim_colour)
        middle, outward = (points[1] + points[2]) / 2, np.array([0.0, sign, 0.0])
        handles[side_name] = FixedHandle("body", middle, np.array([1.0, 0.0, 0.0]), outward, 2 * _EAR_RADIUS_M)
    return handles


pot = ObjectGenerator("pot", _POT, _build_pot)

# A small bin with a pedal, round or square.

_CANS: tuple[Colour, ...] = (CHROME, (0.66, 0.67, 0.69, 1.0), *PLASTICS)
_BAG: Colour = (0.22, 0.22, 0.23, 1.0)
_TRASH_CAN = {
    "colour": one_of(_CANS),
    "lid_colour": lambda rng, p: DARK if rng.random() < 0.5 else darker(p.colour, 0.9),
    "shape": either("round", "square", 0.6),
    "radius_m": uniform(0.095, 0.13),  # outer radius, or half of the width
    "height_m": uniform(0.25, 0.40),  # of the rim
    "wall_m": uniform(0.005, 0.008),
    "foot_m": uniform(0.02, 0.035),  # height of the dark ring at the bottom
    "lid_m": uniform(0.012, 0.022),
    "overhang_m": uniform(0.006, 0.012),
    "limit_rad": uniform(1.3, 1.6),
    "holding": uniform(HOLDING, 1.6),  # friction of the hinge divided by the moment of gravity
    "damping_n_m_s": uniform(0.01, 0.05),
    "density_kg_m3": uniform(700.0, 1100.0),
    "handle_colour": contrast((CHROME, DARK), "lid_colour"),
    "handle": handle({"edge": 0.7, "bar": 0.3}, length=(0.08, 0.11)),
}


def _build_trash_can(assembly: Assembly, p: Drawn) -> None:
    """Builds a bin.

    The root frame is at the middle of the bottom, z up, x away from the hinge. The lid's frame is on the hinge, at the
    height of the rim.
    """
    vessel = RoundLid(p.radius_m, p.wall_m, p.foot_m, p.height_m, p.lid_m, p.overhang_m)
    body = LinkBuilder("body")
    lid = PanelBuilder("lid", LID_BEHIND)
    reach, face = 2 * vessel.lid_radius_m, vessel.face_m
    if p.shape == "round":
        body.cylinder("foot", (0, 0, p.foot_m / 2), axis="z", radius=p.radius_m + 0.002, length=p.foot_m, rgba=RUBBER)
        vessel.add_vessel(body, rgba=p.colour, inside=_BAG)
        vessel.add_disc(lid, rgba=p.lid_colour)
        face = vessel.add_dome(lid, shares=(0.74,), step_m=0.006, rgba=p.lid_colour)
    else:
        r, side = p.radius_m, vessel.lid_radius_m
        body.box("foot", (-r - 0.002, -r - 0.002, 0.0), (r + 0.002, r + 0.002, p.foot_m), rgba=RUBBER)
        Carcass((-r, -r, p.foot_m), (r, r, p.height_m), p.wall_m, opening="z").build(body, rgba=p.colour, lining=_BAG)
        lid.box("board", (0.0, -side, LID_GAP_M), (reach, side, face), rgba=p.lid_colour)
        lid.box("field", (0.03, -side + 0.03, face), (reach - 0.03, side - 0.03, face + 0.004), rgba=p.lid_colour)
        face += 0.004
    vessel.add_hinge(body, rgba=DARK)
    # the slot in front, out of which the pedal comes
    low, high = (p.radius_m, -0.028, p.foot_m * 0.3), (p.radius_m + 0.004, 0.028, p.foot_m + 0.012)
    body.visual.box("slot", low, high, rgba=(0.05, 0.05, 0.05, 1.0))
    if "pedal_m" not in vars(p):
        _add_pedal(body, p.radius_m, p.foot_m * 0.62, root=-0.004)
    assembly.add_body(body, mass_kg=body.mass_kg(p.density_kg_m3), edge=(p.radius_m - p.wall_m / 2, 0.0, p.height_m))

    length = 2 * vessel.lid_radius_m * (1.0 if p.shape == "square" else 0.4)
    place = HandlePlace((0.72 * reach, 0.0), face, edge=reach, thickness=p.lid_m, length=length)
    at_edge = place._replace(face=vessel.face_m)
    held = at_edge if p.handle.kind == "edge" else place
    motion, push = lid_motion(LID_BEHIND, vessel.hinge, p), p.handle.push_point(LID_BEHIND, place)
    density = p.density_kg_m3 * 0.7
    assembly.add_panel(lid, motion, p.handle, held, rgba=p.handle_colour, density_kg_m3=density, push=push)
    assembly.set_texture(sheet_texture(p.colour), p.colour, darker(p.colour, 0.9))


def _add_pedal(link: LinkBuilder, x: float, z: float, *, root: float) -> None:
    """Adds the pedal's arm, which comes out of the body at `x` and `z` and begins at `root` from there, and its plate.

    All are in m.
    """
    if root > 0.0:
        link.visual.box("shaft", (x - 0.004, -0.012, z - 0.003), (x + root, 0.012, z + 0.003), rgba=CHROME)
    link.box("arm", (x + root, -0.012, z - 0.003), (x + 0.03, 0.012, z + 0.003), rgba=CHROME)
    link.box("pedal", (x + 0.022, -0.032, z - 0.005), (x + 0.052, 0.032, z + 0.005), rgba=DARK)


trash_can = ObjectGenerator("trash_can", _TRASH_CAN, _build_trash_can)

# The same bin with a pedal that lifts its lid. Pressed to its stop, the lid stays open, as bins with a stay-open do.

_PEDAL_BIN = {
    "height_m": uniform(0.25, 0.32),
    "foot_m": uniform(0.050, 0.060),
    "lid_m": uniform(0.008, 0.012),
    "density_kg_m3": uniform(250.0, 400.0),  # of walls that are hollow, or of thinner sheet
    "handle": derived(lambda p: EdgeHandle()),
    "holding": 0.0,  # a lid that is let go falls shut
    "friction_n_m": uniform(0.02, 0.04),
    "damping_n_m_s": uniform(0.05, 0.08),  # of a damper
    "limit_rad": uniform(1.1, 1.3),
    "pedal_m": uniform(0.024, 0.028),  # way of the pedal's plate
    "stay_share": uniform(1.5, 1.8),  # of the catch that keeps the lid open, over the weight of the lid
}
_PEDAL_FRAME = PanelFrame(across=(1.0, 0.0, 0.0), out=Z)
_LIFTED_SHARE = 0.97
"""How far a pressed pedal opens the lid, as a share of the lid's range."""
_PEDAL_ARM_M = 0.075
"""From the axis of the pedal, inside the foot, to the middle of its plate."""


def _build_pedal_bin(assembly: Assembly, p: Drawn) -> None:
    _build_trash_can(assembly, p)
    lid, span = assembly.parts["lid"], round(p.pedal_m / _PEDAL_ARM_M, 4)
    pedal = PanelBuilder("pedal", _PEDAL_FRAME)
    _add_pedal(pedal, _PEDAL_ARM_M - 0.037, 0.0, root=0.008)
    frame, push = _PEDAL_FRAME, _PEDAL_FRAME.at(_PEDAL_ARM_M + 0.004, 0.0, 0.005)
    grip = PanelGrip(Handle(HandleType.none, np.zeros(3), None), push, frame)
    at = (p.radius_m - _PEDAL_ARM_M + 0.037, 0.0, 0.5 * p.foot_m)
    motion = PartMotion(PartKind.hinge_horizontal, "body", at, Y, -span, friction=0.2, damping=0.02)
    assembly.add_part(pedal, motion, grip, mass_kg=pedal.mass_kg(4000.0), push=push)
    # the pedal meets its stop before the lid does: the rod does not bear the press
    joint, lifted = assembly.parts["pedal"].joint, round(_LIFTED_SHARE * lid.openness.open, 6)
    assembly.mechanisms["rod"] = Mimic(lid.joint, joint, ratio=round(lifted / span, 6), offset=lifted)
    weight = gravity_moment(assembly.links["lid"], assembly.joints[lid.joint])
    assembly.mechanisms["stay"] = Detent(lid.joint, (lifted,), effort=round(p.stay_share * weight, 4), reach=0.15)


pedal_bin = trash_can.variant("pedal_bin", _PEDAL_BIN, _build_pedal_bin)
