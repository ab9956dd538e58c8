"""Times the segments of a planned motion."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from unlatch.solver.path.path_solver import PathSolution
from unlatch.solver.planning.plan import PlanRequest, Segment
from unlatch.solver.planning.timing import DEVIATION_RAD, time_path

Array = np.ndarray

HINGE_SPEED_RAD_S = 0.5
"""Speed of a part that turns."""
SLIDER_SPEED_M_S = 0.15
"""Speed of a part that slides."""
PART_RISE_HZ = 3.0
"""Acceleration of the part divided by its speed [1/s]."""
_HAND_RISE_HZ = 5.0
"""Acceleration of the hand divided by its speed, in approach and retreat [1/s]."""

_DEVIATIONS_RAD = (DEVIATION_RAD, DEVIATION_RAD / 5, DEVIATION_RAD / 25)


def time_segments(
    request: PlanRequest,
    *,
    transit: Array,
    approach: Array,
    follow: PathSolution,
    retreat: Array | None,
    is_clear: Callable[[Array], bool],
) -> list[Segment]:
    """Times each segment from rest to rest; returns the segments in order of execution.

    Args:
        request: The request, with the speeds.
        transit: (W, n) joints of the transit [rad].
        approach: (W, n) joints of the approach [rad]; fewer than two rows = none.
        follow: The path of the part; fewer than two rows = none.
        retreat: (W, n) joints of the retreat [rad], if there is one.
        is_clear: Returns whether a timed transit (T, n) keeps clear of obstacles.
    """
    segments = [_time_transit(request, transit, is_clear)]
    if len(approach) > 1:
        segments.append(_time_hand_motion(request, "approach", approach))
    if len(follow.q) > 1:
        default = SLIDER_SPEED_M_S if request.scene.joint.prismatic else HINGE_SPEED_RAD_S
        speed = request.part_speed if request.part_speed is not None else default
        segments.append(_time_segment(request, "follow", follow.q, s=follow.s, speed=speed, rise_hz=PART_RISE_HZ))
    if retreat is not None:
        segments.append(_time_hand_motion(request, "retreat", retreat))
    return segments


def _time_transit(request: PlanRequest, q: Array, is_clear: Callable[[Array], bool]) -> Segment:
    """Times the transit with smaller and smaller deviation from the checked lines until the curve is clear."""
    for deviation_rad in _DEVIATIONS_RAD:
        segment = _time_segment(request, "transit", q, deviation_rad=deviation_rad)
        if len(q) == 2 or is_clear(segment.q):  # a straight line has no corners
            break
    return segment


def _time_hand_motion(request: PlanRequest, kind: str, q: Array) -> Segment:
    """Times a motion with limited speed of the hand."""
    _, p = request.arm.kinematics.fk_batch(q)
    travelled = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(p, axis=0), axis=1))])
    segment = _time_segment(request, kind, q, s=travelled, speed=request.approach_speed_m_s, rise_hz=_HAND_RISE_HZ)
    return Segment(kind, segment.q, None, segment.T_base_ee_end)


def _time_segment(
    request: PlanRequest,
    kind: str,
    q: Array,
    *,
    s: Array | None = None,
    speed: float = math.inf,
    rise_hz: float = 1.0,
    deviation_rad: float = DEVIATION_RAD,
) -> Segment:
    samples, coordinate = time_path(
        q,
        request.arm,
        dt=request.frame_s,
        speed_scale=request.speed_scale,
        extra=s,
        extra_velocity=speed,
        extra_acceleration=rise_hz * speed,
        deviation_rad=deviation_rad,
    )
    return Segment(kind, samples, coordinate, request.arm.kinematics.pose(samples[-1]))
