"""Openings of a house, in the size that an arm on a table can reach: a door with a lever and a sliding window.

The lever has the size of a real one (10 to 14 cm, 45 to 60 mm off the leaf, as in catalogues of door furniture); the
leaf is that of a hatch, 36 to 48 cm wide and 50 to 66 cm high. The sections of the window are those of aluminium and
vinyl sliders (sashes of 30 to 45 mm, frames of 70 to 100 mm depth); its size is that of a small one, as over a sink.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unlatch.objects.annotation import HandleType, PartKind
from unlatch.objects.mechanisms import Latch, Spring
from unlatch.objects.procedural.assembly import Assembly, ObjectGenerator, PartMotion, slide_motion
from unlatch.objects.procedural.colours import (
    BRASS,
    CHROME,
    DARK,
    PANES,
    WOODS,
    TextureKind,
    board_texture,
    contrast,
    darker,
)
from unlatch.objects.procedural.doors import BoxWithDoors, Door
from unlatch.objects.procedural.fittings import Carcass
from unlatch.objects.procedural.handles import EdgeHandle, PanelGrip, grip_standing_out
from unlatch.objects.procedural.links import DRAWER_FRONT, LinkBuilder, PanelBuilder, PanelFrame, X, Y
from unlatch.objects.procedural.parameters import (
    Colour,
    Drawn,
    derived,
    draw_uniform,
    either,
    one_of,
    palette,
    uniform,
    whole,
)
from unlatch.simcore.geometry import Pose

# A small door in a frame, with a lever handle; a hand can also hold its edge below the lever.

_PLATE_M = 0.006
LEVER = {
    "lever_style": either("round", "flat"),
    "lever_height_m": uniform(0.016, 0.022),  # across the lever, where the fingers close
    "lever_m": uniform(0.105, 0.135),  # from the lever's axis to its end
    "standoff_m": uniform(0.036, 0.046),  # free gap between leaf and lever
    "lever_depth_m": lambda rng, p: p.lever_height_m if p.lever_style == "round" else draw_uniform(rng, 0.010, 0.014),
}
"""The values of a lever, see `add_lever`; it also needs range, friction, damping and `metal`."""
_DOOR = {
    "_wood": one_of(WOODS),
    "lever_style": either("round", "flat"),
    "lever_height_m": uniform(0.016, 0.022),  # across the lever, where the fingers close
    "width_m": uniform(0.44, 0.56),  # of the frame
    "height_m": uniform(0.56, 0.74),
    "depth_m": uniform(0.09, 0.13),  # of the frame
    "frame_m": uniform(0.035, 0.05),  # width of the frame's posts
    "leaf_m": uniform(0.028, 0.036),
    "hinge_side": either("left", "right"),
    "limit_rad": uniform(1.5, 1.9),
    "lever_m": uniform(0.105, 0.135),  # from the lever's axis to its end
    "standoff_m": uniform(0.036, 0.046),  # free gap between leaf and lever
    "lever_depth_m": lambda rng, p: p.lever_height_m if p.lever_style == "round" else draw_uniform(rng, 0.010, 0.014),
    "backset_m": uniform(0.045, 0.06),  # from the free edge to the lever's axis
    "lever_rise_m": uniform(-0.04, 0.04),  # of the lever's axis over the middle of the leaf
    "lever_range_rad": uniform(0.6, 0.9),
    "panels": whole(0, 3),  # fields on the leaf
    "friction_n_m": uniform(0.3, 1.0),
    "damping_n_m_s": uniform(0.1, 0.4),
    "lever_friction_n_m": uniform(0.4, 1.0),
    "lever_damping_n_m_s": uniform(0.005, 0.02),
    "density_kg_m3": uniform(450.0, 650.0),
    "colour": derived(lambda p: p._wood[0]),
    "leaf_colour": derived(lambda p: p._wood[1]),
    "metal": contrast((CHROME, BRASS, DARK), "leaf_colour"),
    "handle_kind": "lever",
}


def _door_frame(p: Drawn) -> Carcass:
    half = p.width_m / 2
    low = getattr(p, "threshold_m", p.frame_m) - p.frame_m
    return Carcass((-p.depth_m / 2, -half, low), (p.depth_m / 2, half, p.height_m), p.frame_m)


def _lever_axis(p: Drawn, door: Door) -> tuple[float, float]:
    """Returns where the axis of the lever meets the leaf, across and along [m]."""
    return door.span[1] - p.backset_m, door.up * p.lever_rise_m


def _opens_away(p: Drawn) -> bool:
    """Whether the door swings away from a person in front of it."""
    return getattr(p, "swing", "pull") == "push"


def _leaf(p: Drawn) -> list[Door]:
    def hold(door: Door) -> tuple[float, float]:  # the edge is held below the lever, clear of it
        return door.span[1], -door.up * min(0.16 - p.lever_rise_m, door.half - 0.05)

    door = Door.inset(_door_frame(p), p, thickness_m=p.leaf_m, hold=hold, handle=EdgeHandle(), rgba=p.leaf_colour)
    if _opens_away(p):  # at the back of its frame, where its hinge lies in its back face
        at, frame = (-p.depth_m / 2, *door.at[1:]), door.frame
        x, y, z = frame.out
        swing = PanelFrame(across=frame.across, out=(-x, -y, -z))
        door = replace(door, at=at, out=(0.0, p.leaf_m), swing=swing)
    push = door.frame.at(0.78 * door.span[1], _lever_axis(p, door)[1] - door.up * 0.12, 0.0)
    return [replace(door, push=push)]


def _add_door_frame(body: LinkBuilder, p: Drawn) -> None:
    """Adds two posts, a head, a sill, and feet in front and behind."""
    opening = _door_frame(p)
    (x0, y0, _), (x1, y1, z1) = opening.low, opening.high
    (_, b0, c0), (_, b1, c1) = opening.inner
    for number, (a, b) in enumerate(((y0, b0), (b1, y1))):
        body.box(f"post_{number}", (x0, a, 0.0), (x1, b, z1), rgba=p.colour)
        if hasattr(p, "threshold_m"):  # it stands in a wall
            continue
        for side, (c, d) in {"behind": (x0 - 0.06, x0), "front": (x1, x1 + 0.06)}.items():
            body.box(f"foot_{side}_{number}", (c, a, 0.0), (d, b, 0.03), rgba=darker(p.colour, 0.8))
    body.box("head", (x0, b0, c1), (x1, b1, z1), rgba=p.colour)
    body.box("sill", (x0, b0, 0.0), (x1, b1, c0), rgba=p.colour)
    # the leaf closes against these strips, which do not collide: it must not stick to them
    stop = x0 + p.leaf_m + 0.016 if _opens_away(p) else x1 - p.leaf_m - 0.004
    for number, (a, b) in enumerate(((b0, b0 + 0.012), (b1 - 0.012, b1))):
        body.visual.box(f"stop_{number}", (stop - 0.012, a, c0), (stop, b, c1), rgba=darker(p.colour))
    _leaf(p)[0].add_hinges(body)


def _add_fields(panel: PanelBuilder, p: Drawn, door: Door) -> None:
    (low, high), half = door.span, door.half
    for number in range(p.panels):
        size = 2 * half / p.panels
        a, b = -half + number * size + 0.035, -half + (number + 1) * size - 0.035
        face = door.out[1]
        lower, upper = (low + 0.05, a, face), (high - p.backset_m - 0.045, b, face + 0.0006)
        panel.visual.box(f"field_{number}", lower, upper, rgba=darker(p.leaf_colour, 0.86))


def _add_lever(assembly: Assembly, p: Drawn, doors: Sequence[Door]) -> None:
    """Adds the lever of the door and the textures."""
    (door,) = doors
    add_lever(assembly, p, door, _lever_axis(p, door))
    shades = (darker(p.leaf_colour, 0.86), darker(p.colour, 0.8), darker(p.colour))
    assembly.set_texture(board_texture, p.colour, p.leaf_colour, *shades)


def add_lever(assembly: Assembly, p: Drawn, door: Door, axis: tuple[float, float]) -> None:
    """Adds a lever, which points to the hinge; its end moves down. Its frame is where its axis meets the leaf.

    `axis` is that place, across and along [m]. `p` has the values of a lever in the table of `door`.
    """
    toward, lever = -door.frame.across[1], PanelBuilder("lever", DRAWER_FRONT)
    middle = _PLATE_M + p.standoff_m + p.lever_depth_m / 2
    height, depth = p.lever_height_m / 2, p.lever_depth_m / 2
    lever.cylinder("rose", (0, 0, _PLATE_M / 2), axis="out", radius=0.026, length=_PLATE_M, rgba=p.metal)
    lever.cylinder("neck", (0, 0, middle / 2), axis="out", radius=0.009, length=middle, rgba=p.metal)
    if p.lever_style == "round":
        centre = (0, toward * p.lever_m / 2, middle)
        lever.cylinder("handle", centre, axis="along", radius=height, length=p.lever_m + 0.018, rgba=p.metal)
    else:
        lower, upper = (-height, -toward * 0.010, middle - depth), (height, toward * p.lever_m, middle + depth)
        lever.box("handle", lower, upper, rgba=p.metal)
    at, size = (0.0, toward * (p.lever_m - 0.018)), (2 * depth, 2 * height, 0.045)
    grip = grip_standing_out(DRAWER_FRONT, HandleType.bar, at=at, out=middle, size=size)
    axis_at = door.frame.at(*axis, door.out[1] + 0.001).tolist()
    opens = -toward * p.lever_range_rad  # about +x, y turns to z: down if the lever points to -y
    friction, damping = p.lever_friction_n_m, p.lever_damping_n_m_s
    motion = PartMotion(PartKind.lever, "door", axis_at, X, opens, friction, damping)
    push = DRAWER_FRONT.at(-height, toward * (p.lever_m - 0.05), middle)
    top = door.frame.at(door.span[1] / 2, door.up * door.half, 0.0)
    assembly.add_part(lever, motion, grip, mass_kg=lever.mass_kg(4000.0), push=push, edge=top.tolist())


DOOR = BoxWithDoors(_leaf, _add_door_frame, _add_fields, _add_lever, edge_inset_m=0.0)
door = ObjectGenerator("door", _DOOR, DOOR)

# The same door with a latch: its lever is sprung, and withdraws the bolt that holds the leaf.

_LATCHED = {
    # ADA Standards 309.4 allow 5 lbf (22.2 N) at the lever; spring and friction together need 8 to 20 N here
    "lever_friction_n_m": uniform(0.2, 0.25),
    "lever_spring_n_m_rad": uniform(0.7, 1.1),
    "lever_preload_rad": uniform(0.5, 0.7),
    "free_share": uniform(0.6, 0.8),  # of the lever's range, where the bolt is withdrawn
    "swing": either("pull", "push"),
}
_LATCH_PLAY_RAD = 0.004
"""A strike plate leaves the bolt about 2 mm, at the lever of a leaf of 0.4 m."""


def _add_latched_lever(assembly: Assembly, p: Drawn, doors: Sequence[Door]) -> None:
    DOOR.finish(assembly, p, doors)
    joint, by = assembly.parts["door"].joint, assembly.parts["lever"]
    rest = -float(np.sign(by.openness.open)) * p.lever_preload_rad
    assembly.mechanisms["bolt"] = Latch(
        joint, by.joint, free_at=round(p.free_share * p.lever_range_rad, 4), play=_LATCH_PLAY_RAD
    )
    assembly.mechanisms["lever_spring"] = Spring(by.joint, rest=rest, stiffness=p.lever_spring_n_m_rad)


LATCHED_DOOR = replace(DOOR, finish=_add_latched_lever)
latched_door = door.variant("latched_door", _LATCHED, LATCHED_DOOR)

# A window with two sashes; one of them slides sideways and has a pull.

_WOOD: Colour = (0.52, 0.35, 0.22, 1.0)
_FRAMES = palette("93 93 92", "33 34 36", "52 35 22", "66 67 69")
_SHEEN: Colour = (0.86, 0.94, 0.97, 1.0)
_GAP_M = 0.003
_WINDOW = {
    "colour": one_of(_FRAMES),
    "width_m": uniform(0.50, 0.68),
    "height_m": uniform(0.38, 0.54),
    "depth_m": uniform(0.075, 0.10),  # of the frame
    "frame_m": uniform(0.028, 0.04),  # width of the frame's sections
    "sash_m": uniform(0.034, 0.044),  # width of a sash's sections
    "sash_depth_m": uniform(0.022, 0.028),
    "closed_side": either("left", "right"),  # side of the closed sliding sash, seen from the front
    "grip_m": uniform(0.016, 0.024),  # height of the pull's grip, where the fingers close
    "grip_depth_m": uniform(0.046, 0.054),  # how far the pull stands out
    "grip_length_m": uniform(0.028, 0.034),
    "rail_m": uniform(0.014, 0.018),  # how far the rail for pushing the sash stands out
    "grip_rise_m": uniform(0.04, 0.08),  # of the grip over the middle
    "friction_n": uniform(2.0, 6.0),
    "damping_n_s_m": uniform(1.0, 5.0),
    "density_kg_m3": uniform(1200.0, 1800.0),
    "pane_colour": one_of(PANES),
    "grip_colour": contrast((CHROME, DARK), "colour"),
    "handle_kind": "knob",
}


def _build_sliding_window(assembly: Assembly, p: Drawn) -> None:
    """Builds a window.

    The root frame is at the middle of the footprint, z up from the bottom, x to the room. The sash's frame is in its
    middle, in the plane of its back. Its pull is on the stile that goes ahead when the sash closes; fingers close
    on it from above and below.
    """
    # seen along -x, +y is to the right
    side = 1.0 if p.closed_side == "right" else -1.0
    half = p.width_m / 2
    frame_box = Carcass((-p.depth_m / 2, -half, 0.0), (p.depth_m / 2, half, p.height_m), p.frame_m)
    (_, b0, c0), (_, b1, c1) = frame_box.inner
    width = (b1 - b0) / 2 + p.sash_m / 2
    half_w, half_h = width / 2 - 0.002, (c1 - c0) / 2 - 0.002
    body = LinkBuilder("body")
    _add_window_frame(body, p, frame_box)
    middle = (c0 + c1) / 2
    # the fixed sash is behind, on the other side
    fixed = ((b0 + width / 2) if side > 0 else (b1 - width / 2), -p.sash_depth_m - _GAP_M / 2)
    _add_sash(body, "fixed", p, (fixed[1], fixed[0], middle), half_w, half_h)
    assembly.add_body(body, mass_kg=body.mass_kg(p.density_kg_m3, digits=3), edge=(p.depth_m / 2, 0.0, p.height_m))

    frame = PanelFrame(across=(0.0, 0.0, -1.0), out=(0.0, -side, 0.0))
    sash = LinkBuilder("slider")
    _add_sash(sash, "sash", p, (0.0, 0.0, 0.0), half_w, half_h)
    grip, push = _add_pull(sash, p, side, half_w, half_h, frame)
    closed_y = (b1 - width / 2) if side > 0 else (b0 + width / 2)
    at, opens = (_GAP_M / 2, closed_y, middle), -side * round((b1 - b0) - width - 0.012, 4)
    motion = slide_motion(at, Y, p, opens=opens)
    assembly.add_part(sash, motion, grip, mass_kg=sash.mass_kg(p.density_kg_m3), push=push)
    if p.colour == _WOOD:
        assembly.set_texture(TextureKind.wood, p.colour)


def _add_window_frame(body: LinkBuilder, p: Drawn, box: Carcass) -> None:
    """Adds four sections, tracks below and above, and a sill that stands out."""
    (x0, y0, _), (x1, y1, z1) = box.low, box.high
    (_, b0, c0), (_, b1, c1) = box.inner
    boards = {
        "jamb_low_y": ((x0, y0, 0.0), (x1, b0, z1)),
        "jamb_high_y": ((x0, b1, 0.0), (x1, y1, z1)),
        "head": ((x0, b0, c1), (x1, b1, z1)),
        "bottom": ((x0, b0, 0.0), (x1, b1, c0)),
    }
    body.boxes(p.colour, boards)
    body.box("sill", (x1, y0 - 0.015, 0.0), (x1 + 0.04, y1 + 0.015, 0.016), rgba=p.colour)
    body.box("ledge", (x0 - 0.04, y0 - 0.015, 0.0), (x0, y1 + 0.015, 0.016), rgba=p.colour)
    for number, z in enumerate((c0, c1 - 0.0006)):
        lower = (-p.sash_depth_m - 0.004, b0, z)
        body.visual.box(f"track_{number}", lower, (p.sash_depth_m + 0.004, b1, z + 0.0006), rgba=DARK)


def _add_sash(
    builder: LinkBuilder,
    name: str,
    p: Drawn,
    at: tuple[float, float, float],
    half_w: float,
    half_h: float,
) -> None:
    """Adds a pane between two stiles and two rails; its back is at `at`."""
    x, y, z = at
    w, front = p.sash_m, x + p.sash_depth_m
    sections = {
        "stile_low_y": ((x, y - half_w, z - half_h), (front, y - half_w + w, z + half_h)),
        "stile_high_y": ((x, y + half_w - w, z - half_h), (front, y + half_w, z + half_h)),
        "rail_low": ((x, y - half_w + w, z - half_h), (front, y + half_w - w, z - half_h + w)),
        "rail_high": ((x, y - half_w + w, z + half_h - w), (front, y + half_w - w, z + half_h)),
    }
    builder.boxes(p.colour, {f"{name}_{section}": corners for section, corners in sections.items()})
    middle = x + p.sash_depth_m / 2
    low, high = (middle - 0.003, y - half_w + w, z - half_h + w), (middle + 0.003, y + half_w - w, z + half_h - w)
    builder.box(f"{name}_pane", low, high, rgba=p.pane_colour)
    for number, offset in enumerate((-0.02, 0.012)):  # two streaks of light
        pose = Pose.from_rpy([middle + 0.0033, y + offset, z + 0.02], [0.5, 0.0, 0.0])
        size = (0.0004, 0.012 if number else 0.005, min(half_h, half_w) * 1.0)
        builder.visual.turned_box(f"{name}_light_{number}", size, pose, rgba=_SHEEN)


def _add_pull(
    sash: LinkBuilder, p: Drawn, side: float, half_w: float, half_h: float, frame: PanelFrame
) -> tuple[PanelGrip, np.ndarray]:
    """Adds a rail along the leading stile with a grip before it; returns the grip and the push point for closing."""
    front, y = p.sash_depth_m, side * (half_w - p.sash_m / 2 - 0.004)
    half = 0.008
    tall = 0.55 * half_h
    sash.box("rail", (front, y - half, -tall), (front + p.rail_m, y + half, p.grip_rise_m + 0.05), rgba=p.grip_colour)
    z, end = p.grip_rise_m, front + p.grip_depth_m
    low = (front, y - p.grip_length_m / 2, z - p.grip_m / 2)
    sash.box("handle", low, (end, y + p.grip_length_m / 2, z + p.grip_m / 2), rgba=p.grip_colour)
    size = (p.grip_depth_m - p.rail_m, p.grip_m, p.grip_length_m)
    grip = grip_standing_out(DRAWER_FRONT, HandleType.knob, at=(-z, y), out=end - 0.012, size=size)
    # the face of the rail that looks in the opening direction
    push = np.array([front + p.rail_m / 2, y - side * half, -0.5 * tall])
    return replace(grip, frame=frame), push


sliding_window = ObjectGenerator("sliding_window", _WINDOW, _build_sliding_window)
