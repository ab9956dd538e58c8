"""Plans the way of a hand straight back along its approach axis, from any joints."""

from __future__ import annotations

import numpy as np

from unlatch.solver.path.actuation_motions import step_back
from unlatch.solver.path.path_solver import PathSolver
from unlatch.solver.planning.clearance import Clearance
from unlatch.solver.planning.segments import HAND_RISE_HZ
from unlatch.solver.planning.timing import time_path
from unlatch.solver.scene import ArmModel

Array = np.ndarray

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
