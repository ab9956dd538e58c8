"""The ways in which a skill may be carried out on a part, the most promising first, as planner settings."""

from __future__ import annotations

from typing import Any

import numpy as np

from unlatch.objects.annotation import Part, PartKind
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.robots.hand_shape import HandShape
from unlatch.simcore.errors import ConfigError
from unlatch.skills.catalog import SKILLS
from unlatch.skills.strategies.edge import edge_grip, edge_hook, free_edges
from unlatch.skills.strategies.grasp import HEAD, TAIL, HandRoom, held_at_edge
from unlatch.skills.strategies.push import SPOT, push_shifts
from unlatch.skills.strategies.rotate import check_turns, is_round, rotate_setting, turned_to
from unlatch.skills.strategies.setting import approach_m, planner_setting

_ANGLES = 7
"""So many angles are tried for one at which a hand fits along a blade."""
_NEARLY_CLOSED = 0.1
"""A push must fit at this share of the start too, where the body is near."""
TURNS_ABOUT_HINGE = (PartKind.hinge_vertical, PartKind.hinge_horizontal, PartKind.lid)
KNOB_ALONG_SLIPS = ("side", "fixed")
KNOB_ACROSS_SLIPS = ("fixed", "side")
"""What the hand may do on a knob that opens a part: it turns between flat pads about the line between them, and wedges
about any other."""
WAY_NAMES = ("bar", "edge", "hook", "knob", "push")
"""What the names of derived ways begin with."""
SKILLS_WITH_WAYS = ("close", "open", "rotate")
"""Skills whose settings can be derived."""


def derived_as(skill: str) -> str:
    """The one of `SKILLS_WITH_WAYS` whose settings and tasks serve a skill: itself, or what its class names.

    Args:
        skill: Name of a skill, also one of another distribution.

    Raises:
        ConfigError: None does.
        PluginError: The skill cannot be loaded.
    """
    if skill in SKILLS_WITH_WAYS:
        return skill
    named: str | None = SKILLS.load(skill).derived_as if skill in SKILLS.names() else None
    if named not in SKILLS_WITH_WAYS:
        raise ConfigError(
            f"skill '{skill}' has no planner_setting, and none can be derived for it. Expected one of "
            f"{', '.join(SKILLS_WITH_WAYS)} where it is left out, or a skill whose class says `derived_as` one of "
            "them. Add it.",
            key="planner_setting",
        )
    return named


def derived_ways(
    skill: str, asset: ObjectAsset, part: Part, hand: HandShape, start: tuple[float, float]
) -> list[tuple[str, dict[str, Any]]]:
    """Names and planner settings of the ways, in the order in which they are tried.

    A bar or an edge is held at its head or, where that does not plan, beside it; what the hand does not fit comes last.

    Args:
        skill: One of `SKILLS_WITH_WAYS`, or one that is derived as one of them.
        asset: The object.
        part: Its part.
        hand: The hand that acts.
        start: How far the part is open, at least and at most, from closed [rad or m].

    Raises:
        ConfigError: The skill does not fit the part, or has no settings to derive.
    """
    skill = derived_as(skill)
    if skill == "close":
        return _pushes(asset, part, hand, start)
    if skill == "rotate":
        check_turns(part)
    room = HandRoom(asset, part, hand, approach_m=approach_m(part))
    kind = "edge" if held_at_edge(part) else part.handle.type.value
    found: list[tuple[bool, str, dict[str, Any]]] = []
    if skill == "open" and kind == "knob" and part.kind in TURNS_ABOUT_HINGE:
        found += _knob_along_hinge(room, asset, start)
    for shift_m in (0.0, *(room.shifts() if skill == "open" else ())):
        grasp = room.grasp_over(start, shift_m=shift_m)
        if grasp is None and shift_m != 0.0:
            continue
        if skill == "rotate":
            setting = rotate_setting(part, asset, grasp)
        else:
            setting = planner_setting(skill, part, asset, start, grasp)
        if kind == "knob" and skill == "open":
            setting["slips"] = list(KNOB_ACROSS_SLIPS)
        if shift_m != 0.0:
            _, along, _ = room.axes_link()
            shift = [round(float(v), 4) for v in shift_m * along]
            setting["keypoint_shifts"] = {HEAD: shift, TAIL: shift}
        found.append((grasp is None, kind if shift_m == 0.0 else f"{kind}{100 * shift_m:+.0f}cm", setting))
    if skill == "open" and start[1] > 0.0:
        found += _at_free_edge(asset, room, start, pinched=kind != "edge")
    if skill == "rotate" and part.kind is PartKind.knob and not is_round(part):
        # where it is closed, a spout may stand in the way that is out of it after a quarter turn
        grasps = (room.grasp(float(s), along=True) for s in np.linspace(start[0], turned_to(part), _ANGLES))
        grasp = next((grasp for grasp in grasps if grasp is not None), None)
        if grasp is not None:
            found.append((False, f"{kind}_along", rotate_setting(part, asset, grasp, along=True)))
    return [(name, setting) for _, name, setting in sorted(found, key=lambda item: item[0])]


def _at_free_edge(
    asset: ObjectAsset, room: HandRoom, start: tuple[float, float], *, pinched: bool
) -> list[tuple[bool, str, dict[str, Any]]]:
    """What else opens a part that stands ajar: its free edge between the fingers, or closed fingers behind it."""
    edges = free_edges(room)
    found = []
    for name, make in (("edge", edge_grip), ("hook", edge_hook)):
        if name == "edge" and not pinched:
            continue
        setting = next((made for edge in edges if (made := make(asset, room, edge, start)) is not None), None)
        if setting is not None:
            found.append((False, name, setting))
    return found


def _knob_along_hinge(
    room: HandRoom, asset: ObjectAsset, start: tuple[float, float]
) -> list[tuple[bool, str, dict[str, Any]]]:
    """A knob between fingers that close along the hinge: while the part turns, they turn on it like two pads on a pin.

    Closed on across the hinge, they would have to turn with the part, or it would wedge between them.
    """
    grasp = room.grasp_over(start, along=True)
    if grasp is None:
        return []
    setting = planner_setting("open", room.part, asset, start, grasp, along=True)
    return [(False, "knob_along_hinge", {**setting, "slips": list(KNOB_ALONG_SLIPS)})]


def _pushes(
    asset: ObjectAsset, part: Part, hand: HandShape, start: tuple[float, float]
) -> list[tuple[str, dict[str, Any]]]:
    """A push at the annotated spot, if the hand fits there, and at the nearest others where it does."""
    setting = planner_setting("close", part, asset, start)
    room = HandRoom(asset, part, hand, approach_m=0.0)
    shifts = [shift.round(4) + 0.0 for shift in push_shifts(room, (*dict.fromkeys(start), _NEARLY_CLOSED * start[0]))]
    if not shifts:
        return [("push", setting)]
    ways = []
    for number, shift in enumerate(shifts, start=1):
        moved = {} if not shift.any() else {"keypoint_shifts": {SPOT: shift.tolist()}}
        ways.append(("push" if number == 1 else f"push_{number}", {**setting, **moved}))
    return ways
