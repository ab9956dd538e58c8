"""Times joint paths inside velocity and acceleration limits (TOPP-RA): the segments of a plan, a transit, a step
back.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from unlatch.simcore.errors import SolverError
from unlatch.simcore.process import load_library
from unlatch.solver.motion import LEAST_CLEARANCE_M
from unlatch.solver.path_solver import PathSolution
from unlatch.solver.plan import PlanRequest, Segment
from unlatch.solver.scene import ArmModel, Array

_GRID_PER_WAYPOINT = 3
_MIN_GRID = 30
_STILL = 100.0
"""A path that takes more than this number of times the shortest duration stands still on the grid of its timing."""
_MAX_STRETCHES = 8
_FINE_GRID_PER_WAYPOINT = 40
_MAX_SLOWDOWN = 1.5
"""Largest ratio of the duration to the shortest one (velocity limits and one ramp; usually 0.7 to 1.3).

Slower paths are timed again on a fine grid. A coarse grid that misses a sharp corner stretches the whole path, and
sometimes TOPP-RA crawls on it: 71 s for a motion that takes 4 s."""
_MAX_REFINEMENTS = 6
_SPLINE_CHECKS = 5
"""Number of points between two waypoints at which the spline is compared with the straight line."""
DEVIATION_RAD = 0.005
"""Default of the largest joint deviation of a timed path from the straight lines between waypoints [rad]."""
_MARGIN = 0.97
"""Share of the limits that is used: TOPP-RA keeps them at grid points only, and the path bends between them."""


def time_path(
    q_path: Array,
    arm: ArmModel,
    *,
    dt: float,
    speed_scale: float = 1.0,
    extra: Array | None = None,
    extra_velocity: float = math.inf,
    extra_acceleration: float = math.inf,
    deviation_rad: float = DEVIATION_RAD,
) -> tuple[Array, Array | None]:
    """Times a path, at rest at both ends.

    Args:
        q_path: (W, n) joints along the path [rad]; two rows are a straight line.
        arm: Its limits.
        dt: Time between two samples [s].
        speed_scale: 0 to 1: velocities are scaled by it, accelerations by its square (the motion runs slower).
        extra: (W,) a further coordinate along the path, such as the part's joint [rad or m].
        extra_velocity: Its speed limit, not scaled [1/s].
        extra_acceleration: Its acceleration limit, not scaled [1/s^2].
        deviation_rad: Largest deviation of a joint from the straight lines between the waypoints [rad].

    Returns:
        (T, n) joints every `dt`, the first row the start and the last the end of the path, and the (T,) further
        coordinate or None.

    Raises:
        SolverError: The path has no finite timing.
    """
    if not 0.0 < speed_scale <= 1.0 or not dt > 0.0:
        raise SolverError(f"speed_scale={speed_scale} must lie in (0, 1] and dt={dt} above 0.", speed_scale=speed_scale)
    path = np.asarray(q_path, dtype=float)
    velocity = speed_scale * arm.max_velocity
    acceleration = speed_scale**2 * arm.max_acceleration
    if extra is not None:
        path = np.column_stack([path, np.asarray(extra, dtype=float)])
        velocity = np.append(velocity, min(extra_velocity, 1e3))
        acceleration = np.append(acceleration, min(extra_acceleration, 1e4))
    path = _drop_repeats(path)
    if len(path) == 1:
        samples = np.repeat(path, 2, axis=0)
    elif len(path) == 2:
        samples = _time_straight_line(path[0], path[1], velocity, acceleration, dt)
    else:
        samples = _time_curve(path, _MARGIN * velocity, _MARGIN * acceleration, dt, arm, deviation_rad)
    if extra is None:
        return samples, None
    return np.ascontiguousarray(samples[:, :-1]), np.ascontiguousarray(samples[:, -1])


def _drop_repeats(path: Array) -> Array:
    keep: Array = np.ones(len(path), dtype=bool)
    last = path[0]
    for i in range(1, len(path)):
        keep[i] = bool(np.abs(path[i] - last).max() > 1e-9)
        last = path[i] if keep[i] else last
    return path[keep]


def _time_straight_line(start: Array, end: Array, velocity: Array, acceleration: Array, dt: float) -> Array:
    """Times a straight line by a trapezoid of speed; the slowest joint decides."""
    delta = np.abs(end - start)
    moving = delta > 1e-12
    v = float((velocity[moving] / delta[moving]).min())  # of the path coordinate from 0 to 1 [1/s]
    a = float((acceleration[moving] / delta[moving]).min())
    ramp = min(v / a, math.sqrt(1.0 / a))
    peak = a * ramp
    duration = 1.0 / peak + ramp
    count = max(1, math.ceil(duration / dt - 1e-9))
    # stretched to whole samples: slower, never faster
    t = np.linspace(0.0, duration, count + 1)
    x = np.where(
        t < ramp,
        0.5 * a * t * t,
        np.where(t > duration - ramp, 1.0 - 0.5 * a * (duration - t) ** 2, peak * (t - 0.5 * ramp)),
    )
    x = np.clip(x, 0.0, 1.0)[:, None]
    return (1.0 - x) * start + x * end


def _time_curve(
    path: Array, velocity: Array, acceleration: Array, dt: float, arm: ArmModel, deviation_rad: float
) -> Array:
    joints = arm.n_q
    # a path may begin outside the planner's limits, which are tighter than the robot's
    low = np.minimum(arm.q_lower, path[:, :joints].min(axis=0))
    high = np.maximum(arm.q_upper, path[:, :joints].max(axis=0))
    path, curve = _fit_spline(path, velocity, joints, deviation_rad)
    at_least = float((np.abs(np.diff(path, axis=0)) / velocity).max(axis=1).sum() + (velocity / acceleration).max())

    def sampled(points: int) -> tuple[Array, float]:
        """Returns the curve timed on a grid, sampled every `dt`, and the factor by which it still exceeds the limits.

        The factor is infinite if that would take very long: the path stands still on a grid that is too coarse for how
        it bends.
        """
        grid = np.linspace(0.0, curve.knots[-1], points)
        speeds = curve.fastest_speeds(grid, velocity, acceleration)
        with np.errstate(divide="ignore"):
            times = _add_up(2.0 * np.diff(grid) / (speeds[:-1] + speeds[1:]))
        duration = float(times[-1])
        if not duration <= _STILL * at_least:
            return path, math.inf
        # between grid points the curve may bend more than at them: if a sample is too fast, the whole path is slowed
        stretch = 1.0
        for _ in range(_MAX_STRETCHES):
            count = max(1, math.ceil(stretch * duration / dt - 1e-9))
            t = np.linspace(0.0, duration, count + 1)
            at = np.minimum(np.searchsorted(times, t, side="right") - 1, points - 2)
            since, gain = t - times[at], np.diff(speeds)[at] / np.diff(times)[at]  # constant acceleration between them
            samples = curve(np.clip(grid[at] + since * (speeds[at] + 0.5 * gain * since), 0.0, grid[-1]))
            samples[:, :joints] = np.clip(samples[:, :joints], low, high)
            samples[0], samples[-1] = path[0], path[-1]  # removes rounding of the spline, so that segments meet exactly
            used = _limit_use(samples, velocity / _MARGIN, acceleration / _MARGIN, dt)
            if used <= 1.0:
                break
            stretch *= 1.01 * used
        return samples, used

    used, best = math.inf, None
    for points in (_GRID_PER_WAYPOINT, _FINE_GRID_PER_WAYPOINT):
        samples, used = sampled(max(_MIN_GRID, points * len(path)))
        if used <= 1.0 and (best is None or len(samples) < len(best)):
            best = samples
        if best is not None and len(best) * dt <= _MAX_SLOWDOWN * at_least:
            break
    if best is not None:
        return best
    step = f"largest joint step {float(np.abs(np.diff(path, axis=0)).max()):.3f} rad"
    problem = f"still exceeds the limits by a factor of {used:.3f} after {_MAX_STRETCHES} stretches"
    raise SolverError(
        f"The timed path of {len(path)} waypoints {problem if math.isfinite(used) else 'stands still on the way'} "
        f"({step}). Plan with smaller steps.",
        waypoints=len(path),
    )


def _fit_spline(path: Array, velocity: Array, joints: int, deviation_rad: float) -> tuple[Array, Spline]:
    """Returns a path (W, n) with extra points, and a natural cubic spline near the straight lines between its rows.

    A spline swings out where a path bends sharply, as at a joint limit. Points are inserted on the straight lines there
    until each joint stays within `deviation_rad`; coordinates after the `joints` may swing. The knots of the spline are
    the times [s] at the speeds `velocity` (n,): with knots from 0 to 1, the timing of a path of 2 mm has no solution.
    """
    share = np.linspace(0.0, 1.0, _SPLINE_CHECKS + 2)[1:-1]
    for _ in range(_MAX_REFINEMENTS):
        lengths = np.linalg.norm(np.diff(path / velocity, axis=0), axis=1)  # even time, so that the spline is tame
        knots = np.concatenate([[0.0], np.cumsum(lengths)])
        curve = Spline(knots, path)
        at = knots[:-1, None] + share * np.diff(knots)[:, None]  # (W - 1, checks)
        lines = path[:-1, None] + share[:, None] * np.diff(path, axis=0)[:, None]  # (W - 1, checks, n)
        off = np.abs(curve(at.ravel()).reshape(lines.shape) - lines)[..., :joints].max(axis=(1, 2))
        wide = np.flatnonzero(off > deviation_rad)
        if len(wide) == 0:
            break
        path = np.insert(path, wide + 1, 0.5 * (path[wide] + path[wide + 1]), axis=0)
    return path, curve


def _limit_use(samples: Array, velocity: Array, acceleration: Array, dt: float, *, rests: bool = True) -> float:
    """Returns the factor by which samples must be stretched in time to keep the limits.

    With `rests` they begin and end at rest.
    """
    rates = np.diff(samples, axis=0) / dt
    rest = np.zeros((1, samples.shape[1]))
    changes = np.diff(np.vstack([rest, rates, rest]) if rests else rates, axis=0) / dt
    speed, force = float((np.abs(rates) / velocity).max()), float((np.abs(changes) / acceleration).max())
    return max(speed, math.sqrt(force))


class Spline:
    """A cubic spline through points: its first two derivatives are continuous; the compiled core computes it."""

    def __init__(self, knots: Array, points: Array, *, rests: bool = False) -> None:
        """Computes the spline through points (N, m) at knots (N,), ascending; N > 1.

        With `rests`, its first derivative is 0 at both ends, in place of the second.
        """
        self.knots, self._points = np.ascontiguousarray(knots, float), np.ascontiguousarray(points, float)
        self._slopes, work = np.empty_like(self._points), np.empty_like(self.knots)
        self._shape = self._points.shape
        at = (array.ctypes.data for array in (self.knots, self._points))
        _core().timing_fit(*self._shape, *at, rests, work.ctypes.data, self._slopes.ctypes.data)

    def __call__(self, at: Array, order: int = 0) -> Array:
        """Returns the points (k, m), or their derivatives of this order, at places (k,) in ascending order."""
        at, result = np.ascontiguousarray(at, float), np.empty((len(at), self._shape[1]))
        of = (array.ctypes.data for array in (self.knots, self._points, self._slopes))
        _core().timing_evaluate(*self._shape, *of, len(at), at.ctypes.data, order, result.ctypes.data)
        return result

    def fastest_speeds(self, grid: Array, velocity: Array, acceleration: Array) -> Array:
        """Returns (G,) speeds along the spline at grid points (G,) of the fastest motion from rest to rest (TOPP-RA).

        At each of these, ascending, the first and the second time derivatives keep the limits (m,) of their size.

        Raises:
            SolverError: There are more coordinates than the compiled core can time.
        """
        arrays = (grid, self(grid, 1), self(grid, 2), np.concatenate([velocity, acceleration]), np.empty(len(grid)))
        if _core().timing_speeds(len(grid), self._shape[1], *(array.ctypes.data for array in arrays)):
            raise SolverError(f"A path of {self._shape[1]} coordinates cannot be timed; at most 96 can.")
        return np.sqrt(arrays[-1])


@cache
def _core() -> Any:
    """Loads the compiled core."""
    library, number, at = load_library(), ctypes.c_int32, ctypes.c_void_p
    library.timing_fit.argtypes = (number, number, at, at, number, at, at)
    library.timing_evaluate.argtypes = (number, number, at, at, at, number, at, number, at)
    library.timing_speeds.argtypes = (number, number, *[at] * 5)
    return library


HINGE_SPEED_RAD_S = 0.5
"""Speed of a part that turns."""
SLIDER_SPEED_M_S = 0.2
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
_STRAIGHT_M = 0.05
"""Distance from the contact within which the hand keeps to its approach [m]: the fingers are beside the part there."""
_JOINED_SHARE = 0.9
"""Share of the limits that joined motions may use: their speeds add up."""
_FINE = 8
"""Number of times per sample at which the speed of a motion is compared with its limit."""

IsClear = Callable[[Array, float], bool]
FAST_CLEARANCE_M = 0.006
"""Distance to obstacles at full speed [m]: the hand of a Panda leaves its path by up to 4.6 mm there, and by half of
that at `_CAREFUL_SHARE`, since deviations grow with the accelerations."""
_CAREFUL_SHARE = 0.75
_TIGHT_SHARE = 0.4
"""Share of the speed where not even `LEAST_CLEARANCE_M` is kept: the hand of a Panda stays within 1 mm of its path."""
_DEVIATIONS_RAD = (DEVIATION_RAD, DEVIATION_RAD / 5, DEVIATION_RAD / 25)


def time_segments(
    request: PlanRequest,
    *,
    transit: Array | None,
    approach: Array,
    follow: PathSolution,
    retreat: Array | None,
    is_clear: IsClear,
) -> list[Segment]:
    """Times each segment, and joins the approach to the transit; returns the segments in order of execution.

    Args:
        request: The request, with the speeds.
        transit: (W, n) joints of the transit, if there is one [rad].
        approach: (W, n) joints of the approach [rad]; fewer than two rows = none.
        follow: The path of the part; fewer than two rows = none.
        retreat: (W, n) joints of the retreat [rad], if there is one.
        is_clear: Returns whether timed joints (T, n) before the contact keep a distance to obstacles [m].
    """
    segments: list[Segment] = []
    if transit is not None:
        speed_scale, frame_s = request.pace * request.speed_scale, request.frame_s
        q = time_transit(transit, request.arm, frame_s=frame_s, speed_scale=speed_scale, is_clear=is_clear)
        segments.append(Segment("transit", q, None, request.arm.kinematics.pose(q[-1])))
    if len(approach) > 1:
        segments.append(_time_hand_motion(request, "approach", approach, touches=request.closed_gripper))
    if len(segments) == 2:
        segments = _join_approach(request, segments[0], segments[1], is_clear)
    if len(follow.q) > 1:
        default = SLIDER_SPEED_M_S if request.scene.joint.prismatic else HINGE_SPEED_RAD_S
        speed = request.part_speed if request.part_speed is not None else default
        speed *= request.pace
        segment = _time_segment(request, "follow", follow.q, s=follow.s, speed=speed, rise_hz=PART_RISE_HZ)
        segments.append(_slow_before_stop(request, segment))
    if retreat is not None:
        segments.append(_time_hand_motion(request, "retreat", retreat))
    return segments


def _join_approach(request: PlanRequest, transit: Segment, approach: Segment, is_clear: IsClear) -> list[Segment]:
    """Begins the approach before the transit has ended, as early as limits and obstacles allow."""
    _, p = request.arm.kinematics.fk_batch(approach.q)
    free = int(np.count_nonzero(np.linalg.norm(p - p[-1], axis=1) > _STRAIGHT_M))
    q, overlap = join_motions(
        transit.q, approach.q, request.arm, frame_s=request.frame_s, most=free - 1, is_clear=is_clear
    )
    at = len(transit) - overlap // 2
    return [
        Segment("transit", q[:at], None, transit.T_base_ee_end, flows=overlap > 0),
        Segment("approach", q[at:], None, approach.T_base_ee_end),
    ]


def join_motions(
    first: Array, second: Array, arm: ArmModel, *, frame_s: float, most: int, is_clear: IsClear
) -> tuple[Array, int]:
    """Begins a motion before the one before it has ended: their changes add up while the first one brakes.

    The first one ends at rest and the second one begins so. The joined motion cuts the corner between them: the earlier
    the second one begins, the more.

    Args:
        first: (A, n) joints [rad].
        second: (B, n) joints from the end of the first motion on [rad].
        arm: Its limits.
        frame_s: Time between two rows [s].
        most: Largest number of rows by which the motions overlap.
        is_clear: Returns whether joints (T, n) keep a distance to obstacles [m]; asked for the rows that change.

    Returns:
        (A + B - 1 - overlap, n) joints, and by how many rows the motions overlap; without an overlap, (A + B, n): the
        arm stops between them.
    """
    overlap = min(most, len(first) - 1, len(second) - 1)
    while overlap > 0:
        begin = len(first) - 1 - overlap  # row at which the second motion is at its start
        rows = np.arange(begin + len(second))
        q = first[np.minimum(rows, len(first) - 1)] + (second[np.maximum(rows - begin, 0)] - second[0])
        q[-1] = second[-1]  # removes rounding, so that segments meet exactly
        velocity, acceleration = _JOINED_SHARE * arm.max_velocity, _JOINED_SHARE * arm.max_acceleration
        use = _limit_use(q, velocity, acceleration, frame_s, rests=False)
        inside = bool((q >= arm.q_lower).all() and (q <= arm.q_upper).all())
        if use <= 1.0 and inside and is_clear(q[begin : len(first)], FAST_CLEARANCE_M):
            return q, overlap
        overlap = overlap - 1 if use > 1.0 else overlap * 2 // 3
    return np.concatenate([first, second]), 0


def time_transit(q: Array, arm: ArmModel, *, frame_s: float, speed_scale: float, is_clear: IsClear) -> Array:
    """Times a transit: quickly where there is room, else carefully, with smaller and smaller deviation from the lines.

    A path that is clear at neither pace is followed slowly, where the arm leaves it least.

    Args:
        q: (W, n) joints along the path [rad].
        arm: Its limits.
        frame_s: Time between two rows of the result [s].
        speed_scale: Share of the joint speed limits; its square is the share of the acceleration limits.
        is_clear: Returns whether timed joints (T, n) keep a distance to obstacles [m].

    Returns:
        (T, n) joints, at rest at both ends [rad].
    """
    for share, clearance_m in ((1.0, FAST_CLEARANCE_M), (_CAREFUL_SHARE, LEAST_CLEARANCE_M)):
        for deviation_rad in _DEVIATIONS_RAD:
            samples, _ = time_path(q, arm, dt=frame_s, speed_scale=share * speed_scale, deviation_rad=deviation_rad)
            if is_clear(samples, clearance_m):
                return samples
            if len(q) == 2:  # a straight line has no corners
                break
    return time_path(q, arm, dt=frame_s, speed_scale=_TIGHT_SHARE * speed_scale, deviation_rad=_DEVIATIONS_RAD[-1])[0]


def _time_hand_motion(request: PlanRequest, kind: str, q: Array, *, touches: bool = False) -> Segment:
    """Times a motion with limited speed of the hand; one that touches the part at its end arrives slowly."""
    _, p = request.arm.kinematics.fk_batch(q)
    travelled = _add_up(np.linalg.norm(np.diff(p, axis=0), axis=1))
    speed_m_s = request.pace * request.approach_speed_m_s
    segment = replace(_time_segment(request, kind, q, s=travelled, speed=speed_m_s, rise_hz=HAND_RISE_HZ), s=None)
    if not touches:
        return segment
    return replace(segment, q=_slow_down(request, segment.q, travelled[-1:], HAND_RISE_HZ * speed_m_s)[0])


def _slow_before_stop(request: PlanRequest, segment: Segment) -> Segment:
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
    q, slowed = _slow_down(request, segment.q, s, PART_RISE_HZ * speed_m_s, stop=stop)
    return replace(segment, q=q, s=slowed)


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

    Braking adds to the accelerations of the motion: one that would exceed the arm's limits is slower everywhere.

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
    motion = Spline(np.linspace(0.0, duration, len(q)), np.column_stack([q, s]), rests=True)
    t = np.linspace(0.0, duration, _FINE * (len(q) - 1) + 1)
    fine = motion(t)
    travelled = _measure_travel(request, fine[:, :-1])
    end_m = travelled[-1]
    if stop is not None:
        end_m = travelled[int(np.argmax((fine[:, -1] - stop) * np.sign(s[-1] - s[0]) >= -_ROUNDING))]
    braking_m = np.maximum(end_m - travelled - _TOUCH_ZONE_M, 0.0)
    limit_m_s = np.sqrt(TOUCH_SPEED_M_S**2 + 2.0 * acceleration_m_s2 * braking_m)
    slow_dt = np.maximum(np.diff(t), np.diff(travelled) / np.minimum(limit_m_s[1:], limit_m_s[:-1]))
    slow_t, arm = _add_up(slow_dt), request.arm
    for _ in range(_MAX_STRETCHES):
        count = math.ceil(slow_t[-1] / request.frame_s - 1e-9)
        samples = motion(np.interp(np.linspace(0.0, slow_t[-1], count + 1), slow_t, t))
        samples[0], samples[-1] = [*q[0], s[0]], [*q[-1], s[-1]]  # without the rounding of the spline
        # a spline through joints at their limit may swing beyond it
        samples[:, :-1] = np.clip(samples[:, :-1], arm.q_lower, arm.q_upper)
        used = _limit_use(samples[:, :-1], arm.max_velocity, arm.max_acceleration, request.frame_s)
        if used <= 1.0:
            break
        slow_t = 1.01 * used * slow_t
    return np.ascontiguousarray(samples[:, :-1]), np.ascontiguousarray(samples[:, -1])


def _time_segment(request: PlanRequest, kind: str, q: Array, *, s: Array, speed: float, rise_hz: float) -> Segment:
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
