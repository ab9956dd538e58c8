"""Finds the goals of a plan with the offset and noise of the setting, and ranks them by their coarse paths."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from unlatch.simcore.geometry import Pose, matrix_from_rpy, unit
from unlatch.solver.goal_solver import Goal, GoalBatch, GoalSolver
from unlatch.solver.motion import StageFailure
from unlatch.solver.path_solver import PathSolution, PathSolver, apply_motion, motion_poses
from unlatch.solver.plan import PlanRequest
from unlatch.solver.plan_log import PlanLog
from unlatch.solver.scene import Slide, Slip, SlipMode, bar_axis, inward_direction
from unlatch.solver.solution import Solution, angles_between, box_excess, limit_margin, row_excess
from unlatch.solver.term import AxisRow, ExpressionRow, PointRow, Row
from unlatch.solver.waypoints import Grasp

Array = np.ndarray

_GUIDE_RAD = 0.4
_DIRECTION_RAD = 0.1
"""Tolerance of a drawn direction of the hand."""
_LATER_WAVES = 4
_POSE_M = 1e-4
_POSE_RAD = 1e-3
"""Tolerances of the pose of a goal with offset or noise."""


def hand_axes(tool: Mapping[str, Array]) -> tuple[Array, Array]:
    """Returns the (3,) approach axis and the (3,) fingertip line of a set of tool keypoints, ee frame."""
    return unit(tool["tool_head"] - tool["tool_tail"]), unit(tool["tool_side"] - tool["tool_head"])


def direction_rows(tool: Mapping[str, Array], directions: tuple[Array, Array]) -> tuple[Row, ...]:
    """Returns rows that keep both `hand_axes` near directions (3,), base frame."""
    axes = hand_axes(tool)
    return tuple(AxisRow(x, d, 0.0, _DIRECTION_RAD, 0.0) for x, d in zip(axes, directions, strict=True))


def growth(wave: int) -> int:
    """Returns the factor by which a wave tries more starts and candidates than the first one.

    Nearly all plans are found in the first wave; the others need many more goals.
    """
    return _LATER_WAVES if wave > 0 else 1


class ReachedGoal(NamedTuple):
    """A goal after the setting's offset and noise."""

    source: Goal
    """The goal that met the constraints."""
    q: Array
    """(n,) joints after offset and noise [rad]."""
    T_base_ee: Pose
    """Pose of the ee after offset and noise."""

    @property
    def variant(self) -> str:
        """Label of its set of tool keypoints."""
        return self.source.batch.variant


