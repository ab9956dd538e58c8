"""Checks the commands that a skill gives to its arm, before the arm moves."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from unlatch.simcore.errors import SkillError, shorten
from unlatch.simcore.geometry import Pose
from unlatch.skills.contract.command import ManipCommand, ManipKind
from unlatch.skills.contract.method_checks import place_of
from unlatch.skills.contract.skill import Skill

Array = np.ndarray

_LIMIT_TOLERANCE = 1e-3
"""How far beyond its limit a joint may be led [rad or m]: rounding."""
_SPEED_TOLERANCE = 1.1
"""Factor on the speed limits: the time scaling of paths is exact to a few percent."""
_DEGREES_BEYOND = 4.0
"""A value beyond this multiple of the largest limit looks like degrees."""
_ROTATION_TOLERANCE = 1e-3
"""How far the columns of a rotation may be off a length of 1 and right angles."""
_WIDTH_TOLERANCE_M = 1e-3
"""How far an opening may be beyond those of the gripper [m]: it goes as far as it can."""
_FURTHEST_M = 10.0
"""Largest distance of a target from the arm's base [m]. No arm reaches so far: a larger one is a mistake."""
_LONGEST_MOTION = 10.0
"""A motion of more than this multiple of the episode's longest duration is a mistake. One that takes less, but more
than there is, may be a slow plan: its episode ends as a `timeout`."""


def check_commands(skill: Skill, *, max_duration_s: float) -> None:
    """Checks that the commands of a planned skill lead its arm within its limits, without a jump and in finite time.

    Frames are whole numbers. All numbers are finite: targets, openings of the gripper, positions of the part's joint
    and weights. Every motion must have a finite value for each joint, stay within the joint limits, and change no joint
    faster than its speed limit, also from the end of the motion before it to its own first row. A joint that begins
    beyond a limit may stay there.

    Args:
        skill: The skill after `plan`; its arm is where it is when the first command begins.
        max_duration_s: Longest duration of the episode [s]; no command may wait for longer, or move for
            many times as long.

    Raises:
        SkillError: A number is wrong or breaks a limit; the message names the command, the value and the limit. Or a
            command waits or moves for too long.
    """
    arm, q_before = skill.context.arm.cfg, skill.context.arm.q_target
    lower, upper = np.array(arm.lower), np.array(arm.upper)
    lower, upper = np.minimum(lower, q_before) - _LIMIT_TOLERANCE, np.maximum(upper, q_before) + _LIMIT_TOLERANCE
    most = _SPEED_TOLERANCE * skill.context.frame_s * np.array(arm.max_velocity) + _LIMIT_TOLERANCE
    for index, command in enumerate(skill.commands):
        where = f"Command {index} of skill '{skill.cfg.name}' ({command.kind.value}, {command.phase.name})"
        if (problem := _describe_wrong_number(command, max_width_m=arm.gripper.max_width_m)) is not None:
            raise _motion_error(f"{where} {problem}", skill)
        wait_s = command.dwell_frames * skill.context.frame_s
        if wait_s > max_duration_s:
            raise _motion_error(
                f"{where} waits for {command.dwell_frames} record frames, which are {wait_s:.4g} s. The whole episode "
                f"may take {max_duration_s:g} s (task.max_duration_s). Give it less: `self.context.frames(0.5)` is "
                "half a second.",
                skill,
            )
        if command.motion is None or not len(command.motion):
            continue
        q = command.motion.q
        if (motion_s := len(q) * skill.context.frame_s) > _LONGEST_MOTION * max_duration_s:
            raise _motion_error(
                f"{where} has {len(q)} rows, one a record frame, which are {motion_s:.4g} s. The whole episode may "
                f"take {max_duration_s:g} s (task.max_duration_s). Give it fewer rows.",
                skill,
            )
        if q.ndim != 2 or q.shape[1] != len(arm.joints):
            raise _motion_error(
                f"{where} has `q` of shape {q.shape}. Expected (rows, {len(arm.joints)}): one column for each of "
                f"{', '.join(arm.joints)}.",
                skill,
            )
        beyond = np.nan_to_num(np.maximum(lower - q, q - upper), nan=np.inf)
        if (beyond > 0.0).any():
            row, joint = (int(value) for value in np.unravel_index(beyond.argmax(), q.shape))
            raise _motion_error(f"{where} {_describe_excess(skill, row, joint, float(q[row, joint]))}", skill)
        excess = np.abs(np.diff(q, axis=0, prepend=q_before[None])) - most
        if (excess > 0.0).any():
            row, joint = (int(value) for value in np.unravel_index(excess.argmax(), q.shape))
            step = float(excess[row, joint] + most[joint])
            raise _motion_error(f"{where} {_describe_jump(skill, row, joint, step)}", skill)
        q_before = q[-1]


