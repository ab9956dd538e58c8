"""How a door, lid or drawer is grasped to open it, and how it is pushed to close it.

`planner_setting` makes the planner setting of a skill from the kind of the part, its handle and its geometry, where no
task file states one. It decides where the hand takes the part (constraints), how far the part is led, and how far it
must move to count as opened or closed (`goal_value`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unlatch.objects.annotation import HandleType, Part, PartKind
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.urdf.model import UrdfModel
from unlatch.skills.strategies.hand_fit import HEAD, TAIL, HandFit, HandGrasp, held_at_edge
from unlatch.solver.settings.setting import FollowJointCfg, PlannerSettingCfg
from unlatch.solver.terms.axis import AxisAngle, FrameAxisOrthogonal, FrameAxisParallel, KeypointAxisParallel
from unlatch.solver.terms.point2point import Point2Point
from unlatch.solver.terms.term import Term

Array = np.ndarray

EDGE_OPENING_M = 0.085
"""Opening of an edge at the start, so that fingers reach around it: a finger, its clearance, the lean of the hand."""
EDGE_OPENING_RAD = (0.25, 0.6)
"""The same as an angle, at least and at most. Far from the hinge a small angle makes a wide gap, but the hand's own
width must still fit; near the hinge a large angle would leave nothing to open."""
EDGE_OPENING_SHARE = 0.4
"""Largest opening of an edge at the start, as a share of the range."""
EDGE_ROOM_SHARE = 0.6
"""The same where a hand fits only at a larger opening."""
_START_SPREAD = 1.2
_OPENINGS = 20
"""Number of openings tried for one at which a hand fits."""

_WANTED = {
    PartKind.hinge_vertical: 0.7,
    PartKind.hinge_horizontal: 0.7,
    PartKind.lid: 0.6,  # further, a hand that holds a lid from the front has to reach over it
    PartKind.knob: 0.5,  # the wrist turns with it: more leaves the range of its last joint at half of its poses
    PartKind.lever: 0.5,
    PartKind.slider: 0.15,
}
"""Displacement that counts as opened [rad or m]: enough to reach inside, within one sweep of an arm."""
_WANTED_SHARE = 0.6
"""Largest such displacement as a share of what is left to open, so that the hand can overshoot before the limit."""
EDGE_APPROACH_M = 0.06
_APPROACH_M = {True: EDGE_APPROACH_M, False: 0.1}
"""Length of the straight approach to an edge (True) or a handle (False): open fingers reach over an edge by two
centimetres, and clear a handle that stands out by six."""
_PUSH_APPROACH_M = 0.06
"""Length of the straight approach of a push."""
FURTHER = 1.5
"""The hand leads the part this factor beyond what is wanted: on a part that resists, a hand that leans or slips by
millimetres loses a fifth to a quarter of the way."""
_CLOSE_FROM = {True: (0.1, 0.2), False: (0.5, 0.9)}
"""Openings from which a part is closed: sliders [m], others [rad]."""
_CLOSE_FROM_SHARE = (0.4, 0.6)
"""Largest such openings as shares of the range."""
_CLOSED = {True: 0.01, False: 0.08}
"""Distance from closed that counts as closed: sliders [m], others [rad]; a part bounces a little off its limit."""
_CLOSED_SHARE = 0.25
"""Largest such distance as a share of the start: nothing counts as closed before it is pushed."""
_TIP_LEADS_M = 0.007
"""A turning part is led to this distance before closed: a corner of a leaning fingertip goes ahead by up to a
centimetre. It would come through a thin lid, or push a narrow door past its limit."""
_SHORT_SHARE = 0.7
"""Largest such distance as a share of what counts as closed."""

SPOT = "link_contact_point"
"""Keypoint at which a part is pushed."""
_TIP, _SIDE, _BACK = "tool_head", "tool_side", "tool_tail"
"""Tool keypoints: between the fingertips, beside them along the closing direction, and towards the palm."""
_POINT_TOLERANCE_M = 0.002


def lever_m(model: UrdfModel, part: Part, point: Array) -> float:
    """Returns the distance of a point (3,) of the part's link from the axis of a part that turns [m]."""
    joint = model.joints[part.joint]
    p = model.link_pose(joint.child).inverse() @ model.link_pose(part.link) @ point
    return float(np.linalg.norm(np.cross(joint.axis / np.linalg.norm(joint.axis), p)))


