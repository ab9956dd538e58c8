"""A small front loader: a round door with a porthole, hinged at its side, before a drum.

Sizes come from catalogues of compact front loaders for 3 to 4 kg: 48 to 52 cm wide, 62 to 70 cm high, 40 to 50 cm deep,
doors of 30 to 34 cm. The door of a machine of the usual size, 60 cm wide and 85 cm high, is at the limit of the reach
of an arm on a table.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unlatch.objects.procedural.appliances import paint_case
from unlatch.objects.procedural.assembly import ObjectGenerator
from unlatch.objects.procedural.colours import (
    APPLIANCES,
    CHROME,
    DARK,
    DISPLAY,
    GLASS,
    RUBBER,
    WHITE,
    contrast,
    darker,
    mark_colour,
)
from unlatch.objects.procedural.doors import BoxWithDoors, Door
from unlatch.objects.procedural.fittings import Carcass, add_feet, add_ring_wall
from unlatch.objects.procedural.handles import handle
from unlatch.objects.procedural.links import LinkBuilder, PanelBuilder, door_frame
from unlatch.objects.procedural.parameters import Colour, Drawn, derived, either, one_of, uniform
from unlatch.simcore.geometry import Pose

_GAP_M = 0.004
_OFFSET_M = 0.024
"""Distance from the hinge to the door's edge: enough for the edge to turn clear of the front."""
_FRONT_M = 0.02
"""Thickness of the front."""
_STAVES = 28
_FASCIA_M = 0.012
_STEEL: Colour = (0.62, 0.64, 0.66, 1.0)
_R_LINK_RING = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
"""Rotation of a ring about x."""
_TABLE = {
    "colour": one_of(APPLIANCES[:4]),
    "ring_colour": contrast((CHROME, DARK, WHITE), "colour"),
    "width_m": uniform(0.48, 0.52),
    "depth_m": uniform(0.40, 0.50),  # of the body, without the door
    "height_m": uniform(0.62, 0.70),
    "feet_m": uniform(0.012, 0.02),
    "panel_m": uniform(0.095, 0.115),  # height of the control panel
    "skirt_m": uniform(0.06, 0.08),  # height of the strip below the door
    "door_radius_m": uniform(0.152, 0.170),
    "rim_m": uniform(0.040, 0.048),  # radius of the door minus that of the opening
    "door_thickness_m": uniform(0.026, 0.034),
    "bowl_m": uniform(0.03, 0.05),  # how far the glass reaches into the drum
    "hinge_side": either("left", "right", 0.7),
    "limit_rad": uniform(1.6, 1.95),
    "handle_inset_m": uniform(0.024, 0.028),
    "friction_n_m": uniform(0.3, 1.2),
    "damping_n_m_s": uniform(0.05, 0.3),
    "door_density_kg_m3": uniform(600.0, 900.0),
    "body_density_kg_m3": uniform(1200.0, 1800.0),
    "panel_colour": lambda rng, p: DARK if rng.random() < 0.35 else p.colour,
    "handle_colour": contrast((CHROME, DARK, WHITE), "ring_colour"),
    "handle": handle({"bar": 0.55, "edge": 0.45}, length=(0.085, 0.115), thickness=(0.012, 0.018)),
    "_opening_m": derived(lambda p: p.door_radius_m - p.rim_m),  # radius of the opening
    "_door_z_m": derived(lambda p: (p.height_m - p.panel_m + p.feet_m + p.skirt_m) / 2),  # height of the door's middle
    "_away": derived(lambda p: 1.0 if p.hinge_side == "left" else -1.0),  # y from the hinge to the free edge
    "_hinge_y_m": derived(lambda p: -p._away * (p.door_radius_m + _OFFSET_M)),
}


def _doors(p: Drawn) -> list[Door]:
    r, t, edge = p.door_radius_m, p.door_thickness_m, _OFFSET_M + 2 * p.door_radius_m
    at, hold = (p.depth_m / 2, p._hinge_y_m, p._door_z_m), (edge - p.handle_inset_m, 0.0)
    door = Door(
        door_frame(p.hinge_side),
        at,
        span=(_OFFSET_M, edge),
        half=r,
        out=(_GAP_M, _GAP_M + t),
        hold=hold,
        handle=p.handle,
        handle_rgba=p.handle_colour,
        rgba=p.ring_colour,
        thickness_m=t,
        edge_length_m=0.4 * r,
        has_slab=False,
    )
    place = door.place._replace(face=door.out[1] + 0.003)
    return [replace(door, push=p.handle.push_point(door.frame, place))]


