"""A children's toilet with a lid that is hinged behind. Its tank is visible or hidden in a wall.

The seat is at about 26 cm, as recommended for day nurseries up to the age of three. Widths and depths come from
catalogues of training toilets, 26 to 29 cm by 33 to 51 cm. The lid of a toilet for adults, 42 cm off the ground, opens
up to 85 cm: an arm on the same ground opens it half way at most.
"""

from __future__ import annotations

import numpy as np

from unlatch.objects.procedural.assembly import HOLDING, Assembly, ObjectGenerator, lid_motion
from unlatch.objects.procedural.colours import CHROME, DARK, RUBBER, darker
from unlatch.objects.procedural.fittings import add_ring_wall
from unlatch.objects.procedural.handles import EdgeHandle, HandlePlace
from unlatch.objects.procedural.links import LID_BEHIND, LinkBuilder, PanelBuilder
from unlatch.objects.procedural.parameters import Colour, Drawn, derived, draw_uniform, either, one_of, palette, uniform
from unlatch.simcore.geometry import Pose

_GAP_M = 0.006
"""Gap between seat and lid, which the lid's buffers keep."""
_STAVES = 24
_BOARDS = 13
_STEPS = (0.92, 0.80, 0.70, 0.64)
"""Widths of the foot from above, as shares of the bowl's width."""
_BEHIND_M = 0.05
"""Distance from the hinge to the tank or wall."""
_WATER: Colour = (0.62, 0.78, 0.84, 1.0)
_CERAMICS = palette("95 95 94", "93 90 83", "72 83 86", "80 86 78")
"""White, cream, pale blue, pale green."""
_SEATS = palette("95 95 94", "78 24 20", "95 77 22", "30 58 38", "27 50 72", "62 42 26")
"""White, red, yellow, green, blue, wood."""
_TABLE = {
    "colour": one_of(_CERAMICS),
    "lid_colour": one_of(_SEATS),
    "width_m": uniform(0.26, 0.29),
    "tank": either("low", "none", 0.65),  # `low` behind the seat, or `none`: it stands before a wall
    # of the lid; more than the width, so that the round front ends before the hinge
    "length_m": lambda rng, p: round(p.width_m + draw_uniform(rng, 0.02, 0.045), 4),
    "height_m": uniform(0.24, 0.28),  # of the bowl's rim
    "tank_m": uniform(0.10, 0.13),  # depth of the tank, or of what stands behind the seat
    "tank_width_m": uniform(0.26, 0.32),
    "tank_height_m": uniform(0.20, 0.26),  # over the rim
    "wall_m": uniform(0.024, 0.030),
    "seat_m": uniform(0.014, 0.018),
    "lid_m": uniform(0.014, 0.020),
    "most_open_rad": uniform(1.6, 1.75),
    "holding": uniform(HOLDING, 1.6),  # friction of the hinge divided by the moment of gravity
    "damping_n_m_s": uniform(0.05, 0.2),
    "body_density_kg_m3": uniform(900.0, 1400.0),
    "lid_density_kg_m3": uniform(600.0, 900.0),
    "seat_colour": lambda rng, p: p.lid_colour if rng.random() < 0.5 else _SEATS[0],
    "handle_kind": "edge",
    "_behind_m": derived(lambda p: _BEHIND_M + (p.tank_m if p.tank == "low" else 0.0)),  # from the hinge to the back
    "_hinge_x_m": derived(lambda p: -(p.length_m - p._behind_m) / 2),
}


def _lid_limit(p: Drawn) -> float:
    """Returns how far the lid opens: almost until it leans on the tank [rad]."""
    if p.tank == "none":
        return float(p.most_open_rad)
    room = _BEHIND_M - _GAP_M - p.lid_m - 0.006
    return round(min(p.most_open_rad, float(np.pi / 2 + np.arcsin(room / p.length_m))), 4)