def start_range(skill: str, part: Part, asset: ObjectAsset) -> tuple[float, float]:
    """Returns the least and largest opening at the start, before checking that a hand fits [rad or m from closed]."""
    slides, span = part.kind is PartKind.slider, _span(part)
    if skill == "close":
        shares = zip(_CLOSE_FROM[slides], _CLOSE_FROM_SHARE, strict=True)
        low, high = (min(most, share * span) for most, share in shares)
        return rounded(low), rounded(high)
    if not held_at_edge(part):
        return 0.0, 0.0  # a part with a handle is opened from closed
    if slides:
        low = min(EDGE_OPENING_M, EDGE_OPENING_SHARE * span)
    else:
        least, most = EDGE_OPENING_RAD
        angle = EDGE_OPENING_M / max(lever_m(asset.model, part, part.keypoint(HEAD).xyz), 1e-3)
        low = min(max(angle, least), most, EDGE_OPENING_SHARE * span)
    return rounded(low), rounded(min(_START_SPREAD * low, span))


def roomy_start(start: tuple[float, float], part: Part, fit: HandFit) -> tuple[float, float]:
    """Returns the openings of `start_range`, widened until the hand fits [rad or m from closed]. A part that is held at
    an edge is opened until the hand fits behind the edge. A part with a handle is opened where no hand fits while it is
    closed. Where the hand fits at no opening, the range stays as it is.
    """
    if start[1] == 0.0 and any(fit.grasp(0.0, shift_m=shift) is not None for shift in (0.0, *fit.shifts())):
        return start
    for low in np.linspace(start[0], max(start[0], EDGE_ROOM_SHARE * _span(part)), _OPENINGS):
        found = (rounded(float(low)), rounded(min(_START_SPREAD * float(low), _span(part))))
        if all(fit.grasp(opening) is not None for opening in found):
            return found
    return start


def approach_m(part: Part) -> float:
    """Returns the length of the straight approach of a hand that grasps a part [m]."""
    return _APPROACH_M[held_at_edge(part)]


def _opening_sign(part: Part) -> float:
    return 1.0 if part.openness.open > part.openness.closed else -1.0


def _span(part: Part) -> float:
    return abs(part.openness.open - part.openness.closed)


def goal_value(skill: str, part: Part, start: tuple[float, float]) -> float:
    """Returns what counts as success from a start of `start_range`: the displacement of `open`, the distance from
    closed of `close` [rad or m].
    """
    if skill == "close":
        return rounded(min(_CLOSED[part.kind is PartKind.slider], _CLOSED_SHARE * start[0]))
    left = _span(part) - start[1]
    return rounded(min(_WANTED[part.kind], _WANTED_SHARE * left))


def planner_setting(
    skill: str,
    part: Part,
    asset: ObjectAsset,
    start: tuple[float, float],
    grasp: HandGrasp | None = None,
    *,
    along: bool = False,
) -> PlannerSettingCfg:
    """Returns the planner setting of `open` or `close` on a part, from a start of `start_range` or `roomy_start`.
    Without a grasp that fits the hand, it is on the head, with fingers wide open; with `along` the fingers close along
    the contact axis of a handle, not across it.

    Raises:
        ConfigError: The skill does not fit the part.
    """
    threshold = goal_value(skill, part, start)
    if skill == "close":
        return _push(part, asset, threshold)
    return _grasp(part, start, threshold, grasp, along=along)


def opened_to(part: Part, start: tuple[float, float]) -> float:
    """Returns how far from closed the hand leads a part that it opens from a start of `start_range` [rad or m]."""
    return rounded(start[1] + FURTHER * goal_value("open", part, start))


def _grasp(
    part: Part, start: tuple[float, float], threshold: float, grasp: HandGrasp | None, *, along: bool
) -> PlannerSettingCfg:
    """Returns the setting for taking a part between the fingers and opening it."""
    if part.handle.type is HandleType.none:
        raise ConfigError(
            f"skill=open does not fit part '{part.name}': it has neither a handle nor an edge that a hand can hold "
            "(handle.type is none). Name another part, or set the handle in an articulation.yaml.",
            key="skill",
        )
    stays_back = None if grasp is None or grasp.back_m <= 0.0 else ["translate_z", -grasp.back_m]
    return PlannerSettingCfg(
        success_threshold=threshold,
        constraint_list=[
            Point2Point(_TIP, HEAD, _POINT_TOLERANCE_M),
            *(_pinched_edge(part) if held_at_edge(part) else _held_handle(part, along=along)),
        ],
        approach_width_m=None if grasp is None else grasp.width_m,
        modify_actuation_motion=stays_back,
        pre_actuation_motions=[["translate_z", -approach_m(part)]],
        post_actuation_motions=FollowJointCfg(
            to=rounded(part.openness.closed + _opening_sign(part) * opened_to(part, start))
        ),
    )


