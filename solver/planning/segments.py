"""Times the segments of a planned motion."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy

from unlatch.solver.path.path_solver import PathSolution
from unlatch.solver.planning.plan import PlanRequest, Segment
from unlatch.solver.planning.timing import DEVIATION_RAD, time_path
from unlatch.solver.scene import ArmModel

Array = np.ndarray

HINGE_SPEED_RAD_S = 0.5
"""Speed of a part that turns."""
SLIDER_SPEED_M_S = 0.15
"""Speed of a part that slides."""
PART_RISE_HZ = 3.0
"""Acceleration of the part divided by its speed [1/s]."""
HAND_RISE_HZ = 5.0
"""Acceleration of the hand divided by its speed, in approach and retreat [1/s]."""
TOUCH_SPEED_M_S = 0.03
"""Speed at which closed fingers touch a part, and at which the part meets its stop. An arm that is stopped at once
presses with its damping times its speed, besides the impact of its own inertia: a Panda with some 600 N s/m."""
_TOUCH_ZONE_M = 0.015
"""Distance before a touch over which the hand keeps that speed: the place of a touch is not known better."""
_ROUNDING = 1e-6
"""Differences of a part's position below this one are rounding [rad or m]."""
_FINE = 8
"""Number of times per sample at which the speed of a motion is compared with its limit."""

_DEVIATIONS_RAD = (DEVIATION_RAD, DEVIATION_RAD / 5, DEVIATION_RAD / 25)


def time_segments(
    request: PlanRequest,
    *,
    transit: Array | None,
    approach: Array,
    follow: PathSolution,
    retreat: Array | None,
    is_clear: Callable[[Array], bool],
) -> list[Segment]:
    """Times each segment from rest to rest; returns the segments in order of execution.

    Args:
        request: The request, with the speeds.
        transit: (W, n) joints of the transit, if there is one [rad].
        approach: (W, n) joints of the approach [rad]; fewer than two rows = none.
        follow: The path of the part; fewer than two rows = none.
        retreat: (W, n) joints of the retreat [rad], if there is one.
        is_clear: Returns whether a timed transit (T, n) keeps clear of obstacles.
    """
    segments = [] if transit is None else [_time_transit(request, transit, is_clear)]
    if len(approach) > 1:
        segments.append(_time_hand_motion(request, "approach", approach, touches=request.closed_gripper))
    if len(follow.q) > 1:
        default = SLIDER_SPEED_M_S if request.scene.joint.prismatic else HINGE_SPEED_RAD_S
        speed = request.part_speed if request.part_speed is not None else default
        speed *= request.pace
        segment = _time_segment(request, "follow", follow.q, s=follow.s, speed=speed, rise_hz=PART_RISE_HZ)
        segments.append(_slow_before_stop(request, segment, rise_hz=PART_RISE_HZ))
    if retreat is not None:
        segments.append(_time_hand_motion(request, "retreat", retreat))
    return segments


def _time_transit(request: PlanRequest, q: Array, is_clear: Callable[[Array], bool]) -> Segment:
    speed_scale = request.pace * request.speed_scale
    samples = time_transit(q, request.arm, frame_s=request.frame_s, speed_scale=speed_scale, is_clear=is_clear)
    return Segment("transit", samples, None, request.arm.kinematics.pose(samples[-1]))


def time_transit(
    q: Array, arm: ArmModel, *, frame_s: float, speed_scale: float, is_clear: Callable[[Array], bool]
) -> Array:
    """Times a transit with smaller and smaller deviation from the checked lines until the curve is clear.

    The last one is returned if none is clear.

    Args:
        q: (W, n) joints along the path [rad].
        arm: Its limits.
        frame_s: Time between two rows of the result [s].
        speed_scale: Share of the joint speed limits; its square is the share of the acceleration limits.
        is_clear: Returns whether timed joints (T, n) keep clear of obstacles.

    Returns:
        (T, n) joints, at rest at both ends [rad].
    """
    for deviation_rad in _DEVIATIONS_RAD:
        samples, _ = time_path(q, arm, dt=frame_s, speed_scale=speed_scale, deviation_rad=deviation_rad)
        if len(q) == 2 or is_clear(samples):  # a straight line has no corners
            break
    return samples


def _time_hand_motion(request: PlanRequest, kind: str, q: Array, *, touches: bool = False) -> Segment:
    """Times a motion with limited speed of the hand; one that touches the part at its end arrives slowly."""
    _, p = request.arm.kinematics.fk_batch(q)
    travelled = _add_up(np.linalg.norm(np.diff(p, axis=0), axis=1))
    speed_m_s = request.pace * request.approach_speed_m_s
    segment = _time_segment(request, kind, q, s=travelled, speed=speed_m_s, rise_hz=HAND_RISE_HZ)
    samples = segment.q
    if touches:
        samples, _ = _slow_down(request, samples, travelled[-1:], HAND_RISE_HZ * speed_m_s)
    return Segment(kind, samples, None, segment.T_base_ee_end)


