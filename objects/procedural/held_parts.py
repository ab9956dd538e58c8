"""Furniture and appliances whose parts hold each other: buttons, push latches, interlocks, rails, detents, dials.

Each is the table of a plain category with the values of its mechanisms, and a function that adds these. Forces of parts
that a hand moves are below 22 N, as the ADA Standards (309.4) ask of operable parts, where nothing else is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unlatch.objects.annotation import Handle, HandleType, PartKind
from unlatch.objects.mechanisms import Detent, Interlock, Latch, Mimic, PushLatch, Release, Spring
from unlatch.objects.procedural.appliances import MICROWAVE, OVEN, SAFE, microwave, oven, safe
from unlatch.objects.procedural.assembly import Assembly, PartMotion
from unlatch.objects.procedural.cabinets import CABINET, build_chest, cabinet, drawer_cabinet
from unlatch.objects.procedural.colours import CHROME, DARK
from unlatch.objects.procedural.doors import Door, numbered
from unlatch.objects.procedural.fittings import add_turning_knob, turning_knob
from unlatch.objects.procedural.handles import EdgeHandle, PanelGrip, bar, handle
from unlatch.objects.procedural.lids import box
from unlatch.objects.procedural.links import (
    DRAWER_FRONT,
    FRONT,
    LID_BEHIND,
    LinkBuilder,
    PanelBuilder,
    PanelFrame,
    X,
    door_frame,
)
from unlatch.objects.procedural.openings import LEVER, add_lever
from unlatch.objects.procedural.parameters import Drawn, derived, either, uniform, whole

# Microwave: a button below the panel lets the door spring open; the door has no handle.

_BUTTON_MICROWAVE = {
    "handle": derived(lambda p: EdgeHandle()),
    "panel_m": uniform(0.10, 0.13),
    "button_m": uniform(0.026, 0.034),  # half of its width
    "button_travel_m": uniform(0.005, 0.007),
    "button_force_n": uniform(7.0, 13.0),  # at rest; half as much again when it is pressed
    "friction_n_m": uniform(0.2, 0.35),
    "pops_rad": uniform(0.30, 0.38),  # it stops earlier, where friction balances its spring
    "pop_n_m": uniform(1.5, 2.2),
}
_BUTTON_LOW_M, _BUTTON_HIGH_M = 0.03, 0.075


def _button_microwave_doors(p: Drawn) -> list[Door]:
    frame, t = door_frame(p.hinge_side), p.door_thickness_m
    width = round(p.width_m - p.panel_m, 6)
    at = (p.depth_m / 2, -frame.across[1] * p.width_m / 2, p.height_m / 2)
    half = p.height_m / 2
    push = frame.at(width - 0.09, 0.0, t)
    return [
        Door(frame, at, (0.0, width), half, (0.0, t), (width, 0.0), p.handle, p.handle_colour, p.colour, t, push=push)
    ]


def _add_button(
    assembly: Assembly,
    at: Sequence[float],
    half: tuple[float, float],
    *,
    travel_m: float,
    force_n: float,
    edge: Sequence[float] | None = None,
    frame: PanelFrame = DRAWER_FRONT,
    stem_m: float = 0.007,
) -> None:
    """Adds a sprung button; it stands out by its travel, and by 3 mm where it is pressed.

    Args:
        assembly: The object.
        at: (3,) the middle of its face where it is flush, in the frame of the body [m].
        half: Half of its width and of its height [m].
        travel_m: How far it is pressed [m].
        force_n: Force of its spring at rest [N].
        edge: (3,) see `Assembly.add_part`.
        frame: That of the face in which it lies: the front.
        stem_m: Depth of its visual shape behind its face [m].
    """
    button = PanelBuilder("button", frame)
    out, (width, height) = 0.003, half
    button.box("button", (-height, -width, 0.0003), (height, width, out), rgba=CHROME)
    button.visual.box("stem", (-height, -width, -stem_m), (height, width, 0.0003), rgba=CHROME)
    # how a hand lies at it; nothing of it fits between fingers
    grip = PanelGrip(Handle(HandleType.none, np.zeros(3), None), frame.at(0.0, 0.0, out), frame)
    motion = PartMotion(PartKind.slider, "body", at, frame.out, travel_m, friction=1.0, damping=2.0)
    push = frame.at(0.0, 0.0, out)
    assembly.add_part(button, motion, grip, mass_kg=0.02, push=push, edge=edge)
    stiffness = 0.5 * force_n / travel_m
    joint = assembly.parts["button"].joint
    assembly.mechanisms["button_spring"] = Spring(
        joint, rest=round(travel_m + force_n / stiffness, 6), stiffness=stiffness
    )


def _add_door_button(assembly: Assembly, p: Drawn, doors: Sequence[Door]) -> None:
    low, high = sorted((p._away * (p.width_m / 2 - p.panel_m), p._away * p.width_m / 2))
    at = (p.depth_m / 2 + p.door_thickness_m, (low + high) / 2, (_BUTTON_LOW_M + _BUTTON_HIGH_M) / 2)
    half = (p.button_m, (_BUTTON_HIGH_M - _BUTTON_LOW_M) / 2 - 0.004)
    edge = (p.depth_m / 2 - 0.05, 0.0, p.height_m)
    _add_button(assembly, at, half, travel_m=p.button_travel_m, force_n=p.button_force_n, edge=edge)
    door, button = assembly.parts["door"].joint, assembly.parts["button"].joint
    at_m = round(0.6 * p.button_travel_m, 6)
    assembly.mechanisms["hook"] = Release(door, button, at=at_m, pops_to=p.pops_rad, effort=p.pop_n_m)
    MICROWAVE.finish(assembly, p, doors)


button_microwave = microwave.variant(
    "button_microwave",
    _BUTTON_MICROWAVE,
    replace(MICROWAVE, doors=_button_microwave_doors, finish=_add_door_button),
    without=("handle", "handle_inset_m", "handle_rise_m"),
)

# Cupboard: its door has no handle; pressed in, it pops out.

_PUSH_LATCH_CABINET = {
    "doors": derived(lambda p: 1),
    "handle": derived(lambda p: EdgeHandle()),
    "width_m": uniform(0.34, 0.45),
    # a long ejector, as Blum's TIP-ON for doors, throws the edge out by some 4 to 5 cm; here it is a longer one
    "pops_m": uniform(0.07, 0.09),
    "press_m": uniform(0.002, 0.0028),  # at the free edge; the gap behind the door is 3 mm
    "eject_n": uniform(8.0, 14.0),  # at the free edge
}


def _add_push_latch(assembly: Assembly, p: Drawn, doors: Sequence[Door]) -> None:
    (door,) = doors
    lever, part = door.span[1], assembly.parts["door"]
    joint, press = assembly.joints[part.joint], p.press_m / lever
    beyond = round(1.05 * press, 6)
    assembly.joints[part.joint] = (
        replace(joint, lower=-beyond) if part.openness.open > 0.0 else replace(joint, upper=beyond)
    )
    assembly.mechanisms["ejector"] = PushLatch(
        part.joint, press=round(press, 6), pops_to=round(p.pops_m / lever, 6), effort=round(p.eject_n * lever, 4)
    )
    CABINET.finish(assembly, p, doors)


push_latch_cabinet = cabinet.variant(
    "push_latch_cabinet", _PUSH_LATCH_CABINET, replace(CABINET, finish=_add_push_latch)
)

# Cabinet with two doors, of which the first covers the edge of the second: it opens first.

_DOUBLE_CABINET = {
    "doors": derived(lambda p: 2),
    "handle": bar(length=lambda p: (0.10, min(0.20, 0.4 * p.height_m)), thickness=(0.010, 0.018)),
    "width_m": uniform(0.50, 0.60),
    "strip_m": uniform(0.012, 0.018),  # of the strip on the first door that covers the second
    "clear_rad": uniform(0.25, 0.35),  # opening of the first door at which the second is free
}


def _add_cover_strip(panel: PanelBuilder, p: Drawn, door: Door) -> None:
    CABINET.add_to_door(panel, p, door)
    if door.name == "door":
        width, half, face = door.span[1], door.half, door.out[1]
        lower, upper = (width - 0.004, -half, face), (width + p.strip_m, half, face + 0.004)
        panel.visual.box("strip", lower, upper, rgba=p.front_colour)


def _add_order(assembly: Assembly, p: Drawn, doors: Sequence[Door]) -> None:
    first, second = (assembly.parts[name] for name in ("door", "door_2"))
    limits = sorted((first.openness.position(p.clear_rad), first.openness.position(p.limit_rad + 0.1)))
    assembly.mechanisms["strip"] = Interlock(joint=second.joint, by=first.joint, range=tuple(limits))
    CABINET.finish(assembly, p, doors)


double_cabinet = cabinet.variant(
    "double_cabinet", _DOUBLE_CABINET, replace(CABINET, add_to_door=_add_cover_strip, finish=_add_order)
)

# Filing cabinet: an interlock lets one drawer out at a time, so that it does not fall over (BIFMA X5.9, EN 14073-2).

_FILING_CABINET = {
    "count": whole(2, 4),
    "handle": bar(length=lambda p: (0.10, min(0.20, p.width_m - 0.22)), thickness=(0.010, 0.018)),
}


def _build_filing_cabinet(assembly: Assembly, p: Drawn) -> None:
    build_chest(assembly, p)
    assembly.mechanisms["interlock"] = Interlock(joints=tuple(part.joint for part in assembly.parts.values()))


filing_cabinet = drawer_cabinet.variant("filing_cabinet", _FILING_CABINET, _build_filing_cabinet)

# Drawer on telescopic rails: between body and drawer, a member of each rail comes out by half of the way.

_TELESCOPIC_DRAWER = {
    "count": whole(1, 3),
    "handle": bar(length=lambda p: (0.10, min(0.20, p.width_m - 0.22)), thickness=(0.010, 0.018)),
    "rail_m": uniform(0.030, 0.045),  # height of the members
}
_RAIL_COLOUR = (0.62, 0.63, 0.65, 1.0)


def _build_telescopic_drawer(assembly: Assembly, p: Drawn) -> None:
    build_chest(assembly, p)
    for name, part in list(assembly.parts.items()):
        joint = assembly.joints[part.joint]
        rail = LinkBuilder(f"{name}_rail")
        half, back = p.width_m / 2 - p.wall_m, -(p.depth_m - 0.03)
        for number, sign in enumerate((-1.0, 1.0)):
            inner, outer = sorted((sign * (half - 0.007), sign * (half - 0.001)))
            low, high = -0.5 * p.rail_m, 0.5 * p.rail_m
            rail.box(f"{name}_member_{number}", (back, inner, low), (-0.004, outer, high), rgba=_RAIL_COLOUR)
        travel = 0.5 * part.openness.open
        slide = PartMotion(
            PartKind.slider, "body", joint.T_parent_joint.p.tolist(), X, travel, friction=1.0, damping=1.0
        )
        assembly.add_link(rail, slide, mass_kg=rail.mass_kg(7800.0 / 4.0))  # of bent sheet, a quarter of it steel
        assembly.mechanisms[rail.name] = Mimic(f"{rail.name}_slide", part.joint, ratio=0.5)


telescopic_drawer = drawer_cabinet.variant("telescopic_drawer", _TELESCOPIC_DRAWER, _build_telescopic_drawer)


# Chest whose drawer moves only while the button on the top is pressed, as the guards of machines that need two hands.

_BUTTON_DRAWER = {
    "count": derived(lambda p: 1),
    "handle": bar(length=lambda p: (0.10, min(0.14, p.width_m - 0.22)), thickness=(0.010, 0.018)),
    "button_m": uniform(0.016, 0.022),  # half of its width
    "button_travel_m": uniform(0.005, 0.007),
    "button_force_n": uniform(5.0, 9.0),  # at rest; half as much again when it is pressed
    "button_side": either(-1.0, 1.0),  # on the right or on the left, as seen from the front
    "button_share": uniform(0.55, 0.75),  # its place, as a share of half the width
}


def _build_button_drawer(assembly: Assembly, p: Drawn) -> None:
    build_chest(assembly, p)
    drawer, top = assembly.parts["drawer"].joint, round(p.feet_m + p.front_height_m + 2 * p.wall_m, 6)
    at = (p.depth_m / 2 - 0.06, -p.button_side * p.button_share * p.width_m / 2, top)
    half = (p.button_m, p.button_m)
    _add_button(
        assembly, at, half, travel_m=p.button_travel_m, force_n=p.button_force_n, frame=LID_BEHIND, stem_m=0.004
    )
    pressed = (-1e-4, round(0.4 * p.button_travel_m, 6))
    assembly.mechanisms["lock"] = Interlock(joint=drawer, by=assembly.parts["button"].joint, range=pressed)


button_drawer = drawer_cabinet.variant("button_drawer", _BUTTON_DRAWER, _build_button_drawer)

# Oven whose knobs click into settings, from 0 to 6.

_SETTINGS = 6
_CLICK_RAD_S = 3.0
"""Largest speed at which a released knob snaps into its setting [rad/s]: its spindle is greased. Our own choice."""
_DETENT_OVEN = {
    "click_n_m": uniform(0.26, 0.34),  # our own choice, a little above the friction of the knobs
}


def _add_clicking_knobs(assembly: Assembly, p: Drawn, doors: Sequence[Door]) -> None:
    OVEN.finish(assembly, p, doors)
    for name, part in assembly.parts.items():
        if part.kind is PartKind.knob:
            places = sorted(round(part.openness.position(part.openness.span * k / _SETTINGS), 6) for k in range(7))
            reach = round(0.3 * part.openness.span / _SETTINGS, 6)
            assembly.mechanisms[f"{name}_clicks"] = Detent(
                part.joint,
                tuple(places),
                effort=p.click_n_m,
                reach=reach,
                damping=round(p.click_n_m / _CLICK_RAD_S, 4),
            )


detent_oven = oven.variant("detent_oven", _DETENT_OVEN, replace(OVEN, finish=_add_clicking_knobs))

# Safe: its lever turns while the dial is at its place, and withdraws the bolts, which stay withdrawn.

_LOCKED_SAFE = {
    "height_m": uniform(0.36, 0.44),
    "width_m": uniform(0.38, 0.44),
    "dial_share": uniform(0.30, 0.36),
    "dial_rise_m": uniform(0.06, 0.08),
    "handle": derived(lambda p: EdgeHandle()),
    **LEVER,
    "lever_drop_m": uniform(0.05, 0.07),  # of the lever's axis below the middle of the door
    "lever_inset_m": uniform(0.045, 0.06),  # from the free edge to the lever's axis
    "lever_range_rad": uniform(0.8, 1.1),
    "lever_friction_n_m": uniform(0.4, 0.8),
    "lever_damping_n_m_s": uniform(0.01, 0.03),
    "code_rad": uniform(1.0, 1.4),  # place of the dial at which the lever is free
    "code_within_rad": uniform(0.16, 0.22),  # to either side
    "free_share": uniform(0.6, 0.75),  # of the lever's range, where the bolts are withdrawn
}


def _add_dial_and_lever(assembly: Assembly, p: Drawn, doors: Sequence[Door]) -> None:
    (door,) = doors
    SAFE.finish(assembly, p, doors)
    add_lever(assembly, p, door, (door.span[1] - p.lever_inset_m, -door.up * p.lever_drop_m))
    leaf, lever, dial = (assembly.parts[name] for name in ("door", "lever", "knob"))
    ends = sorted(dial.openness.position(p.code_rad + side * p.code_within_rad) for side in (-1.0, 1.0))
    assembly.mechanisms["wheels"] = Interlock(joint=lever.joint, by=dial.joint, range=tuple(round(v, 6) for v in ends))
    free_at = round(p.free_share * p.lever_range_rad, 4)
    assembly.mechanisms["bolts"] = Latch(leaf.joint, lever.joint, free_at=free_at, snaps=False)


locked_safe = safe.variant(
    "locked_safe",
    _LOCKED_SAFE,
    replace(SAFE, finish=_add_dial_and_lever),
    without=("handle", "handle_inset_m", "dial_rise_m"),
)


# Toolbox: two twist clasps hold the lid, as the butterfly latches of cases; each turns by a quarter.

_draw_clasp = turning_knob(diameter=(0.044, 0.052), depth=(0.030, 0.036))
_TOOLBOX = {
    "width_m": uniform(0.36, 0.44),
    "depth_m": uniform(0.20, 0.26),
    "height_m": uniform(0.16, 0.21),
    "handle": handle({"knob": 0.4, "bar": 0.6}, length=(0.09, 0.14)),
    "clasp": lambda rng, p: replace(_draw_clasp(rng, p), style="blade", range_rad=1.57),
    "clasp_share": uniform(0.62, 0.74),  # place of the clasps, as a share of half the width
    "clasp_drop_m": uniform(0.045, 0.055),  # below the upper edge of the box
    "clasp_free_rad": uniform(0.9, 1.1),
}


def _build_toolbox(assembly: Assembly, p: Drawn) -> None:
    box.build(assembly, p)
    x1, edge = p.depth_m / 2, (p.depth_m / 2 - p.wall_m / 2, 0.0, p.height_m)
    lid = assembly.parts["lid"].joint
    for number, side in enumerate((-1.0, 1.0)):
        name, at = numbered("knob", number), (x1, side * p.clasp_share * p.width_m / 2, p.height_m - p.clasp_drop_m)
        add_turning_knob(
            assembly, name, p.clasp, frame=FRONT, parent="body", at=at, edge=edge, rgba=CHROME, mark=DARK
        )  # fmt: skip
        assembly.mechanisms[f"clasp_{number}"] = Latch(lid, assembly.parts[name].joint, free_at=p.clasp_free_rad)


toolbox = box.variant("toolbox", _TOOLBOX, _build_toolbox)