def _add_body(body: LinkBuilder, p: Drawn) -> None:
    _add_casing(body, p)
    _add_drum(body, p)
    _add_panel(body, p)
    x = p.depth_m / 2
    for number, sign in enumerate((-1.0, 1.0)):
        centre = (x + 0.004, p._hinge_y_m, p._door_z_m + sign * 0.02)
        body.visual.cylinder(f"hinge_{number}", centre, axis="z", radius=0.006, length=0.03, rgba=_STEEL)
    if p.handle.kind == "edge":  # a hollow in the front, for the fingers
        y = p._away * (p.door_radius_m - 0.012)
        lower, upper = (x, y, p._door_z_m - 0.045), (x + 0.0008, y + p._away * 0.034, p._door_z_m + 0.045)
        body.visual.box("hollow", lower, upper, rgba=darker(p.colour, 0.45))


def _add_casing(body: LinkBuilder, p: Drawn) -> None:
    """Adds a hollow box whose front has a round opening."""
    x0, x1, half, h = -p.depth_m / 2, p.depth_m / 2, p.width_m / 2, p.height_m
    add_feet(body, (x1, half), inset_m=0.05, height_m=p.feet_m, radius_m=0.02)
    inner = x1 - _FRONT_M
    Carcass((x0, -half, p.feet_m), (inner, half, h), 0.012).build(body, rgba=p.colour)
    # a square hole, whose corners the staves of the ring fill
    side, z = p._opening_m + 0.012, p._door_z_m
    boards = {
        "front_below": ((inner, -half, p.feet_m), (x1, half, z - side)),
        "front_above": ((inner, -half, z + side), (x1, half, h)),
        "front_low_y": ((inner, -half, z - side), (x1, -side, z + side)),
        "front_high_y": ((inner, side, z - side), (x1, half, z + side)),
    }
    body.boxes(p.colour, boards)
    corner = side * float(np.sqrt(2.0)) + 0.002
    _add_ring(body, p, "front_ring", corner, corner - p._opening_m, (-_FRONT_M, 0.0), p.colour)
    low, high = (x1, -half + 0.004, p.feet_m + 0.004), (x1 + 0.003, half - 0.004, p.feet_m + p.skirt_m - 0.008)
    body.box("skirt", low, high, rgba=darker(p.colour, 0.9))
    low = (x1 + 0.003, half - 0.12, p.feet_m + 0.014)
    high = (x1 + 0.0045, half - 0.03, p.feet_m + p.skirt_m - 0.018)
    body.visual.box("filter", low, high, rgba=darker(p.colour, 0.8))


def _add_ring(
    body: LinkBuilder, p: Drawn, name: str, radius_m: float, wall_m: float, span: tuple[float, float], rgba: Colour
) -> None:
    """Adds a ring of staves about the axis of the opening; `span` is along x, from the front [m]."""
    ring = Pose(_R_LINK_RING, np.array([p.depth_m / 2, 0.0, p._door_z_m]))
    add_ring_wall(body, name, radius_m=radius_m, wall_m=wall_m, height=span, rgba=rgba, count=_STAVES, T_link_ring=ring)


def _add_drum(body: LinkBuilder, p: Drawn) -> None:
    """Adds the visual seal around the opening and a steel drum behind it."""
    x1, z, radius, deep = p.depth_m / 2, p._door_z_m, p._opening_m, 0.75 * p.depth_m
    _add_ring(body.visual, p, "seal", radius + 0.006, 0.016, (-0.05, 0.0015), RUBBER)
    _add_ring(body.visual, p, "drum", radius + 0.05, 0.003, (-deep, -0.055), _STEEL)
    _add_ring(body.visual, p, "drum_front", radius + 0.05, 0.055, (-0.06, -0.05), darker(_STEEL, 0.8))
    for name, x, wide, length, shade in (
        ("drum_back", x1 - deep, radius + 0.052, 0.004, 0.85),
        ("drum_hub", x1 - deep + 0.006, 0.05, 0.012, 0.7),
    ):
        body.visual.cylinder(name, (x, 0.0, z), axis="x", radius=wide, length=length, rgba=darker(_STEEL, shade))


