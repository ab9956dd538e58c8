"""Explains why there is no plan: where a path ends and what stops it, or why no goal is found. It runs only where there
is no plan; the planner imports it then.

The search for the end continues a path from its last exact waypoint, in steps that are halved on failure, until no
configuration nearby continues it. There the elastic solve names the joint limits, workspace faces or slip limits that
stop the hand. If there are none, the arm is stretched out or folded, or a joint would have to jump.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from unlatch.simcore.geometry import Pose, matrix_from_axis_angle
from unlatch.solver.contradiction import Contradiction, constraint_labels, find_contradictions
from unlatch.solver.diagnosis import (
    CHANGE_ADVICE,
    Diagnosis,
    compose_message,
    constraint_evidence,
    describe_failed_search,
    describe_starts,
    describe_unmet,
    format_amount,
    keeps_grasp,
)
from unlatch.solver.elastic import (
    FACES,
    HARD,
    METRE,
    Compromise,
    Unreachable,
    Weights,
    compromise,
    compromises,
    constraint_elements,
    default_weights,
    describe_bounds,
    elastic_rows,
    find_unreachable,
    least_violated,
    limiting_bounds,
    promising_starts,
    relaxations,
)
from unlatch.solver.kinematics import frozen_array
from unlatch.solver.path_solver import ANGLE_TOLERANCE_RAD, POINT_TOLERANCE_M
from unlatch.solver.plan import PlanRequest
from unlatch.solver.scene import ArmModel, Array, PlanningScene, Slip, SlipMode, bar_axis
from unlatch.solver.solution import SLACK, Solution, residuals_of, row_excess
from unlatch.solver.term import AxisRow, PlaneRow, PointRow, Row, Term
from unlatch.solver.waypoints import Waypoints, perpendicular_pair

_HALVINGS = 7
_SOLVES = 60
"""Largest number of elastic solves per path."""
_HOLDS = 2e-5
_JUMP_RAD = 0.6
"""A larger change of a joint in one step is a jump."""
_PULLS = 1e-2
_NEAR_START = 3e-4
"""Weight that keeps steps short; far below the cost of a violation, so that no constraint is given up for it."""


@dataclass(frozen=True)
class PathEnd:
    """Where a path ends."""

    reached: float
    """Position of the part, or count of poses, up to which the path holds."""
    stopped_by: tuple[str, ...]
    """What stops the hand, in words, the most important first."""
    kinds: tuple[str, ...]
    """Kind of each entry of `stopped_by`: `joint limit`, `workspace`, `slip`, `reach` or `jump`."""
    q: Array
    """(n,) joints there [rad]."""

    @property
    def reason(self) -> str:
        """What stops the hand, for a message."""
        *first, last = self.stopped_by
        return f"stopped by {', '.join(first)} and {last}" if first else f"stopped by {last}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as evidence."""
        return {"stopped_by": list(self.stopped_by), "stopped_by_kinds": list(self.kinds), "q": self.q.tolist()}


def path_end(
    arm: ArmModel, waypoint_at: Callable[[float], Waypoints], q: Array, s_from: float, s_to: float, step: float
) -> PathEnd | None:
    """Continues a path to where it ends; returns None if it continues to s_to.

    Args:
        arm: The arm.
        waypoint_at: Returns the waypoints for a position of the part; only the last of them counts.
        q: (n,) joints at s_from, where the path holds [rad].
        s_from: Position of the part, or count of poses, at the start.
        s_to: Position of the part, or count of poses, at the end of the whole path.
        step: First and largest step; a step costs a solve of some 10 ms.
    """
    distance, sign = abs(s_to - s_from), math.copysign(1.0, s_to - s_from)
    joints = np.asarray(q, dtype=float)
    gone, size, failed = 0.0, step, None
    for _ in range(_SOLVES):
        ahead = min(distance, gone + size)
        end = _solve_waypoint(arm, waypoint_at(s_from + sign * ahead), joints)
        if _is_met(end):
            gone, joints = ahead, end.q
            if gone >= distance:
                return None
            size = min(step, 2.0 * size)
            continue
        failed = (ahead, end)
        if size <= step / 2**_HALVINGS:
            break
        size *= 0.5
    if failed is None:
        return None
    words, kinds = _describe_stop(arm, waypoint_at(s_from + sign * failed[0]), failed[1], joints)
    return PathEnd(s_from + sign * gone, tuple(words), tuple(kinds), joints)


def holds_at(arm: ArmModel, waypoint: Waypoints, q: Array) -> bool:
    """Returns whether joints near q (n,) [rad] meet the last of the waypoints."""
    return _is_met(_solve_waypoint(arm, waypoint, q))


