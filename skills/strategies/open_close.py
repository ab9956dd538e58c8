"""How a door, lid or drawer is grasped to open it, and how it is pushed to close it.

`grasp_setting` and `push_setting` make the planner setting of `open` and `close` where no task file states one. They
use the kind of the part, its handle and its geometry. A setting says where the hand holds or pushes the part
(constraints), how far the hand leads it, and how far it must move to count as opened or closed (`goal_value`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unlatch.objects.annotation import SPOT, HandleType, Part, PartKind
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.closing_force_values import closing_reach, lever_m
from unlatch.robots.hand_shape import HandShape
from unlatch.simcore.errors import ConfigError
from unlatch.skills.mechanism_steps import click_openings, is_held_closed, opened_by, opens_another
from unlatch.skills.strategies.hand_fit import HEAD, TAIL, HandDirections, HandFit, HandGrasp, held_at_edge
from unlatch.solver.setting import MAX_THRESHOLD, FollowJointCfg, PlannerSettingCfg
from unlatch.solver.term_kinds import (
    AxisAngle,
    FrameAxisOrthogonal,
    FrameAxisParallel,
    KeypointAxisParallel,
    Point2Point,
)

EDGE_OPENING_M = 0.085
"""Opening of an edge at the start, so that fingers reach around it: a finger, its clearance, the lean of the hand."""
EDGE_OPENING_RAD = (0.25, 0.6)
"""The same as an angle, at least and at most. Far from the hinge a small angle makes a wide gap, but the hand's own
width must still fit; near the hinge a large angle would leave nothing to open."""
EDGE_OPENING_SHARE = 0.4
"""Largest opening of an edge at the start, as a share of the range."""
EDGE_ROOM_SHARE = 0.6
"""Largest such share if a hand fits only at a larger opening."""
_START_SPREAD = 1.2
"""Largest opening at the start, as a factor on the least."""
_OPENINGS = 20
"""Number of openings tried for one at which a hand fits."""

_CLEAR_OF_CATCH = 1.05
"""Least opening at the start of a part that does not start closed, as a factor on the reach of its catch or gasket."""

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
_LEAD_FACTOR = 1.5
"""The hand leads the part by this factor farther than is wanted. On a part that resists, a hand that leans or slips by
millimetres loses a fifth to a quarter of the way."""
LITTLE_LED_SHARE = 0.97
"""A part that moves little is led this far, as a share of its range: what the arm lags and the fingers slip is a good
part of its way."""
_ASKED_LEAD = 0.03
"""The same towards an opening that a user asks for, as a share of the way there: the range of the part ends soon after,
and a path that is over too early is extended."""
_SECOND_HOLD_RAD = 0.2
"""Smallest angle for which a lid, a flap or a door takes another hold. A single hold leads it so much further
than its default."""
_LONGEST_PULL_RAD = 2.0
"""Largest opening to which a hand at its handle leads a door: further, the door meets the forearm in front of it."""
_HANGING = 0.5
"""A part that turns down hangs if its head is lower than its hinge by more than this share of their distance."""
_LONGEST_HOLD_M = 0.24
"""Longest way of the edge of a lid that one hold leads past upright."""
_LEAST_SHARE = 0.02
"""Smallest displacement that counts as opened, as a share of the range: a part may stand open that far already."""
_FULL_WITHIN_SHARE = 0.1
"""Largest distance from the end of the range that counts as fully open, as a share of the range."""
_CLOSE_FROM = {True: (0.1, 0.2), False: (0.5, 0.9)}
"""Openings from which a part is closed: sliders [m], others [rad]."""
_CLOSE_FROM_SHARE = (0.4, 0.6)
"""Largest such openings as shares of the range."""
_LONGEST_PUSH_M = 0.45
"""Longest way on which an arm of Panda's size pushes a part that turns [m]: a wide open leaf is too far off.
Of 30 doors of 0.9 m, 30 are closed, and 28 with 0.5 m; without it, 2 of 4."""
_CLOSED = {True: 0.01, False: 0.08}
"""Distance from closed that counts as closed: sliders [m], others [rad]; a part bounces a little off its limit."""
_CLOSED_SHARE = 0.25
"""Largest such distance as a share of the start: nothing counts as closed before it is pushed."""

_TIP, _SIDE, _BACK = "tool_head", "tool_side", "tool_tail"
"""Tool keypoints: between the fingertips, beside them along the closing direction, and towards the palm."""
_POINT_TOLERANCE_M = 0.002
_NEAR_SHARE = 0.03
"""The same on a part that moves only a little, as a share of its way."""
_CORNER_SHARE = 0.05
"""How far a corner of leaning fingertips may be ahead of their middle, as a share of the way of such a part."""
_CENTRED_M = 0.0003
"""Tolerance of the grasp point on a part that turns in the hand about its own axis. It cannot move sideways: if the
fingers are not centred on it, only one of them presses."""
_FLAT_RAD = 0.005
"""Tolerance of the closing direction on the blade of a knob: pads that meet it at an angle throw it into line."""
_ROUND = 0.1
"""A knob whose width and length differ by less than this share is round: it may be held at any angle about its axis."""
EDGE_SLIPS = ("side",)
"""Slip modes on a pinched edge: flat pads let a panel turn about the line between them. A hand that turns about the
edge pries its own fingers apart."""


def start_range(skill: str, part: Part, asset: ObjectAsset, *, scale: float = 1.0) -> tuple[float, float]:
    """Returns the least and largest opening at the start for a robot of a scale, before a hand is fitted [rad or m]."""
    slides, span = part.kind is PartKind.slider, part.openness.span
    if skill == "close" and (part.moves_little or opens_another(asset.articulation, part)):
        # from fully open: of half of such a way, what counts as closed would be less than a hand is accurate to
        return _rounded_below(span, span), _rounded_below(span, span)
    if skill == "open" and (is_held_closed(asset, part) or opened_by(asset.articulation, part)):
        return 0.0, 0.0  # a robot does what opens it
    clear = _CLEAR_OF_CATCH * closing_reach(part, asset.model)
    if skill == "close":
        shares = zip(_CLOSE_FROM[slides], _CLOSE_FROM_SHARE, strict=True)
        lever = lever_m(asset.model, part, part.keypoint(SPOT).xyz)
        reached = span if slides else scale * _LONGEST_PUSH_M / max(lever, 1e-3)
        low, high = (min(most, share * span, reached) for most, share in shares)
        clicks = [opening for opening in click_openings(asset.articulation, part) if opening > clear]
        if clicks:  # elsewhere it would move by itself before the hand is there
            nearest = min(clicks, key=lambda opening: abs(opening - high))
            return _rounded_below(nearest, span), _rounded_below(nearest, span)
        return rounded(max(low, clear)), rounded(max(high, clear))
    if not held_at_edge(part):
        return 0.0, 0.0  # a part with a handle is opened from closed
    if slides:
        low = min(EDGE_OPENING_M, EDGE_OPENING_SHARE * span)
    else:
        least, most = EDGE_OPENING_RAD
        angle = EDGE_OPENING_M / max(lever_m(asset.model, part, part.keypoint(HEAD).xyz), 1e-3)
        low = min(max(angle, least), most, EDGE_OPENING_SHARE * span)
    low = max(low, clear)
    return _rounded_below(low, span), _rounded_below(_START_SPREAD * low, span)


def widened_start(start: tuple[float, float], part: Part, fit: HandFit) -> tuple[float, float]:
    """Returns the openings of `start_range`, widened until the hand fits [rad or m from closed].

    A part that is held at an edge is opened until the hand fits behind the edge. A part with a handle is opened if no
    hand fits while it is closed. If the hand fits at no opening, or there is nothing to hold, the range stays as it is.
    """
    span = part.openness.span
    articulation = fit.asset.articulation
    if part.handle.type is HandleType.none or is_held_closed(fit.asset, part) or opened_by(articulation, part):
        return start  # it is pushed, freed first, or opened by another part
    if start[1] == 0.0 and any(fit.grasp(0.0, shift_m=shift) is not None for shift in fit.grasp_shifts(start)):
        return start
    least = max(start[0], _CLEAR_OF_CATCH * fit.closing_reach)
    for low in np.linspace(least, max(least, EDGE_ROOM_SHARE * span), _OPENINGS):
        found = (_rounded_below(float(low), span), _rounded_below(_START_SPREAD * float(low), span))
        if all(fit.grasp(opening) is not None for opening in found):
            return found
    return start


def _rounded_below(value: float, most: float) -> float:
    """Returns a number with three digits, or `most` if that is less: 0.1396 rad is not 0.14."""
    return min(rounded(value), most)


def is_round(part: Part) -> bool:
    """Returns whether a part may be held at any angle about its axis."""
    _, across, along = part.handle.size
    return part.handle.type is HandleType.knob and abs(across - along) <= _ROUND * max(across, along)


def approach_m(part: Part) -> float:
    """Returns the length of the straight approach of a hand that grasps a part [m]."""
    return _APPROACH_M[held_at_edge(part)]


def goal_value(skill: str, part: Part, start: tuple[float, float]) -> float:
    """Returns the threshold of success from a start of `start_range` [rad or m].

    For `open` it is the smallest displacement, for `close` the largest distance from closed.
    """
    if skill == "close":
        return rounded(min(_CLOSED[part.kind is PartKind.slider], _CLOSED_SHARE * start[0]))
    left = max(0.0, part.openness.span - start[1])  # a part may be pressed past its limit by a hair
    return rounded(min(_WANTED[part.kind], _WANTED_SHARE * left))


def opened_to(part: Part, start: tuple[float, float], asked: float | None = None) -> float:
    """Returns the opening to which the hand leads a part, from a start of `start_range` [rad or m from closed].

    `asked` is the opening that a user asks for [rad or m from closed]; None: the default of the part.
    """
    if asked is None:
        led = start[1] + _LEAD_FACTOR * goal_value("open", part, start)
        return rounded(max(led, LITTLE_LED_SHARE * part.openness.span) if part.moves_little else led)
    return min(rounded(asked + _ASKED_LEAD * (asked - start[0])), part.openness.span)


def led_to(setting: PlannerSettingCfg, part: Part, start: tuple[float, float], asked: float) -> PlannerSettingCfg:
    """Returns the setting of a grasp, or of a push from inside, that leads a part to the opening that a user asks for.

    The opening is in rad or m from closed. The threshold of the skill is the displacement from the largest opening at
    the start. The task judges the opening.
    """
    moved = min(max(asked - start[1], _LEAST_SHARE * part.openness.span), MAX_THRESHOLD)
    return replace(
        setting,
        success_threshold=rounded(moved),
        post_actuation_motions=FollowJointCfg(
            to=part.openness.position(opened_to(part, start, asked)), reach=part.openness.position(asked)
        ),
    )


def count_holds(part: Part, asset: ObjectAsset, start: tuple[float, float], asked: float) -> int:
    """Returns how many holds lead a part from a start to the opening that a user asks for [rad or m].

    The arm that lifts a lid from the front would have to reach over it: another grasp, at its edge or from inside,
    leads it on. Where the way that is left is longer than an arm leads in one pose, a hold in between leads the part
    as far as by default. A flap that hangs down in the end, which the arm would have to reach below, and a door that
    turns far are led by their handle as far as by default, and then pushed from inside or held elsewhere.
    """
    reached, holds = opened_to(part, start), 1
    if opened_by(asset.articulation, part) is not None:
        return holds
    if part.kind is PartKind.hinge_horizontal and asked - reached > _SECOND_HOLD_RAD:
        return 2 if _hangs(part, asset, asked) else 1
    if part.kind is PartKind.hinge_vertical and not held_at_edge(part):
        return 2 if asked > _LONGEST_PULL_RAD and asked - reached > _SECOND_HOLD_RAD else 1
    if part.kind is not PartKind.lid:
        return holds
    lever = lever_m(asset.model, part, part.keypoint(HEAD).xyz)
    while asked - reached > _SECOND_HOLD_RAD:
        holds += 1
        if (asked - reached) * lever <= _LONGEST_HOLD_M:
            break
        reached = opened_to(part, (reached, reached))
    return holds


def _hangs(part: Part, asset: ObjectAsset, opening: float) -> bool:
    """Returns whether the head of a part is well below its hinge at an opening from closed [rad]."""
    model, head = asset.model, part.keypoint(HEAD).xyz
    positions = {part.joint: part.openness.position(opening)}
    hinge = model.link_pose(model.joints[part.joint].child, positions).p
    drop_m = float(hinge[2] - (model.link_pose(part.link, positions) @ head)[2])
    return drop_m > _HANGING * lever_m(model, part, head)


def opening_of_share(share: float | str, part: Part) -> float:
    """Returns the opening that stands for a share of the range of a part [rad or m from closed].

    The whole range, 1 or a text, is reached as near to its end as `close` leads a part to closed.
    """
    span = part.openness.span
    if not isinstance(share, str) and share < 1.0:
        return share * span
    return span - min(_CLOSED[part.kind is PartKind.slider], _FULL_WITHIN_SHARE * span)


def grasp_setting(
    part: Part, start: tuple[float, float], grasp: HandGrasp | None = None, *, along: bool = False
) -> PlannerSettingCfg:
    """Returns the planner setting for grasping a part and opening it.

    Args:
        part: The part.
        start: Least and largest opening at the start, of `start_range` or `widened_start` [rad or m].
        grasp: A grasp that fits the hand; None: at the head, with fingers wide open.
        along: Whether the fingers close along the contact axis of a handle, not across it.

    Raises:
        ConfigError: The part has nothing to hold.
    """
    if part.handle.type is HandleType.none:
        raise ConfigError(
            f"skill=open does not fit part '{part.name}': it has neither a handle nor an edge that a hand can hold "
            "(handle.type is none). Name another part, or set the handle in an articulation.yaml.",
            key="skill",
        )
    stays_back = None if grasp is None or grasp.setback_m <= 0.0 else ["translate_z", -grasp.setback_m]
    at_edge, turning = held_at_edge(part), part.kind is PartKind.knob
    if at_edge:
        # fingers close across the panel, and the hand comes from the free side: head to tail points down from a
        # drawer's upper edge; on other parts it points from the hinge to the free side
        palm = _towards_tail(_BACK, 0.9, inner_product=-1 if part.kind is PartKind.slider else 1)
        directions: list[AxisAngle] = [_tool_faces_out(part, _SIDE, 0.1), palm]
    else:
        directions = _handle_constraints(part, along=along)
    return PlannerSettingCfg(
        success_threshold=goal_value("open", part, start),
        constraint_list=[Point2Point(_TIP, HEAD, _CENTRED_M if turning else _POINT_TOLERANCE_M), *directions],
        slips=list(EDGE_SLIPS) if at_edge else [],
        approach_width_m=None if grasp is None else grasp.width_m,
        modify_actuation_motion=stays_back,
        pre_actuation_motions=[["translate_z", -approach_m(part)]],
        post_actuation_motions=FollowJointCfg(to=rounded(part.openness.position(opened_to(part, start)))),
    )


def front_setting(
    part: Part, start: tuple[float, float], directions: HandDirections, grasp: HandGrasp, *, turned: bool
) -> PlannerSettingCfg:
    """Returns the planner setting for grasping a slider from the front of its object; see `grasp_setting`.

    `turned` says that the hand is turned by half a turn about its own axis.
    """
    closing = (-directions.closing if turned else directions.closing).round(6).tolist()
    back = directions.back.round(6).tolist()
    return replace(
        grasp_setting(part, start, grasp),
        constraint_list=[
            Point2Point(_TIP, HEAD, _POINT_TOLERANCE_M),
            FrameAxisParallel(_TIP, _SIDE, 0.05, target_axis=closing, target_inner_product=1),
            FrameAxisParallel(_TIP, _BACK, 0.9, target_axis=back, target_inner_product=1),
        ],
    )


def _handle_constraints(part: Part, *, along: bool) -> list[AxisAngle]:
    """Returns the constraints on a handle: fingers close from head to tail or along it, the hand is in front of it."""
    turning = part.kind is PartKind.knob
    tolerance = _FLAT_RAD if turning else 0.05
    closing: AxisAngle = _towards_tail(_SIDE, tolerance)
    if along:
        closing = FrameAxisParallel(_TIP, _SIDE, tolerance, target_axis="link0_contact_axis", target_inner_product=1)
    # at a knob the hand may lean only a little: there is no room beside it, and the wrist turns about the knob's axis
    palm = _tool_faces_out(part, _BACK, 0.35 if turning else 0.9)
    return [palm] if part.kind.turns_in_hand and is_round(part) else [closing, palm]


def led_back(setting: PlannerSettingCfg, part: Part, start: tuple[float, float]) -> PlannerSettingCfg:
    """Returns the setting of a grasp that opens a part, changed to lead it to closed from a start of `start_range`."""
    return replace(
        setting,
        success_threshold=goal_value("close", part, start),
        post_actuation_motions=FollowJointCfg(to=rounded(part.openness.closed)),
    )


def tip_tolerances(part: Part, asset: ObjectAsset, hand: HandShape, *, lean: float) -> tuple[float, float]:
    """Returns how far fingertips that push a part may be from its spot [m], and how far they may lean [rad].

    On a part that moves only a little they are small: the approach would press it, and it would snap over in a blow.
    """
    if not part.moves_little:
        return _POINT_TOLERANCE_M, lean
    travel_m = part.openness.span * lever_m(asset.model, part, part.keypoint(SPOT).xyz)
    near_m = min(_POINT_TOLERANCE_M, _NEAR_SHARE * travel_m)
    return near_m, min(lean, _CORNER_SHARE * travel_m / hand.tip_half_m)


def push_setting(part: Part, asset: ObjectAsset, hand: HandShape, start: tuple[float, float]) -> PlannerSettingCfg:
    """Returns the planner setting for pushing a part closed with closed fingers, from a start of `start_range`."""
    slides = part.kind is PartKind.slider
    # not past closed: the fingertips lean, so a corner of them is up to a centimetre ahead of the planned point
    follow = None if slides else FollowJointCfg(to=rounded(part.openness.closed))
    point_tolerance, lean = tip_tolerances(part, asset, hand, lean=0.7 if slides else 0.9)
    if part.moves_little:
        follow = None  # `close` leads it until it is pressed
    return PlannerSettingCfg(
        success_threshold=goal_value("close", part, start),
        constraint_list=[
            Point2Point("tool_tip", SPOT, point_tolerance),
            _palm_direction(part),
            _tool_faces_out(part, _BACK, lean),
        ],
        slips=["fixed"] if part.moves_little else [],
        pre_actuation_motions=[["translate_z", -_PUSH_APPROACH_M]],
        post_actuation_motions=follow,
    )


def inside_push_setting(part: Part, start: tuple[float, float]) -> PlannerSettingCfg:
    """Returns the planner setting for pushing a part open from inside with closed fingers; see `push_setting`."""
    faces_in = replace(_tool_faces_out(part, _BACK, 0.9), target_inner_product=-1)
    return PlannerSettingCfg(
        success_threshold=goal_value("open", part, start),
        constraint_list=[Point2Point("tool_tip", SPOT, _POINT_TOLERANCE_M), _palm_direction(part), faces_in],
        approach_width_m=0.0,
        pre_actuation_motions=[["translate_z", -_PUSH_APPROACH_M]],
        post_actuation_motions=FollowJointCfg(to=rounded(part.openness.position(opened_to(part, start)))),
    )


def _palm_direction(part: Part) -> AxisAngle:
    """Returns the constraint on a pushing palm, which is wide along tool_side.

    It is in the plane of a slider's front, or along the hinge: it then stays clear of the part, which turns below it.
    """
    if part.kind is PartKind.slider:
        return FrameAxisOrthogonal(_TIP, _SIDE, 0.25, target_axis="link0_move_axis", target_inner_product=0)
    return FrameAxisParallel(_TIP, _SIDE, 0.25, target_axis="link0_rot_axis", target_inner_product=1)


def _towards_tail(tool_end: str, tolerance: float, *, inner_product: int = 1) -> KeypointAxisParallel:
    """Returns the constraint that a tool axis points from the head of a part to its tail; -1: the other way."""
    return KeypointAxisParallel(
        _TIP,
        tool_end,
        tolerance,
        target_axis_from_keypoint_name=HEAD,
        target_axis_to_keypoint_name=TAIL,
        target_inner_product=inner_product,
    )


def _tool_faces_out(part: Part, tool_end: str, tolerance: float) -> FrameAxisParallel:
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


def rounded(value: float) -> float:
    """Returns a number with three digits, as a task file states it."""
    return float(f"{value:.3g}")
