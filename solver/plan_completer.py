"""Completes a ranked goal to a plan without transit: approach, path of the part and retreat, inside limits and free."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from unlatch.simcore.geometry import Pose
from unlatch.solver.goal_search import GoalRanker, RankedGoal, ReachedGoal
from unlatch.solver.motion import Clearance, StageFailure
from unlatch.solver.path_solver import (
    FINE_STEP_M,
    STEP_M,
    PathSolution,
    PathSolver,
    PoseTrack,
    motion_poses,
    step_back,
)
from unlatch.solver.plan import Carrying, PlanRequest
from unlatch.solver.plan_log import PlanLog
from unlatch.solver.setting import Origin

Array = np.ndarray

_RETREAT_SHARES = (1.0, 0.6, 0.4)
_LEAST_PUSH = -0.1
"""Least cosine between the approach axis of a pushing hand and the way of the part: fingers may also push sideways."""
_LEAST_SIDEWAYS = -0.5
"""The same for GenSim2's hand: its long fingers lie along the part that they push."""
_BEHIND_M, _STEP_BACK_M = (0.06, 0.03), 0.12
"""How far behind the goal, against the push, an approach begins, and how far it steps back there [m]."""
_LEAST_FORWARD = 0.35
"""Least cosine between the same two directions of a hand that pushes from behind: one that hooks the part has less."""
_OPPOSITE = -0.9
"""Directions with a smaller cosine are opposite."""
_RETREAT_TILT_RAD = 0.3
"""Largest tilt of the hand on the retreat, where it holds nothing."""


@dataclass(frozen=True)
class PlanCandidate:
    """A goal with a feasible approach, follow and retreat; its transit is not planned yet."""

    goal: RankedGoal
    approach: Array
    """(A, n) from the farthest pre-grasp to the goal, and on to contact if that is at a post motion [rad]."""
    follow: PathSolution
    """From contact to the end."""
    posts: list[tuple[Pose, Array, float]]
    """Pose, joints and joint position of the part at each post keyframe."""
    retreat: Array | None
    """(R, n) the step back [rad]; None if the request has none."""
    is_short: bool = False
    """Whether listed motions end at the last of several ends: a plan that goes further is better."""
    pre_grasps: tuple[tuple[Pose, Array], ...] = ()
    """Pose and joints of each keyframe of the approach, the farthest first."""


