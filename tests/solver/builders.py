"""Entries of planner settings, scenes as numbers, and what stands in for a term and for a collision checker."""

import math
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from unlatch.simcore.geometry import matrix_from_axis_angle
from unlatch.solver.goal_solver import Goal, GoalBatch, GoalSolver
from unlatch.solver.scene import JointGeometry, PlanningScene
from unlatch.solver.setting import PlannerSettingCfg
from unlatch.solver.setting_reader import read_planner_setting
from unlatch.solver.solution import Solution
from unlatch.solver.term import Term

X, Y, Z = np.eye(3)
HEAD, TAIL, SPOT = "articulated_object_head", "articulated_object_tail", "link_contact_point"
CONTACT, MOVE, ROT = "link0_contact_axis", "link0_move_axis", "link0_rot_axis"
LINE = {"target_axis_from_keypoint_name": HEAD, "target_axis_to_keypoint_name": TAIL}
CROSS = {"cross_target_axis1_from_keypoint_name": HEAD, "cross_target_axis1_to_keypoint_name": TAIL}
BACK, ACROSS = ("tool_head", "tool_tail"), ("tool_head", "tool_side")
"""Keypoints of the hand: from the fingertips to the palm, and to one side."""


def point(target=HEAD, tolerance=1e-3, **more):
    """A keypoint of the hand at one of the object."""
    names = {"keypoint_name": "tool_head", "target_keypoint_name": target}
    return {"type": "point2point_constraint", **names, "tolerance": tolerance, **more}


def axis(tool=BACK, tolerance=0.1, *, type="frame_axis_parallel", **more):
    """An axis of the hand at an angle to a direction of the object."""
    names = {"axis_from_keypoint_name": tool[0], "axis_to_keypoint_name": tool[1]}
    return {"type": type, **names, "tolerance": tolerance, **more}


def setting_of(*terms, costs=(), threshold=0.1, **more):
    """A setting of terms, not checked as a text is."""
    return PlannerSettingCfg(success_threshold=threshold, constraint_list=list(terms), cost_list=list(costs), **more)


def read_setting(*terms, threshold=0.7, **more):
    """A setting as it is read from a task file."""
    raw = {"success_threshold": threshold, "constraint_list": list(terms), **more}
    return read_planner_setting(raw, where="skills[0].planner_setting")[0]


FROM_ABOVE = axis(name="from above", target_axis=ROT)
OPEN = (
    point(name="fingers at the handle"),
    axis(ACROSS, 0.05, type="keypoint_axis_parallel", name="fingers across the handle", **LINE),
    axis(tolerance=0.8, name="from the front", target_axis=CONTACT, **CROSS),
)
CLOSE = (
    point(SPOT, name="fingers at the door"),
    axis(tolerance=0.6, name="from the front", target_axis=CONTACT, **CROSS),
)


def door_scene(*, x=0.75, y=0.0, z=0.05, yaw=0.0, s=0.0, hinge=1.0, width=0.48):
    """A door of a box that looks at the robot; the hinge on the box's own left (+1) or right (-1)."""
    R, p = matrix_from_axis_angle([0, 0, 1], math.pi + yaw), np.array([x, y, z])
    bar = np.array([0.19 + 0.045, -hinge * (0.5 * width - 0.05), 0.14])
    push = np.array([0.19, -hinge * (0.5 * width - 0.12), 0.14])
    head, tail = R @ bar + p, R @ (bar + np.array([0, -hinge * 0.03, 0])) + p
    normal, hinge_axis = R @ X, R @ np.array([0, 0, hinge])
    origin = R @ np.array([0.19, hinge * 0.5 * width, 0]) + p
    contact = np.cross(normal, (tail - head) / np.linalg.norm(tail - head))
    closed = PlanningScene(
        keypoints={HEAD: head, TAIL: tail, SPOT: R @ push + p, "base_contact_point": p},
        axes={CONTACT: contact, "base_front_axis": normal, ROT: hinge_axis},
        R_base_link=R,
        R_base_world=np.eye(3),
        joint=JointGeometry(False, origin, hinge_axis, 0.0, 0.0, 2.0),
        s_closed=0.0,
        s_open=1.57,
        moving_names=frozenset((HEAD, TAIL, SPOT, CONTACT)),
    )
    return closed.at(s)


