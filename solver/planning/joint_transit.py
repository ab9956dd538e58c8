"""Plans the free way of an arm to joints that are given, such as those of its home."""

from __future__ import annotations

import time

import numpy as np

from unlatch.solver.collision import CollisionChecker
from unlatch.solver.diagnosis.diagnosis import Diagnosis
from unlatch.solver.planning.clearance import collision_evidence
from unlatch.solver.planning.motion import is_timed_motion_clear, plan_motion
from unlatch.solver.planning.plan import Keyframe, KeyframePlan, PlanBudget, PlanRequest, Segment
from unlatch.solver.planning.segments import time_transit
from unlatch.solver.planning.work import work_of
from unlatch.solver.scene import ArmModel, Array


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

        def is_clear(samples: Array) -> bool:
            nonlocal queries
            clear, count = is_timed_motion_clear(samples, checker, s=None, gripper=gripper_m)
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
