"""The goal stage of a plan: goals that meet the constraints, and the setting's offset and noise on them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from unlatch.simcore.geometry import Pose, matrix_from_rpy, unit
from unlatch.solver.goal.goal_solver import Goal, GoalBatch, GoalSolver
from unlatch.solver.goal.solution import Solution
from unlatch.solver.goal.verify import box_excess, excess
from unlatch.solver.path.actuation_motions import apply_motion
from unlatch.solver.path.path_solver import PathSolver
from unlatch.solver.path.slip import bar_axis
from unlatch.solver.planning.plan import PlanRequest
from unlatch.solver.planning.plan_log import PlanLog
from unlatch.solver.terms.row import AxisRow, PointRow, Row

Array = np.ndarray

_GUIDE_RAD = 0.4
_LATER_WAVES = 4
_POSE_M = 1e-4
_POSE_RAD = 1e-3
"""What a goal with offset or noise may still be moved by."""


def growth(wave: int) -> int:
    """By which factor more starts and candidates are tried in a wave than in the first one.

    Nearly all plans are found in the first wave; the others want more goals, not the next few.
    """
    return _LATER_WAVES if wave > 0 else 1


class Reached(NamedTuple):
    """A goal after the setting's offset and noise."""

    goal: Goal
    """The goal that met the constraints."""
    q: Array
    """(n,) joints after offset and noise [rad]."""
    T_base_ee: Pose
    """Pose of the ee after offset and noise."""