class PlanCompleter:
    """Completes the ranked goals of one request."""

    def __init__(
        self, request: PlanRequest, ranker: GoalRanker, paths: PathSolver, clearance: Clearance, log: PlanLog
    ) -> None:
        self.request = request
        self.arm = request.arm
        self.scene = request.scene
        self.setting = request.setting
        self.ranker = ranker
        self.paths = paths
        self.clearance = clearance
        self.log = log
        self._reached_s: float | None = None
        """Position of the part at which the last listed motions failed [rad or m]; None: they did not fail."""

    def complete(self, goal: RankedGoal) -> PlanCandidate | None:
        """Returns the plan without transit, or None with the failure noted in the log."""
        self.log.counts["candidates"] += 1
        if self._is_on_wrong_side(goal.reached.T_base_ee):
            what = "the hand is on the side to which the part must move, where it cannot push"
            self.log.fail(StageFailure("path", what))
            return None
        for motions in self._approaches(goal.reached):
            done = self._complete_approach(goal, motions)
            if done is not None:
                return done
        return None

    def _approaches(self, reached: ReachedGoal) -> Iterator[list[list[Any]]]:
        """Yields the listed motions before the goal and, for GenSim2's, motions that come from behind the push.

        GenSim2's planner ignores collisions: its motions may lead through the part that they are to push.
        """
        yield self.setting.pre_actuation_motions
        if self.setting.origin is not Origin.gensim2 or self.request.opens is None:
            return
        change = (self.scene.s_open - self.scene.s_closed) * (1.0 if self.request.opens else -1.0)
        R_base_hand = reached.T_base_ee.R @ self.request.motion_reading(reached.variant).R_ee_hand
        way = R_base_hand.T @ self._way_of_part(reached.T_base_ee, change)
        nearest = int(np.argmax(np.abs(way)))
        for back_m in _BEHIND_M:
            behind = ["translate_" + "xyz"[nearest], -float(np.sign(way[nearest])) * back_m]
            yield [behind, ["translate_z", -_STEP_BACK_M]]

    def _complete_approach(self, goal: RankedGoal, motions: list[list[Any]]) -> PlanCandidate | None:
        """Returns the plan without transit of a goal that is reached by motions before it; see `complete`."""
        reading = self.request.motion_reading(goal.reached.variant)
        q, T_goal = goal.reached.q, goal.reached.T_base_ee
        make = partial(motion_poses, T_goal, motions, self.scene, reading, before_contact=len(motions))
        pre, approach = self._follow_track(q, make)
        if not approach.found:
            self._note_failed_poses(approach, pre.dense, "approach", "the hand cannot step back to the pre-grasp")
            if goal.path is None:
                self.ranker.keep_for_rescue(goal)
            return None
        with self.log.clock("collision"):
            free = self.log.is_free(self.clearance.check_approach(approach.q, pre.dense))
        pre_grasps = [(pre.dense[i], approach.q[i]) for i in reversed(pre.keyframes)]
        return self.complete_from_contact(goal, approach.q[::-1], pre_grasps) if free else None

    def complete_from_contact(
        self, goal: RankedGoal, approach: Array, pre_grasps: Sequence[tuple[Pose, Array]] = ()
    ) -> PlanCandidate | None:
        """Returns the plan without transit of a goal with an approach (A, n) [rad] that ends there; see `complete`."""
        done = next((each for each in self._follow_part(goal, approach) if each is not None), None)
        return None if done is None else replace(done, pre_grasps=tuple(pre_grasps))

    def _follow_track(self, start: Array, make: Callable[..., PoseTrack]) -> tuple[PoseTrack, PathSolution]:
        """Returns the poses that `make` makes for a `step_m` [m], and how joints (n,) from `start` on follow them.

        Where a joint would turn too far in a step of the usual length, the steps are finer.
        """
        for step_m in (STEP_M, FINE_STEP_M):
            track = make(step_m=step_m)
            with self.log.clock("path"):
                path = self.paths.follow_poses(start, track.dense)
            if path.found or not path.jumps:
                break
        return track, path

    def _is_on_wrong_side(self, T_goal: Pose) -> bool:
        """Whether a hand that pushes by listed motions would have to pull: nothing joins it to the part."""
        if self.ranker.target_s is not None or self.request.opens is not False or not self.request.closed_gripper:
            return False
        way = self._way_of_part(T_goal, self.scene.s_closed - self.scene.s_open)
        least = _LEAST_SIDEWAYS if self.setting.origin is Origin.gensim2 else _LEAST_PUSH
        return float(T_goal.R @ self.arm.approach_axis() @ way) < least

    def _way_of_part(self, T_base_ee: Pose, change: float) -> Array:
        """Returns the direction (3,) in which the part moves at the contact, base frame; `change` has the sign of s."""
        joint, point = self.scene.joint, T_base_ee @ self.ranker.contact_ee
        way = joint.axis if joint.prismatic else np.cross(joint.axis, point - joint.origin)
        return np.sign(change) * way / max(float(np.linalg.norm(way)), 1e-9)

    def _complete_following(
        self,
        goal: RankedGoal,
        approach: Array,
        follow: PathSolution,
        posts: list[tuple[Pose, Array, float]],
        *,
        reach: Array,
        is_short: bool = False,
    ) -> PlanCandidate | None:
        """Returns the plan without transit of a goal, or None; see `PlanCandidate`.

        `reach` is (R, n) from the goal to contact; one row if the goal is the contact [rad].
        """
        with self.log.clock("collision"):
            free = self.log.is_free(self.clearance.check_reach(reach))
            hit = self.clearance.check_follow(follow.q, follow.s) if free else None
        if hit is not None:
            self._reached_s = float(hit.evidence["s"])
            from unlatch.solver.failed_paths import CollidingPath

            self.log.add_failed_path(CollidingPath(self.clearance, self.scene, follow, hit))
        if hit is not None or not free:
            return None
        retreat = self._plan_retreat(follow)
        if retreat is None and self.request.retreat_m > 0.0:
            return None
        return PlanCandidate(goal, np.concatenate([approach, reach[1:]]), follow, posts, retreat, is_short=is_short)

    def _follow_part(self, goal: RankedGoal, approach: Array) -> Iterator[PlanCandidate | None]:
        """Yields the plan with the motion after the goal; of listed ones, with those up to each end that is reached.

        None: the motion collides, or the hand cannot step back at its end.
        """
        target = self.ranker.target_s
        if target is not None:
            with self.log.clock("path"):
                path = self.ranker.follow(goal, target)
            if path is not None:
                end = path.q[-1]
                posts = [(self.arm.kinematics.pose(end), end, float(path.s[-1]))]
                yield self._complete_following(goal, approach, path, posts, reach=path.q[:1])
            return
        motions = self.setting.listed_post_motions
        reaching = self.setting.contact_index - self.setting.goal_index
        reading = self.request.motion_reading(goal.reached.variant)
        start, self._reached_s = goal.reached, None
        last = len(self.request.listed_ends) - 1
        for number, ends in enumerate(self.request.listed_ends):
            if self._reached_s is not None and ends[0] < self._reached_s < ends[1]:
                continue  # it fails before that end
            self.log.counts["candidates"] += 2  # its path and collisions take twice as long as those of the approach
            make = partial(
                motion_poses, start.T_base_ee, motions, self.scene, reading, before_contact=reaching, ends=ends
            )
            post, path = self._follow_track(start.q, make)
            if not path.found:
                self._reached_s = float(post.s[int(path.reached_s)])
                what, joint = "the post-actuation motions cannot be followed", self.scene.joint
                if not joint.lower <= float(post.s[-1]) <= joint.upper:
                    limits = f"{joint.lower:.3f} to {joint.upper:.3f} {joint.unit}"
                    what += f" (they lead past the joint's limits, {limits})"
                moved: dict[str, Any] = {"s": post.s, "unit": joint.unit} if np.ptp(post.s) else {}
                self._note_failed_poses(path, post.dense, "follow", what, **moved)
                continue
            if self.setting.origin is Origin.gensim2 and self.request.opens is True:
                from unlatch.solver.peer_settings import describe_short_end

                short = describe_short_end(self.scene, self.request.listed_ends[-1], float(post.s[-1]))
                if short:
                    self.log.fail(StageFailure("follow", short))
                    continue
            contact = post.keyframes[reaching - 1] if reaching else 0
            posts = [(post.dense[i], path.q[i], float(post.s[i])) for i in post.keyframes]
            led = replace(path, q=path.q[contact:], s=post.s[contact:])
            reach, is_short = path.q[: contact + 1], 0 < number == last
            yield self._complete_following(goal, approach, led, posts, reach=reach, is_short=is_short)

    def _note_failed_poses(self, *args: Any, **more: Any) -> None:
        from unlatch.solver.failed_paths import FailedPosePath

        self.log.add_failed_path(FailedPosePath(self.arm, *args, **more))

    def _ways_forward(self, T_end: Pose, follow: PathSolution) -> list[Array]:
        """Returns the directions (3,) whose opposites a retreat tries, ee frame.

        A hand that leans as it pushes would slide along the part if it moved back along its axis, and might drag the
        part with it: it first tries a direction that also leads away from the pushed face. A hand that pushes sideways
        or hooks the part first tries its own axis.
        """
        axis = self.arm.approach_axis()
        way = T_end.R.T @ self._way_of_part(T_end, float(follow.s[-1] - follow.s[0]))
        if not self.request.closed_gripper:
            return [axis]
        if float(axis @ way) < _OPPOSITE:
            return [axis, way]  # there is nothing between them
        between = (axis + way) / float(np.linalg.norm(axis + way))
        return [axis, between, way] if float(axis @ way) < _LEAST_FORWARD else [between, axis]

    def _plan_retreat(self, follow: PathSolution) -> Array | None:
        if self.request.retreat_m <= 0.0:
            return None
        start = follow.q[-1]
        T_end = self.arm.kinematics.pose(start)
        # a hand that has just let go of something would pinch it again if it turned
        tilt_rad = 0.0 if self.request.carrying is Carrying.put else _RETREAT_TILT_RAD
        for forward, share in product(self._ways_forward(T_end, follow), _RETREAT_SHARES):
            with self.log.clock("path"):
                poses = step_back(T_end, self.request.retreat_m * share, forward)
                path = self.paths.follow_poses(start, poses, tilt_rad=tilt_rad)
                if path.jumps:
                    poses = step_back(T_end, self.request.retreat_m * share, forward, step_m=FINE_STEP_M)
                    path = self.paths.follow_poses(start, poses, tilt_rad=tilt_rad)
            if not path.found:
                self._note_failed_poses(path, poses, "retreat", "the hand cannot step back at the end", tilt_rad)
                continue
            with self.log.clock("collision"):
                free = self.log.is_free(self.clearance.check_retreat(path.q, poses, float(follow.s[-1])))
            if free:
                return path.q
        return None
