"""What an arm is told and what it measures: actions, and errors of encoders and commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from unlatch.simcore.geometry import Pose, multiply_in_order, quat_xyzw_from_matrix
from unlatch.simcore.sim.core import ServoState

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

    def record_values(self, T_world_base: Pose) -> dict[str, Array]:
        """Returns what a record holds of the action, by the last word of its keys."""
        R_world_base, T_base_ee = T_world_base.R, self.T_base_ee
        return {
            "joint_targets": self.joint_targets,
            "ee_target_position": multiply_in_order(R_world_base, T_base_ee.p) + T_world_base.p,
            "ee_target_quat_xyzw": quat_xyzw_from_matrix(multiply_in_order(R_world_base, T_base_ee.R)),
            "gripper_target": np.array([self.gripper_target_m]),
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