class GoalFinder:
    """Finds the goals of one request, wave by wave; the only user of the goal solver in the planner."""

    def __init__(self, request: PlanRequest, paths: PathSolver, rng: np.random.Generator, log: PlanLog) -> None:
        self.request = request
        self.arm = request.arm
        self.scene = request.scene
        self.term_scene = request.term_scene
        self.setting = request.setting
        self.terms = request.setting.constraint_list
        self.costs = request.setting.cost_list
        self.solver = GoalSolver(self.arm)
        self.paths = paths
        self.rng = rng
        self.log = log
        self.hand_directions: tuple[Array, Array] | None = None
        """(3,) approach and (3,) fingertip line that the hand must nearly have at the goal, base frame; None = free.

        They need keypoints `tool_head`, `tool_tail` and `tool_side`."""
        self.best: Solution | None = None
        """The solution of least cost, or the best compromise."""

    def find(self, wave: int) -> list[Goal]:
        """Returns the goals of one wave of starts, least cost first; runs without guides if none is found with them."""
        variants = self.arm.tool_variants()
        guides = {variant: self._roll_guides(tool, wave) for variant, tool in variants}
        with self.log.clock("goal"):
            batches = self._run_starts(wave, guides)
            guided = any(rows for each in guides.values() for rows in each)
            if guided and not any(batch.solved.any() for batch in batches):
                batches = self._run_starts(wave, {variant: [()] for variant in guides})
            found = self.solver.goals(batches, self.request.q_reference)
            nearest = found[0] if found else self.solver.best_compromise(batches)
            if not found and nearest.solved:  # the compromise meets every constraint
                found = [nearest]
        self.log.counts["goals"] += len(found)
        if self.best is None or not self.best.found:
            self.best = self.solution(nearest)
        return found

    def _run_starts(self, wave: int, guides: Mapping[str, list[tuple[Row, ...]]]) -> list[GoalBatch]:
        """Runs one wave of starts, shared among the guides of each set of tool keypoints."""
        batches = []
        for variant, tool in self.arm.tool_variants():
            rows = self._term_rows(tool)
            if self.hand_directions is not None:
                rows += direction_rows(tool, self.hand_directions)
            starts = self.request.budget.goal_starts * growth(wave) // len(guides[variant])
            batches += [
                self.solver.run(
                    rows + guide, variant=variant, q_reference=self.request.q_reference, starts=starts, wave=wave
                )
                for guide in guides[variant]
            ]
            self.log.counts["starts"] += starts * len(guides[variant])
        return batches

    def find_exactly(self) -> list[Goal]:
        """Returns the goal of least cost, by the slower solver that misses the fewest goals; empty if there is none."""
        with self.log.clock("goal"):
            goal, tried = self.solver.least_cost(
                self.terms, self.term_scene, q_reference=self.request.q_reference, costs=self.costs
            )
        self.log.counts["starts"] += tried
        return [] if goal is None else self._note_goal(goal)

    def adopt(self, solution: Solution) -> list[Goal]:
        """Returns the solution of another solver as a goal; without one, only keeps its compromise as the best end."""
        if not solution.found:
            self.best = solution
            return []
        tool = dict(self.arm.tool_variants())[solution.tool_variant]
        batch = self.solver.measure(self._term_rows(tool), solution.q[None], variant=solution.tool_variant)
        return self._note_goal(Goal(batch, 0, solution.cost))

    def measure(self, q: Array, variant: str) -> ReachedGoal:
        """Returns joints (n,) [rad] as a goal for one set of tool keypoints, whether they meet its rows or not."""
        rows = self._term_rows(dict(self.arm.tool_variants())[variant])
        goal = Goal(self.solver.measure(rows, q[None], variant=variant), 0, 0.0)
        return ReachedGoal(goal, goal.q, goal.T_base_ee)

    def _note_goal(self, goal: Goal) -> list[Goal]:
        self.log.counts["goals"] += 1
        if self.best is None or not self.best.found:
            self.best = self.solution(goal)
        return [goal]

    def _term_rows(self, tool: Mapping[str, Array]) -> tuple[Row, ...]:
        return tuple(term.row(tool, self.term_scene) for term in [*self.terms, *self.costs])

    def solution(self, goal: Goal) -> Solution:
        """Returns a goal with the residual of each constraint."""
        return self.solver.solution(goal, self.terms, starts_tried=self.log.counts["starts"])

    def rows(self, reached: ReachedGoal) -> tuple[Row, ...]:
        """Returns the rows of a goal: its constraints and costs, or its own pose if offset or noise moved it."""
        source, _, T = reached
        if T is source.T_base_ee or T.is_close(source.T_base_ee, atol_m=1e-9, atol_rad=1e-9):
            return source.batch.rows
        has_offset = self.setting.goal_offset(self.request.asset) is not None
        if self.request.budget.variety is not None and has_offset and self.setting.keypose_random_range.is_zero:
            moved = self.rows_with_offset(source.batch.rows, reached.variant)
            if moved is not None:
                return moved
        head = self.arm.tool_keypoints.get("tool_head", np.zeros(3))
        directions = [AxisRow(x, T.R @ x, 0.0, _POSE_RAD, 0.0) for x in np.eye(3)[1:]]
        return (PointRow(head, T @ head, _POSE_M), *directions)

    def with_turn(self, reached: ReachedGoal, turn: Array) -> ReachedGoal:
        """Returns a goal whose rows also keep the hand near its rotation turned by `turn` (3, 3), base frame.

        The joints stay as they are: they do not meet the new rows yet.
        """
        source = reached.source
        before, tool = source.batch, dict(self.arm.tool_variants())[source.batch.variant]
        approach, side = (turn @ reached.T_base_ee.R @ axis for axis in hand_axes(tool))
        rows = before.rows + direction_rows(tool, (approach, side))
        i = source.index
        batch = GoalBatch(before.variant, rows, before.q[[i]], before.R[[i]], before.p[[i]], before.violation[[i]])
        goal = Goal(batch, 0, source.cost)
        return ReachedGoal(goal, reached.q, reached.T_base_ee)

    def rows_with_offset(self, rows: tuple[Row, ...], variant: str) -> tuple[Row, ...] | None:
        """Returns rows that a goal meets after the offset of the setting exactly if it meets `rows` before.

        `variant` is the label of its set of tool keypoints.

        None where the offset is not a shift of the hand along its own axes.
        """
        offset = self.setting.goal_offset(self.request.asset)
        if offset is None:
            return rows
        if not str(offset[0]).startswith("translate_"):
            return None
        shift = apply_motion(Pose.identity(), offset, self.scene, self.request.motion_reading(variant)).p
        moved: list[Row] = []
        for row in rows:
            if isinstance(row, ExpressionRow):
                return None
            moved.append(row if isinstance(row, AxisRow) else replace(row, x_ee=row.x_ee - shift))
        return tuple(moved)

    def moved_to(self, reached: ReachedGoal, q: Array) -> ReachedGoal:
        """Returns a goal with other joints (n,) [rad] that also meet its rows."""
        R, p = self.arm.kinematics.fk_batch(q[None])
        T_base_ee = Pose(R[0], p[0])
        if self.rows(reached) is not reached.source.batch.rows:
            return ReachedGoal(reached.source, q, T_base_ee)
        before = reached.source.batch
        violation = np.array([max(row_excess(before.rows, R, p).max(initial=0.0), box_excess(self.arm, p)[0])])
        batch = GoalBatch(before.variant, before.rows, q[None], R, p, violation)
        found = self.solver.goals([batch], self.request.q_reference)
        return ReachedGoal(found[0] if found else reached.source, q, T_base_ee)

    def offset_goals(self, goals: list[Goal]) -> list[ReachedGoal]:
        """Returns the goals with the setting's offset and one draw of noise, if they can be reached."""
        offset = self.setting.goal_offset(self.request.asset)
        noise_range = self.setting.keypose_random_range
        poses = [ReachedGoal(goal, goal.q, goal.T_base_ee) for goal in goals]
        if offset is None and noise_range.is_zero:
            return poses
        noise = Pose.identity()
        if not noise_range.is_zero:
            self.log.counts["noise_draws"] += 1
            degrees = self.rng.uniform(noise_range.orientation.lower, noise_range.orientation.upper)
            shift = self.rng.uniform(noise_range.position.lower, noise_range.position.upper)
            noise = Pose(matrix_from_rpy(np.radians(degrees)), shift)
        asked, reached = [], []
        variants = {goal.batch.variant for goal in goals}
        readings = {variant: self.request.motion_reading(variant) for variant in variants}
        for goal, _, T in poses:
            reading = readings[goal.batch.variant]
            T_goal = T if offset is None else apply_motion(T, offset, self.scene, reading)
            T_ee_hand = Pose(reading.R_ee_hand, np.zeros(3))
            asked.append(T_goal @ T_ee_hand @ noise @ T_ee_hand.inverse())
        if goals:
            q, holds = self.paths.reach_poses(np.array([goal.q for goal in goals]), asked)
            reached = [ReachedGoal(goals[c], q[c], asked[c]) for c in np.flatnonzero(holds)]
        if not reached:
            self.log.fail(StageFailure("goal", "no goal can be reached with the offset and noise of the setting"))
        return reached

    def _roll_guides(self, tool: Mapping[str, Array], wave: int) -> list[tuple[Row, ...]]:
        """Returns extra rows that spread the goals where the constraints leave the roll about the approach axis free.

        The hand is three times as wide along the fingertip line as across it: along the bar it clears the handle,
        across the bar it may clear other things. Later waves are not guided.
        """
        bar = bar_axis(self.scene)
        has_side = {"tool_side", "tool_head"} <= set(tool)
        if not self.request.closed_gripper or wave > 1 or bar is None or not has_side:
            return [()]
        side, across = unit(tool["tool_side"] - tool["tool_head"]), 0.5 * math.pi
        return [
            (AxisRow(side, bar, 0.0, _GUIDE_RAD, 0.0),),
            (AxisRow(side, bar, across - _GUIDE_RAD, across + _GUIDE_RAD, across),),
        ]


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
                s_values=self.scene.joint.places(target_s, self.request.waypoints()),
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

    def rescue(self) -> list[RankedGoal]:
        """Returns the failed goals that came furthest, each solved together with its approach and path."""
        failed = sorted(self.failed, key=lambda entry: (-round(entry[0], 2), entry[1].rank_cost))
        self.failed = []
        solved = [self.solve_with_path(goal) for _, goal in failed[: self.budget.rescues]]
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
                s_values=self.scene.joint.places(self.target_s, self.request.waypoints()),
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
        track = motion_poses(Pose.identity(), motions, self.scene, reading, before_contact=len(motions))
        return np.array([T.p for T in track.dense])

    def _follow_coarsely(self, goals: Array, slip: Slip, inward: Array, count: int) -> Sequence[PathSolution | None]:
        if self.target_s is None:
            return [None] * len(goals)
        # padded to the size that is compiled already
        padded = np.vstack([goals, np.repeat(goals[-1:], count - len(goals), axis=0)]) if len(goals) < count else goals
        if len(goals) <= count // 3:
            padded = padded[: max(1, count // 3)]
        s_values = self.scene.joint.places(self.target_s, self.budget.coarse_waypoints)
        paths = self.coarse_paths.follow(
            padded, self.scene, s_values=s_values, slip=slip, inward=inward, contact_ee=self.contact_ee
        )
        return paths[: len(goals)]

    def _note_failure(self, path: PathSolution, slip: Slip) -> float:
        """Notes where a path ends; returns the share of it that holds."""
        target = self.scene.s if self.target_s is None else self.target_s
        from unlatch.solver.failed_paths import FailedPartPath

        grasp = Grasp(slip, self._inward_direction([self.arm.kinematics.pose(path.q[0])]), self.contact_ee)
        return self.log.add_failed_path(FailedPartPath(self.arm, self.scene, path, grasp, target))

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