def drawer_scene(*, x=0.8, y=0.0, z=0.2, yaw=0.0, s=0.0):
    """A drawer with a horizontal bar."""
    R, p = matrix_from_axis_angle([0, 0, 1], math.pi + yaw), np.array([x, y, z])
    normal = R @ X
    head, tail = R @ np.array([0.245, 0, 0]) + p, R @ np.array([0.245, 0, 0.03]) + p
    closed = PlanningScene(
        keypoints={HEAD: head, TAIL: tail, SPOT: R @ np.array([0.2, 0.1, 0]) + p},
        axes={CONTACT: np.cross(normal, [0, 0, 1.0]), MOVE: normal},
        R_base_link=R,
        R_base_world=np.eye(3),
        joint=JointGeometry(True, p, normal, 0.0, 0.0, 0.3),
        s_closed=0.0,
        s_open=0.3,
        moving_names=frozenset((HEAD, TAIL, SPOT, CONTACT, MOVE)),
    )
    return closed.at(s)


@dataclass
class RowTerm:
    """A row in the role of a term."""

    fixed: Any
    label: str = "given"
    TYPE = "given"

    def row(self, tool, scene):
        return self.fixed


@dataclass
class Pair:
    """What a checker answers with."""

    link_a: str
    link_b: str
    distance_m: float = -0.01
    where: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass
class ToyChecker:
    """Collides where a function of (q, s, gripper, allowed links) names a pair."""

    hit: Any
    allowed: frozenset[str] = field(default_factory=frozenset)

    def deepest_collision(self, q, *, s=None, gripper=None, clearance_m=None):
        names = self.hit(q, s, gripper, self.allowed)
        return Pair(*names) if names is not None else None

    @contextmanager
    def allow(self, links):
        before, self.allowed = self.allowed, frozenset(links)
        try:
            yield
        finally:
            self.allowed = before


def nothing_near(*_):
    """No pair of links, whatever the arm does."""
    return None


def post(q, *_):
    """Something stands where joint 1 is about 0, unless joint 2 is well back."""
    return ("panda_link4", "post") if abs(q[0]) < 0.3 and q[1] > -0.9 else None


def assert_joins(segments):
    """Each segment of a plan begins where the one before it ended, or flows from it without a jump."""
    for before, after in pairwise(segments):
        step = np.abs(after.q[0] - before.q[-1])
        if before.flows:
            around = np.abs([before.q[-1] - before.q[-2], after.q[1] - after.q[0]])
            assert np.all(step <= around.max(axis=0) + 1e-3)
        else:
            np.testing.assert_allclose(step, 0.0, atol=1e-8)


def stretches(segments):
    """Yields the joints (T, n) of a plan from each rest to the next one: segments that flow are one motion."""
    joined = []
    for segment in segments:
        joined.append(segment.q)
        if not segment.flows:
            yield np.concatenate(joined)
            joined = []
    assert not joined, "the last segment of a plan ends at rest"


def assert_inside(arm, q, *, beyond=0.0):
    """Joint positions keep the limits of an arm."""
    assert np.all(q >= arm.q_lower - beyond)
    assert np.all(q <= arm.q_upper + beyond)


def solve_all(
    solver: GoalSolver, terms: list[Term], scene: PlanningScene, *, q_reference: np.ndarray
) -> list[Solution]:
    """All distinct solutions of 24 starts a wave, the nearest first; without one, the best compromise alone."""
    batches: list[GoalBatch] = []
    found: list[Goal] = []
    for wave in range(3):
        batches += [
            solver.run(
                tuple(term.row(tool, scene) for term in terms),
                variant=variant,
                q_reference=q_reference,
                starts=24,
                wave=wave,
            )
            for variant, tool in solver.arm.tool_variants()
        ]
        found = solver.goals(batches, q_reference)
        if found:
            break
    goals = found or [solver.best_compromise(batches)]
    return [solver.solution(goal, terms, starts_tried=24 * len(batches)) for goal in goals]
