"""Plans a whole motion: goal, approach, the path of the part, retreat, and transit.

The planner tries goals in order of promise and takes the first one that serves. A goal serves if the contact pose and
the pre-grasp are free, the path along the part's joint is free and inside the limits, the hand can step back at its
end, and the transit is free. A hand that is at the part already is measured against the goal that it would have.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from unlatch.simcore.errors import SolverError
from unlatch.simcore.geometry import Pose
from unlatch.solver.goal_search import GoalFinder, GoalRanker, RankedGoal, ReachedGoal, hand_axes
from unlatch.solver.goal_solver import Goal
from unlatch.solver.motion import (
    Clearance,
    MotionResult,
    StageFailure,
    carried_by_hand,
    collision_evidence,
    is_timed_motion_clear,
    plan_motion,
)
from unlatch.solver.path_solver import PathSolver
from unlatch.solver.plan import Keyframe, KeyframePlan, PlanRequest, work_of
from unlatch.solver.plan_completer import PlanCandidate, PlanCompleter
from unlatch.solver.plan_log import PlanLog
from unlatch.solver.scene import CollisionChecker, Slip, describe_collision
from unlatch.solver.solution import Solution
from unlatch.solver.timing import time_segments

if TYPE_CHECKING:
    from unlatch.solver.candidates import Variation
    from unlatch.solver.diagnosis import Diagnosis


Array = np.ndarray


_NEAR_LIMIT_RAD = 0.05
"""A path that comes nearer to a joint limit is solved once more, together with its goal."""
_LEAST_MARGIN_GAIN_RAD = 0.01
"""Least gain of margin for which this second path is taken [rad]."""
_DRAWS = 2
"""Number of draws of a varied plan; if none has a plan, the one of least cost is taken."""
_MORE_GOALS = 2
"""Factor on the starts and candidates of a plan with a `variety`."""
_VIAS_M = ((0.1, 0.0), (0.1, 0.1), (0.2, 0.1), (0.1, 0.2), (0.0, 0.2))
"""Distances behind and above the pre-grasp of places through which a transit may go [m]."""
_VIA_STEPS = 11
_VIA_TILT_RAD = 0.3


def plan_keyframes(request: PlanRequest, checker: CollisionChecker | None, rng: np.random.Generator) -> KeyframePlan:
    """Returns the plan of one motion, or a diagnosis.

    The plan is a function of the request, of the scene of the checker (None = no obstacles) and of the state of `rng`.
    The work that the meter of the budget has left counts as part of the request.
    `rng` gives the noise on the goal and the seeds of searches. With a `variety` above 0 it also gives the draws of
    `Variation`; with 0 the plan does not depend on it.

    Raises:
        ConfigError: The setting names a keypoint or an axis that does not exist.
    """
    with carried_by_hand(request, checker):
        budget = request.budget
        if budget.variety is None:
            return _Planner(request, checker, rng).run()
        from unlatch.solver.candidates import Variation

        # with variety 0 the plan depends on the request alone
        rng = np.random.default_rng(0) if budget.variety == 0.0 else rng
        variation = Variation(budget.variety, rng)
        # every posture is to be among the goals
        starts, candidates = (min(512, _MORE_GOALS * count) for count in (budget.goal_starts, budget.candidates))
        budget = replace(budget, goal_starts=starts, candidates=candidates)
        request = replace(request, budget=budget, pace=variation.draw_pace())
        for _ in range(_DRAWS if variation.variety > 0.0 else 0):
            plan = _Planner(variation.move_grasp(request), checker, rng).run_varied(variation)
            if plan is not None:
                return plan
        return _Planner(request, checker, rng).run()


def plan_from_grasp(
    request: PlanRequest, checker: CollisionChecker | None, *, q_hand: Array, as_held: bool = False
) -> KeyframePlan:
    """Returns the plan of a hand that is at the part already, or a diagnosis.

    It has the path of the part and the step back, from the present joints and in the present grasp. The setting of the
    request leads the part along its joint. The arm has the joints `q_hand` (n,) while it is told `request.q_current`
    [rad]. With `as_held` the hand may hold the part in any way, not only as the setting wants it.
    """
    return _Planner(request, checker, np.random.default_rng(0)).run_from_grasp(q_hand, as_held=as_held)


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
        self.spent_before = request.budget.meter.spent

        self.explained: Diagnosis | None = None
        self.log = PlanLog()
        self.clearance = Clearance(
            checker,
            contact_links=request.contact_links,
            s0=self.s0,
            gripper_m=self.grip,
            held_gripper_m=0.0 if request.closed_gripper else request.gripper_contact_m,
            released_gripper_m=request.gripper_released_m,
            carrying=request.carrying,
            joint=request.scene.joint,
        )
        self.paths = paths = PathSolver(self.arm)
        self.goals = GoalFinder(request, paths, rng, self.log)
        self.ranker = GoalRanker(request, self.goals, paths, self.log)
        self.completer = PlanCompleter(request, self.ranker, paths, self.clearance, self.log)

    def run(self) -> KeyframePlan:
        began = time.perf_counter()
        found = None if self.budget.variety is None else self._search_least_cost(self.goals.find(0))
        found = found or self._search_waves()
        best = self.goals.best
        if (
            found is None
            and best is not None
            and (self.budget.thorough or not best.found)
            and not self._is_work_spent()
        ):
            found = self._find_plan(self.goals.offset_goals(self._find_last_goals(best)), self.budget.goal_waves)
        plan = self._build_plan(*found) if found is not None else self._build_refusal()
        return self._finish(plan, began)

    def _finish(self, plan: KeyframePlan, began: float) -> KeyframePlan:
        """Adds the number of queries and the times to a plan that began at a time of the performance counter [s]."""
        self._count_work()
        plan.timings_ms.update(self.log.timings_ms, total=1e3 * (time.perf_counter() - began))
        return plan

    def _count_work(self) -> None:
        """Brings the queries in the log and the work in the meter of the budget up to date."""
        self.log.counts["queries"] = self.motion_queries + self.clearance.queries
        self.budget.meter.spent = self.spent_before + work_of(self.log.counts)

    def _is_work_spent(self) -> bool:
        self._count_work()
        return self.budget.meter.is_spent

    def run_from_grasp(self, q_hand: Array, *, as_held: bool = False) -> KeyframePlan:
        """See `plan_from_grasp`."""
        from unlatch.solver.diagnosis import Diagnosis

        began, T = time.perf_counter(), None if as_held else self.arm.kinematics.pose(q_hand)
        self.paths.centring = 0.0  # it would swing the elbow, however short the rest of the path is
        candidates = (
            self._complete_grasp(self.goals.measure(self.request.q_current, variant), slip, T)
            for slip in (self.ranker.slips() if self.ranker.target_s is not None else ())
            for variant, _ in self.arm.tool_variants()
        )
        found = next((candidate for candidate in candidates if candidate is not None), None)
        if found is not None:
            return self._finish(self._build_plan(found, None), began)
        message = self.log.message or "this setting does not lead the part along its joint"
        plan = KeyframePlan(False, diagnosis=Diagnosis("plan_infeasible", message, {}), counts=self.log.counts)
        return self._finish(plan, began)

    def _complete_grasp(self, reached: ReachedGoal, slip: Slip, T_base_ee: Pose | None) -> PlanCandidate | None:
        """Returns the plan of a hand at a pose that is at its goal already, or None with the failure noted.

        Without a pose, the hand holds the part in any way.
        """
        if T_base_ee is not None:
            from unlatch.solver.explanation import describe_misfit

            rows = self.goals.rows_with_offset(reached.source.batch.rows, reached.variant)
            misfit = "the offset of the setting turns the hand"
            if rows is None or (misfit := describe_misfit(rows, T_base_ee, slip, self.request) or ""):
                self.log.fail(StageFailure("goal", misfit))
                return None
        self.log.counts["goals"] += 1
        return self.completer.complete_from_contact(RankedGoal(reached, slip, 0.0), reached.q[None])

    def run_varied(self, variation: Variation) -> KeyframePlan | None:
        """Returns a plan with a drawn turn of the hand, posture and transit, or None."""
        began = time.perf_counter()
        goals = self.goals.find(0)
        turned = variation.turn_hand(goals)
        if turned is not None:
            goal, turn = turned
            axes = hand_axes(dict(self.arm.tool_variants())[goal.batch.variant])
            approach, side = (turn @ goal.T_base_ee.R @ axis for axis in axes)
            self.goals.hand_directions = (approach, side)
            goals = self.goals.find(0)
        found = self._search_least_cost(goals, variation)
        self._count_work()
        return None if found is None else self._finish(self._build_plan(*found), began)

    def _search_least_cost(
        self, found: list[Goal], variation: Variation | None = None
    ) -> tuple[PlanCandidate, MotionResult] | None:
        """Returns the candidate of least cost with a transit: straight, or through one of the `_vias`.

        With a variation, posture and transit are drawn.
        """
        from unlatch.solver.candidates import LeastCostSearch

        goals = self.goals.offset_goals(found)
        search = LeastCostSearch(self.request, self.ranker, variation)
        blocked: list[PlanCandidate] = []
        for slip in self.ranker.slips():
            for posture in search.order(goals, slip):
                candidate = self._complete_first(posture)
                if candidate is None:
                    if self._is_work_spent():
                        break
                    continue
                ends = self.request.q_current, candidate.approach[0]
                detours = () if variation is None else variation.draw_vias(*ends)
                motion = self._plan_transit(candidate, straight_only=True, detours=detours, vias=self._vias(candidate))
                if motion.found:
                    return candidate, motion
                blocked.append(candidate)
            if blocked:
                break
        return self._search_transit(blocked)

    def _complete_first(self, goals: Iterable[RankedGoal]) -> PlanCandidate | None:
        """Returns the plan without transit of the first goal that has one."""
        free = (goal for goal in goals if self._is_contact_free(goal.reached.q))
        completed = (self.completer.complete(goal) for goal in free)
        return next((candidate for candidate in completed if candidate is not None), None)

    def _vias(self, candidate: PlanCandidate) -> Iterator[Array]:
        """Yields joints (n,) behind and above the pre-grasp through which a transit may go [rad]."""
        start = candidate.approach[0]
        T, up = self.arm.kinematics.pose(start), self.request.scene.R_base_world[:, 2]
        back = -(T.R @ self.arm.approach_axis())
        for back_m, up_m in _VIAS_M:
            steps = [
                Pose(T.R, T.p + share * (back_m * back + up_m * up)) for share in np.linspace(0.0, 1.0, _VIA_STEPS)
            ]
            path = self.paths.follow_poses(start, steps, tilt_rad=_VIA_TILT_RAD)
            if path.found:
                yield path.q[-1]

    def _search_waves(self) -> tuple[PlanCandidate, MotionResult] | None:
        """Searches a plan among the goals of each wave of starts, with new noise on the goals in each draw."""
        draws = 1 if self.setting.keypose_random_range.is_zero else self.budget.noise_draws
        for wave in range(self.budget.goal_waves):
            if wave > 0 and self._is_work_spent():
                break
            goals = self.goals.find(wave)
            for draw in range(draws if goals else 0):
                if draw > 0 and self._is_work_spent():
                    break
                found = self._find_plan(self.goals.offset_goals(goals), wave)
                if found is not None:
                    return found
        return None

    def _find_last_goals(self, best: Solution) -> list[Goal]:
        """Returns the goals that slower solvers find after the waves; notes the reason if there is none.

        They also run after waves that found goals, so that a larger budget finds every plan that a smaller one finds.
        """
        found = self.goals.find_exactly()
        if not found and not best.found and self.budget.thorough:
            from unlatch.solver.explanation import explain_goal  # seldom needed

            best = replace(best, starts_tried=self.log.counts["starts"])
            self.log.counts["explanations"] += 1
            self.explained, compromise = explain_goal(self.goals.terms, self.arm, self.goals.term_scene, best)
            found = self.goals.adopt(compromise)
        return found

    def _find_plan(self, goals: list[ReachedGoal], wave: int) -> tuple[PlanCandidate, MotionResult] | None:
        """Returns the first candidate with a free transit: straight if possible, else around obstacles."""
        blocked: list[PlanCandidate] = []
        short: list[PlanCandidate] = []
        goals = [goal for goal in goals if self._is_contact_free(goal.q)]
        for slip in self.ranker.slips():
            for goal in self.ranker.rank(goals, slip, wave=wave):
                if self._is_work_spent():
                    break
                candidate = self.completer.complete(goal)
                if candidate is None:
                    continue
                if candidate.is_short:
                    short.append(candidate)
                    continue
                motion = self._plan_transit(candidate, straight_only=True)
                if motion.found:
                    return self._widen_margin(candidate) or (candidate, motion)
                blocked.append(candidate)
                if len(blocked) >= self.budget.blocked_before_search:
                    break
            if blocked:
                break
        if not blocked and not self._is_work_spent():
            rescued = [goal for goal in self.ranker.rescue() if self._is_contact_free(goal.reached.q)]
            completed = [self.completer.complete(goal) for goal in rescued]
            blocked = [candidate for candidate in completed if candidate is not None]
        return self._search_transit(blocked) or self._search_transit(short)

    def _search_transit(self, blocked: list[PlanCandidate]) -> tuple[PlanCandidate, MotionResult] | None:
        """Returns the first candidate with a transit around obstacles."""
        for candidate in blocked[: self.budget.searches]:
            if self._is_work_spent():
                break
            motion = self._plan_transit(candidate, straight_only=False)
            if motion.found:
                if motion.blocked_by is not None:
                    self.log.notices.append(
                        f"The straight way to the object is blocked by {describe_collision(motion.blocked_by)}; "
                        f"went around it ({motion.queries} collision queries)."
                    )
                return candidate, motion
        return None

    def _widen_margin(self, candidate: PlanCandidate) -> tuple[PlanCandidate, MotionResult] | None:
        """Returns the candidate with more margin to the joint limits, if its path is near one and can be moved."""
        margin_rad = candidate.follow.margin_rad
        if self.budget.rescues == 0 or margin_rad >= _NEAR_LIMIT_RAD:
            return None
        goal = self.ranker.solve_with_path(candidate.goal)
        if goal is None or goal.path is None or goal.path.margin_rad <= margin_rad + _LEAST_MARGIN_GAIN_RAD:
            return None
        wider = self.completer.complete(goal) if self._is_contact_free(goal.reached.q) else None
        if wider is None:
            return None
        motion = self._plan_transit(wider, straight_only=True)
        return (wider, motion) if motion.found else None

    def _is_contact_free(self, q: Array) -> bool:
        with self.log.clock("collision"):
            return self.log.is_free(self.clearance.check_contact(q))

    def _plan_transit(
        self,
        candidate: PlanCandidate,
        *,
        straight_only: bool,
        detours: Iterable[Array] = (),
        vias: Iterable[Array] = (),
    ) -> MotionResult:
        with self.log.clock("transit"):
            motion = plan_motion(
                self.request.q_current,
                candidate.approach[0],
                self.checker,
                arm=self.arm,
                rng=self.rng,
                s=self.s0,
                gripper=self.grip,
                max_queries=self.budget.motion_queries,
                straight_only=straight_only,
                detours=detours,
                vias=vias,
            )
        self.motion_queries += motion.queries
        if not motion.found:
            evidence = collision_evidence(motion.blocked_by, s=self.s0) if motion.blocked_by is not None else {}
            progress = 0.0 if straight_only else 1.0
            self.log.fail(
                StageFailure("transit", f"on the way to the object {motion.reason}", evidence), progress=progress
            )
        return motion

    def _is_transit_clear(self, samples: Array, clearance_m: float) -> bool:
        clear, queries = is_timed_motion_clear(
            samples, self.checker, s=self.s0, gripper=self.grip, clearance_m=clearance_m
        )
        self.motion_queries += queries
        return clear

    def _build_plan(self, candidate: PlanCandidate, motion: MotionResult | None) -> KeyframePlan:
        """Returns a candidate with its transit as a plan; None: the hand is at its goal already."""
        goal, approach, q_now = candidate.goal.reached, candidate.approach, self.request.q_current
        keyframes = [Keyframe(self.arm.kinematics.pose(q_now), q_now, "current", self.s0)]
        if motion is not None:
            keyframes += [Keyframe(T, q, "pre", self.s0) for T, q in candidate.pre_grasps]
        keyframes.append(Keyframe(goal.T_base_ee, goal.q, "goal", self.s0))
        keyframes += [Keyframe(T, q, "post", s) for T, q, s in candidate.posts]
        with self.log.clock("timing"):
            segments = time_segments(
                self.request,
                transit=None if motion is None else motion.q,
                approach=approach,
                follow=candidate.follow,
                retreat=candidate.retreat,
                is_clear=self._is_transit_clear,
            )
        return KeyframePlan(
            found=True,
            keyframes=tuple(keyframes),
            contact_pose_index=1 if motion is None else self.setting.contact_index,
            segments=tuple(segments),
            counts=self.log.counts,
            notices=tuple(self.log.notices),
            solution=self.goals.solution(goal.source),
            margin_rad=candidate.follow.margin_rad,
            slip=candidate.goal.slip,
        )

    def _build_refusal(self) -> KeyframePlan:
        best = self.goals.best
        if best is None:
            raise SolverError("The planner ran no start: goal_waves and goal_starts must be at least 1.")
        if best.found:
            self.log.counts["explanations"] += int(self.budget.thorough)
            diagnosis = self.log.diagnosis(explain=self.budget.thorough)
        else:
            from unlatch.solver.diagnosis import nearest_goal

            diagnosis = self.explained or nearest_goal(best)
        if self._is_work_spent() and not diagnosis.is_proved:
            diagnosis = diagnosis.with_stop(self.log.counts)
        current = Keyframe(self.arm.kinematics.pose(self.request.q_current), self.request.q_current, "current", self.s0)
        return KeyframePlan(
            found=False,
            keyframes=(current,),
            diagnosis=diagnosis,
            counts=self.log.counts,
            notices=tuple(self.log.notices),
            solution=best,
        )
