"""Carries a candidate through: approach, the part's way, retreat, each inside limits and free."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from unlatch.simcore.geometry import Pose
from unlatch.solver.path.actuation_motions import post_poses, pre_poses, step_back
from unlatch.solver.path.path_solver import PathSolution, PathSolver
from unlatch.solver.planning.candidates import Candidate, CandidateStage
from unlatch.solver.planning.clearance import Clearance
from unlatch.solver.planning.lost import LostPoses, LostToCollision
from unlatch.solver.planning.plan import PlanRequest
from unlatch.solver.planning.plan_log import PlanLog

Array = np.ndarray

_RETREAT_SHARES = (1.0, 0.6, 0.4)
_RETREAT_TILT_RAD = 0.3
"""The hand may tilt on the way back: nothing is held any more."""


@dataclass(frozen=True)
class Whole:
    """A candidate all of whose parts hold but the way there."""

    candidate: Candidate
    """Goal and slip."""
    approach: Array
    """(A, n) from the farthest pre-grasp to the goal, and on to contact where that is a post motion [rad]."""
    follow: PathSolution | None
    """From contact to the end."""
    posts: list[tuple[Pose, Array, float]]
    """Pose, joints and joint position of the part at each post keyframe."""
    retreat: Array | None
    """(R, n) the way back [rad], where one is asked."""


class _Led(NamedTuple):
    """What comes after the goal."""

    reach: Array
    """(R, n) from the goal to contact; the goal alone where that is contact [rad]."""
    follow: PathSolution
    """From contact to the end."""
    posts: list[tuple[Pose, Array, float]]
    """Pose, joints and joint position of the part at each post keyframe."""


class WholeStage:
    """Checks candidates of one request."""

    def __init__(
        self, request: PlanRequest, candidates: CandidateStage, paths: PathSolver, clearance: Clearance, log: PlanLog
    ) -> None:
        self.request = request
        self.arm = request.arm
        self.scene = request.scene
        self.setting = request.setting
        self.candidates = candidates
        self.paths = paths
        self.clearance = clearance
        self.log = log

    def carry_out(self, candidate: Candidate) -> Whole | None:
        """Checks everything of a candidate but the way there."""
        self.log.counts["candidates"] += 1
        pre = pre_poses(candidate.T_base_ee, self.setting.pre_actuation_motions, self.scene)
        with self.log.clock("path"):
            approach = self.paths.through(candidate.q, pre.dense)
        if not approach.found:
            what = "the hand cannot step back to the pre-grasp"
            self.log.furthest.add_lost(LostPoses(self.arm, approach, pre.dense, "approach", what))
            if candidate.path is None:
                self.candidates.lose(candidate)
            return None
        with self.log.clock("collision"):
            free = self.log.free(self.clearance.approach(approach.q, pre.dense))
        if not free:
            return None
        led = self._follow(candidate)
        if led is None:
            return None
        reach, follow, posts = led
        with self.log.clock("collision"):
            free = self.log.free(self.clearance.reach(reach))
            hit = self.clearance.follow(follow.q, follow.s) if free else None
        if hit is not None:
            self.log.furthest.add_lost(LostToCollision(self.clearance, self.scene, follow, hit))
        if hit is not None or not free:
            return None
        retreat = self._retreat(follow)
        if retreat is None and self.request.retreat_m > 0.0:
            return None
        return Whole(candidate, np.concatenate([approach.q[::-1], reach[1:]]), follow, posts, retreat)

    def _follow(self, candidate: Candidate) -> _Led | None:
        target = self.candidates.target_s
        with self.log.clock("path"):
            return self._post_motions(candidate) if target is None else self._along_joint(candidate, target)

    def _along_joint(self, candidate: Candidate, target_s: float) -> _Led | None:
        path = self.candidates.follow(candidate, target_s)
        if path is None:
            return None
        end = path.q[-1]
        return _Led(path.q[:1], path, [(self.arm.kinematics.pose(end), end, float(path.s[-1]))])

    def _post_motions(self, candidate: Candidate) -> _Led | None:
        motions = self.setting.listed_post_motions
        reaching = self.setting.contact_index - self.setting.goal_index
        post = post_poses(candidate.T_base_ee, motions, self.scene, before_contact=reaching)
        path = self.paths.through(candidate.q, post.dense)
        if not path.found:
            what = "the post-actuation motions cannot be followed"
            joint = self.scene.joint
            unit = "m" if joint.prismatic else "rad"
            if not joint.lower <= float(post.s[-1]) <= joint.upper:
                what += f" (they lead past the joint's limits, {joint.lower:.3f} to {joint.upper:.3f} {unit})"
            moves = post.s if float(np.ptp(post.s)) > 0.0 else None
            self.log.furthest.add_lost(LostPoses(self.arm, path, post.dense, "follow", what, s=moves, unit=unit))
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
            with self.log.clock("path"):
                poses = step_back(T_end, self.request.retreat_m * share, self.arm.approach_axis())
                path = self.paths.through(start, poses, tilt_rad=_RETREAT_TILT_RAD)
            if not path.found:
                what = "the hand cannot step back at the end"
                self.log.furthest.add_lost(LostPoses(self.arm, path, poses, "retreat", what, _RETREAT_TILT_RAD))
                continue
            with self.log.clock("collision"):
                free = self.log.free(self.clearance.retreat(path.q, poses, float(follow.s[-1])))
            if free:
                return path.q
        return None
