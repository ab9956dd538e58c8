"""Planner settings by the kind of a part: what a skill solves for where no task file says it."""

from __future__ import annotations

from typing import Any

import numpy as np

from unlatch.objects.annotation import HandleType, Part, PartKind
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.simcore.errors import ConfigError
from unlatch.skills.strategies.grasp import HEAD, TAIL, HandGrasp, HandRoom, held_at_edge

Entry = dict[str, Any]

EDGE_OPENING_M = 0.085
"""An edge stands so far open at the start that fingers reach around it: a finger, its clearance, how the hand leans."""
EDGE_OPENING_RAD = (0.25, 0.6)
"""The same as an angle, at least and at most: far from the hinge a small angle makes a wide gap that the hand's own
width still has to fit, near it a large one would leave nothing to open."""
EDGE_OPENING_SHARE = 0.4
"""An edge stands open by at most this share of the range, ..."""
EDGE_ROOM_SHARE = 0.6
"""... or this one, where a hand fits only then."""
_START_SPREAD = 1.2
_OPENINGS = 20
"""How many openings are tried for one at which a hand fits."""

_WANTED = {
    PartKind.hinge_vertical: 0.7,
    PartKind.hinge_horizontal: 0.7,
    PartKind.lid: 0.6,  # further, a hand that holds a lid from the front has to reach over it
    PartKind.knob: 0.5,  # the wrist turns with it: more leaves the range of its last joint at half of its poses
    PartKind.lever: 0.5,
    PartKind.slider: 0.15,
}
"""How far a part is opened, where it goes further [rad or m]: enough to reach inside, within one sweep of an arm."""
_WANTED_SHARE = 0.6
"""And at most this share of what is left to open, so that the hand can go beyond it and ends before the limit."""
EDGE_APPROACH_M = 0.06
_APPROACH_M = {True: EDGE_APPROACH_M, False: 0.1}
"""The hand comes to an edge, or to a handle, in a straight line so long: open fingers reach over an edge by two
centimetres, and clear a handle that stands out by six."""
_PUSH_APPROACH_M = 0.06
"""The same where it pushes."""
FURTHER = 1.5
"""The hand goes so much farther than what is asked for: of a part that resists, a hand that leans or slips by
millimetres loses a fifth to a quarter of the way."""
_CLOSE_FROM = {True: (0.1, 0.2), False: (0.5, 0.9)}
"""Start of closing: sliders [m], others [rad]; ..."""
_CLOSE_FROM_SHARE = (0.4, 0.6)
"""... at most these shares of the range."""
_CLOSED = {True: 0.01, False: 0.08}
"""What counts as closed: sliders [m], others [rad]; a part bounces a little off its limit."""
_TIP_LEADS_M = 0.007
"""What turns is led to so much before closed: of a fingertip that leans, a corner goes ahead by up to a centimetre. It
would come through a thin lid to what that lies on, or push a narrow door past its limit, ..."""
_SHORT_SHARE = 0.7
"""... but at most to this share of what counts as closed."""
_CLOSED_SHARE = 0.25
"""And at most this share of the start: nothing is closed before it was pushed."""


def lever_m(part: Part, asset: ObjectAsset, keypoint: str = HEAD) -> float:
    """Distance of a keypoint from the axis of a part that turns [m].

    Args:
        part: The part.
        asset: The object.
        keypoint: Name of the keypoint.
    """
    model = asset.model
    joint = model.joints[part.joint]
    point = model.link_pose(joint.child).inverse() @ model.link_pose(part.link) @ part.keypoint(keypoint).xyz
    axis = joint.axis / np.linalg.norm(joint.axis)
    return float(np.linalg.norm(np.cross(axis, point)))


def start_range(skill: str, part: Part, asset: ObjectAsset) -> tuple[float, float]:
    """How far a part is open at the start, from closed, before a hand is asked whether it fits [rad or m].

    Args:
        skill: `open` or `close`.
        part: The part.
        asset: The object.
    """
    slides, span = part.kind is PartKind.slider, _span(part)
    if skill == "close":
        shares = zip(_CLOSE_FROM[slides], _CLOSE_FROM_SHARE, strict=True)
        low, high = (min(most, share * span) for most, share in shares)
        return _rounded(low), _rounded(high)
    if not held_at_edge(part):
        return 0.0, 0.0  # what has a handle is opened from closed
    if slides:
        low = min(EDGE_OPENING_M, EDGE_OPENING_SHARE * span)
    else:
        least, most = EDGE_OPENING_RAD
        angle = EDGE_OPENING_M / max(lever_m(part, asset), 1e-3)
        low = min(max(angle, least), most, EDGE_OPENING_SHARE * span)
    return _rounded(low), _rounded(min(_START_SPREAD * low, span))


