"""Candidates of a plan: goals with a slip, in order of promise by their coarse paths; lost paths are rescued."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from unlatch.simcore.geometry import Pose
from unlatch.solver.goal.goal_solver import Goal
from unlatch.solver.goal.verify import angles, limit_margin
from unlatch.solver.path.actuation_motions import pre_poses
from unlatch.solver.path.path_solver import PathSolution, PathSolver
from unlatch.solver.path.slip import Slide, Slip, SlipMode, inward_direction
from unlatch.solver.path.waypoints import Grasp
from unlatch.solver.planning.goals import GoalStage, Reached, growth
from unlatch.solver.planning.lost import LostPath
from unlatch.solver.planning.plan import PlanRequest
from unlatch.solver.planning.plan_log import PlanLog
from unlatch.solver.terms.row import AxisRow

Array = np.ndarray

_GOOD_MARGIN_RAD = 0.2
_WIDEST_CONE_RAD = math.radians(75.0)


@dataclass(frozen=True)
class Candidate:
    """A goal with its path, and how promising it is."""

    goal: Goal
    """The goal that met the constraints."""
    q: Array
    """(n,) joints at the goal, with the setting's offset and noise [rad]."""
    T_base_ee: Pose
    """Pose of the ee there."""
    slip: Slip
    """What the hand may do on the part."""
    promise: float
    """Cost by which candidates are ranked; lower is better."""
    coarse: PathSolution | None = None
    """The coarse path by which it was ranked, where the part is led along its joint."""
    path: PathSolution | None = None
    """The path, where it is known already."""


class _Lost(NamedTuple):
    """A goal whose path was lost on the way, or whose approach was."""

    share: float
    """How much of the way it went."""
    candidate: Candidate
    coarse: PathSolution


