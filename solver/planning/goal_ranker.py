"""Ranks goals by their coarse paths, follows the part from them, and rescues goals whose paths fail."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from unlatch.simcore.geometry import Pose
from unlatch.solver.goal.verify import angles_between, limit_margin
from unlatch.solver.path.actuation_motions import pre_poses
from unlatch.solver.path.path_solver import PathSolution, PathSolver
from unlatch.solver.path.slip import Slide, Slip, SlipMode, inward_direction
from unlatch.solver.path.waypoints import Grasp
from unlatch.solver.planning.failed_path import FailedPartPath
from unlatch.solver.planning.goal_finder import GoalFinder, ReachedGoal, growth
from unlatch.solver.planning.plan import PlanRequest
from unlatch.solver.planning.plan_log import PlanLog
from unlatch.solver.terms.row import AxisRow

Array = np.ndarray

_GOOD_MARGIN_RAD = 0.2
_WIDEST_CONE_RAD = math.radians(75.0)


@dataclass(frozen=True)
class RankedGoal:
    """A goal with its path and its rank."""

    reached: ReachedGoal
    """The goal with the setting's offset and noise."""
    slip: Slip
    """Freedom of the hand on the part."""
    rank_cost: float
    """Cost by which goals are ranked; lower is better."""
    coarse: PathSolution | None = None
    """Coarse path that the cost includes; None if the part is not led along its joint."""
    path: PathSolution | None = None
    """The fine path, if it is already known."""


