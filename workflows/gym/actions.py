"""Decodes the numbers of an action into targets of the arms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unlatch.robots.action import ArmAction
from unlatch.robots.description import RobotCfg
from unlatch.robots.robot import Robot
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import matrix_from_axis_angle
from unlatch.solver.scene import ArmModel
from unlatch.workflows.episode.scene import arm_model
from unlatch.workflows.gym.config import ActionCfg, ActionMode

Array = np.ndarray

_DAMPING = 0.05
"""Damping of the step towards a hand pose: near a singularity the arm moves more slowly."""
_IK_STEPS = 5


@dataclass(frozen=True)
class ArmShare:
    """The place of one arm in an action."""

    name: str
    model: ArmModel
    max_width_m: float
    start: int
    size: int
    """Numbers for the arm; its gripper's number follows them."""


class ActionDecoder:
    """Turns a flat array into one `ArmAction` an arm."""

    def __init__(self, cfg: ActionCfg, robot: RobotCfg) -> None:
        """Assigns each arm its place in the action."""
        self.cfg = cfg
        self.shares: list[ArmShare] = []
        start = 0
        for arm in robot.arms:
            size = 6 if cfg.mode is ActionMode.ee_delta else len(arm.joints)
            self.shares.append(ArmShare(arm.name, arm_model(robot, arm), arm.gripper.max_width_m, start, size))
            start += size + 1
        self.size = start
        self._robot = robot

    def bounds(self) -> tuple[Array, Array]:
        """Returns the lowest and highest values, (size,) each."""
        if self.cfg.mode is not ActionMode.joint_position:
            return -np.ones(self.size), np.ones(self.size)
        low, high = np.zeros(self.size), np.zeros(self.size)
        for share, arm in zip(self.shares, self._robot.arms, strict=True):
            joints = slice(share.start, share.start + share.size)
            low[joints], high[joints] = arm.lower, arm.upper
            high[joints.stop] = share.max_width_m
        return low, high

    def decode(self, action: Array, robot: Robot) -> dict[str, ArmAction]:
        """Returns the targets by arm name.

        Args:
            action: (size,) numbers; those outside the bounds are clipped.
            robot: The robot; changes are relative to its present targets.

        Raises:
            ConfigError: The number of values is wrong, or a value is not finite.
        """
        values = np.asarray(action, dtype=float)
        if values.shape != (self.size,) or not np.isfinite(values).all():
            raise ConfigError(
                f"An action of {self.size} finite numbers is expected ({self.cfg.mode.value}, "
                f"{len(self.shares)} arms), got shape {list(values.shape)}: {values.tolist()}.",
                key="action",
            )
        values = np.clip(values, *self.bounds())
        return {share.name: self._decode_arm(share, values, robot) for share in self.shares}

    def _decode_arm(self, share: ArmShare, values: Array, robot: Robot) -> ArmAction:
        part = values[share.start : share.start + share.size]
        gripper = float(values[share.start + share.size])
        q = robot.arm(share.name).q_target
        if self.cfg.mode is ActionMode.joint_position:
            return ArmAction.of(part.copy(), gripper, share.model.kinematics.fk)
        if self.cfg.mode is ActionMode.joint_delta:
            q = np.clip(q + self.cfg.max_joint_delta_rad * part, share.model.q_lower, share.model.q_upper)
        else:
            q = self._move_hand(share.model, q, part)
        return ArmAction.of(q, 0.5 * (gripper + 1.0) * share.max_width_m, share.model.kinematics.fk)

    def _move_hand(self, model: ArmModel, q: Array, part: Array) -> Array:
        """Returns joints (n,) that move the hand's target by a step, by damped least squares."""
        T = model.kinematics.fk(q)
        wanted_p = T[:3, 3] + self.cfg.max_ee_delta_m * part[:3]
        angle = float(np.linalg.norm(part[3:]))
        turn = matrix_from_axis_angle(part[3:] / angle, self.cfg.max_ee_delta_rad * angle) if angle else np.eye(3)
        wanted_R = turn @ T[:3, :3]
        for _ in range(_IK_STEPS):
            T = model.kinematics.fk(q)
            error = np.concatenate([wanted_p - T[:3, 3], _rotation_vector(wanted_R @ T[:3, :3].T)])
            J = model.kinematics.jacobian(q)  # (6, n)
            q = q + J.T @ np.linalg.solve(J @ J.T + _DAMPING**2 * np.eye(6), error)
            q = np.clip(q, model.q_lower, model.q_upper)
        return q


def _rotation_vector(R: Array) -> Array:
    """Returns the (3,) rotation vector of a small rotation (3, 3) [rad]."""
    return 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