def _build_toilet(assembly: Assembly, p: Drawn) -> None:
    """Builds a toilet.

    The root frame is at the middle of the footprint, z up from the bottom, x towards the user. The lid's frame lies on
    its hinge, at the height of the seat's upper side.
    """
    radius, hinge_x = p.width_m / 2, p._hinge_x_m
    front = hinge_x + p.length_m
    middle, top = front - radius, p.height_m + p.seat_m
    body = LinkBuilder("body")
    _add_bowl(body, p, middle)
    rim = (p.height_m, top)
    _add_horseshoe(body, "seat", p, span=(hinge_x + 0.008, middle), width=0.044, height=rim, rgba=p.seat_colour)
    _add_back(body, p)
    assembly.add_body(body, mass_kg=body.mass_kg(p.body_density_kg_m3, digits=3))

    lid = PanelBuilder("lid", LID_BEHIND)
    face, side = _GAP_M + p.lid_m, radius + 0.003
    edge = p.length_m + 0.003
    lid.box("board", (0.0, -side, _GAP_M), (edge - side, side, face), rgba=p.lid_colour)
    _add_round(lid, p, middle=edge - side, side=side)
    area = 2 * side * (edge - side) + np.pi / 2 * side**2
    for number, sign in enumerate((-1.0, 1.0)):
        barrel = (0.0, sign * 0.5 * side, 0.5 * face)
        lid.visual.cylinder(f"barrel_{number}", barrel, axis="along", radius=0.009, length=0.04, rgba=CHROME)
        spot = (edge - 0.06, sign * 0.3 * side, _GAP_M / 2 + 0.001)
        lid.visual.cylinder(f"buffer_{number}", spot, axis="out", radius=0.007, length=0.004, rgba=RUBBER)
    place = HandlePlace((edge, 0.0), face, edge=edge, thickness=p.lid_m, length=0.4 * radius)
    assembly.add_part(
        lid,
        lid_motion(LID_BEHIND, (hinge_x, 0.0, top), p, limit_rad=_lid_limit(p)),
        EdgeHandle().add_to(lid, place, p.lid_colour),
        mass_kg=round(area * p.lid_m * p.lid_density_kg_m3, 4),
        push=EdgeHandle().push_point(LID_BEHIND, place),
        edge=(front - p.wall_m / 2, 0.0, p.height_m),
    )


def _add_round(lid: PanelBuilder, p: Drawn, *, middle: float, side: float) -> None:
    """Adds the lid's round front as a fan of boards: renderers shade the flat end of a cylinder like a cone."""
    wide = 2 * side * float(np.tan(np.pi / (2 * _BOARDS)))
    for number in range(_BOARDS):
        yaw = np.pi * ((number + 0.5) / _BOARDS - 0.5)
        centre = [middle + side / 2 * float(np.cos(yaw)), side / 2 * float(np.sin(yaw)), _GAP_M + p.lid_m / 2]
        T_lid_board = Pose.from_rpy(np.round(centre, 7), [0.0, 0.0, yaw])
        lid.turned_box(f"round_{number}", (side, wide, p.lid_m), T_lid_board, rgba=p.lid_colour)


def _add_bowl(body: LinkBuilder, p: Drawn, middle: float) -> None:
    """Adds a hollow bowl, round in front, which narrows to its foot in steps."""
    radius, rim, back = p.width_m / 2, p.height_m, p._hinge_x_m - _BEHIND_M
    deep = 0.58 * rim
    _add_horseshoe(body, "bowl", p, span=(back, middle), width=p.wall_m, height=(deep, rim), rgba=p.colour)
    heights = np.linspace(deep, 0.02, len(_STEPS) + 1)
    for number, share in enumerate(_STEPS):
        high, low = (float(z) for z in heights[number : number + 2])
        _add_step(body, f"step_{number}", p, span=(back, middle), share=share, height=(low, high))
    _add_step(body, "foot", p, span=(back - 0.01, middle + 0.005), share=_STEPS[-1] + 0.04, height=(0.0, 0.02))
    inner, ring = radius - p.wall_m, Pose.from_translation([middle, 0.0, 0.0])
    body.visual.cylinder("water", (middle, 0.0, deep + 0.004), axis="z", radius=inner, length=0.008, rgba=_WATER)
    for number, (share, rise) in enumerate(((0.40, 0.016), (0.24, 0.034), (0.10, 0.060))):  # slopes down to the water
        add_ring_wall(
            body.visual,
            f"slope_{number}",
            radius_m=inner + 0.002,
            wall_m=share * inner,
            height=(deep, deep + rise),
            rgba=darker(p.colour, 0.96),
            count=_STAVES,
            T_link_ring=ring,
        )