class GoalStage:
    """Finds the goals of one request, wave by wave; all that the planner asks of the goal solver is here."""

    def __init__(self, request: PlanRequest, paths: PathSolver, rng: np.random.Generator, log: PlanLog) -> None:
        self.request = request
        self.arm = request.arm
        self.scene = request.scene
        self.setting = request.setting
        self.terms = request.setting.constraint_list
        self.costs = request.setting.cost_list
        self.solver = GoalSolver(self.arm)
        self.paths = paths
        self.rng = rng
        self.log = log
        self.best: Solution | None = None
        """The solution of least cost, or the best compromise."""

    def wave(self, wave: int) -> list[Goal]:
        """The goals of one wave of starts, least cost first; where guides leave none, those without."""
        variants = self.arm.tool_variants()
        guides = {variant: self._guides(tool, wave) for variant, tool in variants}
        with self.log.clock("goal"):
            batches = self._run(wave, guides)
            guided = any(rows for each in guides.values() for rows in each)
            if guided and not any(batch.solved.any() for batch in batches):
                batches = self._run(wave, {variant: [()] for variant in guides})
            found = self.solver.goals(batches, self.request.q_current)
            nearest = found[0] if found else self.solver.nearest(batches)
            if not found and nearest.solved:  # the compromise turned out to be none
                found = [nearest]
        self.log.counts["goals"] += len(found)
        if self.best is None or not self.best.found:
            self.best = self.solution(nearest)
        return found

    def _run(self, wave: int, guides: Mapping[str, list[tuple[Row, ...]]]) -> list[GoalBatch]:
        """One wave of starts, shared among the guides of each set of tool keypoints."""
        batches = []
        for variant, tool in self.arm.tool_variants():
            rows = tuple(term.row(tool, self.scene) for term in [*self.terms, *self.costs])
            starts = self.request.budget.goal_starts * growth(wave) // len(guides[variant])
            batches += [
                self.solver.run(
                    rows + guide, variant=variant, q_reference=self.request.q_current, starts=starts, wave=wave
                )
                for guide in guides[variant]
            ]
            self.log.counts["starts"] += starts * len(guides[variant])
        return batches

    def exact(self) -> list[Goal]:
        """The goal of least cost, by the solver that misses the fewest: for where the waves find none."""
        with self.log.clock("goal"):
            goal, tried = self.solver.least_cost(
                self.terms, self.scene, q_reference=self.request.q_current, costs=self.costs
            )
        self.log.counts["starts"] += tried
        if goal is None:
            return []
        self.log.counts["goals"] += 1
        if self.best is None or not self.best.found:
            self.best = self.solution(goal)
        return [goal]

    def adopt(self, solution: Solution) -> list[Goal]:
        """A solution that was found elsewhere as a goal; what holds it back is kept where it is none."""
        if not solution.found:
            self.best = solution
            return []
        tool = dict(self.arm.tool_variants())[solution.tool_variant]
        rows = tuple(term.row(tool, self.scene) for term in [*self.terms, *self.costs])
        goal = Goal(self.solver.measured(rows, solution.q[None], variant=solution.tool_variant), 0, solution.cost)
        self.log.counts["goals"] += 1
        self.best = self.solution(goal)
        return [goal]

    def solution(self, goal: Goal) -> Solution:
        """A goal with the residual of each constraint."""
        return self.solver.solution(goal, self.terms, starts_tried=self.log.counts["starts"])

    def rows(self, reached: Reached) -> tuple[Row, ...]:
        """What a goal must meet: its constraints and costs, or its own pose where offset or noise have moved it."""
        goal, _, T = reached
        if T is goal.T_base_ee or T.is_close(goal.T_base_ee, atol_m=1e-9, atol_rad=1e-9):
            return goal.batch.rows
        head = self.arm.tool_keypoints.get("tool_head", np.zeros(3))
        directions = [AxisRow(x, T.R @ x, 0.0, _POSE_RAD, 0.0) for x in np.eye(3)[1:]]
        return (PointRow(head, T @ head, _POSE_M), *directions)

    def at(self, reached: Reached, q: Array) -> Reached:
        """A goal whose joints a later stage has moved, within what it must meet.

        Args:
            reached: The goal before.
            q: (n,) its joints now [rad].
        """
        R, p = self.arm.kinematics.fk_batch(q[None])
        T_base_ee = Pose(R[0], p[0])
        if self.rows(reached) is not reached.goal.batch.rows:
            return Reached(reached.goal, q, T_base_ee)
        before = reached.goal.batch
        violation = np.array([max(excess(before.rows, R, p).max(initial=0.0), box_excess(self.arm, p)[0])])
        batch = GoalBatch(before.variant, before.rows, q[None], R, p, violation)
        found = self.solver.goals([batch], self.request.q_current)
        return Reached(found[0] if found else reached.goal, q, T_base_ee)

    def moved(self, goals: list[Goal]) -> list[Reached]:
        """The goals with the setting's offset and one draw of noise applied; those that can be reached."""
        offset = self.setting.goal_offset(self.request.asset)
        noise_range = self.setting.keypose_random_range
        poses = [Reached(goal, goal.q, goal.T_base_ee) for goal in goals]
        if offset is None and noise_range.is_zero:
            return poses
        noise = Pose.identity()
        if not noise_range.is_zero:
            self.log.counts["noise_draws"] += 1
            degrees = self.rng.uniform(noise_range.orientation.lower, noise_range.orientation.upper)
            shift = self.rng.uniform(noise_range.position.lower, noise_range.position.upper)
            noise = Pose(matrix_from_rpy(np.radians(degrees)), shift)
        moved = []
        for goal, q, T in poses:
            T_goal = T if offset is None else apply_motion(T, offset, self.scene)
            T_goal = T_goal @ noise
            path = self.paths.through(q, [T, T_goal])
            if path.found:
                moved.append(Reached(goal, path.q[-1], T_goal))
        if not moved:
            self.log.fail("goal", "no goal can be reached with the offset and noise of the setting", {})
        return moved

    def _guides(self, tool: Mapping[str, Array], wave: int) -> list[tuple[Row, ...]]:
        """Extra rows that spread the goals where the constraints leave the roll about the approach axis free.

        The hand is three times as wide along the fingertip line as across it: lying along the bar it clears the
        handle, lying across it may clear other things. Later waves are not guided.
        """
        bar = bar_axis(self.scene)
        if not self.request.closed_gripper or wave > 1 or bar is None:
            return [()]
        side = unit(tool["tool_side"] - tool["tool_head"]) if {"tool_side", "tool_head"} <= set(tool) else None
        if side is None:
            return [()]
        across = 0.5 * math.pi
        return [
            (AxisRow(side, bar, 0.0, _GUIDE_RAD, 0.0),),
            (AxisRow(side, bar, across - _GUIDE_RAD, across + _GUIDE_RAD, across),),
        ]