def _slow_before_stop(request: PlanRequest, segment: Segment, *, rise_hz: float) -> Segment:
    """Slows a push down where the part meets the end of its range; other motions are unchanged."""
    joint, s = request.scene.joint, segment.s
    if not request.closed_gripper or s is None:
        return segment
    low, high = sorted((request.scene.s_closed, request.scene.s_open))
    if joint.lower < joint.upper:  # a joint without limits has them the other way round
        low, high = max(low, joint.lower), min(high, joint.upper)
    if low + _ROUNDING < s[-1] < high - _ROUNDING:  # it ends inside its range
        return segment
    stop = float(np.clip(s[-1], low, high))
    speed_m_s = float(np.diff(_measure_travel(request, segment.q)).max()) / request.frame_s
    q, slowed = _slow_down(request, segment.q, s, rise_hz * speed_m_s, stop=stop)
    return Segment(segment.kind, q, slowed, segment.T_base_ee_end)


def _measure_travel(request: PlanRequest, q: Array) -> Array:
    """Returns (T,) how far the point between the fingertips has moved along joints (T, n) [m]."""
    R, p = request.arm.kinematics.fk_batch(q)
    tip = R @ request.arm.tool_keypoints["tool_head"] + p
    return _add_up(np.linalg.norm(np.diff(tip, axis=0), axis=1))


def _add_up(steps: Array) -> Array:
    return np.concatenate([[0.0], np.cumsum(steps)])


def _slow_down(
    request: PlanRequest, q: Array, s: Array, acceleration_m_s2: float, *, stop: float | None = None
) -> tuple[Array, Array]:
    """Slows a timed motion to `TOUCH_SPEED_M_S` before a touch; it brakes at a given rate and is faster nowhere.

    Args:
        request: The request, with the arm and the time between two samples.
        q: (T, n) joints [rad].
        s: (T,) position of the part, or one value for all [rad or m].
        acceleration_m_s2: How fast the hand brakes.
        stop: Position of the part at the touch; None = the touch is at the end.

    Returns:
        (T', n) joints and (T',) positions of the part, with the same ends.
    """
    if len(q) < 2:
        return q, s
    s = np.broadcast_to(s, len(q))
    duration = request.frame_s * (len(q) - 1)
    motion = scipy.interpolate.CubicSpline(np.linspace(0.0, duration, len(q)), np.column_stack([q, s]))
    t = np.linspace(0.0, duration, _FINE * (len(q) - 1) + 1)
    fine = motion(t)
    travelled = _measure_travel(request, fine[:, :-1])
    end_m = travelled[-1]
    if stop is not None:
        end_m = travelled[int(np.argmax((fine[:, -1] - stop) * np.sign(s[-1] - s[0]) >= -_ROUNDING))]
    braking_m = np.maximum(end_m - travelled - _TOUCH_ZONE_M, 0.0)
    limit_m_s = np.sqrt(TOUCH_SPEED_M_S**2 + 2.0 * acceleration_m_s2 * braking_m)
    slow_dt = np.maximum(np.diff(t), np.diff(travelled) / np.minimum(limit_m_s[1:], limit_m_s[:-1]))
    slow_t = _add_up(slow_dt)
    count = math.ceil(slow_t[-1] / request.frame_s - 1e-9)
    samples = motion(np.interp(np.linspace(0.0, slow_t[-1], count + 1), slow_t, t))
    samples[0], samples[-1] = [*q[0], s[0]], [*q[-1], s[-1]]  # without the rounding of the spline
    # a spline through joints at their limit may swing beyond it
    return np.clip(samples[:, :-1], request.arm.q_lower, request.arm.q_upper), np.ascontiguousarray(samples[:, -1])


def _time_segment(
    request: PlanRequest,
    kind: str,
    q: Array,
    *,
    s: Array | None = None,
    speed: float = math.inf,
    rise_hz: float = 1.0,
) -> Segment:
    samples, coordinate = time_path(
        q,
        request.arm,
        dt=request.frame_s,
        speed_scale=request.pace * request.speed_scale,
        extra=s,
        extra_velocity=speed,
        extra_acceleration=rise_hz * speed,
    )
    return Segment(kind, samples, coordinate, request.arm.kinematics.pose(samples[-1]))