def roomy_start(start: tuple[float, float], part: Part, room: HandRoom) -> tuple[float, float]:
    """How far a part that is opened stands open at the start, so that the hand fits [rad or m].

    What is held at an edge stands open by so much more that the hand fits behind it, and so does what has a handle that
    no hand fits while it is closed; where it fits at no opening, the range stays as it was.

    Args:
        start: From `start_range`.
        part: The part.
        room: The hand at the part.
    """
    if start[1] == 0.0 and any(room.grasp(0.0, shift_m=shift) is not None for shift in (0.0, *room.shifts())):
        return start
    for low in np.linspace(start[0], max(start[0], EDGE_ROOM_SHARE * _span(part)), _OPENINGS):
        found = (_rounded(float(low)), _rounded(min(_START_SPREAD * float(low), _span(part))))
        if all(room.grasp(opening) is not None for opening in found):
            return found
    return start


def approach_m(part: Part) -> float:
    """Length of the straight line in which the hand comes to a part that it takes [m].

    Args:
        part: The part.
    """
    return _APPROACH_M[held_at_edge(part)]


def _opening_sign(part: Part) -> float:
    return 1.0 if part.openness.open > part.openness.closed else -1.0


def _span(part: Part) -> float:
    return abs(part.openness.open - part.openness.closed)


def goal_value(skill: str, part: Part, start: tuple[float, float]) -> float:
    """The displacement that counts as opened, or the distance that counts as closed [rad or m].

    Args:
        skill: `open` or `close`.
        part: The part.
        start: From `start_range`.
    """
    if skill == "close":
        return _rounded(min(_CLOSED[part.kind is PartKind.slider], _CLOSED_SHARE * start[0]))
    left = _span(part) - start[1]
    return _rounded(min(_WANTED[part.kind], _WANTED_SHARE * left))


def planner_setting(
    skill: str,
    part: Part,
    asset: ObjectAsset,
    start: tuple[float, float],
    grasp: HandGrasp | None = None,
    *,
    along: bool = False,
) -> Entry:
    """The planner setting of a skill on a part; a default of the schema is not repeated.

    Args:
        skill: `open` or `close`.
        part: The part.
        asset: The object.
        start: From `start_range` or `roomy_start`.
        grasp: What fits the hand; None = on the head, with fingers wide open.
        along: Whether the fingers close along the contact axis of a handle, and not across it.

    Raises:
        ConfigError: The skill does not fit the part.
    """
    if skill == "close":
        threshold = goal_value(skill, part, start)
        return {"success_threshold": threshold, **_close(part, asset, threshold)}
    return {"success_threshold": goal_value(skill, part, start), **_open(part, start, grasp, along=along)}


def opened_to(part: Part, start: tuple[float, float]) -> float:
    """How far from closed the hand leads a part that it opens [rad or m].

    Args:
        part: The part.
        start: From `start_range`.
    """
    return _rounded(start[1] + FURTHER * goal_value("open", part, start))


def _open(part: Part, start: tuple[float, float], grasp: HandGrasp | None, *, along: bool) -> Entry:
    if part.handle.type is HandleType.none:
        raise ConfigError(
            f"skill=open does not fit part '{part.name}': it has neither a handle nor an edge that a hand can hold "
            "(handle.type is none). Name another part, or set the handle in an articulation.yaml.",
            key="skill",
        )
    head = {"type": "point2point_constraint", "keypoint_name": _TIP, "target_keypoint_name": HEAD}
    openness = part.openness
    to = openness.closed + _opening_sign(part) * opened_to(part, start)
    taken: Entry = {}
    if grasp is not None:
        taken["approach_width_m"] = grasp.width_m
        if grasp.back_m > 0.0:
            taken["modify_actuation_motion"] = ["translate_z", -grasp.back_m]
    return {
        "constraint_list": [
            {**head, "tolerance": 0.002},
            *(_edge(part) if held_at_edge(part) else _handle(part, along=along)),
        ],
        **taken,
        "pre_actuation_motions": [["translate_z", -approach_m(part)]],
        "post_actuation_motions": {"follow_joint": {"to": _rounded(to)}},
    }