def _describe_wrong_number(command: ManipCommand, *, max_width_m: float) -> str | None:
    """Says which number of a command is wrong, apart from its joint targets; None: all are right.

    Args:
        command: The command.
        max_width_m: Largest opening of the gripper [m].
    """
    frames, pose, motion = command.dwell_frames, command.T_base_ee, command.motion
    if not isinstance(frames, Integral) or isinstance(frames, bool) or frames < 0:
        return (
            f"has dwell_frames={frames!r}. Expected a whole number of record frames, 0 or more, such as "
            "`self.context.frames(0.5)`, which is half a second."
        )
    if not isinstance(pose, Pose):
        return f"has T_base_ee={pose!r:.80}. Expected a Pose of the hand in the arm's base frame."
    if not np.linalg.norm(pose.p) <= _FURTHEST_M:
        return (
            f"has its target T_base_ee at p={_format(pose.p)} m. Expected three finite numbers, at most "
            f"{_FURTHEST_M:g} m from the arm's base. Give metres in the arm's base frame."
        )
    if not (np.abs(pose.R @ pose.R.T - np.eye(3)).max() <= _ROTATION_TOLERANCE and np.linalg.det(pose.R) > 0.0):
        return (
            f"has a target T_base_ee whose R={_format(pose.R)} is no rotation. Expected columns of length 1 at right "
            "angles, right-handed. Make it by Pose.from_quat_xyzw or Pose.from_rpy."
        )
    if (
        motion is not None
        and motion.s is not None
        and not (motion.s.shape == (len(motion),) and np.isfinite(motion.s).all())
    ):
        return (
            f"has a motion with s={_format(motion.s)}. Expected {len(motion)} finite numbers, one for each row of q: "
            "the position of the part's joint [rad or m]."
        )
    widths: dict[str, Any] = {"a motion with gripper_m": None if motion is None else motion.gripper_m}
    if command.kind is ManipKind.open_gripper:
        widths["params['width_m']"] = command.params.get("width_m")
    for name, value in widths.items():
        if value is not None and not _are_numbers(value, -_WIDTH_TOLERANCE_M, max_width_m + _WIDTH_TOLERANCE_M):
            return (
                f"has {name}={_format(value)}. Expected 0 to {max_width_m:g} m, the openings of this gripper. Give "
                "metres between its fingertips."
            )
    weights = command.params.get("hold_vec_weight")
    if command.kind is ManipKind.update_pose_cost_metric and not (np.size(weights) == 6 and _are_numbers(weights)):
        return (
            f"has params['hold_vec_weight']={_format(weights)}. Expected six finite numbers: about x, y, z, then along "
            "x, y, z."
        )
    return None


def _are_numbers(value: Any, low: float = -np.inf, high: float = np.inf) -> bool:
    """Returns whether a value is a number or an array of numbers, all finite and in a range."""
    try:
        numbers = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return False
    return bool(np.isfinite(numbers).all() and (numbers >= low).all() and (numbers <= high).all())


def _format(value: Any) -> str:
    """Returns a value for a message; of a long array, its first and last numbers."""
    if isinstance(value, np.ndarray):
        return np.array2string(value, precision=4, threshold=9, separator=", ").replace("\n", "")
    return shorten(repr(value), 80)


def _describe_excess(skill: Skill, row: int, joint: int, value: float) -> str:
    """Says which limit a motion breaks."""
    arm, unit = skill.context.arm.cfg, _unit_of(skill, joint)
    low, high = arm.lower[joint], arm.upper[joint]
    advice = "Change the motion."
    if unit == "rad" and abs(value) > _DEGREES_BEYOND * max(abs(low), abs(high)):
        advice = "Are these degrees? Give radians, such as those of np.deg2rad."
    return (
        f"leads joint '{arm.joints[joint]}' to {value:.3g} {unit} in row {row}. Its limits are {low:.3g} and "
        f"{high:.3g} {unit}. {advice}"
    )


def _describe_jump(skill: Skill, row: int, joint: int, step: float) -> str:
    """Says where a motion is faster than a joint."""
    arm, unit = skill.context.arm.cfg, _unit_of(skill, joint)
    name, speed = arm.joints[joint], arm.max_velocity[joint]
    limit = f"{speed:.3g} {unit}/s, which is {speed * skill.context.frame_s:.3g} {unit} in a frame"
    if row == 0:
        return (
            f"begins {step:.3g} {unit} away from where joint '{name}' is then. The speed limit is {limit}. Begin the "
            "motion at the end of the one before it."
        )
    return f"moves joint '{name}' by {step:.3g} {unit} in row {row}. The speed limit is {limit}. Give it more rows."


def _unit_of(skill: Skill, joint: int) -> str:
    return "m" if skill.context.arm_model.kinematics.joints[joint].prismatic else "rad"


def _motion_error(message: str, skill: Skill) -> SkillError:
    """Returns the error, with the place of the method that made the commands."""
    kind = type(skill)
    return SkillError(f"{message} {place_of(getattr(kind, 'make_commands', kind.plan))}")