def _add_panel(body: LinkBuilder, p: Drawn) -> None:
    """Adds a strip above with the drawer for powder, a dial, a display and buttons."""
    x, half, h = p.depth_m / 2, p.width_m / 2, p.height_m
    low, front, skin = h - p.panel_m, x + _FASCIA_M, 0.001
    body.box("fascia", (x, -half, low), (front, half, h), rgba=p.panel_colour)
    middle, mark, groove = (low + h) / 2, mark_colour(p.panel_colour), darker(p.panel_colour, 0.6)
    # seen along -x, +y is to the right: the drawer is on the left
    a, b = -half + 0.012, -half + 0.15
    body.visual.box("powder", (front, a, low + 0.014), (front + skin, b, h - 0.014), rgba=groove)
    lower, upper = (front, a + 0.003, low + 0.017), (front + 2 * skin, b - 0.003, h - 0.017)
    body.visual.box("powder_face", lower, upper, rgba=p.panel_colour)
    lower, upper = (front, a + 0.03, low + 0.02), (front + 3 * skin, b - 0.03, low + 0.034)
    body.visual.box("powder_grip", lower, upper, rgba=groove)
    dial = (front + 0.009, 0.0, middle)
    body.visual.cylinder("dial", dial, axis="x", radius=0.026, length=0.018, rgba=p.ring_colour)
    lower, upper = (front + 0.018, -0.0015, middle + 0.006), (front + 0.018 + skin, 0.0015, middle + 0.024)
    body.visual.box("pointer", lower, upper, rgba=mark_colour(p.ring_colour))
    for number, angle in enumerate(np.linspace(-2.4, 2.4, 11)):
        y, z = 0.036 * float(np.sin(angle)), middle + 0.036 * float(np.cos(angle))
        lower, upper = (front, y - 0.0014, z - 0.0014), (front + skin, y + 0.0014, z + 0.0014)
        body.visual.box(f"tick_{number}", lower, upper, rgba=mark)
    body.visual.box("display_ground", (front, 0.06, middle - 0.016), (front + skin, 0.135, middle + 0.018), rgba=GLASS)
    lower, upper = (front + skin, 0.07, middle - 0.008), (front + 2 * skin, 0.112, middle + 0.010)
    body.visual.box("display", lower, upper, rgba=DISPLAY)
    for number in range(3):
        button = (front + 0.001, 0.158 + 0.026 * number, middle)
        body.visual.cylinder(f"button_{number}", button, axis="x", radius=0.008, length=0.004, rgba=mark)


def _add_to_door(panel: PanelBuilder, p: Drawn, door: Door) -> None:
    """Adds the ring, the glass with its lip and its bowl, and the arm of the hinge."""
    r, t, face = p.door_radius_m, p.door_thickness_m, door.out[1]
    middle, glass = _OFFSET_M + r, p._opening_m - 0.008
    panel.cylinder("ring", (middle, 0, _GAP_M + t / 2), axis="out", radius=r, length=t, rgba=p.ring_colour)
    for number, (share, rise) in enumerate(((1.0, 0.003), (0.82, 0.006), (0.58, 0.008))):
        centre, rgba = (middle, 0, face + rise / 2), darker(GLASS, 1.0 + 0.5 * number)
        panel.cylinder(f"glass_{number}", centre, axis="out", radius=glass * share, length=rise, rgba=rgba)
    lip = darker(p.ring_colour, 0.7)
    panel.cylinder("lip", (middle, 0, face), axis="out", radius=glass + 0.008, length=0.003, rgba=lip)
    for number, (radius, depth) in enumerate(((p._opening_m - 0.026, 0.5), (p._opening_m - 0.04, 1.0))):
        low = -depth * p.bowl_m
        centre = (middle, 0, (low + _GAP_M) / 2)
        panel.cylinder(f"bowl_{number}", centre, axis="out", radius=radius, length=_GAP_M - low, rgba=GLASS)
    panel.visual.box("arm", (-0.004, -0.03, _GAP_M), (_OFFSET_M + 0.02, 0.03, _GAP_M + 0.010), rgba=_STEEL)


washing_machine = ObjectGenerator("washing_machine", _TABLE, BoxWithDoors(_doors, _add_body, _add_to_door, paint_case))
