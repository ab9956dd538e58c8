"""Computes poses before and after the goal from the motions of the planner setting."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unlatch.simcore.geometry import Pose, matrix_from_axis_angle
from unlatch.solver.scene import Array, PlanningScene
from unlatch.solver.settings.hand_motions import MOTION_WORDS, REGION_FRONT, MotionReading

_STEP_M = 0.02
_STEP_RAD = 0.05
NO_ENDS = (-math.inf, math.inf)
"""Lowest and highest joint position of a part that nothing stops."""
_HALVINGS = 40


@dataclass(frozen=True)
class PoseTrack:
    """Poses along a sequence of motions."""

    dense: list[Pose]
    """Poses of the ee in small steps, the first the goal."""
    keyframes: list[int]
    """Index into `dense` of the end of each motion."""
    s: Array
    """(len(dense),) position of the part's joint if it follows the hand [rad or m]."""


def apply_motion(
    T_base_ee: Pose, motion: Sequence[Any], scene: PlanningScene, reading: MotionReading, *, share: float = 1.0
) -> Pose:
    """Returns the pose after a share (0 to 1) of one motion of the setting, [mode, value] or [word, distance]."""
    mode, value = str(motion[0]), share * float(motion[1])
    if mode == "rotate":
        R, t = _joint_turn(scene, reading.turn_sign * value)
        return Pose(R @ T_base_ee.R, R @ T_base_ee.p + t)
    shift = np.zeros(3)
    if mode in MOTION_WORDS:
        shift[MOTION_WORDS[mode][0]] = value
        return Pose(T_base_ee.R, T_base_ee.p + shift)
    if mode == "translate_out":
        return Pose(T_base_ee.R, T_base_ee.p + value * scene.axis(REGION_FRONT))
    shift["xyz".index(mode[-1])] = value
    return T_base_ee @ Pose.from_translation(reading.R_ee_hand @ shift)


def pre_poses(
    T_base_goal: Pose, motions: Sequence[Sequence[Any]], scene: PlanningScene, reading: MotionReading
) -> PoseTrack:
    """Returns the poses from the goal back to the first pre-grasp."""
    return _follow_motions(T_base_goal, motions, scene, reading, before_contact=len(motions))


def post_poses(
    T_base_goal: Pose,
    motions: Sequence[Sequence[Any]],
    scene: PlanningScene,
    reading: MotionReading,
    *,
    before_contact: int = 0,
    ends: tuple[float, float] = NO_ENDS,
) -> PoseTrack:
    """Returns the poses from the goal on, with the joint position of a part that follows the hand.

    The part does not move during the first `before_contact` motions, before the fingers meet it. The track ends where
    the part reaches one of the `ends`, a lower and an upper joint position [rad or m].
    """
    return _follow_motions(T_base_goal, motions, scene, reading, before_contact=before_contact, ends=ends)


def step_back(T_base_ee: Pose, distance_m: float, approach_ee: Array) -> list[Pose]:
    """Returns poses back along the approach axis (3,) of the ee frame, starting with the pose itself."""
    count = max(1, math.ceil(distance_m / _STEP_M))
    return [T_base_ee @ Pose.from_translation(-approach_ee * distance_m * k / count) for k in range(count + 1)]


def _follow_motions(
    T_base_goal: Pose,
    motions: Sequence[Sequence[Any]],
    scene: PlanningScene,
    reading: MotionReading,
    *,
    before_contact: int,
    ends: tuple[float, float] = NO_ENDS,
) -> PoseTrack:
    dense, s = [T_base_goal], [scene.s]
    keyframes: list[int] = []
    for index, motion in enumerate(motions):
        leads_part = index >= before_contact
        step = _STEP_RAD if motion[0] == "rotate" else _STEP_M
        count = max(1, math.ceil(abs(float(motion[1])) / step - 1e-9))
        start, s_start = dense[-1], s[-1]

        def at(
            share: float, start: Pose = start, s_start: float = s_start, motion: Sequence[Any] = motion
        ) -> tuple[Pose, float]:
            T = apply_motion(start, motion, scene, reading, share=share)
            return T, s_start + _joint_change(start, T, scene, reading, motion, share)

        for k in range(1, count + 1):
            T, s_part = at(k / count)
            is_over = leads_part and not ends[0] < s_part < ends[1]
            if is_over:
                T, s_part = _cut_motion(at, (k - 1) / count, k / count, ends)
            dense.append(T)
            s.append(s_part if leads_part else s_start)
            if is_over:
                return PoseTrack(dense, [*keyframes, len(dense) - 1], np.array(s))
        keyframes.append(len(dense) - 1)
    return PoseTrack(dense, keyframes, np.array(s))


def _cut_motion(
    at: Callable[[float], tuple[Pose, float]], low: float, high: float, ends: tuple[float, float]
) -> tuple[Pose, float]:
    """Returns pose and joint position where the part reaches one of the ends, between two shares of a motion."""
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        inside = ends[0] < at(middle)[1] < ends[1]
        low, high = (middle, high) if inside else (low, middle)
    T, s_part = at(high)
    return T, float(np.clip(s_part, *ends))


def _joint_turn(scene: PlanningScene, angle_rad: float) -> tuple[Array, Array]:
    R = matrix_from_axis_angle(scene.joint.axis, angle_rad)
    return R, scene.joint.origin - R @ scene.joint.origin


def _joint_change(
    start: Pose, end: Pose, scene: PlanningScene, reading: MotionReading, motion: Sequence[Any], share: float
) -> float:
    """Returns the change of the joint position if the part follows the hand [rad or m]."""
    joint = scene.joint
    if joint.prismatic:
        return float(joint.axis @ (end.p - start.p))
    if motion[0] == "rotate":
        return share * reading.turn_sign * float(motion[1])
    before, after = start.p - joint.origin, end.p - joint.origin
    before, after = before - joint.axis * (joint.axis @ before), after - joint.axis * (joint.axis @ after)
    (ux, uy, uz), (bx, by, bz), (ax, ay, az) = joint.axis.tolist(), before.tolist(), after.tolist()
    # numpy's cross product takes most of the time of a long list
    turned = ux * (by * az - bz * ay) + uy * (bz * ax - bx * az) + uz * (bx * ay - by * ax)
    return math.atan2(turned, float(before @ after))