def _add_horseshoe(
    body: LinkBuilder,
    name: str,
    p: Drawn,
    *,
    span: tuple[float, float],
    width: float,
    height: tuple[float, float],
    rgba: Colour,
) -> None:
    """Adds a wall around the hollow: round in front, straight at the sides, closed behind."""
    (back, middle), (low, high), radius = span, height, p.width_m / 2
    add_ring_wall(
        body,
        name,
        radius_m=radius,
        wall_m=width,
        height=height,
        rgba=rgba,
        count=_STAVES,
        T_link_ring=Pose.from_translation([middle, 0.0, 0.0]),
    )
    for number, sign in enumerate((-1.0, 1.0)):
        a, b = sorted((sign * radius, sign * (radius - width)))
        body.box(f"{name}_side_{number}", (back, a, low), (middle, b, high), rgba=rgba)
    flat = middle - 0.62 * (radius - width)
    inner = radius - width
    body.box(f"{name}_back", (back, -inner, low), (flat, inner, high), rgba=rgba)


def _add_step(
    body: LinkBuilder,
    name: str,
    p: Drawn,
    *,
    span: tuple[float, float],
    share: float,
    height: tuple[float, float],
) -> None:
    """Adds a solid slice of the foot, as wide as its share of the bowl."""
    (back, middle), (low, high), half = span, height, share * p.width_m / 2
    body.box(f"{name}_box", (back, -half, low), (middle, half, high), rgba=p.colour)
    centre = (middle, 0.0, (low + high) / 2)
    body.cylinder(f"{name}_round", centre, axis="z", radius=half, length=high - low, rgba=p.colour)


def _add_back(body: LinkBuilder, p: Drawn) -> None:
    """Adds what is behind the seat: a tank on a block, or the block alone."""
    x0, x1, rim = p._hinge_x_m - p._behind_m, p._hinge_x_m, p.height_m
    half = p.width_m / 2 if p.tank == "none" else min(p.tank_width_m, p.width_m) / 2
    body.box("block", (x0, -half, 0.55 * rim), (x1, half, rim), rgba=p.colour)
    body.box("pipe", (x0, -0.4 * half, 0.1 * rim), (x1, 0.4 * half, 0.55 * rim), rgba=darker(p.colour, 0.97))
    for number, sign in enumerate((-1.0, 1.0)):
        y = sign * 0.5 * p.width_m / 2
        centre = (x1, y, rim + p.seat_m / 2)
        body.visual.cylinder(f"bolt_{number}", centre, axis="z", radius=0.012, length=p.seat_m, rgba=CHROME)
    if p.tank == "none":
        return
    side, top = p.tank_width_m / 2, rim + p.tank_height_m
    end = x0 + p.tank_m
    body.box("tank", (x0, -side, rim), (end - 0.006, side, top - 0.022), rgba=p.colour)
    body.box("tank_lid", (x0, -side - 0.004, top - 0.022), (end, side + 0.004, top), rgba=p.colour)
    body.visual.box(
        "seam", (x0 + 0.01, -side - 0.0005, top - 0.024), (end - 0.0055, side + 0.0005, top - 0.022),
        rgba=darker(p.colour, 0.6))  # fmt: skip
    centre = ((x0 + end) / 2, 0.0, top + 0.003)
    body.visual.cylinder("button", centre, axis="z", radius=0.022, length=0.006, rgba=CHROME)
    lower, upper = (x0 + p.tank_m / 2 - 0.018, -0.0008, top + 0.006), (x0 + p.tank_m / 2 + 0.018, 0.0008, top + 0.0065)
    body.visual.box("button_split", lower, upper, rgba=DARK)


toilet = ObjectGenerator("toilet", _TABLE, _build_toilet)
