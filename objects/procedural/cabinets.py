"""Furniture of boards: a cabinet with doors, and chests of drawers large and small.

Sizes come from catalogues of nightstands, bathroom and desk units: 34 to 60 cm wide, 25 to 45 cm deep, boards of 15 to
20 mm, drawers that come out by 20 to 30 cm; a chest for a desk is 18 to 26 cm wide and comes out by 8 to 13 cm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from unlatch.objects.procedural.assembly import Assembly, ObjectGenerator, slide_motion
from unlatch.objects.procedural.colours import HANDLE_COLOURS, WOODS, board_texture, contrast, darker
from unlatch.objects.procedural.doors import BoxWithDoors, Door, numbered
from unlatch.objects.procedural.fittings import Carcass, add_base
from unlatch.objects.procedural.handles import HandlePlace, handle
from unlatch.objects.procedural.links import DRAWER_FRONT, LinkBuilder, PanelBuilder, X, door_frame
from unlatch.objects.procedural.parameters import (
    Colour,
    Drawn,
    by,
    derived,
    draw_uniform,
    either,
    one_of,
    uniform,
    whole,
)

_INSIDE: Colour = (0.88, 0.83, 0.74, 1.0)
_GAP_M = 0.003

# A low cabinet with one or two doors on vertical hinges.

_CABINET = {
    "doors": either(1, 2, 0.45),
    "height_m": uniform(0.38, 0.62),  # feet included
    "_wood": one_of(WOODS),
    "door_thickness_m": uniform(0.016, 0.022),
    "width_m": by("doors", {1: uniform(0.34, 0.45), 2: uniform(0.46, 0.60)}),
    "depth_m": uniform(0.25, 0.38),  # of the carcass, without the doors
    "wall_m": uniform(0.015, 0.020),
    "feet_m": uniform(0.03, 0.10),
    "foot_style": either("legs", "plinth"),
    "hinge_side": either("left", "right"),  # of a single door
    "front": either("framed", "plain"),  # `framed` by a raised border
    "limit_rad": uniform(1.6, 2.2),
    "handle_inset_m": uniform(0.026, 0.038),
    "handle_rise_m": uniform(0.0, 0.08),  # of the handle over the middle of the door
    "friction_n_m": uniform(0.2, 0.8),
    "damping_n_m_s": uniform(0.05, 0.25),
    "density_kg_m3": uniform(550.0, 750.0),
    "shelves": whole(0, 3),
    "colour": derived(lambda p: p._wood[0]),
    "front_colour": derived(lambda p: p._wood[1]),
    "handle_colour": contrast(HANDLE_COLOURS, "front_colour"),
    "handle": handle({"bar": 0.5, "knob": 0.3, "edge": 0.2}, length=lambda p: (0.10, min(0.20, 0.4 * p.height_m))),
}


def _cabinet_doors(p: Drawn) -> list[Door]:
    low, high, t = p.feet_m + _GAP_M / 2, p.height_m - 0.018 - _GAP_M, p.door_thickness_m
    width, half, doors = p.width_m / p.doors - _GAP_M / 2, (high - low) / 2, []
    for number, side in enumerate([p.hinge_side] if p.doors == 1 else ["right", "left"]):
        frame = door_frame(side)
        at = (p.depth_m / 2, -frame.across[1] * p.width_m / 2, (low + high) / 2)
        hold = (width - p.handle_inset_m, float(frame.along[2]) * min(p.handle_rise_m, 0.4 * half))
        doors.append(
            Door(frame, at, (0.0, width), half, (_GAP_M, _GAP_M + t), hold, p.handle, p.handle_colour,
                 p.front_colour, t, numbered("door", number))
        )  # fmt: skip
    return doors


def _add_cabinet_body(body: LinkBuilder, p: Drawn) -> None:
    x0, x1, half, top = -p.depth_m / 2, p.depth_m / 2, p.width_m / 2, p.height_m - 0.018
    add_base(body, p.foot_style, (x1, half), height_m=p.feet_m, rgba=p.colour)
    room = Carcass((x0, -half, p.feet_m), (x1, half, top), p.wall_m, back_m=0.010)
    room.build(body, rgba=p.colour, lining=_INSIDE)
    front = x1 + _GAP_M + p.door_thickness_m + 0.006
    body.box("top", (x0, -half - 0.006, top), (front, half + 0.006, p.height_m), rgba=p.colour)
    (a0, b0, c0), (a1, b1, c1) = room.inner
    for shelf in range(p.shelves):
        z = c0 + (c1 - c0) * (shelf + 1) / (p.shelves + 1)
        body.box(f"shelf_{shelf}", (a0, b0, z), (a1 - 0.03, b1, z + 0.014), rgba=_INSIDE)


def _add_border(panel: PanelBuilder, p: Drawn, door: Door) -> None:
    if p.front == "framed":
        width, half, (_, face) = door.span[1], door.half, door.out
        lower, upper = (0.055, -half + 0.055, face), (width - 0.055, half - 0.055, face + 0.0006)
        panel.visual.box("field", lower, upper, rgba=darker(p.front_colour, 0.88))
        bead = (face, face + 0.003)
        panel.visual.border("bead", (0.05, width - 0.05), half - 0.05, width=0.006, out=bead, rgba=p.front_colour)


def _paint_cabinet(assembly: Assembly, p: Drawn, doors: Sequence[Door]) -> None:
    shades = (darker(p.colour), darker(p.front_colour, 0.9))
    assembly.set_texture(board_texture, p.colour, p.front_colour, _INSIDE, *shades)


CABINET = BoxWithDoors(_cabinet_doors, _add_cabinet_body, _add_border, _paint_cabinet)
cabinet = ObjectGenerator("cabinet", _CABINET, CABINET)

# A chest with one to four drawers over one another, each of which can be opened. The uppermost one is `drawer`.

_BOARD_M = 0.010
_DRAWER_CABINET = {
    "count": whole(1, 5),
    "width_m": uniform(0.34, 0.50),
    "_wood": one_of(WOODS),
    "travel_m": uniform(0.20, 0.30),
    "depth_m": lambda rng, p: round(p.travel_m + draw_uniform(rng, 0.10, 0.15), 4),  # of the carcass
    "feet_m": uniform(0.05, 0.12),
    "foot_style": either("legs", "plinth"),
    # of each front, gap included
    "front_height_m": lambda rng, p: draw_uniform(rng, *((0.13, 0.19) if p.count < 3 else (0.115, 0.15))),
    "wall_m": uniform(0.015, 0.020),
    "front_thickness_m": uniform(0.016, 0.022),
    "friction_n": uniform(1.0, 5.0),
    "damping_n_s_m": uniform(0.5, 4.0),
    "density_kg_m3": uniform(500.0, 700.0),
    "colour": derived(lambda p: p._wood[0]),
    "front_colour": derived(lambda p: p._wood[1]),
    "handle_colour": contrast(HANDLE_COLOURS, "front_colour"),
    "handle": handle(
        {"bar": 0.45, "knob": 0.2, "cup": 0.2, "edge": 0.15}, length=lambda p: (0.10, min(0.22, p.width_m - 0.22))
    ),
}
_DESK_DRAWERS = {
    "_wood": one_of(WOODS),
    "width_m": uniform(0.18, 0.26),
    "travel_m": uniform(0.08, 0.13),
    "depth_m": lambda rng, p: round(p.travel_m + draw_uniform(rng, 0.07, 0.08), 4),
    "feet_m": uniform(0.006, 0.015),
    "foot_style": either("legs", "plinth"),
    "count": whole(1, 4),
    "front_height_m": uniform(0.07, 0.10),
    "wall_m": uniform(0.008, 0.012),
    "front_thickness_m": uniform(0.008, 0.012),
    "friction_n": uniform(1.0, 2.5),
    "damping_n_s_m": uniform(0.5, 2.0),
    "density_kg_m3": uniform(500.0, 700.0),
    "colour": derived(lambda p: p._wood[0]),
    "front_colour": derived(lambda p: p._wood[1]),
    "handle_colour": contrast(HANDLE_COLOURS, "front_colour"),
    "handle": handle({"bar": 0.5, "knob": 0.5}, length=lambda p: (0.06, min(0.10, p.width_m - 0.10))),
}


def build_chest(
    assembly: Assembly, p: Drawn, *, add_above: Callable[[LinkBuilder, Drawn, float], None] | None = None
) -> None:
    """Builds a chest. A drawer's frame lies at the middle of the back of its front panel.

    `add_above` adds to the body what stands on the chest, from its height on [m].
    """
    x0, x1, half = -p.depth_m / 2, p.depth_m / 2, p.width_m / 2
    height = round(p.feet_m + p.count * p.front_height_m + 2 * p.wall_m, 6)
    body = LinkBuilder("body")
    add_base(body, p.foot_style, (x1, half), height_m=p.feet_m, rgba=p.colour)
    box = Carcass((x0, -half, p.feet_m), (x1, half, height - p.wall_m), p.wall_m, back_m=_BOARD_M)
    box.build(body, rgba=p.colour)
    front = x1 + _GAP_M + p.front_thickness_m + 0.006
    body.box("top", (x0, -half - 0.006, height - p.wall_m), (front, half + 0.006, height), rgba=p.colour)
    if add_above is not None:
        add_above(body, p, height)
    assembly.add_body(body, mass_kg=body.mass_kg(p.density_kg_m3, digits=3), edge=(x1 - 0.05, 0.0, height))
    for number in range(p.count):
        z = height - 2 * p.wall_m - (number + 0.5) * p.front_height_m
        _add_chest_drawer(assembly, numbered("drawer", number), (x1, 0.0, z), p)
    shades = (darker(p.colour), darker(p.colour, 0.6))
    assembly.set_texture(board_texture, p.colour, p.front_colour, _INSIDE, *shades)


def _add_chest_drawer(assembly: Assembly, label: str, at: tuple[float, float, float], p: Drawn) -> None:
    drawer = PanelBuilder(label, DRAWER_FRONT)
    face = _GAP_M + p.front_thickness_m
    half_w, half_h = p.width_m / 2 - _GAP_M / 2, p.front_height_m / 2 - _GAP_M / 2
    drawer.box("front", (-half_h, -half_w, _GAP_M), (half_h, half_w, face), rgba=p.front_colour)
    half, back, b = p.width_m / 2 - p.wall_m - 0.008, -(p.depth_m - _BOARD_M - 0.012), _BOARD_M
    top, low = -half_h + 0.022, half_h - 0.026  # across runs down
    tray = {
        "floor": ((low - 0.008, -half, back), (low, half, _GAP_M)),
        "side_0": ((top, -half, back), (low - 0.008, -half + b, _GAP_M)),
        "side_1": ((top, half - b, back), (low - 0.008, half, _GAP_M)),
        "back": ((top, -half + b, back), (low - 0.008, half - b, back + b)),
    }
    drawer.boxes(_INSIDE, tray)
    place = HandlePlace((0.0, 0.0), face, edge=-half_h, thickness=p.front_thickness_m, length=2 * half_w)
    if p.handle.kind == "edge":
        push = DRAWER_FRONT.at(0.016, 0.0, face)  # below the middle: the upper edge is held
    else:
        # farther from the handle than half a hand's thickness: a hand is wider than its fingers are long
        push = DRAWER_FRONT.at(0.0, min(p.handle.extents_m[2] / 2 + 0.06, half_w - 0.025), face)
    motion = slide_motion(at, X, p, opens=p.travel_m)
    assembly.add_panel(drawer, motion, p.handle, place, rgba=p.handle_colour, density_kg_m3=p.density_kg_m3, push=push)


drawer_cabinet = ObjectGenerator("drawer_cabinet", _DRAWER_CABINET, build_chest)
desk_drawers = ObjectGenerator("desk_drawers", _DESK_DRAWERS, build_chest)
