"""Switches that stay where they are pressed: a light switch on a board, and a circuit breaker in its box.

Sizes are those of products: plates of 80 to 88 mm, modules of 18 mm a pole behind a cover of 45 mm. Each snaps over
when it is half way, as its contact spring does.
"""

from __future__ import annotations

import numpy as np

from unlatch.objects.annotation import Handle, HandleType, PartKind
from unlatch.objects.mechanisms import Detent
from unlatch.objects.procedural.assembly import Assembly, ObjectGenerator, hinge_motion
from unlatch.objects.procedural.colours import CHROME, DARK, WHITE, WOODS, board_texture, contrast, darker
from unlatch.objects.procedural.handles import PanelGrip
from unlatch.objects.procedural.links import FLAP_BELOW, LinkBuilder, PanelBuilder, PanelFrame, X, Z
from unlatch.objects.procedural.parameters import Drawn, derived, either, one_of, palette, uniform, whole
from unlatch.simcore.geometry import Pose

_FLAP_ABOVE = PanelFrame(across=(0.0, 0.0, -1.0), out=X)
"""A panel in the front that is hinged above."""
_TOGGLE = PanelFrame(across=X, out=Z)
"""A toggle that stands out of the front and is pressed down."""

_GAP_M = 0.0015
"""Gap around a rocker in its plate."""
_SNAP = {
    # the resistance rises, then drops as the switch snaps over (MIL-STD-1472E, 5.4.3.1.6.4). How large it is, is our
    # own choice: 3 to 6 N where a finger presses a rocker, 7 to 11 N at a toggle
    "snap_n_m": uniform(0.06, 0.12),
    # a real contact snaps over within 10 to 20 ms; its spring is damped here, which makes that 0.1 s
    "snap_damping_n_m_s": uniform(0.035, 0.045),
    "friction_n_m": uniform(0.01, 0.02),
    "damping_n_m_s": uniform(0.0005, 0.001),
}


def _add_switch(
    assembly: Assembly,
    switch: PanelBuilder,
    at: tuple[float, float, float],
    p: Drawn,
    *,
    push: np.ndarray,
    density_kg_m3: float,
) -> None:
    """Adds a part that snaps to either end of its range, and that a finger presses at `push` (3,), link frame [m]."""
    frame, motion = switch.frame, hinge_motion(PartKind.hinge_horizontal, switch.frame, at, p)
    grip = PanelGrip(Handle(HandleType.none, np.zeros(3), None), push, frame)  # nothing of it fits between fingers
    assembly.add_part(switch, motion, grip, mass_kg=switch.mass_kg(density_kg_m3), push=push)
    part = assembly.parts[switch.name]
    places = tuple(sorted((part.openness.closed, part.openness.open)))
    reach = round(0.49 * p.limit_rad, 4)
    assembly.mechanisms["snap"] = Detent(
        part.joint, places, effort=p.snap_n_m, reach=reach, damping=p.snap_damping_n_m_s
    )


def _tilted(frame: PanelFrame, centre: tuple[float, float, float], angle_rad: float) -> Pose:
    """Returns a pose at (across, along, out) [m], turned about the hinge so that the free side is in by the angle."""
    return Pose.from_rpy(np.round(frame.at(*centre), 7), np.round(angle_rad * frame.along, 7))


# A light switch: a rocker in a plate on a board that stands.

_LIGHT_SWITCH = {
    "colour": one_of([wood[0] for wood in WOODS] + [WHITE]),
    "plate_colour": contrast((WHITE, DARK, CHROME), "colour"),
    "rocker_colour": derived(lambda p: p.plate_colour if p.plate_colour != CHROME else WHITE),
    "width_m": uniform(0.15, 0.24),  # of the board
    "height_m": uniform(0.22, 0.32),
    "depth_m": uniform(0.018, 0.026),
    "plate_m": uniform(0.080, 0.088),
    "plate_depth_m": uniform(0.008, 0.010),
    "rocker_width_m": uniform(0.050, 0.064),
    "rocker_height_m": uniform(0.056, 0.064),
    "rocker_depth_m": uniform(0.006, 0.008),
    "place_share": uniform(0.55, 0.68),  # height of the rocker, as a share of the board's
    "pressed": either("top", "bottom"),  # the half that is pressed to switch the light on
    "limit_rad": uniform(0.18, 0.24),
    **_SNAP,
}