def _solve_waypoint(arm: ArmModel, waypoint: Waypoints, q: Array) -> Compromise:
    rows, limits = _waypoint_rows(waypoint)
    cost = np.array([1.0 if isinstance(row, AxisRow) else METRE for row in rows])
    cost[list(limits)] = HARD  # hard, like limits of joints and workspace; only conditions of the part are soft
    weights = Weights(cost, np.full(6, HARD), np.full(arm.n_q, HARD), near_start=_NEAR_START, radius_rad=_JUMP_RAD)
    return compromise(arm, rows, q[None], weights=weights)


def _is_met(end: Compromise) -> bool:
    return end.largest_violation() <= _HOLDS


def _describe_stop(arm: ArmModel, waypoint: Waypoints, end: Compromise, q: Array) -> tuple[list[str], list[str]]:
    words, kinds = describe_bounds(arm, end), [element.kind for element in limiting_bounds(arm, end)]
    for row, limit in _waypoint_rows(waypoint)[1].items():
        if float(end.pull_rows[row]) > _PULLS:
            words.append(limit)
            kinds.append("slip")
    turn = np.abs(end.q - q)
    if not words and float(turn.max()) > 0.99 * _JUMP_RAD:
        jump = arm.kinematics.joint_names[int(np.argmax(turn))]
        words = [f"a singular posture: {jump} would have to jump by more than {format_amount(_JUMP_RAD, 'rad')}"]
        kinds = ["jump"]
    elif not words:
        words, kinds = ["the arm's reach, with no joint limit or workspace face in the way"], ["reach"]
    return words, kinds


def _waypoint_rows(waypoint: Waypoints) -> tuple[list[Row], dict[int, str]]:
    """Returns the last waypoint as rows, and the rows that are slip limits, in words."""
    limits: dict[int, str] = {}
    rows: list[Row] = []
    if waypoint.line is None:
        rows.append(PointRow(waypoint.x_point, waypoint.points[-1], POINT_TOLERANCE_M))
    else:
        line, point = waypoint.line[-1], waypoint.points[-1]
        rows += [PlaneRow(waypoint.x_point, normal, point, POINT_TOLERANCE_M) for normal in perpendicular_pair(line)]
        limits[len(rows)] = f"the limit of sliding, {waypoint.slide_m:.4g} m to either side"
        rows.append(PlaneRow(waypoint.x_point, line, point, waypoint.slide_m + POINT_TOLERANCE_M))
    if not waypoint.held_is_soft:
        angle = waypoint.held_angle
        low, high = max(0.0, angle - ANGLE_TOLERANCE_RAD), min(math.pi, angle + ANGLE_TOLERANCE_RAD)
        rows.append(AxisRow(waypoint.x_held, waypoint.held[-1], low, high, angle))
    cone = waypoint.cone
    if cone > 0.0:
        limits[len(rows)] = f"the limit of slip, the hand leaning {format_amount(cone, 'rad')} from straight in"
    rows.append(AxisRow(waypoint.x_approach, waypoint.approach[-1], 0.0, min(math.pi, cone + ANGLE_TOLERANCE_RAD), 0.0))
    return rows, limits


_STARTS = 3
"""Number of library starts of a compromise for each set of tool keypoints, beside the given one."""
_RELAXED_FROM = 2
"""Number of compromises from which a relaxation starts."""
_MOST_PAIRS = 15
"""Largest number of pairs of constraints that are relaxed together."""

_FAR_M = 0.02
"""Beyond this distance out of reach the object is too far away, and no looser tolerance helps."""