class CandidateStage:
    """Ranks the goals of one request, and follows the part from them."""

    def __init__(self, request: PlanRequest, goals: GoalStage, paths: PathSolver, log: PlanLog) -> None:
        self.request = request
        self.arm = request.arm
        self.scene = request.scene
        self.budget = request.budget
        self.goals = goals
        self.paths = paths
        # it ranks only: its few large steps need not have converged
        self.coarse_paths = PathSolver(self.arm, max_step_rad=0.8, point_tolerance_m=0.01, angle_tolerance_rad=0.1)
        self.log = log
        self.lost: list[_Lost] = []
        self.s0 = self.scene.s
        self.target_s = request.target_s()
        self.terms = request.setting.constraint_list
        self.contact_ee = self._contact_point()

    def slips(self) -> tuple[Slip, ...]:
        """What the hand may do on the part, in the order in which it is tried."""
        if self.request.slips is not None:
            return self.request.slips
        if self.request.closed_gripper:
            cone = Slip(SlipMode.cone, limit_rad=self._cone_limit())
            return (cone, replace(cone, slide=Slide.across), replace(cone, slide=Slide.edge))
        return (Slip(SlipMode.bar), Slip(SlipMode.gimbal))

    def ranked(self, goals: list[Reached], slip: Slip, *, wave: int = 0) -> list[Candidate]:
        """The goals whose coarse path holds, most promising first; the others are kept to be rescued.

        Args:
            goals: Goals of one wave.
            slip: What the hand may do on the part.
            wave: Which wave.
        """
        if not goals:
            return []
        with self.log.clock("path"):
            inward = self._inward(goals[0].T_base_ee)
            q = np.array([goal.q for goal in goals])
            tilt = angles(np.array([goal.T_base_ee.R for goal in goals]) @ self.arm.approach_axis(), inward)
            near = np.linalg.norm(q - self.request.q_current, axis=1)
            first = near + tilt + 4.0 * np.maximum(0.0, _GOOD_MARGIN_RAD - limit_margin(self.arm, q))
            count = self.budget.candidates * growth(wave)
            chosen = np.argsort(first, kind="stable")[:count].tolist()
            coarse = self._coarse(q[chosen], slip, inward, count)
        candidates = []
        for i, path in zip(chosen, coarse, strict=True):
            goal, q_goal, T = goals[i]
            promise = float(0.4 * near[i] + 0.6 * tilt[i])
            if path is not None:
                promise += 0.4 * path.length_rad + 8.0 * max(0.0, _GOOD_MARGIN_RAD - path.margin_rad)
            candidate = Candidate(goal, q_goal, T, slip, promise, path)
            if path is None or path.found:
                candidates.append(candidate)
            else:
                self.lost.append(_Lost(self._fail_path(path, slip), candidate, path))
        candidates.sort(key=lambda c: c.promise)
        return candidates

    def follow(self, candidate: Candidate, target_s: float) -> PathSolution | None:
        """The fine path of a candidate, or None where it is lost.

        Args:
            candidate: Goal and slip.
            target_s: Joint position to which the part is led [rad or m].
        """
        path = candidate.path
        if path is None:
            path = self.paths.follow(
                candidate.q[None],
                self.scene,
                s_values=np.linspace(self.s0, target_s, self.request.waypoints() + 1),
                slip=candidate.slip,
                inward=self._inward(candidate.T_base_ee),
                contact_ee=self.contact_ee,
            )[0]
        if path.found:
            return path
        self._fail_path(path, candidate.slip)
        if candidate.path is None:
            self.lose(candidate)
        return None

    def lose(self, candidate: Candidate) -> None:
        """Keeps a candidate whose coarse path holds, but not its approach or its fine path, to be solved as a whole."""
        if candidate.coarse is not None:
            self.lost.append(_Lost(1.0, candidate, candidate.coarse))

    def rescued(self, count: int | None = None) -> list[Candidate]:
        """The lost ones that came furthest, solved with goal, approach and path together.

        Args:
            count: How many are tried; None = as the budget says.
        """
        lost = sorted(self.lost, key=lambda entry: (-round(entry.share, 2), entry.candidate.promise))
        self.lost = []
        tried = lost[: self.budget.rescues if count is None else count]
        solved = [self.together(entry.candidate, entry.coarse) for entry in tried]
        return [candidate for candidate in solved if candidate is not None]

    def together(self, candidate: Candidate, coarse: PathSolution) -> Candidate | None:
        """Solves goal, approach and path of a candidate together; None where that fails.

        Args:
            candidate: Goal and slip.
            coarse: Its coarse path, the guess.
        """
        if self.target_s is None:
            return None
        reached = Reached(candidate.goal, candidate.q, candidate.T_base_ee)
        with self.log.clock("path"):
            path = self.paths.with_goal(
                coarse,
                self.scene,
                rows=self.goals.rows(reached),
                s_values=np.linspace(self.s0, self.target_s, self.request.waypoints() + 1),
                grasp=Grasp(candidate.slip, self._inward(candidate.T_base_ee), self.contact_ee),
                retreats=self._retreats(),
                q_now=self.request.q_current,
            )
        self.log.counts["rescues"] += 1
        if not path.found:
            return None
        goal, q, T = self.goals.at(reached, path.q[0])
        return replace(candidate, goal=goal, q=q, T_base_ee=T, path=path)

    def _retreats(self) -> Array:
        """(K, 3) the way back to the farthest pre-grasp, ee frame, the goal first [m].

        Turns about the part's joint are left out: they are not the same for every goal.
        """
        motions = [motion for motion in self.request.setting.pre_actuation_motions if motion[0] != "rotate"]
        return np.array([T.p for T in pre_poses(Pose.identity(), motions, self.scene).dense])

    def _coarse(self, goals: Array, slip: Slip, inward: Array, count: int) -> Sequence[PathSolution | None]:
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

    def _fail_path(self, path: PathSolution, slip: Slip) -> float:
        """Notes where a path ended; returns the share of the way."""
        target = self.scene.s if self.target_s is None else self.target_s
        grasp = Grasp(slip, self._inward(self.arm.kinematics.pose(path.q[0])), self.contact_ee)
        return self.log.furthest.add_lost(LostPath(self.arm, self.scene, path, grasp, target))

    def _cone_limit(self) -> float:
        """The widest cone about the approach that a constraint allows at the goal, and a little more on the way."""
        approach = self.arm.approach_axis()
        limits = [
            min(row.upper, math.pi - row.lower)
            for row in (term.row(self.arm.tool_keypoints, self.scene) for term in self.terms)
            if isinstance(row, AxisRow) and abs(float(row.x_ee @ approach)) > 0.999
        ]
        return min(_WIDEST_CONE_RAD, max([*limits, 0.5]) + 0.2)

    def _inward(self, T_goal: Pose) -> Array:
        return inward_direction(self.scene, T_goal.R @ self.arm.approach_axis())

    def _contact_point(self) -> Array:
        """(3,) the tool keypoint that the first point constraint names, ee frame; tool_head where there is none [m]."""
        for term in self.terms:
            name = term.tool_names().get("keypoint_name")
            if name is not None and name in self.arm.tool_keypoints:
                return self.arm.tool_keypoints[name]
        return self.arm.tool_keypoints.get("tool_head", np.zeros(3))