def _held_handle(part: Part, *, along: bool) -> list[AxisAngle]:
    """Fingers close from head to tail, or along the handle; the hand comes out of the direction that the part faces."""
    closing: AxisAngle
    if along:
        closing = FrameAxisParallel(_TIP, _SIDE, 0.05, target_axis="link0_contact_axis", target_inner_product=1)
    else:
        closing = KeypointAxisParallel(
            _TIP,
            _SIDE,
            0.05,
            target_axis_from_keypoint_name=HEAD,
            target_axis_to_keypoint_name=TAIL,
            target_inner_product=1,
        )
    # a knob has no room beside it, and the wrist must turn on its axis; all else may be held leaning
    return [closing, _facing(part, _BACK, 0.35 if part.kind is PartKind.knob else 0.9)]


def _pinched_edge(part: Part) -> list[AxisAngle]:
    """Fingers close across the panel, in the direction out of the part; the hand comes from the free side."""
    # a drawer's front is held at its upper edge, and head to tail points down; else from the hinge to the free side
    palm = KeypointAxisParallel(
        _TIP,
        _BACK,
        0.9,
        target_axis_from_keypoint_name=HEAD,
        target_axis_to_keypoint_name=TAIL,
        target_inner_product=-1 if part.kind is PartKind.slider else 1,
    )
    return [_facing(part, _SIDE, 0.1), palm]


def _push(part: Part, asset: ObjectAsset, threshold: float) -> PlannerSettingCfg:
    """Returns the setting for pushing a part closed with closed fingers."""
    if part.kind in (PartKind.knob, PartKind.lever):
        raise ConfigError(
            f"skill=close does not fit part '{part.name}': it is a {part.kind.value}, which is turned, not pushed. "
            "Use skill=rotate, or name another part.",
            key="skill",
        )
    # the palm is wide along tool_side
    side: AxisAngle
    if part.kind is PartKind.slider:
        # it stays in the plane of the front
        side = FrameAxisOrthogonal(_TIP, _SIDE, 0.25, target_axis="link0_move_axis", target_inner_product=0)
        follow = None
    else:
        # along the hinge, it stays clear of the part, which turns under it
        side = FrameAxisParallel(_TIP, _SIDE, 0.25, target_axis="link0_rot_axis", target_inner_product=1)
        follow = FollowJointCfg(to=rounded(_pushed_to(part, asset, threshold)))
    return PlannerSettingCfg(
        success_threshold=threshold,
        constraint_list=[
            Point2Point("tool_tip", SPOT, _POINT_TOLERANCE_M),
            side,
            _facing(part, _BACK, 0.7 if part.kind is PartKind.slider else 0.9),
        ],
        pre_actuation_motions=[["translate_z", -_PUSH_APPROACH_M]],
        post_actuation_motions=follow,
    )


def _pushed_to(part: Part, asset: ObjectAsset, threshold: float) -> float:
    """Returns the joint position to which the hand leads a turning part to close it [rad]."""
    lever = lever_m(asset.model, part, part.keypoint(SPOT).xyz)
    short = min(_TIP_LEADS_M / max(lever, 1e-3), _SHORT_SHARE * threshold)
    return part.openness.closed + _opening_sign(part) * short


def _facing(part: Part, tool_end: str, tolerance: float) -> FrameAxisParallel:
    """Returns the constraint that a tool axis points out of a part, to where it opens."""
    if part.kind is PartKind.slider:
        return FrameAxisParallel(_TIP, tool_end, tolerance, target_axis="link0_move_axis", target_inner_product=1)
    return FrameAxisParallel(
        _TIP,
        tool_end,
        tolerance,
        cross_target_axis1_from_keypoint_name=HEAD,
        cross_target_axis1_to_keypoint_name=TAIL,
        target_axis="link0_contact_axis",
        target_inner_product=1,
    )


def with_tolerance(constraint: Term, tolerance: float) -> Term:
    """Returns a constraint with another tolerance [m or rad]."""
    return replace(constraint, **{"tolerance": tolerance})


def rounded(value: float) -> float:
    """Returns a number with three digits, as a task file states it."""
    return float(f"{value:.3g}")
