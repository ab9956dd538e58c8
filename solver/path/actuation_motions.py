"""Computes poses before and after the goal from the motions of the planner setting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unlatch.simcore.geometry import Pose, matrix_from_axis_angle
from unlatch.solver.scene import Array, PlanningScene
from unlatch.solver.settings.hand_motions import MOTION_WORDS, REGION_FRONT

_STEP_M = 0.02
_STEP_RAD = 0.05


@dataclass(frozen=True)
class PoseTrack:
    """Poses along a sequence of motions."""

    dense: list[Pose]
    """Poses of the ee in small steps, the first the goal."""
    keyframes: list[int]
    """Index into `dense` of the end of each motion."""
    s: Array
    """(len(dense),) position of the part's joint if it follows the hand [rad or m]."""


def apply_motion(T_base_ee: Pose, motion: Sequence[Any], scene: PlanningScene, *, share: float = 1.0) -> Pose:
    """Returns the pose after a share (0 to 1) of one motion of the setting, [mode, value] or [word, distance]."""
    mode, value = str(motion[0]), share * float(motion[1])
    if mode == "rotate":
        R, t = _joint_turn(scene, value)
        return Pose(R @ T_base_ee.R, R @ T_base_ee.p + t)
    shift = np.zeros(3)
    if mode in MOTION_WORDS:
        shift[MOTION_WORDS[mode][0]] = value
        return Pose(T_base_ee.R, T_base_ee.p + shift)
    if mode == "translate_out":
        return Pose(T_base_ee.R, T_base_ee.p + value * scene.axis(REGION_FRONT))
    shift["xyz".index(mode[-1])] = value
    return T_base_ee @ Pose.from_translation(shift)


def pre_poses(T_base_goal: Pose, motions: Sequence[Sequence[Any]], scene: PlanningScene) -> PoseTrack:
    """Returns the poses from the goal back to the first pre-grasp."""
    return _follow_motions(T_base_goal, motions, scene, before_contact=len(motions))


def post_poses(
    T_base_goal: Pose, motions: Sequence[Sequence[Any]], scene: PlanningScene, *, before_contact: int = 0
) -> PoseTrack:
    """Returns the poses from the goal on, with the joint position of a part that follows the hand.

    The part does not move during the first `before_contact` motions, before the fingers meet it.
    """
    return _follow_motions(T_base_goal, motions, scene, before_contact=before_contact)


def step_back(T_base_ee: Pose, distance_m: float, approach_ee: Array) -> list[Pose]:
    """Returns poses back along the approach axis (3,) of the ee frame, starting with the pose itself."""
    count = max(1, math.ceil(distance_m / _STEP_M))
    return [T_base_ee @ Pose.from_translation(-approach_ee * distance_m * k / count) for k in range(count + 1)]


def _follow_motions(
    T_base_goal: Pose, motions: Sequence[Sequence[Any]], scene: PlanningScene, *, before_contact: int
) -> PoseTrack:
    dense, ends, s = [T_base_goal], [], [scene.s]
    for index, motion in enumerate(motions):
        leads_part = index >= before_contact
        step = _STEP_RAD if motion[0] == "rotate" else _STEP_M
        count = max(1, math.ceil(abs(float(motion[1])) / step - 1e-9))
        start, s_start = dense[-1], s[-1]
        for k in range(1, count + 1):
            T = apply_motion(start, motion, scene, share=k / count)
            dense.append(T)
            s.append(s_start + _joint_change(start, T, scene, motion, k / count) if leads_part else s_start)
        ends.append(len(dense) - 1)
    return PoseTrack(dense, ends, np.array(s))


def _joint_turn(scene: PlanningScene, angle_rad: float) -> tuple[Array, Array]:
    R = matrix_from_axis_angle(scene.joint.axis, angle_rad)
    return R, scene.joint.origin - R @ scene.joint.origin


def _joint_change(start: Pose, end: Pose, scene: PlanningScene, motion: Sequence[Any], share: float) -> float:
    """Returns the change of the joint position if the part follows the hand [rad or m]."""
    joint = scene.joint
    if joint.prismatic:
        return float(joint.axis @ (end.p - start.p))
    if motion[0] == "rotate":
        return share * float(motion[1])
    before, after = start.p - joint.origin, end.p - joint.origin
    before, after = before - joint.axis * (joint.axis @ before), after - joint.axis * (joint.axis @ after)
    return math.atan2(float(joint.axis @ np.cross(before, after)), float(before @ after))
