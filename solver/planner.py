"""Plans a whole motion: goal, approach, the part's path, retreat, and the way there; the first that holds wins.

For several goals, in order of promise: the goal and the pre-grasp are free, the whole path along the part's joint lies
inside limits and free, the hand can step back from its end, and the way from the present joints is free.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from simcore.errors import SolverError
from simcore.geometry import Pose, angle_between, matrix_from_rpy, unit
from solver.clearance import Blocked, Clearance, evidence_of
from solver.collision import CollisionChecker, describe
from solver.diagnosis import Diagnosis, goal_diagnosis
from solver.furthest import Furthest
from solver.goal import Goal, GoalSolver
from solver.motion import MotionResult, plan_motion
from solver.path import PathSolution, PathSolver, Slip, SlipMode, bar_axis, inward_direction
from solver.plan import Keyframe, KeyframePlan, PlanBudget, PlanRequest, Segment
from solver.post import apply_motion, post_poses, pre_poses, step_back
from solver.segments import timed_segments
from solver.solution import Solution
from solver.terms.row import AxisRow, Row
from solver.verify import limit_margin

__all__ = ["Diagnosis", "Keyframe", "KeyframePlan", "PlanBudget", "PlanRequest", "Segment", "plan_keyframes"]

Array = np.ndarray

_GOOD_MARGIN_RAD = 0.2
_GUIDE_RAD = 0.4
_RETREAT_SHARES = (1.0, 0.6, 0.4)
_RETREAT_TILT_RAD = 0.3
"""The hand may tilt on the way back: nothing is held any more."""


def plan_keyframes(request: PlanRequest, checker: CollisionChecker | None, rng: np.random.Generator) -> KeyframePlan:
    """Plans one motion.

    Args:
        request: What is asked.
        checker: Collision checker of the scene; None = nothing is in the way.
        rng: The planner stream; noise on the goal and the seeds of searches come from it.

    Returns:
        The plan, or a diagnosis. A plan is a function of the request, the checker's scene and the state of `rng`.

    Raises:
        ConfigError: The setting names a keypoint or an axis that does not exist.
    """
    return _Planner(request, checker, rng).run()


class _Reached(NamedTuple):
    """A goal after the setting's offset and noise."""

    goal: Goal
    q: Array
    T_base_ee: Pose


@dataclass(frozen=True)
class _Candidate:
    """A goal with its path, and how promising it is."""

    goal: Goal
    q: Array
    T_base_ee: Pose
    slip: Slip
    promise: float
    path: PathSolution | None = None
    """The path, where it is known already."""


class _Lost(NamedTuple):
    """A goal whose path was lost on the way."""

    share: float
    """How much of the way it went."""
    candidate: _Candidate
    coarse: PathSolution


@dataclass(frozen=True)
class _Whole:
    """A candidate all of whose parts hold but the way there."""

    candidate: _Candidate
    approach: Array
    """(A, n) from the farthest pre-grasp to the goal, and on to contact where that is a post motion."""
    follow: PathSolution | None
    posts: list[tuple[Pose, Array, float]]
    retreat: Array | None


class _Led(NamedTuple):
    """What comes after the goal."""

    reach: Array
    """(R, n) from the goal to contact; the goal alone where that is contact [rad]."""
    follow: PathSolution
    """From contact to the end."""
    posts: list[tuple[Pose, Array, float]]
    """Pose, joints and joint position of the part at each post keyframe."""


