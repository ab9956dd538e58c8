"""Ways of an arm that follow no part: free to given joints, such as its home, and straight back along its approach."""

from __future__ import annotations

import time

import numpy as np

from unlatch.solver.diagnosis import Diagnosis
from unlatch.solver.motion import Clearance, collision_evidence, is_timed_motion_clear, plan_motion
from unlatch.solver.path_solver import PathSolver, step_back
from unlatch.solver.plan import Keyframe, KeyframePlan, PlanBudget, PlanRequest, Segment, work_of
from unlatch.solver.scene import ArmModel, Array, CollisionChecker
from unlatch.solver.timing import HAND_RISE_HZ, time_path, time_transit


def plan_to_joints(
    q_start: Array,
    q_goal: Array,
    checker: CollisionChecker | None,
    rng: np.random.Generator,
    *,
    arm: ArmModel,
    frame_s: float,
    gripper_m: float,
    budget: PlanBudget,
    pace: float = 1.0,
) -> KeyframePlan:
    """Returns a plan with one transit: a straight line of the joints if it is free, else a way around obstacles.

    Args:
        q_start: (n,) joints at the start [rad].
        q_goal: (n,) joints at the end [rad].
        checker: Collision checker of the scene; None = no obstacles.
        rng: Seeds the search; with a `variety` of 0 the plan does not depend on it.
        arm: The arm.
        frame_s: Time between two rows of the motion [s].
        gripper_m: Opening between the pads [m].
        budget: How much is tried; the work is counted in its meter.
        pace: Share of the usual speeds.
    """
    began = time.perf_counter()
    motion = plan_motion(
        q_start,
        q_goal,
        checker,
        arm=arm,
        rng=np.random.default_rng(0) if budget.variety == 0.0 else rng,
        gripper=gripper_m,
        max_queries=budget.motion_queries,
    )
    queries = motion.queries
    current, goal = (
        Keyframe(arm.kinematics.pose(q), q, label, 0.0) for q, label in ((q_start, "current"), (q_goal, "goal"))
    )
    if motion.found:

        def is_clear(samples: Array, clearance_m: float) -> bool:
            nonlocal queries
            clear, count = is_timed_motion_clear(samples, checker, s=None, gripper=gripper_m, clearance_m=clearance_m)
            queries += count
            return clear

        q = time_transit(motion.q, arm, frame_s=frame_s, speed_scale=pace * PlanRequest.speed_scale, is_clear=is_clear)
        segments = (Segment("transit", q, None, goal.T_base_ee),)
        margin_rad = float(np.minimum(q - arm.q_lower, arm.q_upper - q).min())
        plan = KeyframePlan(True, (current, goal), -1, segments, margin_rad=margin_rad)
    else:
        evidence = {} if motion.blocked_by is None else collision_evidence(motion.blocked_by, s=0.0)
        message = f"The arm has no free way: {motion.reason}. Move the object, or what is in the way."
        plan = KeyframePlan(False, (current,), diagnosis=Diagnosis("motion_blocked", message, evidence))
    plan.counts["queries"] = queries
    plan.timings_ms["total"] = 1e3 * (time.perf_counter() - began)
    budget.meter.spent += work_of(plan.counts)
    return plan


_SHARES = (1.0, 0.6, 0.4)
"""Shares of the distance that are tried."""
_TILT_RAD = 0.3
"""Largest tilt of the hand, which holds nothing."""
_SPEED_SCALE = 0.6
_HAND_SPEED_M_S = 0.2


def plan_step_back(
    q: Array, arm: ArmModel, clearance: Clearance, *, s: float, distance_m: float, frame_s: float
) -> Array | None:
    """Returns the longest free way back of the shares of a distance that are tried; None if there is none.

    Args:
        q: (n,) joints at the start [rad]. The fingers may touch the part there and up to 4 cm away from there.
        arm: The arm.
        clearance: Collision checks in the present scene.
        s: Joint position of the part [rad or m].
        distance_m: How far the hand steps back [m].
        frame_s: Time between two rows of the result [s].

    Returns:
        (T, n) joints, at rest at both ends [rad].
    """
    T_start, paths = arm.kinematics.pose(q), PathSolver(arm)
    for share in _SHARES:
        poses = step_back(T_start, distance_m * share, arm.approach_axis())
        path = paths.follow_poses(q, poses, tilt_rad=_TILT_RAD)
        if not path.found or clearance.check_retreat(path.q, poses, s) is not None:
            continue
        travelled = np.array([np.linalg.norm(pose.p - T_start.p) for pose in poses])
        timed, _ = time_path(
            path.q,
            arm,
            dt=frame_s,
            speed_scale=_SPEED_SCALE,
            extra=travelled,
            extra_velocity=_HAND_SPEED_M_S,
            extra_acceleration=HAND_RISE_HZ * _HAND_SPEED_M_S,
        )
        return timed
    return None
