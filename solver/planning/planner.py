"""Plans a whole motion: goal, approach, the part's path, retreat, and the way there; the first that holds wins.

For several goals, in order of promise: the goal and the pre-grasp are free, the whole path along the part's joint lies
inside limits and free, the hand can step back from its end, and the way from the present joints is free.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from unlatch.simcore.errors import SolverError
from unlatch.solver.collision import CollisionChecker, describe
from unlatch.solver.diagnosis.diagnosis import Diagnosis, explain_goal, nearest_goal
from unlatch.solver.goal.goal_solver import Goal
from unlatch.solver.goal.solution import Solution
from unlatch.solver.path.actuation_motions import pre_poses
from unlatch.solver.path.path_solver import PathSolver
from unlatch.solver.planning.candidates import CandidateStage
from unlatch.solver.planning.clearance import Clearance, evidence_of
from unlatch.solver.planning.goals import GoalStage, Reached
from unlatch.solver.planning.motion import MotionResult, plan_motion, timed_motion_clear
from unlatch.solver.planning.plan import Keyframe, KeyframePlan, PlanBudget, PlanRequest, Segment
from unlatch.solver.planning.plan_log import PlanLog
from unlatch.solver.planning.segments import timed_segments
from unlatch.solver.planning.whole import Whole, WholeStage

__all__ = ["Diagnosis", "Keyframe", "KeyframePlan", "PlanBudget", "PlanRequest", "Segment", "plan_keyframes"]

Array = np.ndarray

_NEAR_LIMIT_RAD = 0.05
"""A path that comes nearer to a joint limit is solved once more, with its goal."""
_WORTH_RAD = 0.01


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


class _Planner:
    def __init__(self, request: PlanRequest, checker: CollisionChecker | None, rng: np.random.Generator) -> None:
        self.request = request
        self.arm = request.arm
        self.setting = request.setting
        self.budget = request.budget
        self.checker = checker
        self.rng = rng
        self.s0 = request.scene.s
        self.grip = 0.0 if request.closed_gripper else request.gripper_open_m
        self.motion_queries = 0
        self.explained: Diagnosis | None = None
        self.log = PlanLog()
        self.clearance = Clearance(
            checker,
            contact_links=request.contact_links,
            s0=self.s0,
            gripper_m=self.grip,
            held_gripper_m=0.0 if request.closed_gripper else request.gripper_contact_m,
        )
        paths = PathSolver(self.arm)
        self.goals = GoalStage(request, paths, rng, self.log)
        self.candidates = CandidateStage(request, self.goals, paths, self.log)
        self.wholes = WholeStage(request, self.candidates, paths, self.clearance, self.log)

    def run(self) -> KeyframePlan:
        began = time.perf_counter()
        draws = 1 if self.setting.keypose_random_range.is_zero else self.budget.noise_draws
        whole: tuple[Whole, MotionResult] | None = None
        for wave in range(self.budget.goal_waves):
            goals = self.goals.wave(wave)
            for _ in range(draws if goals else 0):
                whole = self._first_whole(self.goals.moved(goals), wave)
                if whole is not None:
                    break
            if whole is not None:
                break
        best = self.goals.best
        if whole is None and best is not None and (self.budget.thorough or not best.found):
            whole = self._first_whole(self.goals.moved(self._last_goals(best)), self.budget.goal_waves)
        plan = self._plan(*whole) if whole is not None else self._refused()
        self.log.counts["queries"] = self.motion_queries + self.clearance.queries
        plan.timings_ms.update(self.log.timings_ms, total=1e3 * (time.perf_counter() - began))
        return plan

    def _last_goals(self, best: Solution) -> list[Goal]:
        """What slower solvers find where no goal of the waves served; where there is no goal, why is known afterwards.

        They are asked after waves that found goals too: a plan that a smaller budget found stays found by a larger one.
        """
        found = self.goals.exact()
        if not found and not best.found and self.budget.thorough:
            best = replace(best, starts_tried=self.log.counts["starts"])
            self.explained, compromise = explain_goal(self.goals.terms, self.arm, self.request.scene, best)
            found = self.goals.adopt(compromise)
        return found

    def _first_whole(self, goals: list[Reached], wave: int) -> tuple[Whole, MotionResult] | None:
        blocked: list[Whole] = []
        goals = [goal for goal in goals if self._contact_free(goal.q)]
        for slip in self.candidates.slips():
            for candidate in self.candidates.ranked(goals, slip, wave=wave):
                whole = self.wholes.carry_out(candidate)
                if whole is None:
                    continue
                motion = self._transit(whole, straight_only=True)
                if motion.found:
                    return self._eased(whole) or (whole, motion)
                blocked.append(whole)
                if len(blocked) >= self.budget.blocked_before_search:
                    break
            if blocked:
                break
        if not blocked:
            rescued = [candidate for candidate in self.candidates.rescued() if self._contact_free(candidate.q)]
            wholes = [self.wholes.carry_out(candidate) for candidate in rescued]
            blocked = [whole for whole in wholes if whole is not None]
        for whole in blocked[: self.budget.searches]:
            motion = self._transit(whole, straight_only=False)
            if motion.found:
                if motion.blocked_by is not None:
                    self.log.notices.append(
                        f"The straight way to the object is blocked by {describe(motion.blocked_by)}; went around it "
                        f"({motion.queries} collision queries)."
                    )
                return whole, motion
        return None

    def _eased(self, whole: Whole) -> tuple[Whole, MotionResult] | None:
        """The same with more room to the joint limits, where the path comes near to one and that can be had."""
        follow, coarse = whole.follow, whole.candidate.coarse
        if follow is None or coarse is None or self.budget.rescues == 0 or follow.margin_rad >= _NEAR_LIMIT_RAD:
            return None
        candidate = self.candidates.together(whole.candidate, coarse)
        if candidate is None or candidate.path is None or candidate.path.margin_rad <= follow.margin_rad + _WORTH_RAD:
            return None
        eased = self.wholes.carry_out(candidate) if self._contact_free(candidate.q) else None
        if eased is None:
            return None
        motion = self._transit(eased, straight_only=True)
        return (eased, motion) if motion.found else None

    def _contact_free(self, q: Array) -> bool:
        with self.log.clock("collision"):
            return self.log.free(self.clearance.contact(q))

    def _transit(self, whole: Whole, *, straight_only: bool) -> MotionResult:
        with self.log.clock("transit"):
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
            self.log.fail("transit", f"on the way to the object {motion.reason}", evidence, progress=progress)
        return motion

    def _transit_clear(self, samples: Array) -> bool:
        clear, queries = timed_motion_clear(samples, self.checker, s=self.s0, gripper=self.grip)
        self.motion_queries += queries
        return clear

    def _plan(self, whole: Whole, motion: MotionResult) -> KeyframePlan:
        candidate = whole.candidate
        fk = self.arm.kinematics.pose
        pre = pre_poses(candidate.T_base_ee, self.setting.pre_actuation_motions, self.request.scene)
        keyframes = [Keyframe(fk(self.request.q_current), self.request.q_current, "current", self.s0)]
        last = len(pre.dense) - 1
        keyframes += [Keyframe(pre.dense[i], whole.approach[last - i], "pre", self.s0) for i in reversed(pre.keyframes)]
        keyframes.append(Keyframe(candidate.T_base_ee, candidate.q, "goal", self.s0))
        keyframes += [Keyframe(T, q, "post", s) for T, q, s in whole.posts]
        with self.log.clock("timing"):
            segments = timed_segments(
                self.request,
                transit=motion.q,
                approach=whole.approach,
                follow=whole.follow,
                retreat=whole.retreat,
                is_clear=self._transit_clear,
            )
        return KeyframePlan(
            found=True,
            keyframes=tuple(keyframes),
            contact_pose_index=self.setting.contact_index,
            segments=tuple(segments),
            timings_ms={},
            counts=self.log.counts,
            notices=tuple(self.log.notices),
            solution=self.goals.solution(candidate.goal),
            margin_rad=whole.follow.margin_rad if whole.follow is not None else 0.0,
            slip=candidate.slip,
        )

    def _refused(self) -> KeyframePlan:
        best = self.goals.best
        if best is None:
            raise SolverError("The planner ran no start: goal_waves and goal_starts must be at least 1.")
        if best.found:
            diagnosis = self.log.furthest.diagnosis(self.log.counts["goals"], explain=self.budget.thorough)
        else:
            diagnosis = self.explained or nearest_goal(best)
        current = Keyframe(self.arm.kinematics.pose(self.request.q_current), self.request.q_current, "current", self.s0)
        return KeyframePlan(
            found=False,
            keyframes=(current,),
            diagnosis=diagnosis,
            counts=self.log.counts,
            notices=tuple(self.log.notices),
            solution=best,
        )
