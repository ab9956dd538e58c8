"""Times a joint path inside velocity and acceleration limits (TOPP-RA) and samples it every record frame."""

from __future__ import annotations

import logging
import math
import sys
from functools import cache, lru_cache
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from unlatch.simcore.errors import SolverError
from unlatch.solver.scene import ArmModel, Array

_GRID_PER_WAYPOINT = 3
_MIN_GRID = 30
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
_NOT_FOR_TOPPRA = ("matplotlib", "matplotlib.pyplot")
"""Modules that `toppra` imports for its debug plots alone."""
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
    logging.getLogger("toppra").setLevel(logging.ERROR)  # it reports each solve
    joints = arm.n_q
    # a path may begin outside the planner's limits, which are tighter than the robot's
    low = np.minimum(arm.q_lower, path[:, :joints].min(axis=0))
    high = np.maximum(arm.q_upper, path[:, :joints].max(axis=0))
    path, curve = _fit_spline(path, velocity, joints, deviation_rad)
    at_least = float((np.abs(np.diff(path, axis=0)) / velocity).max(axis=1).sum() + (velocity / acceleration).max())
    used, best = math.inf, None
    for points in (_GRID_PER_WAYPOINT, _FINE_GRID_PER_WAYPOINT):
        samples, used = _sample_trajectory(
            path, curve, max(_MIN_GRID, points * len(path)), velocity, acceleration, dt, low, high
        )
        if used <= 1.0 and (best is None or len(samples) < len(best)):
            best = samples
        if best is not None and len(best) * dt <= _MAX_SLOWDOWN * at_least:
            break
    if best is not None:
        return best
    raise SolverError(
        f"The timed path of {len(path)} waypoints still exceeds the limits by a factor of {used:.3f} after "
        f"{_MAX_STRETCHES} stretches. Plan with smaller steps.",
        waypoints=len(path),
    )


def _sample_trajectory(
    path: Array,
    curve: Any,
    points: int,
    velocity: Array,
    acceleration: Array,
    dt: float,
    low: Array,
    high: Array,
) -> tuple[Array, float]:
    """Returns a curve timed on a grid, sampled every `dt`, and the factor by which it still exceeds the limits."""
    toppra = load_toppra()
    joints = len(low)
    grid = np.linspace(0.0, 1.0, points)
    algorithm = toppra.algorithm.TOPPRA(
        list(_toppra_limits(tuple(velocity.tolist()), tuple(acceleration.tolist()))),
        curve,
        gridpoints=grid,
        solver_wrapper="seidel",
        parametrizer="ParametrizeConstAccel",
    )
    trajectory = algorithm.compute_trajectory(0.0, 0.0)
    if trajectory is None or not math.isfinite(trajectory.duration):
        raise SolverError(
            f"The path of {len(path)} waypoints has no timing inside the limits (largest joint step "
            f"{float(np.abs(np.diff(path, axis=0)).max()):.3f} rad). Plan with smaller steps.",
            waypoints=len(path),
        )
    # between grid points the curve may bend more than at them: if a sample is too fast, the whole path is slowed
    stretch = 1.0
    for _ in range(_MAX_STRETCHES):
        count = max(1, math.ceil(stretch * trajectory.duration / dt - 1e-9))
        samples: Array = trajectory(np.linspace(0.0, trajectory.duration, count + 1))
        samples[:, :joints] = np.clip(samples[:, :joints], low, high)
        samples[0], samples[-1] = path[0], path[-1]  # removes rounding of the spline, so that segments meet exactly
        used = _limit_use(samples, velocity / _MARGIN, acceleration / _MARGIN, dt)
        if used <= 1.0:
            break
        stretch *= 1.01 * used
    return samples, used


def _fit_spline(path: Array, velocity: Array, joints: int, deviation_rad: float) -> tuple[Array, Any]:
    """Returns a path (W, n) with extra points, and a natural cubic spline near the straight lines between its rows.

    A spline swings out where a path bends sharply, as at a joint limit. Points are inserted on the straight lines there
    until each joint stays within `deviation_rad`; coordinates after the `joints` may swing. `velocity` (n,) spaces the
    knots evenly in time.
    """
    share = np.linspace(0.0, 1.0, _SPLINE_CHECKS + 2)[1:-1]
    for _ in range(_MAX_REFINEMENTS):
        lengths = np.linalg.norm(np.diff(path / velocity, axis=0), axis=1)  # even time, so that the spline is tame
        knots = np.concatenate([[0.0], np.cumsum(lengths)])
        knots /= knots[-1]
        curve = load_toppra().SplineInterpolator(knots, path, "natural")
        at = knots[:-1, None] + share * np.diff(knots)[:, None]  # (W - 1, checks)
        lines = path[:-1, None] + share[:, None] * np.diff(path, axis=0)[:, None]  # (W - 1, checks, n)
        off = np.abs(curve(at.ravel()).reshape(lines.shape) - lines)[..., :joints].max(axis=(1, 2))
        wide = np.flatnonzero(off > deviation_rad)
        if len(wide) == 0:
            break
        path = np.insert(path, wide + 1, 0.5 * (path[wide] + path[wide + 1]), axis=0)
    return path, curve


@lru_cache(maxsize=64)
def _toppra_limits(velocity: tuple[float, ...], acceleration: tuple[float, ...]) -> tuple[Any, Any]:
    """Returns the constraints of TOPP-RA; cached, since making them is slow."""
    toppra = load_toppra()
    v, a = np.array(velocity), np.array(acceleration)
    return (
        toppra.constraint.JointVelocityConstraint(np.column_stack([-v, v])),
        toppra.constraint.JointAccelerationConstraint(np.column_stack([-a, a])),
    )


def _limit_use(samples: Array, velocity: Array, acceleration: Array, dt: float) -> float:
    """Returns the factor by which samples must be stretched in time to keep the limits, from rest to rest."""
    rates = np.diff(samples, axis=0) / dt
    rest = np.zeros((1, samples.shape[1]))
    changes = np.diff(np.vstack([rest, rates, rest]), axis=0) / dt
    speed, force = float((np.abs(rates) / velocity).max()), float((np.abs(changes) / acceleration).max())
    return max(speed, math.sqrt(force))


@cache
def load_toppra() -> Any:
    """Returns the package `toppra`, imported on the first call, without matplotlib, which takes half a second."""
    stand_ins = [] if "matplotlib" in sys.modules else [name for name in _NOT_FOR_TOPPRA if name not in sys.modules]
    sys.modules.update({name: ModuleType(name) for name in stand_ins})
    try:
        for name in ("toppra.algorithm", "toppra.constraint"):
            import_module(name)
    finally:
        for name in stand_ins:
            del sys.modules[name]
    return import_module("toppra")