class _Planner:
    def __init__(self, request: PlanRequest, checker: CollisionChecker | None, rng: np.random.Generator) -> None:
        self.request = request
        self.arm = request.arm
        self.scene = request.scene
        self.setting = request.setting
        self.budget = request.budget
        self.checker = checker
        self.rng = rng
        self.terms = request.setting.constraints
        self.costs = request.setting.costs
        self.goals = GoalSolver(self.arm)
        self.paths = PathSolver(self.arm)
        # it ranks only: its few large steps need not have converged
        self.coarse_paths = PathSolver(self.arm, max_step_rad=0.8, point_tolerance_m=0.01, angle_tolerance_rad=0.1)
        self.timings = dict.fromkeys(("goal", "path", "collision", "transit", "timing"), 0.0)
        self.counts = dict.fromkeys(("starts", "goals", "candidates", "rescues", "queries", "noise_draws"), 0)
        self.notices: list[str] = []
        self.furthest = Furthest()
        self.motion_queries = 0
        self.lost: list[_Lost] = []
        self.best: Solution | None = None
        self.s0 = self.scene.s
        self.target_s = request.target_s()
        self.contact_ee = self._contact_point()
        self.grip = 0.0 if request.closed_gripper else request.gripper_open_m
        self.clearance = Clearance(
            checker,
            contact_links=request.contact_links,
            s0=self.s0,
            gripper_m=self.grip,
            held_gripper_m=0.0 if request.closed_gripper else request.gripper_contact_m,
        )

    def run(self) -> KeyframePlan:
        began = time.perf_counter()
        draws = 1 if self.setting.keypose_random_range.is_zero else self.budget.noise_draws
        whole: tuple[_Whole, MotionResult] | None = None
        for wave in range(self.budget.goal_waves):
            goals = self._goals(wave)
            for _ in range(draws if goals else 0):
                whole = self._first_whole(self._moved_goals(goals))
                if whole is not None:
                    break
            if whole is not None:
                break
        plan = self._plan(*whole) if whole is not None else self._refused()
        self.counts["queries"] = self.motion_queries + self.clearance.queries
        plan.timings_ms.update(self.timings, total=1e3 * (time.perf_counter() - began))
        return plan

    # goals

    def _goals(self, wave: int) -> list[Goal]:
        batches = []
        with self._clock("goal"):
            variants = self.arm.tool_variants()
            for variant, tool in variants:
                rows = tuple(term.row(tool, self.scene) for term in [*self.terms, *self.costs])
                guides = self._guides(tool, wave)
                starts = self.budget.goal_starts // len(guides)
                batches += [
                    self.goals.run(
                        rows + guide, variant=variant, q_reference=self.request.q_current, starts=starts, wave=wave
                    )
                    for guide in guides
                ]
            found = self.goals.goals(batches, self.request.q_current)
            nearest = found[0] if found else self.goals.nearest(batches)
            if not found and nearest.solved:  # the compromise turned out to be none
                found = [nearest]
        self.counts["starts"] += self.budget.goal_starts * len(variants)
        self.counts["goals"] += len(found)
        if self.best is None or not self.best.found:
            self.best = self.goals.solution(nearest, self.terms, starts_tried=self.counts["starts"])
        return found

    def _guides(self, tool: Mapping[str, Array], wave: int) -> list[tuple[Row, ...]]:
        """Extra rows that spread the goals where the constraints leave the roll about the approach axis free.

        The hand is three times as wide along the fingertip line as across it: lying along the bar it clears the
        handle, lying across it may clear other things. Later waves are not guided.
        """
        bar = bar_axis(self.scene)
        if not self.request.closed_gripper or wave > 0 or bar is None:
            return [()]
        side = unit(tool["tool_side"] - tool["tool_head"]) if {"tool_side", "tool_head"} <= set(tool) else None
        if side is None:
            return [()]
        across = 0.5 * math.pi
        return [
            (AxisRow(side, bar, 0.0, _GUIDE_RAD, 0.0),),
            (AxisRow(side, bar, across - _GUIDE_RAD, across + _GUIDE_RAD, across),),
        ]

    def _moved_goals(self, goals: list[Goal]) -> list[_Reached]:
        """The goals with the setting's offset and one draw of noise applied."""
        offset = self.setting.goal_offset(self.request.asset)
        noise_range = self.setting.keypose_random_range
        poses = [_Reached(goal, goal.q, goal.T_base_ee) for goal in goals]
        if offset is None and noise_range.is_zero:
            return poses
        noise = Pose.identity()
        if not noise_range.is_zero:
            self.counts["noise_draws"] += 1
            degrees = self.rng.uniform(noise_range.orientation.lower, noise_range.orientation.upper)
            shift = self.rng.uniform(noise_range.position.lower, noise_range.position.upper)
            noise = Pose(matrix_from_rpy(np.radians(degrees)), shift)
        moved = []
        for goal, q, T in poses:
            T_goal = T if offset is None else apply_motion(T, offset, self.scene)
            T_goal = T_goal @ noise
            path = self.paths.through(q, [T, T_goal])
            if path.found:
                moved.append(_Reached(goal, path.q[-1], T_goal))
        if not moved:
            self._fail("goal", "no goal can be reached with the offset and noise of the setting", {})
        return moved

    # candidates

    def _first_whole(self, goals: list[_Reached]) -> tuple[_Whole, MotionResult] | None:
        blocked: list[_Whole] = []
        goals = [goal for goal in goals if self._contact_free(goal[1])]
        for slip in self._slips():
            for candidate in self._ranked(goals, slip):
                whole = self._whole(candidate)
                if whole is None:
                    continue
                motion = self._transit(whole, straight_only=True)
                if motion.found:
                    return whole, motion
                blocked.append(whole)
                if len(blocked) >= self.budget.blocked_before_search:
                    break
            if blocked:
                break
        if not blocked:
            wholes = [self._whole(candidate) for candidate in self._rescued()]
            blocked = [whole for whole in wholes if whole is not None]
        for whole in blocked[: self.budget.searches]:
            motion = self._transit(whole, straight_only=False)
            if motion.found:
                if motion.blocked_by is not None:
                    self.notices.append(
                        f"The straight way to the object is blocked by {describe(motion.blocked_by)}; went around it "
                        f"({motion.queries} collision queries)."
                    )
                return whole, motion
        return None

    def _slips(self) -> tuple[Slip, ...]:
        if self.request.slips is not None:
            return self.request.slips
        if self.request.closed_gripper:
            return (Slip(SlipMode.cone, limit_rad=self._cone_limit()),)
        return (Slip(SlipMode.bar), Slip(SlipMode.gimbal))

    def _cone_limit(self) -> float:
        """The widest cone about the approach that a constraint allows at the goal, and a little more on the way."""
        approach = self.arm.approach_axis()
        limits = [
            min(row.upper, math.pi - row.lower)
            for row in (term.row(self.arm.tool_keypoints, self.scene) for term in self.terms)
            if isinstance(row, AxisRow) and abs(float(row.x_ee @ approach)) > 0.999
        ]
        return min(math.radians(75.0), max([*limits, 0.5]) + 0.2)

    def _inward(self, T_goal: Pose) -> Array:
        return inward_direction(self.scene, T_goal.R @ self.arm.approach_axis())

    def _ranked(self, goals: list[_Reached], slip: Slip) -> list[_Candidate]:
        if not goals:
            return []
        with self._clock("path"):
            approach = self.arm.approach_axis()
            inward = self._inward(goals[0][2])
            tilt = [angle_between(T.R @ approach, inward) for _, _, T in goals]
            near = [float(np.linalg.norm(q - self.request.q_current)) for _, q, _ in goals]
            margin = [float(limit_margin(self.arm, q)) for _, q, _ in goals]
            first = [n + a + 4.0 * max(0.0, _GOOD_MARGIN_RAD - m) for n, a, m in zip(near, tilt, margin, strict=True)]
            chosen = np.argsort(first, kind="stable")[: self.budget.candidates].tolist()
            coarse = self._coarse(np.array([goals[i][1] for i in chosen]), slip, inward)
        candidates = []
        for i, path in zip(chosen, coarse, strict=True):
            goal, q, T = goals[i]
            promise = 0.4 * near[i] + 0.6 * tilt[i]
            if path is not None:
                promise += 0.4 * path.length_rad + 8.0 * max(0.0, _GOOD_MARGIN_RAD - path.margin_rad)
            candidate = _Candidate(goal, q, T, slip, promise)
            if path is None or path.found:
                candidates.append(candidate)
            else:
                self.lost.append(_Lost(self._fail_path(path, slip), candidate, path))
        candidates.sort(key=lambda c: c.promise)
        return candidates

    def _rescued(self) -> list[_Candidate]:
        """The lost paths that came furthest, solved as a whole."""
        lost = sorted(self.lost, key=lambda entry: (-round(entry.share, 2), entry.candidate.promise))
        self.lost = []
        if self.target_s is None:
            return []
        candidates = []
        for entry in lost[: self.budget.rescues]:
            with self._clock("path"):
                path = self.paths.rescue(
                    entry.coarse,
                    self.scene,
                    s_values=np.linspace(self.s0, self.target_s, self.request.waypoints() + 1),
                    slip=entry.candidate.slip,
                    inward=self._inward(entry.candidate.T_base_ee),
                    contact_ee=self.contact_ee,
                )
            self.counts["rescues"] += 1
            if path.found:
                candidates.append(replace(entry.candidate, path=path))
        return candidates

    def _coarse(self, goals: Array, slip: Slip, inward: Array) -> Sequence[PathSolution | None]:
        if self.target_s is None:
            return [None] * len(goals)
        # padded to the size that is compiled already
        count = self.budget.candidates
        padded = np.vstack([goals, np.repeat(goals[-1:], count - len(goals), axis=0)]) if len(goals) < count else goals
        if len(goals) <= count // 3:
            padded = padded[: max(1, count // 3)]
        s_values = np.linspace(self.s0, self.target_s, self.budget.coarse_waypoints + 1)
        paths = self.coarse_paths.follow(
            padded, self.scene, s_values=s_values, slip=slip, inward=inward, contact_ee=self.contact_ee
        )
        return paths[: len(goals)]

    def _whole(self, candidate: _Candidate) -> _Whole | None:
        """Checks everything of a candidate but the way there."""
        self.counts["candidates"] += 1
        pre = pre_poses(candidate.T_base_ee, self.setting.pre_actuation_motions, self.scene)
        with self._clock("path"):
            approach = self.paths.through(candidate.q, pre.dense)
        if not approach.found:
            self._fail("approach", f"the hand cannot step back to the pre-grasp: {approach.reason}", {})
            return None
        with self._clock("collision"):
            free = self._free(self.clearance.approach(approach.q, pre.dense))
        if not free:
            return None
        led = self._follow(candidate)
        if led is None:
            return None
        reach, follow, posts = led
        with self._clock("collision"):
            free = self._free(self.clearance.reach(reach) or self.clearance.follow(follow.q, follow.s))
        if not free:
            return None
        retreat = self._retreat(follow)
        if retreat is None and self.request.retreat_m > 0.0:
            return None
        return _Whole(candidate, np.concatenate([approach.q[::-1], reach[1:]]), follow, posts, retreat)

    def _follow(self, candidate: _Candidate) -> _Led | None:
        with self._clock("path"):
            if self.target_s is not None:
                s_values = np.linspace(self.s0, self.target_s, self.request.waypoints() + 1)
                inward = self._inward(candidate.T_base_ee)
                path = (
                    candidate.path
                    or self.paths.follow(
                        candidate.q[None],
                        self.scene,
                        s_values=s_values,
                        slip=candidate.slip,
                        inward=inward,
                        contact_ee=self.contact_ee,
                    )[0]
                )
                if not path.found:
                    self._fail_path(path, candidate.slip)
                    return None
                end = path.q[-1]
                return _Led(path.q[:1], path, [(self.arm.kinematics.pose(end), end, float(path.s[-1]))])
            motions = self.setting.post_actuation_motions or []
            reaching = self.setting.contact_index - self.setting.goal_index
            post = post_poses(candidate.T_base_ee, motions, self.scene, before_contact=reaching)
            path = self.paths.through(candidate.q, post.dense)
            if not path.found:
                self._fail("follow", f"the post-actuation motions cannot be followed: {path.reason}", {})
                return None
            contact = post.keyframes[reaching - 1] if reaching else 0
            posts = [(post.dense[i], path.q[i], float(post.s[i])) for i in post.keyframes]
            return _Led(path.q[: contact + 1], replace(path, q=path.q[contact:], s=post.s[contact:]), posts)

    def _retreat(self, follow: PathSolution) -> Array | None:
        if self.request.retreat_m <= 0.0:
            return None
        start = follow.q[-1]
        T_end = self.arm.kinematics.pose(start)
        for share in _RETREAT_SHARES:
            with self._clock("path"):
                poses = step_back(T_end, self.request.retreat_m * share, self.arm.approach_axis())
                path = self.paths.through(start, poses, tilt_rad=_RETREAT_TILT_RAD)
            if not path.found:
                self._fail("retreat", f"the hand cannot step back at the end: {path.reason}", {})
                continue
            with self._clock("collision"):
                free = self._free(self.clearance.retreat(path.q, poses, float(follow.s[-1])))
            if free:
                return path.q
        return None

    # collisions and the way there

    def _free(self, blocked: Blocked | None) -> bool:
        if blocked is not None:
            self.furthest.add(blocked)
        return blocked is None

    def _contact_free(self, q: Array) -> bool:
        with self._clock("collision"):
            return self._free(self.clearance.contact(q))

    def _transit(self, whole: _Whole, *, straight_only: bool) -> MotionResult:
        with self._clock("transit"):
            motion = plan_motion(
                self.request.q_current,
                whole.approach[0],
                self.checker,
                arm=self.arm,
                rng=self.rng,
                s=self.s0,
                gripper=self.grip,
                max_queries=self.budget.motion_queries,
                straight_only=straight_only,
            )
        self.motion_queries += motion.queries
        if not motion.found:
            evidence = evidence_of(motion.blocked_by, s=self.s0) if motion.blocked_by is not None else {}
            progress = 0.0 if straight_only else 1.0
            self._fail("transit", f"on the way to the object {motion.reason}", evidence, progress=progress)
        return motion

    # results

    def _plan(self, whole: _Whole, motion: MotionResult) -> KeyframePlan:
        candidate = whole.candidate
        fk = self.arm.kinematics.pose
        pre = pre_poses(candidate.T_base_ee, self.setting.pre_actuation_motions, self.scene)
        keyframes = [Keyframe(fk(self.request.q_current), self.request.q_current, "current", self.s0)]
        last = len(pre.dense) - 1
        keyframes += [Keyframe(pre.dense[i], whole.approach[last - i], "pre", self.s0) for i in reversed(pre.keyframes)]
        keyframes.append(Keyframe(candidate.T_base_ee, candidate.q, "goal", self.s0))
        keyframes += [Keyframe(T, q, "post", s) for T, q, s in whole.posts]
        with self._clock("timing"):
            segments = timed_segments(
                self.request, transit=motion.q, approach=whole.approach, follow=whole.follow, retreat=whole.retreat
            )
        return KeyframePlan(
            found=True,
            keyframes=tuple(keyframes),
            contact_pose_index=self.setting.contact_index,
            segments=tuple(segments),
            timings_ms={},
            counts=self.counts,
            notices=tuple(self.notices),
            solution=self.goals.solution(candidate.goal, self.terms, starts_tried=self.counts["starts"]),
            margin_rad=whole.follow.margin_rad if whole.follow is not None else 0.0,
            slip=candidate.slip,
        )

    def _refused(self) -> KeyframePlan:
        best = self.best
        if best is None:
            raise SolverError("The planner ran no start: goal_waves and goal_starts must be at least 1.")
        if not best.found:
            diagnosis = goal_diagnosis(self.terms, self.arm.tool_keypoints, self.scene, best)
        else:
            diagnosis = self.furthest.diagnosis(self.counts["goals"])
        current = Keyframe(self.arm.kinematics.pose(self.request.q_current), self.request.q_current, "current", self.s0)
        return KeyframePlan(
            found=False,
            keyframes=(current,),
            diagnosis=diagnosis,
            counts=self.counts,
            notices=tuple(self.notices),
            solution=best,
        )

    def _fail_path(self, path: PathSolution, slip: Slip) -> float:
        """Notes where a path ended; returns the share of the way."""
        target = self.target_s if self.target_s is not None else math.nan
        share = (path.reached_s - self.s0) / (target - self.s0) if target != self.s0 else 0.0
        self._fail(
            "path",
            f"the part can be led from {self.s0:.3f} to {path.reached_s:.3f} of {target:.3f} only "
            f"(hand {slip.mode.value} on the part), then {path.reason}",
            {"s0": self.s0, "reached_s": path.reached_s, "target_s": target, "reason": path.reason},
            progress=share,
        )
        return share

    def _fail(self, stage: str, message: str, evidence: dict[str, Any], *, progress: float = 0.0) -> None:
        self.furthest.add(Blocked(stage, message, evidence), progress=progress)

    def _contact_point(self) -> Array:
        """(3,) the tool keypoint that the first point constraint names, ee frame; tool_head where there is none [m]."""
        for term in self.terms:
            name = term.tool_names().get("keypoint_name")
            if name is not None and name in self.arm.tool_keypoints:
                return self.arm.tool_keypoints[name]
        return self.arm.tool_keypoints.get("tool_head", np.zeros(3))

    @contextmanager
    def _clock(self, stage: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self.timings[stage] += 1e3 * (time.perf_counter() - began)