def _handle(part: Part, *, along: bool) -> list[Entry]:
    """Fingers close from head to tail, or along the handle; the hand comes from where the part faces, or nearly."""
    if along:
        closing: Entry = {
            "type": "frame_axis_parallel",
            **_side(),
            "target_axis": "link0_contact_axis",
            "target_axis_frame": "object",
        }
    else:
        closing = {
            "type": "keypoint_axis_parallel",
            **_side(),
            "target_axis_from_keypoint_name": HEAD,
            "target_axis_to_keypoint_name": TAIL,
        }
    return [
        {**closing, "target_inner_product": 1, "tolerance": 0.05},
        # a knob has no room beside it, and the wrist must turn on its axis; all else may be held leaning
        _palm(part, 0.35 if part.kind is PartKind.knob else 0.9),
    ]


def _edge(part: Part) -> list[Entry]:
    """An edge is pinched across the panel: fingers close along its way out, the hand comes from the free side."""
    # a drawer's front is held at its upper edge, and head to tail points down; else from the hinge to the free side
    sign = -1 if part.kind is PartKind.slider else 1
    return [
        {
            "type": "frame_axis_parallel",
            **_side(),
            **_outward(part),
            "target_inner_product": 1,
            "tolerance": 0.1,
        },
        {
            "type": "keypoint_axis_parallel",
            **_back(),
            "target_axis_from_keypoint_name": HEAD,
            "target_axis_to_keypoint_name": TAIL,
            "target_inner_product": sign,
            "tolerance": 0.9,
        },
    ]


def _pushed_to(part: Part, asset: ObjectAsset, threshold: float) -> float:
    """Where the hand leads a part that turns to close it [rad]."""
    lever = lever_m(part, asset, "link_contact_point")
    short = min(_TIP_LEADS_M / max(lever, 1e-3), _SHORT_SHARE * threshold)
    return part.openness.closed + _opening_sign(part) * short


def _close(part: Part, asset: ObjectAsset, threshold: float) -> Entry:
    if part.kind in (PartKind.knob, PartKind.lever):
        raise ConfigError(
            f"skill=close does not fit part '{part.name}': it is a {part.kind.value}, which is turned, not pushed. "
            "Use skill=rotate, or name another part.",
            key="skill",
        )
    slides = part.kind is PartKind.slider
    point = {
        "type": "point2point_constraint",
        "keypoint_name": "tool_tip",
        "target_keypoint_name": "link_contact_point",
    }
    if slides:
        # the palm is wide along tool_side: it stays in the plane of the front
        side = {
            "type": "frame_axis_orthogonal",
            **_side(),
            **_outward(part),
            "target_inner_product": 0,
            "tolerance": 0.25,
        }
    else:
        # the palm is wide along tool_side: held along the hinge, it stays clear of the part while that turns under it
        side = {
            "type": "frame_axis_parallel",
            **_side(),
            "target_axis": "link0_rot_axis",
            "target_axis_frame": "object",
            "target_inner_product": 1,
            "tolerance": 0.25,
        }
    palm = _palm(part, 0.7 if slides else 0.9)
    setting: Entry = {"constraint_list": [{**point, "tolerance": 0.002}, side, palm]}
    if not slides:
        setting["post_actuation_motions"] = {"follow_joint": {"to": _rounded(_pushed_to(part, asset, threshold))}}
    return {**setting, "pre_actuation_motions": [["translate_z", -_PUSH_APPROACH_M]]}


_TIP = "tool_head"


def _palm(part: Part, tolerance: float) -> Entry:
    """From the fingertips to the palm, out of the part."""
    return {
        "type": "frame_axis_parallel",
        **_back(),
        **_outward(part),
        "target_inner_product": 1,
        "tolerance": tolerance,
    }


def _outward(part: Part) -> Entry:
    """The target that points out of a part, to where it opens."""
    if part.kind is PartKind.slider:
        return {"target_axis": "link0_move_axis", "target_axis_frame": "object"}
    return {
        "cross_target_axis1_from_keypoint_name": HEAD,
        "cross_target_axis1_to_keypoint_name": TAIL,
        "target_axis": "link0_contact_axis",
        "target_axis_frame": "object",
    }


def _side() -> Entry:
    return {"axis_from_keypoint_name": _TIP, "axis_to_keypoint_name": "tool_side"}


def _back() -> Entry:
    return {"axis_from_keypoint_name": _TIP, "axis_to_keypoint_name": "tool_tail"}


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")