def explain_goal(
    terms: Sequence[Term], arm: ArmModel, scene: PlanningScene, best: Solution
) -> tuple[Diagnosis, Solution]:
    """Returns why no goal is found, and the best compromise.

    The diagnosis names, in this order: constraints that contradict each other for any arm (proved), single constraints
    out of reach, the violations at the elastic compromise, and the joint limits and workspace faces that cause them.
    Then come the changes that would each make the rest feasible. It takes some 30 solves of 20 ms, limited by counts.

    `best` is the least violated end of the goal solve. The compromise is `found` if it meets every constraint: the goal
    solve missed it then.

    Raises:
        ConfigError: The constraints name a keypoint or an axis that does not exist.
    """
    names = constraint_labels(terms)
    problems = _elastic_problems(terms, arm, scene, best)
    ends = [(end, rows, variant) for rows, variant, reached in problems for end in reached]
    weights = default_weights(arm, problems[0][0])
    end = least_violated([entry[0] for entry in ends], weights)
    rows, variant = next((rows, variant) for e, rows, variant in ends if e is end)
    R, p = arm.kinematics.fk_batch(end.q[None])
    residuals = zip(residuals_of(terms, rows, R[0], p[0]), names, strict=True)
    found = end.largest_violation() <= SLACK
    solution = replace(
        best,
        found=found,
        residuals=tuple(replace(residual, name=name) for residual, name in residuals),
        status="solved" if found else "no start met every constraint",
        tool_variant=variant,
        active_bounds=tuple(describe_bounds(arm, end)),
        configuration=frozen_array(end.q),
    )
    if found:
        missed = (
            f"The goal search missed a solution in {best.starts_tried} starts, which the elastic re-solve then found: "
            "the request is feasible. Raise the planner's number of starts."
        )
        evidence: dict[str, Any] = {"stage": "goal", "starts_tried": best.starts_tried, "missed": True}
        return Diagnosis("plan_infeasible", missed, evidence), solution
    pairs = find_contradictions(terms, arm, scene)
    out_of_reach = [] if any(not pair.workspace for pair in pairs) else find_unreachable(arm, rows, names, end)
    starts = []
    for own_rows, _, reached in problems:
        nearest = sorted(reached, key=lambda each: round(each.cost(weights), 7))[:_RELAXED_FROM]
        starts.append((own_rows, np.array([each.q for each in nearest])))
    # a contradiction for any arm is resolved only by a change of one of its members
    guilty = [set(pair.indices) for pair in pairs if not pair.workspace]
    constraints = constraint_elements(rows, names)
    elements = [e for e in constraints if all(e.index in members for members in guilty)]
    elements += [] if guilty else limiting_bounds(arm, end)
    relaxed = [alone for (alone,) in relaxations(arm, starts, [(element,) for element in elements])]
    both = [(a, b) for a, b in combinations(constraints, 2) if all({a.index, b.index} & m for m in guilty)]
    together = () if relaxed else next(iter(relaxations(arm, starts, both[:_MOST_PAIRS])), ())
    evidence = {
        "stage": "goal",
        "starts_tried": best.starts_tried,
        "constraints": constraint_evidence(solution),
        "workspace_out_by": _faces_left(end),
        "active_bounds": list(solution.active_bounds),
        "contradictions": [c.to_dict() for c in pairs],
        "out_of_reach": [u.to_dict() for u in out_of_reach],
        "relaxations": [r.to_dict() for r in relaxed],
        "relaxed_together": [r.to_dict() for r in together],
    }
    # the change to make that leaves the hand at the part, if one is known
    useful = [r for r in relaxed if r.element.kind != "joint limit" and keeps_grasp(r.to_dict())]
    useful = useful[:1] or (list(together) if all(keeps_grasp(r.to_dict()) for r in together) else [])
    advice = f"Set {' and '.join(r.words for r in useful)}." if useful else ""
    message = _compose_message(solution, end, pairs, out_of_reach, advice, joints=arm.n_q)
    return Diagnosis("plan_infeasible", message, evidence), solution


def _elastic_problems(
    terms: Sequence[Term], arm: ArmModel, scene: PlanningScene, best: Solution
) -> list[tuple[tuple[Row, ...], str, list[Compromise]]]:
    """Returns rows, label and compromises for each set of tool keypoints."""
    problems = []
    for variant, tool in arm.tool_variants():
        rows = elastic_rows([term.row(tool, scene) for term in terms])
        starts = promising_starts(arm, rows, _STARTS)
        given = best.configuration
        if given is not None and best.tool_variant == variant and np.all(np.isfinite(given)):
            starts = np.vstack([given[None], starts])
        problems.append((rows, variant, compromises(arm, rows, starts, weights=default_weights(arm, rows))))
    return problems


def _faces_left(end: Compromise) -> dict[str, float]:
    """Returns by how much the hand is beyond the faces of the workspace that it leaves [m]."""
    return {face: out for face, out in zip(FACES, end.faces.tolist(), strict=True) if out > SLACK}


_FREE_HAND = 6
"""Number of joints with which a hand can take any direction."""


