"""Furniture and appliances as large as in a shop, for an arm on a stand: tables of smaller ones with other numbers.

Sizes come from catalogues and standards: fitted appliances are 60 cm wide and 82 to 87 cm high (EN 1116), refrigerators
150 to 186 cm high, room doors about 2 m (DIN 18101) with a lever 1.05 m over the floor, base units 72 cm high on a
plinth, wardrobes 60 cm deep.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from unlatch.objects.procedural.appliances import dishwasher, oven, refrigerator
from unlatch.objects.procedural.cabinets import build_chest, cabinet, drawer_cabinet
from unlatch.objects.procedural.colours import darker
from unlatch.objects.procedural.fittings import Carcass
from unlatch.objects.procedural.handles import PUSH_ROOM_M, bar, handle
from unlatch.objects.procedural.links import LinkBuilder
from unlatch.objects.procedural.openings import LATCHED_DOOR, latched_door
from unlatch.objects.procedural.parameters import Drawn, by, derived, either, palette, uniform, whole

_TALL_REFRIGERATOR = {
    "height_m": uniform(1.50, 1.86),
    "doors": either(2, 1, 0.6),
    "width_m": uniform(0.55, 0.60),
    "depth_m": uniform(0.52, 0.58),
    "wall_m": uniform(0.045, 0.055),
    "feet_m": uniform(0.02, 0.04),
    "freezer_share": uniform(0.28, 0.36),
    "door_thickness_m": uniform(0.045, 0.06),
    "limit_rad": uniform(1.7, 2.1),
    "friction_n_m": uniform(0.5, 1.5),
    "damping_n_m_s": uniform(0.2, 0.6),
    "door_density_kg_m3": uniform(180.0, 260.0),
    "body_density_kg_m3": uniform(200.0, 300.0),
    "shelves": whole(3, 5),
    "handle": handle({"bar": 0.7, "edge": 0.3}, length=(0.28, 0.42), thickness=(0.014, 0.024)),
}
tall_refrigerator = refrigerator.variant("tall_refrigerator", _TALL_REFRIGERATOR)

_KITCHEN_DISHWASHER = {
    "width_m": uniform(0.595, 0.60),
    "depth_m": uniform(0.53, 0.57),
    "height_m": uniform(0.82, 0.87),
    "sill_m": uniform(0.11, 0.14),
    "fascia_m": uniform(0.09, 0.11),
    "door_thickness_m": uniform(0.04, 0.05),
    "damping_n_m_s": uniform(0.5, 1.5),
    "door_density_kg_m3": uniform(280.0, 400.0),
    "body_density_kg_m3": uniform(250.0, 350.0),
    "plates": whole(5, 9),
    "handle": handle(
        {"bar": 0.65, "edge": 0.35},
        length=lambda p: (0.24, p.width_m - 2 * PUSH_ROOM_M),
        thickness=(0.014, 0.022),
    ),
}
kitchen_dishwasher = dishwasher.variant("kitchen_dishwasher", _KITCHEN_DISHWASHER)

_KITCHEN_OVEN = {
    "panel": "above",
    "width_m": uniform(0.50, 0.60),
    "height_m": uniform(0.85, 0.90),
    "depth_m": uniform(0.53, 0.58),
    "wall_m": uniform(0.035, 0.05),
    "feet_m": uniform(0.02, 0.03),
    "sill_m": uniform(0.16, 0.22),
    "panel_m": uniform(0.11, 0.13),
    "_most_knobs": 5,
    "door_thickness_m": uniform(0.035, 0.045),
    "damping_n_m_s": uniform(0.4, 1.0),
    "door_density_kg_m3": uniform(450.0, 600.0),
    "body_density_kg_m3": uniform(250.0, 350.0),
    "handle": bar(length=lambda p: (0.24, p._door_width_m - 2 * PUSH_ROOM_M), thickness=(0.014, 0.022)),
}
kitchen_oven = oven.variant("kitchen_oven", _KITCHEN_OVEN)

_KITCHEN_CABINET = {
    "height_m": uniform(0.84, 0.92),
    "width_m": by("doors", {1: uniform(0.40, 0.60), 2: uniform(0.60, 0.90)}),
    "depth_m": uniform(0.52, 0.58),
    "feet_m": uniform(0.10, 0.15),
    "foot_style": "plinth",
    "handle_rise_m": uniform(0.08, 0.15),
    "friction_n_m": uniform(0.3, 1.0),
    "damping_n_m_s": uniform(0.1, 0.5),
    "shelves": whole(1, 3),
    "handle": handle({"bar": 0.6, "knob": 0.2, "edge": 0.2}, length=(0.12, 0.24)),
}
kitchen_cabinet = cabinet.variant("kitchen_cabinet", _KITCHEN_CABINET)

_WARDROBE = {
    "count": whole(1, 3),
    "width_m": uniform(0.80, 1.00),
    "travel_m": uniform(0.35, 0.42),
    "feet_m": uniform(0.06, 0.10),
    "foot_style": "plinth",
    "front_height_m": uniform(0.18, 0.24),
    "friction_n": uniform(3.0, 9.0),
    "damping_n_s_m": uniform(2.0, 8.0),
    "handle": handle({"bar": 0.7, "knob": 0.3}, length=(0.14, 0.30)),
    "upper_m": uniform(1.35, 1.50),  # height of the doors above the drawers
}


def _add_doors_above(body: LinkBuilder, p: Drawn, height: float) -> None:
    """Adds the upper part of a wardrobe, with two doors that stay closed."""
    x0, x1, half = -p.depth_m / 2, p.depth_m / 2, p.width_m / 2
    box = Carcass((x0, -half, height), (x1, half, height + p.upper_m), p.wall_m, back_m=0.01)
    box.build(body, rgba=p.colour)
    front, gap = x1 + 0.003 + p.front_thickness_m, 0.003
    for number, (low, high) in enumerate(((-half, -gap / 2), (gap / 2, half))):
        lower, upper = (x1, low, height + gap), (front, high, height + p.upper_m - 0.02)
        body.box(f"upper_door_{number}", lower, upper, rgba=p.front_colour)
        middle, y = height + 0.45 * p.upper_m, (-0.035 if number == 0 else 0.035)
        lower, upper = (front, y - 0.006, middle - 0.12), (front + 0.03, y + 0.006, middle + 0.12)
        body.visual.box(f"upper_handle_{number}", lower, upper, rgba=p.handle_colour)


wardrobe = drawer_cabinet.variant("wardrobe", _WARDROBE, partial(build_chest, add_above=_add_doors_above))

_WALLS = palette("90 88 84", "80 82 82")
_ROOM_DOOR = {
    "width_m": uniform(0.84, 0.98),
    "height_m": uniform(2.00, 2.10),
    "depth_m": uniform(0.10, 0.14),
    "frame_m": uniform(0.04, 0.06),
    "leaf_m": uniform(0.036, 0.040),
    "backset_m": uniform(0.055, 0.065),
    "lever_rise_m": uniform(-0.02, 0.06),
    "lever_m": uniform(0.115, 0.14),
    # an arm yields by 0.1 rad of the lever to its spring: the bolt is free well before the lever's stop
    "lever_range_rad": uniform(0.70, 0.90),
    "free_share": uniform(0.50, 0.65),
    "panels": whole(0, 4),
    "friction_n_m": uniform(0.5, 1.5),
    "damping_n_m_s": uniform(0.3, 0.8),
    "density_kg_m3": uniform(280.0, 400.0),
    "wall_colour": derived(lambda p: _WALLS[0] if p.colour[0] < 0.8 else _WALLS[1]),
    "beside_m": uniform(0.25, 0.45),  # of wall, on either side
    "threshold_m": 0.012,
}
_WALL_TOP_M = 0.35


def _add_frame_in_wall(body: LinkBuilder, p: Drawn) -> None:
    """Adds the frame of a door, and the wall around it."""
    LATCHED_DOOR.add_body(body, p)
    x, half, out = p.depth_m / 2 - 0.012, p.width_m / 2, p.width_m / 2 + p.beside_m
    for number, (low, high) in enumerate(((-out, -half), (half, out))):
        body.box(f"wall_{number}", (-x, low, 0.0), (x, high, p.height_m + _WALL_TOP_M), rgba=p.wall_colour)
    top = p.height_m + _WALL_TOP_M
    body.box("wall_above", (-x, -half, p.height_m), (x, half, top), rgba=p.wall_colour)
    for number, (low, high) in enumerate(((-out, -half), (half, out))):
        for side, (a, b) in {"front": (x, x + 0.012), "behind": (-x - 0.012, -x)}.items():
            skirting = (a, low, 0.0), (b, high, 0.08)
            body.visual.box(f"skirting_{side}_{number}", *skirting, rgba=darker(p.wall_colour, 1.05))


room_door = latched_door.variant("room_door", _ROOM_DOOR, replace(LATCHED_DOOR, add_body=_add_frame_in_wall))