class GoalRanker:
    """Ranks the goals of one request, and follows the part from them."""

    def __init__(self, request: PlanRequest, goals: GoalFinder, paths: PathSolver, log: PlanLog) -> None:
        self.request = request
        self.arm = request.arm
        self.scene = request.scene
        self.budget = request.budget
        self.goals = goals
        self.paths = paths
        # these paths only rank goals: their few large steps need not converge
        self.coarse_paths = PathSolver(self.arm, max_step_rad=0.8, point_tolerance_m=0.01, angle_tolerance_rad=0.1)
        self.log = log
        self.failed: list[tuple[float, RankedGoal]] = []
        """Goals whose path or approach failed, with the share of the path that holds."""
        self.s0 = self.scene.s
        self.target_s = request.target_s()
        self.terms = request.setting.constraint_list
        self.contact_ee = self._contact_keypoint()

    def slips(self) -> tuple[Slip, ...]:
        """Returns the freedoms of the hand on the part, in the order in which they are tried."""
        if self.request.slips is not None:
            return self.request.slips
        if self.request.closed_gripper:
            cone = Slip(SlipMode.cone, limit_rad=self._cone_limit())
            return (cone, replace(cone, slide=Slide.across), replace(cone, slide=Slide.edge))
        return (Slip(SlipMode.bar), Slip(SlipMode.gimbal))

    def rank(self, goals: list[ReachedGoal], slip: Slip, *, wave: int = 0) -> list[RankedGoal]:
        """Returns the goals whose coarse path holds, most promising first; keeps the others for `rescue`."""
        if not goals:
            return []
        with self.log.clock("path"):
            inward = self._inward_direction([goal.T_base_ee for goal in goals])
            q = np.array([goal.q for goal in goals])
            tilt = angles_between(np.array([goal.T_base_ee.R for goal in goals]) @ self.arm.approach_axis(), inward)
            near = np.linalg.norm(q - self.request.q_reference, axis=1)
            first = near + tilt + 4.0 * np.maximum(0.0, _GOOD_MARGIN_RAD - limit_margin(self.arm, q))
            count = self.budget.candidates * growth(wave)
            chosen = np.argsort(first, kind="stable")[:count].tolist()
            coarse = self._follow_coarsely(q[chosen], slip, inward, count)
        candidates = []
        for i, path in zip(chosen, coarse, strict=True):
            rank_cost = float(0.4 * near[i] + 0.6 * tilt[i])
            if path is not None:
                rank_cost += 0.4 * path.length_rad + 8.0 * max(0.0, _GOOD_MARGIN_RAD - path.margin_rad)
            candidate = RankedGoal(goals[i], slip, rank_cost, path)
            if path is None or path.found:
                candidates.append(candidate)
            else:
                self.failed.append((self._note_failure(path, slip), candidate))
        candidates.sort(key=lambda c: c.rank_cost)
        return candidates

    def follow(self, goal: RankedGoal, target_s: float) -> PathSolution | None:
        """Returns the fine path that leads the part to `target_s` [rad or m] from a goal, or None if it fails."""
        path = goal.path
        if path is None:
            path = self.paths.follow(
                goal.reached.q[None],
                self.scene,
                s_values=np.linspace(self.s0, target_s, self.request.waypoints() + 1),
                slip=goal.slip,
                inward=self._inward_direction([goal.reached.T_base_ee]),
                contact_ee=self.contact_ee,
            )[0]
        if path.found:
            return path
        self._note_failure(path, goal.slip)
        if goal.path is None:
            self.keep_for_rescue(goal)
        return None

    def keep_for_rescue(self, goal: RankedGoal) -> None:
        """Keeps a goal whose approach or fine path fails, so that `rescue` solves goal, approach and path together."""
        if goal.coarse is not None:
            self.failed.append((1.0, goal))

    def rescue(self, count: int | None = None) -> list[RankedGoal]:
        """Returns the failed goals that came furthest, each solved together with its approach and path.

        It tries `count` of them; None = as many as the budget says.
        """
        failed = sorted(self.failed, key=lambda entry: (-round(entry[0], 2), entry[1].rank_cost))
        self.failed = []
        solved = [self.solve_with_path(goal) for _, goal in failed[: self.budget.rescues if count is None else count]]
        return [goal for goal in solved if goal is not None]

    def solve_with_path(self, goal: RankedGoal) -> RankedGoal | None:
        """Solves goal, approach and path together from the coarse path; returns None if that fails."""
        if self.target_s is None or goal.coarse is None:
            return None
        with self.log.clock("path"):
            path = self.paths.solve_together(
                goal.coarse,
                self.scene,
                rows=self.goals.rows(goal.reached),
                s_values=np.linspace(self.s0, self.target_s, self.request.waypoints() + 1),
                grasp=Grasp(goal.slip, self._inward_direction([goal.reached.T_base_ee]), self.contact_ee),
                retreats=self._approach_offsets(goal.reached.variant),
                q_now=self.request.q_reference,
            )
        self.log.counts["rescues"] += 1
        if not path.found:
            return None
        return replace(goal, reached=self.goals.moved_to(goal.reached, path.q[0]), path=path)

    def _approach_offsets(self, variant: str) -> Array:
        """Returns (K, 3) offsets back to the farthest pre-grasp, ee frame, the goal first [m].

        Turns about the part's joint are left out: they differ from goal to goal.
        """
        motions = [motion for motion in self.request.setting.pre_actuation_motions if motion[0] != "rotate"]
        reading = self.request.motion_reading(variant)
        return np.array([T.p for T in pre_poses(Pose.identity(), motions, self.scene, reading).dense])

    def _follow_coarsely(self, goals: Array, slip: Slip, inward: Array, count: int) -> Sequence[PathSolution | None]:
        if self.target_s is None:
            return [None] * len(goals)
        # padded to the size that is compiled already
        padded = np.vstack([goals, np.repeat(goals[-1:], count - len(goals), axis=0)]) if len(goals) < count else goals
        if len(goals) <= count // 3:
            padded = padded[: max(1, count // 3)]
        s_values = np.linspace(self.s0, self.target_s, self.budget.coarse_waypoints + 1)
        paths = self.coarse_paths.follow(
            padded, self.scene, s_values=s_values, slip=slip, inward=inward, contact_ee=self.contact_ee
        )
        return paths[: len(goals)]

    def _note_failure(self, path: PathSolution, slip: Slip) -> float:
        """Notes where a path ends; returns the share of it that holds."""
        target = self.scene.s if self.target_s is None else self.target_s
        grasp = Grasp(slip, self._inward_direction([self.arm.kinematics.pose(path.q[0])]), self.contact_ee)
        return self.log.furthest_reached.add_failed_path(FailedPartPath(self.arm, self.scene, path, grasp, target))

    def _cone_limit(self) -> float:
        """Returns a little more than the widest cone about the approach that the constraints allow [rad]."""
        approach = self.arm.approach_axis()
        limits = [
            min(row.upper, math.pi - row.lower)
            for row in (term.row(self.arm.tool_keypoints, self.goals.term_scene) for term in self.terms)
            if isinstance(row, AxisRow) and abs(float(row.x_ee @ approach)) > 0.999
        ]
        return min(_WIDEST_CONE_RAD, max([*limits, 0.5]) + 0.2)

    def _inward_direction(self, T_goals: Sequence[Pose]) -> Array:
        return inward_direction(self.scene, np.array([T.R @ self.arm.approach_axis() for T in T_goals]))

    def _contact_keypoint(self) -> Array:
        """Returns the (3,) tool keypoint of the first point constraint, ee frame; `tool_head` if there is none [m]."""
        for term in self.terms:
            name = term.tool_names().get("keypoint_name")
            if name is not None and name in self.arm.tool_keypoints:
                return self.arm.tool_keypoints[name]
        return self.arm.tool_keypoints.get("tool_head", np.zeros(3))