def _compose_message(
    solution: Solution,
    end: Compromise,
    pairs: Sequence[Contradiction],
    out_of_reach: Sequence[Unreachable],
    advice: str,
    *,
    joints: int,
) -> str:
    """Returns the message; `advice` is the change to make, empty if none is known."""
    proved = [pair for pair in pairs if not pair.workspace]
    if proved:
        what, contradict, why = proved[0].message.partition(" contradict each other: ")
        others = [" and ".join(f"'{label}'" for label in pair.labels) for pair in proved[1:]]
        return compose_message(
            f"No grasp exists: {what}{contradict.removesuffix(': ')}.",
            advice or "Change or remove one of them.",
            [f"{why[:1].upper()}{why[1:]}.", *(f"So do {labels}." for labels in others)],
        )
    out = describe_unmet(solution)
    out += [f"the hand is {v:.4g} m beyond workspace {face}" for face, v in _faces_left(end).items()]
    reasons = [*(u.message for u in out_of_reach), *(pair.message for pair in pairs)]
    if solution.active_bounds:
        reasons.insert(0, f"Held back by {', '.join(solution.active_bounds)}")
    elif not reasons:
        reasons = ["No joint limit and no face of the workspace is in the way: the arm does not reach that combination"]
    if joints < _FREE_HAND:
        reasons.append(f"The arm has {joints} joints, too few to give its hand every direction at a place")
    away = max((u.out_by for u in out_of_reach if u.unit == "m"), default=0.0)
    if away > _FAR_M:
        advice = f"Move the object at least {math.ceil(100.0 * away) / 100.0:.2f} m nearer."
    evidence = [describe_starts(solution), *(f"{reason}." for reason in reasons)]
    return compose_message(describe_failed_search(out), advice or CHANGE_ADVICE, evidence)


def describe_misfit(rows: tuple[Row, ...], T_base_ee: Pose, slip: Slip, request: PlanRequest) -> str | None:
    """Returns why a hand does not hold a part, where it is now, as a goal with these rows would; None if it does.

    The hand may be turned about the contact as far as `slip` lets it turn while it leads the part.
    """
    R, p = T_base_ee.R, T_base_ee.p
    limits = [row for row in rows if isinstance(row, AxisRow) or row.weight is None]
    off_m = max((_measure_distance(row, R, p, request) for row in limits if isinstance(row, PointRow)), default=0.0)
    if off_m > _OFF_M:
        return f"the hand is {1e3 * off_m:.0f} mm off the place of its grasp, expected at most {1e3 * _OFF_M:.0f} mm"
    directions = tuple(row for row in limits if isinstance(row, AxisRow))
    if directions and slip.mode is not SlipMode.cone:  # a cone is checked along the path
        turned = _turn_hand(R, slip, request)
        off_rad = float(row_excess(directions, turned, np.tile(p, (len(turned), 1))).max(axis=1).min())
        if off_rad > _TURNED_RAD:
            return f"the hand is turned {off_rad:.2f} rad beyond the angles of a grasp, expected at most {_TURNED_RAD}"
    others = tuple(row for row in limits if not isinstance(row, AxisRow | PointRow))
    if float(row_excess(others, R[None], p[None]).max(initial=0.0)) > SLACK:
        return "the hand does not meet the constraints of a grasp"
    return None


def _measure_distance(row: PointRow, R: Array, p: Array, request: PlanRequest) -> float:
    """Returns how far a point of the hand is from its target; less along the handle, where there is room [m]."""
    error, bar = R @ row.x_ee + p - row.target, bar_axis(request.scene)
    if bar is not None:
        room_m = request.grasp_room_m
        error = error - np.clip(error @ bar, -room_m, room_m) * bar
    return float(np.linalg.norm(error))


def _turn_hand(R: Array, slip: Slip, request: PlanRequest) -> Array:
    """Returns (B, 3, 3) rotations of a hand that it can reach by turning about its contact, itself included."""
    bar, side = bar_axis(request.scene), R @ request.arm.side_axis()
    about_bar = (SlipMode.bar, SlipMode.gimbal)
    axes = [axis for axis, modes in ((bar, about_bar), (side, (SlipMode.side, SlipMode.gimbal))) if slip.mode in modes]
    angles = np.arange(-slip.limit_rad, slip.limit_rad, _TURN_STEP_RAD)
    turned = R[None]
    for axis in axes:
        if axis is not None:
            turns = np.array([np.eye(3), *(matrix_from_axis_angle(axis, float(angle)) for angle in angles)])
            turned = np.einsum("aij,bjk->abik", turns, turned).reshape(-1, 3, 3)
    return turned


_OFF_M = 0.015
"""Largest distance of the grasp point from where a goal has it, besides the room along the handle [m]."""
_TURNED_RAD = 0.15
"""Largest angle of a direction beyond its tolerance: pads slip a little on a part that they lead."""
_TURN_STEP_RAD = 0.05