def _build_light_switch(assembly: Assembly, p: Drawn) -> None:
    """Builds a switch. The rocker's frame is on its axis, in the face of the plate."""
    face, half, middle = p.depth_m / 2, p.width_m / 2, p.place_share * p.height_m
    body = LinkBuilder("body")
    body.box("board", (-face, -half, 0.0), (face, half, p.height_m), rgba=p.colour)
    for side, (low, high) in {"behind": (-0.06 - face, -face), "front": (face, 0.06 + face)}.items():
        body.box(f"foot_{side}", (low, -half, 0.0), (high, half, 0.018), rgba=darker(p.colour, 0.8))
    edge, front = p.plate_m / 2, face + p.plate_depth_m
    wide, high = p.rocker_width_m / 2 + _GAP_M, p.rocker_height_m / 2 + _GAP_M
    plate = {
        "left": ((face, -edge, middle - edge), (front, -wide, middle + edge)),
        "right": ((face, wide, middle - edge), (front, edge, middle + edge)),
        "above": ((face, -wide, middle + high), (front, wide, middle + edge)),
        "below": ((face, -wide, middle - edge), (front, wide, middle - high)),
    }
    body.boxes(p.plate_colour, {f"plate_{side}": corners for side, corners in plate.items()})
    assembly.add_body(body, mass_kg=body.mass_kg(650.0), edge=(face, 0.0, p.height_m))

    frame = FLAP_BELOW if p.pressed == "top" else _FLAP_ABOVE
    rocker, tilt = PanelBuilder("switch", frame), p.limit_rad / 2
    reach, depth = p.rocker_height_m / 2, p.rocker_depth_m
    size = (depth, p.rocker_width_m, p.rocker_height_m)
    rocker.turned_box("rocker", size, _tilted(frame, (0.0, 0.0, depth / 2), tilt), rgba=p.rocker_colour)
    mark = _tilted(frame, (0.62 * reach, 0.0, depth - 0.62 * reach * tilt), tilt)
    rocker.visual.turned_box("mark", (0.0006, 0.003, 0.012), mark, rgba=darker(p.rocker_colour, 0.45))
    push = frame.at(0.7 * reach, 0.0, depth - 0.7 * reach * tilt)
    _add_switch(assembly, rocker, (front, 0.0, middle), p, push=push, density_kg_m3=1100.0)
    if p.colour != WHITE:
        assembly.set_texture(board_texture, p.colour, darker(p.colour, 0.8))


light_switch = ObjectGenerator("light_switch", _LIGHT_SWITCH, _build_light_switch)

# A circuit breaker: the main switch beside others that do not move; pressed down, it is off.

_MODULE_M = 0.018
"""Width of a pole."""
_ROOT_M = 0.006
"""Where a toggle begins, from its axis: its corners stay clear of the module."""
_BREAKER = {
    "colour": one_of(palette("93 93 92", "82 84 86", "60 62 65")),
    "toggle_colour": one_of(palette("12 12 13", "12 22 46", "60 10 10")),
    "width_m": uniform(0.20, 0.28),
    "height_m": uniform(0.18, 0.24),
    "depth_m": uniform(0.09, 0.12),
    "poles": whole(2, 4),
    "others": whole(2, 5),
    "drop_m": uniform(0.04, 0.05),  # of the toggles below the top of the box
    "arm_m": uniform(0.030, 0.036),  # from the axis of a toggle to its end
    "limit_rad": uniform(0.6, 0.75),
    **_SNAP,
    "snap_n_m": uniform(0.16, 0.24),
    "snap_damping_n_m_s": uniform(0.06, 0.07),
}


def _build_breaker(assembly: Assembly, p: Drawn) -> None:
    """Builds a box. The toggle's frame is on its axis, in the face of the modules."""
    x, half, z = p.depth_m / 2, p.width_m / 2, p.height_m - p.drop_m
    y = half - 0.03 - p.poles * _MODULE_M / 2  # on the right, as seen from the front
    body = LinkBuilder("body")
    body.box("case", (-x, -half, 0.0), (x, half, p.height_m), rgba=p.colour)
    modules = {"main": (y, p.poles * _MODULE_M)}
    first = y - (p.poles * _MODULE_M / 2 + 0.02)
    modules |= {f"other_{k}": (first - (k + 0.5) * _MODULE_M, _MODULE_M) for k in range(p.others)}
    for name, (place, width) in modules.items():
        edges = place - width / 2 + 0.0004, place + width / 2 - 0.0004
        body.box(f"{name}_module", (x, edges[0], z - 0.0225), (x + 0.004, edges[1], z + 0.0225), rgba=WHITE)
        if name != "main":
            lower, upper = (x + 0.004, place - 0.006, z + 0.004), (x + 0.012, place + 0.006, z + 0.011)
            body.box(f"{name}_toggle", lower, upper, rgba=DARK)
    assembly.add_body(body, mass_kg=body.mass_kg(420.0), edge=(x, 0.0, p.height_m))

    toggle, tilt, wide = PanelBuilder("switch", _TOGGLE), p.limit_rad / 2, p.poles * _MODULE_M / 2 - 0.003
    size, arm = (p.arm_m - _ROOT_M, 2 * wide, 0.008), (p.arm_m + _ROOT_M) / 2
    pose = _tilted(_TOGGLE, (arm * np.cos(tilt), 0.0, -arm * np.sin(tilt)), tilt)
    toggle.turned_box("toggle", size, pose, rgba=p.toggle_colour)
    push = pose @ np.array([size[0] / 2 - 0.010, 0.0, 0.004])
    _add_switch(assembly, toggle, (x + 0.004, y, z), p, push=push, density_kg_m3=1200.0)


breaker = ObjectGenerator("breaker", _BREAKER, _build_breaker)
