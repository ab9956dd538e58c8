"""What an arm is told and what it measures: actions, and errors of encoders and commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from unlatch.simcore.geometry import Pose, multiply_each, quats_xyzw_from_matrices, rotate_each
from unlatch.simcore.sim.core import ServoState
from unlatch.simcore.state import Sample

Array = np.ndarray


@dataclass(frozen=True)
class ArmAction:
    """The action of one arm for one record frame."""

    joint_targets: Array
    """(n,) joint positions [rad]."""
    gripper_target_m: float
    """Opening between the pads [m]."""
    T_base_ee: Pose
    """The ee pose of those joints in the arm's base frame."""

    @classmethod
    def of(cls, q: Array, gripper_m: float, forward: Callable[[Array], Array]) -> ArmAction:
        """Returns the action that moves an arm to q (n,) [rad]; `forward` maps (n,) joints to (4, 4) `T_base_ee`."""
        return cls(np.array(q), gripper_m, Pose.from_matrix(forward(q)))

    def sample(self, T_world_base: Pose) -> Sample:
        """Returns what a record holds of the action, to be computed for all actions at once."""
        poses = (each for T in (T_world_base, self.T_base_ee) for each in (T.R.ravel(), T.p))
        return Sample(_record_values, np.concatenate([*poses, (self.gripper_target_m,), self.joint_targets]))


def _record_values(rows: Array) -> dict[str, Array]:
    """Returns recorded values (N, ...) of actions from (N, K) `T_world_base`, `T_base_ee`, opening and joints."""
    R_world_base, p_world_base = rows[:, :9].reshape(-1, 3, 3), rows[:, 9:12]
    R_base_ee, p_base_ee = rows[:, 12:21].reshape(-1, 3, 3), rows[:, 21:24]
    return {
        "joint_targets": rows[:, 25:],
        "ee_target_position": rotate_each(R_world_base, p_base_ee) + p_world_base,
        "ee_target_quat_xyzw": quats_xyzw_from_matrices(multiply_each(R_world_base, R_base_ee)),
        "gripper_target": rows[:, 24:25],
    }


@dataclass(frozen=True)
class Action:
    """One record frame's action."""

    arms: Mapping[str, ArmAction]
    """Targets by arm name."""
    hold: Mapping[str, tuple[bool, ...]] = field(default_factory=dict)
    """By object: whether each of its joints is held, by no more than its own friction."""
    push: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """By object: effort on each of its joints from outside [N m or N]; empty where nothing is pushed."""


class ArmSignals:
    """Errors of one arm's encoders and commands; none at first.

    An encoder reads joint position plus offset. The arm follows its targets by the reading, so it stands off by the
    error. The core applies these errors to the commands of every physics step.
    """

    def __init__(self, servo: ServoState) -> None:
        self._servo = servo
        self._has_offset = False

    @property
    def encoder_offset_rad(self) -> Array:
        """(n,) error of each encoder: its reading minus the joint's position [rad]."""
        offsets = self._servo.offsets.copy()
        offsets.setflags(write=False)
        return offsets

    @encoder_offset_rad.setter
    def encoder_offset_rad(self, offsets: Array) -> None:
        self._servo.offsets[:] = offsets
        self._has_offset = bool(self._servo.offsets.any())

    @property
    def late_steps(self) -> int:
        """Number of physics steps by which commands reach the motors late, at most `MAX_LATE_STEPS`."""
        return int(self._servo.struct.late_steps)

    @late_steps.setter
    def late_steps(self, steps: int) -> None:
        self._servo.struct.late_steps = steps

    @property
    def dropped(self) -> bool:
        """Whether the command of this control step is lost; the motors then keep the last one."""
        return bool(self._servo.struct.is_dropped)

    @dropped.setter
    def dropped(self, dropped: bool) -> None:
        self._servo.struct.is_dropped = dropped

    def reading(self, q: Array) -> Array:
        """Returns (n,) what the encoders read at joint positions q (n,) [rad]."""
        return q + self._servo.offsets if self._has_offset else q
