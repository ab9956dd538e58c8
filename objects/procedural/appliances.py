"""Kitchen appliances that are a box with a door: microwave, oven, refrigerator, dishwasher; and the safe.

An arm on a table reaches small ones only, so sizes come from catalogues of tabletop models: ovens of 20 to 45 l, mini
bars of 48 to 85 cm, dishwashers for 6 settings, hotel safes of 31 to 43 cm. Kitchen ones are 60 cm wide and up to 1.5 m
high.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from unlatch.objects.procedural.assembly import HOLDING, Assembly, ObjectGenerator
from unlatch.objects.procedural.colours import (
    APPLIANCES,
    BODY_COLOURS,
    BRASS,
    CHROME,
    DARK,
    DISPLAY,
    GLASS,
    HANDLE_COLOURS,
    LINING,
    MICROWAVE_GLASS,
    PAINTS,
    RUBBER,
    SHELF,
    TURNTABLE,
    WHITE,
    WIRE,
    TextureKind,
    contrast,
    darker,
    draw_contrast,
    mark_colour,
    sheet_texture,
)
from unlatch.objects.procedural.doors import BoxWithDoors, Door, numbered
from unlatch.objects.procedural.fittings import Carcass, add_feet, add_turning_knob, turning_knob
from unlatch.objects.procedural.handles import PUSH_ROOM_M, FlushBar, bar, handle
from unlatch.objects.procedural.links import FLAP_BELOW, FRONT, LinkBuilder, PanelBuilder, door_frame
from unlatch.objects.procedural.parameters import Colour, Drawn, by, derived, either, one_of, uniform, whole

_GAP_M = 0.003
"""Gap between the body and a door that is hinged below."""
_SKIN_M = 0.001

# Microwave: the control panel stands beside the door, and the body behind it is solid.

_MICROWAVE = {
    "height_m": uniform(0.27, 0.33),
    "width_m": uniform(0.44, 0.54),
    "depth_m": uniform(0.30, 0.40),  # of the body, without the door
    "wall_m": uniform(0.018, 0.028),
    "panel_m": uniform(0.08, 0.13),  # width of the control panel
    "hinge_side": either("left", "right"),  # as seen from the front
    "door_thickness_m": uniform(0.03, 0.04),
    "door_mass_kg": uniform(1.2, 2.4),
    "body_mass_kg": uniform(9.0, 14.0),
    "upper_limit_rad": uniform(1.6, 2.0),
    "limit_rad": derived(lambda p: p.upper_limit_rad),
    "handle_inset_m": uniform(0.028, 0.045),  # from the free edge of the door to the axis of the bar
    "handle_rise_m": uniform(-0.01, 0.02),  # of the bar's middle over the door's middle
    "friction_n_m": uniform(0.2, 1.0),
    "damping_n_m_s": uniform(0.05, 0.3),
    "colour": one_of(BODY_COLOURS),
    "handle_colour": one_of(HANDLE_COLOURS),
    "handle": bar(length=lambda p: (0.15, min(0.22, p.height_m - 0.06)), thickness=(0.012, 0.022), kind=FlushBar),
    "_away": derived(lambda p: 1.0 if p.hinge_side == "left" else -1.0),  # y from the hinge to the free edge
}
_MICROWAVE_INSIDE: Colour = (0.85, 0.85, 0.82, 1.0)
_MICROWAVE_DARK: Colour = (0.09, 0.09, 0.10, 1.0)
_MICROWAVE_DISPLAY: Colour = (0.10, 0.55, 0.45, 1.0)


def _microwave_doors(p: Drawn) -> list[Door]:
    """Returns the door. Its shapes are built as if the hinge were on the left, whichever side it is on."""
    away, t = p._away, p.door_thickness_m
    width = away * round(p.width_m - p.panel_m, 6)
    hold = (width - away * p.handle_inset_m, p.handle_rise_m)
    push = np.array([t, hold[0] - away * (p.handle.thickness_m / 2 + 0.065), 0.0])
    at = (p.depth_m / 2, -away * p.width_m / 2, p.height_m / 2)
    swing = door_frame(p.hinge_side)
    return [
        Door(FRONT, at, (0.0, width), p.height_m / 2, (0.0, t), hold, p.handle, p.handle_colour, p.colour, t,
             push=push, swing=swing)
    ]  # fmt: skip


def _add_microwave_body(body: LinkBuilder, p: Drawn) -> None:
    x0, x1, half, h, w, away = -p.depth_m / 2, p.depth_m / 2, p.width_m / 2, p.height_m, p.wall_m, p._away
    hinge, panel = -away * (half - w), away * (half - p.panel_m)  # y of the inner sides
    walls = {
        "floor": ((x0, -half, 0.0), (x1, half, w)),
        "ceiling": ((x0, -half, h - w), (x1, half, h)),
        "back": ((x0, -half, w), (x0 + w, half, h - w)),
        "side_hinge": ((x0 + w, -away * half, w), (x1, hinge, h - w)),
        "side_panel": ((x0 + w, panel, w), (x1, away * half, h - w)),
    }
    body.boxes(p.colour, walls)
    a0, a1, skin = x0 + w, x1 - 0.01, 0.0008
    b0, b1 = sorted((hinge, panel))
    lining = {
        "lining_floor": ((a0, b0, w), (a1, b1, w + skin)),
        "lining_ceiling": ((a0, b0, h - w - skin), (a1, b1, h - w)),
        "lining_back": ((a0, b0, w), (a0 + skin, b1, h - w)),
        "lining_low_y": ((a0, b0, w), (a1, b0 + skin, h - w)),
        "lining_high_y": ((a0, b1 - skin, w), (a1, b1, h - w)),
    }
    body.visual.boxes(_MICROWAVE_INSIDE, lining)
    middle, radius = ((a0 + x1) / 2, (b0 + b1) / 2, w + 0.006), 0.42 * min(b1 - b0, x1 - a0)
    body.visual.cylinder("turntable", middle, axis="z", radius=radius, length=0.006, rgba=TURNTABLE)
    _add_microwave_controls(body, p)


def _add_microwave_controls(body: LinkBuilder, p: Drawn) -> None:
    """Adds the control panel, which fills the front beside the door, so that door and panel are flush."""
    x1, h = p.depth_m / 2, p.height_m
    low, high = sorted((p._away * (p.width_m / 2 - p.panel_m) + p._away * 0.002, p._away * p.width_m / 2))
    front = x1 + p.door_thickness_m
    body.box("panel", (x1, low, 0.0), (front, high, h), rgba=p.colour)
    middle, half, skin = (low + high) / 2, (high - low) / 2 - 0.012, front + _SKIN_M
    body.visual.box("panel_face", (front, low + 0.006, 0.015), (skin, high - 0.006, h - 0.015), rgba=_MICROWAVE_DARK)
    lower, upper = (skin, middle - half, h - 0.065), (skin + 0.001, middle + half, h - 0.03)
    body.visual.box("display", lower, upper, rgba=_MICROWAVE_DISPLAY)
    for row in range(4):
        for column in (-1, 0, 1):
            y, z = middle + column * half * 0.68, h - 0.095 - row * 0.028
            lower, upper = (skin, y - half * 0.25, z - 0.009), (skin + 0.0015, y + half * 0.25, z + 0.009)
            body.visual.box(f"button_{row}_{column + 1}", lower, upper, rgba=(0.55, 0.56, 0.58, 1.0))
    dial = (skin + 0.005, middle, 0.055)
    body.visual.cylinder("dial", dial, axis="x", radius=0.018, length=0.01, rgba=p.handle_colour)


def _add_microwave_window(panel: PanelBuilder, p: Drawn, door: Door) -> None:
    away, width, half, t = p._away, door.span[1], door.half, p.door_thickness_m
    low, high = (away * 0.035, -half + 0.045, t), (width - away * 0.075, half - 0.045, t + 0.001)
    panel.visual.box("window", low, high, rgba=MICROWAVE_GLASS)
    low, high = (away * 0.03, -half + 0.03, -0.001), (width - away * 0.03, half - 0.03, 0.0)
    panel.visual.box("seal", low, high, rgba=_MICROWAVE_DARK)


def paint_case(assembly: Assembly, p: Drawn, doors: Sequence[Door]) -> None:
    """Gives an object the texture of its case."""
    assembly.set_texture(sheet_texture, p.colour)


MICROWAVE = BoxWithDoors(_microwave_doors, _add_microwave_body, _add_microwave_window, paint_case)
microwave = ObjectGenerator("microwave", _MICROWAVE, MICROWAVE, unrecorded=("handle_kind", "limit_rad"))

# Oven: the door is hinged below, the knobs are right of it or above it.

_OVEN = {
    "panel": either("above", "right", 0.35),  # where the knobs are
    "width_m": uniform(0.40, 0.55),
    "height_m": by("panel", {"above": uniform(0.32, 0.37), "right": uniform(0.26, 0.34)}),  # feet included
    "colour": one_of(APPLIANCES),
    "front_colour": lambda rng, p: p.colour if rng.random() < 0.5 else DARK,
    "depth_m": uniform(0.30, 0.42),  # of the body, without the door
    "wall_m": uniform(0.015, 0.022),
    "feet_m": uniform(0.012, 0.02),
    "sill_m": uniform(0.022, 0.034),  # height of the hinge over the feet
    "panel_m": by("panel", {"above": uniform(0.066, 0.078), "right": uniform(0.095, 0.12)}),  # its height or width
    "_most_knobs": derived(lambda p: 4 if p.panel == "above" else 3 if p.height_m > 0.28 else 2),
    "knobs": lambda rng, p: int(rng.integers(2, p._most_knobs + 1)),
    "door_thickness_m": uniform(0.02, 0.03),
    "most_open_rad": uniform(1.45, 1.57),
    "handle_inset_m": uniform(0.024, 0.034),  # from the door's upper edge to the bar
    "holding": uniform(HOLDING, 1.5),  # friction by the moment of gravity: a spring balances the door of a real oven
    "damping_n_m_s": uniform(0.05, 0.2),
    "door_density_kg_m3": uniform(700.0, 1000.0),
    "body_density_kg_m3": uniform(500.0, 800.0),
    "handle_colour": lambda rng, p: draw_contrast(rng, (CHROME, DARK), GLASS),
    "knob_colour": contrast((DARK, CHROME), "front_colour"),
    "_door_width_m": derived(lambda p: p.width_m if p.panel == "above" else p.width_m - p.panel_m),
    "handle": bar(length=lambda p: (0.12, p._door_width_m - 2 * PUSH_ROOM_M), thickness=(0.012, 0.020)),
    "knob": turning_knob(diameter=(0.032, 0.040)),
}
_CAVITY: Colour = (0.30, 0.30, 0.31, 1.0)


def _oven_doors(p: Drawn) -> list[Door]:
    half, low, t = p.width_m / 2, p.feet_m + p.sill_m, p.door_thickness_m
    y0, y1, high = -half, half, p.height_m - p.panel_m - _GAP_M
    if p.panel == "right":  # seen along -x, +y is to the right
        y1, high = half - p.panel_m - _GAP_M, p.height_m - 0.004
    height, at = high - low, (p.depth_m / 2, (y0 + y1) / 2, low)
    hold, half_y = (height - p.handle_inset_m, 0.0), (y1 - y0) / 2 - 0.001
    return [
        Door(FLAP_BELOW, at, (0.0, height), half_y, (_GAP_M, t), hold, p.handle, p.handle_colour, p.front_colour, t)
    ]


def _oven_knob_places(p: Drawn) -> list[tuple[float, float]]:
    """Returns (y, z) of the knobs [m]."""
    if p.panel == "above":
        reach = 0.68 * p.width_m / 2
        return [(float(y), p.height_m - p.panel_m / 2) for y in np.linspace(-reach, reach, p.knobs)]
    y = p.width_m / 2 - p.panel_m / 2
    low, high = p.feet_m + p.sill_m + 0.03, p.height_m - 0.05
    return [(y, float(z)) for z in np.linspace(high, low, p.knobs)]


def _add_oven_body(body: LinkBuilder, p: Drawn) -> None:
    x0, x1, half, h, z0 = -p.depth_m / 2, p.depth_m / 2, p.width_m / 2, p.height_m, p.feet_m + p.sill_m
    front = x1 + p.door_thickness_m
    add_feet(body, (x1, half), inset_m=0.03, height_m=p.feet_m, radius_m=0.014)
    body.box("bottom", (x0, -half, p.feet_m), (x1, half, z0 - 0.004), rgba=p.colour)
    if p.panel == "right":
        y1 = half - p.panel_m - _GAP_M
        cavity = Carcass((x0, -half, z0 - 0.004), (x1, y1, h), p.wall_m)
        controls, fascia = (x0, y1, z0 - 0.004), (x1, y1 + _GAP_M, p.feet_m)
    else:
        z1 = h - p.panel_m - _GAP_M + _GAP_M
        cavity = Carcass((x0, -half, z0 - 0.004), (x1, half, z1), p.wall_m)
        controls, fascia = (x0, -half, z1), (x1, -half, z1)
    cavity.build(body, rgba=p.colour, lining=_CAVITY)
    body.box("controls", controls, (x1, half, h), rgba=p.colour)
    body.box("fascia", fascia, (front, half, h), rgba=p.front_colour)
    (a0, b0, c0), (a1, b1, c1) = cavity.inner
    z = c0 + 0.4 * (c1 - c0)
    for number, y in enumerate(np.linspace(b0 + 0.02, b1 - 0.02, 9)):
        lower, upper = (a0 + 0.01, float(y) - 0.0015, z), (a1 - 0.02, float(y) + 0.0015, z + 0.003)
        body.visual.box(f"rack_{number}", lower, upper, rgba=WIRE)
    for number, x in enumerate((a0 + 0.02, a1 - 0.025)):
        body.visual.box(f"rail_{number}", (x, b0 + 0.002, z), (x + 0.005, b1 - 0.002, z + 0.005), rgba=WIRE)
    for number, (y, z) in enumerate(_oven_knob_places(p)):  # ticks from the left stop of a knob to its right one
        for tick, angle in enumerate(np.linspace(-2.3, 2.3, 7)):
            across, up = y + 0.029 * float(np.sin(angle)), z + 0.029 * float(np.cos(angle))
            lower, upper = (front, across - 0.0014, up - 0.0014), (front + 0.0006, across + 0.0014, up + 0.0014)
            body.visual.box(f"tick_{number}_{tick}", lower, upper, rgba=mark_colour(p.front_colour))


def _add_oven_window(panel: PanelBuilder, p: Drawn, door: Door) -> None:
    """Adds the window with the rack that is seen through it, and the inner side."""
    height, half, t = door.span[1], door.half, p.door_thickness_m
    low, high = 0.035, height - p.handle_inset_m - 0.024
    panel.visual.box("window", (low, -half + 0.035, t), (high, half - 0.035, t + 0.0008), rgba=GLASS)
    for number, share in enumerate((0.42, 0.5)):
        a = low + share * (high - low)
        lower, upper = (a, -half + 0.05, t + 0.0008), (a + 0.003, half - 0.05, t + 0.0012)
        panel.visual.box(f"seen_{number}", lower, upper, rgba=(0.33, 0.34, 0.35, 1.0))
    lower, upper = (0.012, -half + 0.012, _GAP_M - 0.001), (height - 0.012, half - 0.012, _GAP_M)
    panel.visual.box("inside", lower, upper, rgba=DARK)


def _add_oven_knobs(assembly: Assembly, p: Drawn, doors: Sequence[Door]) -> None:
    for number, (y, z) in enumerate(_oven_knob_places(p)):
        add_turning_knob(
            assembly,
            numbered("knob", number),
            p.knob,
            frame=FRONT,
            parent="body",
            at=(p.depth_m / 2 + p.door_thickness_m, y, z),
            edge=(p.depth_m / 2 - 0.05, 0.0, p.height_m),
            rgba=p.knob_colour,
            mark=mark_colour(p.knob_colour),
        )
    assembly.set_texture(sheet_texture, p.colour, p.front_colour)


OVEN = BoxWithDoors(_oven_doors, _add_oven_body, _add_oven_window, _add_oven_knobs)
oven = ObjectGenerator("oven", _OVEN, OVEN)

# Refrigerator: a second door above is that of the freezer.

_SEAL_M = 0.008
"""Gap between the body of a refrigerator and its doors, filled by the seal."""
_DOOR_GAP_M = 0.006
"""Gap between two doors."""
_REFRIGERATOR = {
    "height_m": uniform(0.48, 0.85),
    "doors": lambda rng, p: 2 if p.height_m > 0.62 and rng.random() < 0.6 else 1,
    "colour": one_of(APPLIANCES),
    "door_colour": lambda rng, p: p.colour if rng.random() < 0.75 else APPLIANCES[2],
    "width_m": uniform(0.44, 0.50),
    "depth_m": uniform(0.40, 0.47),  # of the body, without the doors
    "wall_m": uniform(0.035, 0.045),
    "feet_m": uniform(0.015, 0.03),
    "freezer_share": uniform(0.34, 0.42),  # share of the height that the upper of two doors has
    "hinge_side": either("left", "right"),
    "door_thickness_m": uniform(0.030, 0.038),
    "limit_rad": uniform(1.6, 2.1),
    "handle_inset_m": uniform(0.030, 0.045),  # from the free edge to the middle of the handle
    "friction_n_m": uniform(0.3, 1.2),
    "damping_n_m_s": uniform(0.1, 0.4),
    "door_density_kg_m3": uniform(250.0, 400.0),
    "body_density_kg_m3": uniform(300.0, 450.0),
    "shelves": whole(1, 3),
    "handle_colour": contrast((CHROME, DARK, BRASS), "door_colour"),
    "_upper_share": derived(lambda p: p.freezer_share if p.doors == 2 else 1.0),
    "handle": handle(
        {"bar": 0.7, "edge": 0.3},
        length=lambda p: (0.10, min(0.30, 0.7 * p._upper_share * p.height_m - 0.02)),
        thickness=(0.012, 0.022),
    ),
}


def _refrigerator_spans(p: Drawn) -> list[tuple[float, float]]:
    """Returns the lower and upper z of the doors, the largest first [m]."""
    low, high = p.feet_m + 0.004, p.height_m - 0.012
    if p.doors == 1:
        return [(low, high)]
    middle = high - p.freezer_share * (high - low)
    return [(low, middle - _DOOR_GAP_M / 2), (middle + _DOOR_GAP_M / 2, high)]


def _refrigerator_doors(p: Drawn) -> list[Door]:
    frame, width, t, doors = door_frame(p.hinge_side), p.width_m, p.door_thickness_m, []
    for number, (low, high) in enumerate(_refrigerator_spans(p)):
        half = (high - low) / 2
        # of two doors, the lower one is held high and the upper one low
        rise = 0.0 if p.doors == 1 else 0.25 * half * (-1.0 if number else 1.0)
        at = (p.depth_m / 2, -frame.across[1] * width / 2, (low + high) / 2)
        hold, out = (width - p.handle_inset_m, float(frame.along[2]) * rise), (_SEAL_M, _SEAL_M + t)
        doors.append(
            Door(frame, at, (0.0, width), half, out, hold, p.handle, p.handle_colour, p.door_colour, t,
                 numbered("door", number))
        )  # fmt: skip
    return doors


def _add_refrigerator_body(body: LinkBuilder, p: Drawn) -> None:
    x0, x1, half, h = -p.depth_m / 2, p.depth_m / 2, p.width_m / 2, p.height_m
    add_feet(body, (x1, half), inset_m=0.04, height_m=p.feet_m, radius_m=0.018)
    front = x1 + _SEAL_M + p.door_thickness_m
    body.box("top", (x0, -half, h - 0.010), (front, half, h), rgba=p.colour)
    ends = [span[0] for span in _refrigerator_spans(p)] + [h - 0.010]
    for number, (low, high) in enumerate(pairwise(ends)):
        room = Carcass((x0, -half, low - 0.004 * (number == 0)), (x1, half, high), p.wall_m)
        room.build(body, rgba=p.colour, lining=LINING)
        (a0, b0, c0), (a1, b1, c1) = room.inner
        for shelf in range(p.shelves if number == 0 else 0):
            z = c0 + (c1 - c0) * (shelf + 1) / (p.shelves + 1)
            body.box(f"shelf_{shelf}", (a0, b0, z), (a1 - 0.06, b1, z + 0.006), rgba=SHELF)


def _add_to_refrigerator_door(panel: PanelBuilder, p: Drawn, door: Door) -> None:
    """Adds the seal and the inner side; to the main door a badge and bins; to an edge that is held a pocket."""
    width, half, up, (_, face) = door.span[1], door.half, door.up, door.out
    panel.visual.border("seal", (0.014, width - 0.014), half - 0.014, width=0.02, out=(0.001, _SEAL_M), rgba=RUBBER)
    panel.visual.box("inside", (0.034, -half + 0.034, 0.002), (width - 0.034, half - 0.034, _SEAL_M), rgba=WHITE)
    is_main = door.name == "door"
    if is_main:
        low, high = (width * 0.12, up * (half - 0.050), face), (width * 0.12 + 0.09, up * (half - 0.036), face + 0.001)
        panel.visual.box("badge", low, high, rgba=CHROME if mark_colour(p.door_colour) == DARK else WHITE)
    if p.handle.kind == "edge":
        pocket, along = 0.35 * half, door.hold[1]
        low, high = (width - 0.028, along - pocket, face), (width - 0.004, along + pocket, face + 0.0008)
        panel.visual.box("pocket", low, high, rgba=DARK)
    for number in range(2 if is_main else 0):
        foot = up * (-half + 0.05 + number * 0.9 * half)
        panel.visual.box(f"bin_{number}", (0.06, foot, -0.045), (width - 0.06, foot + up * 0.07, 0.002), rgba=SHELF)


refrigerator = ObjectGenerator(
    "refrigerator",
    _REFRIGERATOR,
    BoxWithDoors(
        _refrigerator_doors,
        _add_refrigerator_body,
        _add_to_refrigerator_door,
        finish=lambda assembly, p, doors: assembly.set_texture(sheet_texture, p.colour, p.door_colour),
    ),
)

# Dishwasher: the door is hinged below, the controls are over it, a basket with plates is inside.

_TUB: Colour = (0.66, 0.68, 0.70, 1.0)
_TRIM: Colour = (0.52, 0.54, 0.56, 1.0)
_DISHWASHER = {
    "colour": one_of(APPLIANCES[:3]),
    "width_m": uniform(0.50, 0.56),
    "depth_m": uniform(0.40, 0.46),  # of the body, without the door
    "height_m": uniform(0.43, 0.48),
    "wall_m": uniform(0.025, 0.035),
    "sill_m": uniform(0.055, 0.075),  # height of the hinge, feet included
    "fascia_m": uniform(0.055, 0.070),  # height of the control strip over the door
    "door_thickness_m": uniform(0.028, 0.036),
    "most_open_rad": uniform(1.45, 1.57),
    "handle_inset_m": uniform(0.030, 0.042),
    "holding": uniform(HOLDING, 1.5),  # friction by the moment of gravity: springs balance a real door
    "damping_n_m_s": uniform(0.1, 0.4),
    "door_density_kg_m3": uniform(350.0, 550.0),
    "body_density_kg_m3": uniform(350.0, 500.0),
    "plates": whole(3, 8),
    "fascia_colour": lambda rng, p: DARK if rng.random() < 0.6 else p.colour,
    "handle_colour": contrast((CHROME, DARK, _TRIM), "colour"),
    "handle": handle(
        {"bar": 0.65, "edge": 0.35},
        length=lambda p: (0.18, p.width_m - 2 * PUSH_ROOM_M),
        thickness=(0.012, 0.020),
    ),
}


def _dishwasher_doors(p: Drawn) -> list[Door]:
    height, half, t = p.height_m - p.fascia_m - _GAP_M - p.sill_m, p.width_m / 2 - 0.001, p.door_thickness_m
    at, hold = (p.depth_m / 2, 0.0, p.sill_m), (height - p.handle_inset_m, 0.0)
    return [Door(FLAP_BELOW, at, (0.0, height), half, (_GAP_M, t), hold, p.handle, p.handle_colour, p.colour, t)]


def _add_dishwasher_body(body: LinkBuilder, p: Drawn) -> None:
    x0, x1, half, h = -p.depth_m / 2, p.depth_m / 2, p.width_m / 2, p.height_m
    feet, front, low = 0.018, x1 + p.door_thickness_m, h - p.fascia_m
    add_feet(body, (x1, half), inset_m=0.04, height_m=feet, radius_m=0.018)
    body.box("bottom", (x0, -half, feet), (x1, half, p.sill_m - 0.004), rgba=p.colour)
    tub = Carcass((x0, -half, p.sill_m - 0.004), (x1, half, low), p.wall_m)
    tub.build(body, rgba=p.colour, lining=_TUB)
    body.box("roof", (x0, -half, low), (x1, half, h), rgba=p.colour)
    body.box("fascia", (x1, -half, low), (front, half, h), rgba=p.fascia_colour)
    middle, skin, mark = low + p.fascia_m / 2, front + _SKIN_M, mark_colour(p.fascia_colour)
    body.visual.box("display", (front, -0.045, middle - 0.012), (skin, 0.045, middle + 0.012), rgba=DISPLAY)
    for number in range(5):
        centre = (front, 0.10 + 0.028 * number, middle)
        body.visual.cylinder(f"button_{number}", centre, axis="x", radius=0.007, length=0.004, rgba=mark)
    body.visual.box("name", (front, -half + 0.03, middle - 0.005), (skin, -half + 0.11, middle + 0.005), rgba=mark)
    _add_basket(body, tub, p.plates)


def _add_basket(body: LinkBuilder, tub: Carcass, plates: int) -> None:
    """Adds a visual basket of wire with plates."""
    (a0, b0, c0), (a1, b1, _) = tub.inner
    low, high, front = c0 + 0.03, c0 + 0.085, a1 - 0.03
    for number, z in enumerate((low, high)):
        body.visual.box(f"wire_{number}", (front, b0 + 0.02, z), (front + 0.004, b1 - 0.02, z + 0.004), rgba=WIRE)
    for number, place in enumerate(np.linspace(b0 + 0.02, b1 - 0.024, 11)):
        y = float(place)
        body.visual.box(f"post_{number}", (front, y, low), (front + 0.004, y + 0.004, high), rgba=WIRE)
        body.visual.box(f"floor_{number}", (a0 + 0.02, y, low), (front, y + 0.003, low + 0.003), rgba=WIRE)
    for number in range(plates):
        centre = ((a0 + front) / 2, b0 + 0.08 + (b1 - b0 - 0.16) * number / 7, low + 0.09)
        body.visual.cylinder(f"plate_{number}", centre, axis="y", radius=0.10, length=0.007, rgba=WHITE)


def _add_to_dishwasher_door(panel: PanelBuilder, p: Drawn, door: Door) -> None:
    """Adds the inner side with the soap box, and a strip along an edge that is held."""
    height, half, t = door.span[1], door.half, p.door_thickness_m
    panel.visual.box("inside", (0.02, -half + 0.03, _GAP_M - 0.001), (height - 0.02, half - 0.03, _GAP_M), rgba=_TUB)
    panel.visual.box("soap", (0.4 * height, -0.05, _GAP_M - 0.002), (0.62 * height, 0.03, _GAP_M - 0.001), rgba=_TRIM)
    if p.handle.kind == "edge":
        low, high = (height - 0.014, -half + 0.01, t), (height, half - 0.01, t + 0.0008)
        panel.visual.box("strip", low, high, rgba=p.handle_colour)


dishwasher = ObjectGenerator(
    "dishwasher",
    _DISHWASHER,
    BoxWithDoors(_dishwasher_doors, _add_dishwasher_body, _add_to_dishwasher_door, paint_case),
)

# Safe: a thick door, flush with the front, with a bar and a dial.

_TICKS = 20
_SAFE = {
    "height_m": uniform(0.24, 0.40),
    "width_m": uniform(0.33, 0.43),
    "depth_m": uniform(0.25, 0.36),
    "wall_m": uniform(0.022, 0.032),
    "hinge_side": either("left", "right", 0.6),
    "door_thickness_m": uniform(0.026, 0.036),
    "limit_rad": uniform(1.6, 2.0),
    "handle_inset_m": uniform(0.040, 0.055),
    "dial_share": uniform(0.36, 0.44),  # place of the dial between hinge and bar, as a share of the door's width
    "dial_rise_m": uniform(0.0, 0.03),
    "friction_n_m": uniform(0.4, 1.5),
    "damping_n_m_s": uniform(0.1, 0.5),
    "density_kg_m3": uniform(2200.0, 3500.0),
    "colour": one_of(PAINTS),
    "metal": one_of((CHROME, BRASS)),
    "handle": bar(length=lambda p: (0.11, min(0.16, p.height_m - 0.1)), thickness=(0.014, 0.022)),
    "dial": turning_knob(diameter=(0.048, 0.058), depth=(0.038, 0.046)),
}


def _safe_box(p: Drawn) -> Carcass:
    x1, half = p.depth_m / 2, p.width_m / 2
    return Carcass((-x1, -half, 0.0), (x1, half, p.height_m), p.wall_m)


def _safe_doors(p: Drawn) -> list[Door]:
    """Returns the door; without a bar, its edge is held, and it has a lever below the dial (`lever_drop_m`)."""
    inset_m = getattr(p, "handle_inset_m", 0.0)
    door = Door.inset(
        _safe_box(p),
        p,
        thickness_m=p.door_thickness_m,
        hold=lambda door: (door.span[1] - inset_m, 0.0),
        handle=p.handle,
        rgba=darker(p.colour, 1.12),
    )
    if not inset_m:
        return [replace(door, push=door.frame.at(0.55 * door.span[1], 0.0, door.out[1]))]
    along = door.frame.along
    push = p.handle.push_point(door.frame, door.place) - along * door.up * 0.32 * door.half * 2  # below the dial
    return [replace(door, push=push)]


def _add_safe_body(body: LinkBuilder, p: Drawn) -> None:
    _safe_box(p).build(body, rgba=p.colour, lining=darker(p.colour, 0.55))
    _safe_doors(p)[0].add_hinges(body)


def _dial_spot(p: Drawn, door: Door) -> tuple[float, float]:
    """Returns where the axis of the dial meets the door, across and along [m]."""
    return p.dial_share * door.span[1], door.up * p.dial_rise_m


def _add_to_safe_door(panel: PanelBuilder, p: Drawn, door: Door) -> None:
    (low, high), half, t = door.span, door.half, p.door_thickness_m
    panel.visual.box("lining", (low + 0.015, -half + 0.015, -t - 0.0008), (high - 0.015, half - 0.015, -t), rgba=DARK)
    span, groove = (low + 0.012, high - 0.012), darker(p.colour, 0.6)
    panel.visual.border("groove", span, half - 0.012, width=0.003, out=(0.0, 0.0006), rgba=groove)


def _add_dial_ring(panel: PanelBuilder, p: Drawn, door: Door) -> None:
    """Adds a dark ring with ticks around the dial, every fourth one longer."""
    spot, radius = _dial_spot(p, door), p.dial.diameter_m / 2 * 1.12
    panel.visual.cylinder("ring", (*spot, 0.0005), axis="out", radius=radius + 0.016, length=0.001, rgba=DARK)
    for number in range(_TICKS):
        angle, long = 2 * np.pi * number / _TICKS, number % 4 == 0
        middle, side = radius + (0.0075 if long else 0.006), 0.0030 if long else 0.0016
        across, along = spot[0] + middle * float(np.cos(angle)), spot[1] + middle * float(np.sin(angle))
        lower, upper = (across - side, along - side, 0.001), (across + side, along + side, 0.0030)
        panel.visual.box(f"tick_{number}", lower, upper, rgba=mark_colour(DARK))


def _add_safe_dial(assembly: Assembly, p: Drawn, doors: Sequence[Door]) -> None:
    door = doors[0]
    add_turning_knob(
        assembly,
        "knob",
        p.dial,
        frame=door.frame,
        parent="door",
        at=door.frame.at(*_dial_spot(p, door), 0.001).tolist(),
        edge=door.frame.at(sum(door.span) / 2, door.up * door.half, 0.0).tolist(),
        rgba=p.metal,
        mark=DARK,
        density_kg_m3=2700.0,
    )
    assembly.set_texture(TextureKind.hammered_metal, p.colour, darker(p.colour, 1.12), darker(p.colour, 0.55))


SAFE = BoxWithDoors(_safe_doors, _add_safe_body, _add_to_safe_door, _add_safe_dial, add_after_handle=_add_dial_ring)
safe = ObjectGenerator("safe", _SAFE, SAFE)
