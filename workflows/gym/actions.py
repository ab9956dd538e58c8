"""Decodes the numbers of an action into targets of the arms."""

from __future__ import annotations

import numpy as np

from unlatch.robots.action import ArmAction
from unlatch.robots.description import ArmCfg, RobotCfg
from unlatch.robots.robot import Robot
from unlatch.simcore.errors import ConfigError, count_noun, shorten
from unlatch.simcore.geometry import matrix_from_axis_angle
from unlatch.solver.scene import ArmModel
from unlatch.workflows.episode.planner_models import arm_model
from unlatch.workflows.gym.config import ActionCfg, ActionMode

Array = np.ndarray

_DAMPING = 0.05
"""Damping of the step towards a hand pose: near a singularity the arm moves more slowly."""
_IK_STEPS = 5
_MOST_SHOWN = 120
"""Most characters of a wrong action in a message."""


class ActionDecoder:
    """Turns a flat array into one `ArmAction` an arm."""

    def __init__(self, cfg: ActionCfg, robot: RobotCfg) -> None:
        """Gives each arm its numbers in an action: those of its joints or its hand, then that of its gripper."""
        self.cfg = cfg
        self._arms = robot.arms
        self._models = [arm_model(robot, arm) for arm in robot.arms]
        self._sizes = [1 + (6 if cfg.mode is ActionMode.ee_delta else len(arm.joints)) for arm in robot.arms]
        self.size = sum(self._sizes)

    def bounds(self) -> tuple[Array, Array]:
        """Returns the lowest and highest values, (size,) each."""
        if self.cfg.mode is not ActionMode.joint_position:
            return -np.ones(self.size), np.ones(self.size)
        low = np.concatenate([[*arm.lower, 0.0] for arm in self._arms])
        return low, np.concatenate([[*arm.upper, arm.gripper.max_width_m] for arm in self._arms])

    def decode(self, action: Array, robot: Robot) -> dict[str, ArmAction]:
        """Returns the targets by arm name.

        Args:
            action: (size,) numbers; those outside the bounds are clipped.
            robot: The robot; changes are relative to its present targets.

        Raises:
            ConfigError: The number of values is wrong, or a value is not finite.
        """
        values, shape = np.zeros(0), ""
        try:
            given = np.asarray(action)
            shape = f" of shape {list(given.shape)}"
            values = given.astype(float) if given.dtype.kind in "biufO" else values
        except (TypeError, ValueError):  # no numbers, or rows of several lengths
            pass
        if values.shape != (self.size,) or not np.isfinite(values).all():
            raise ConfigError(
                f"An action of {self.size} finite numbers is expected ({self.cfg.mode.value}, "
                f"{count_noun(len(self._arms), 'arm')}), got {type(action).__name__}{shape}: "
                f"{shorten(' '.join(str(action).split()), _MOST_SHOWN)}.",
                key="action",
            )
        parts = np.split(np.clip(values, *self.bounds()), np.cumsum(self._sizes)[:-1])
        return {
            arm.name: self._decode_arm(arm, model, part, robot.arm(arm.name).q_target)
            for arm, model, part in zip(self._arms, self._models, parts, strict=True)
        }

    def _decode_arm(self, arm: ArmCfg, model: ArmModel, values: Array, q: Array) -> ArmAction:
        """Returns the targets of one arm from its numbers and its present joint targets q (n,) [rad]."""
        change, gripper = values[:-1], float(values[-1])
        if self.cfg.mode is ActionMode.joint_position:
            return ArmAction.of(change.copy(), gripper, model.kinematics.fk)
        if self.cfg.mode is ActionMode.joint_delta:
            q = np.clip(q + self.cfg.max_joint_delta_rad * change, model.q_lower, model.q_upper)
        else:
            q = self._move_hand(model, q, change)
        return ArmAction.of(q, 0.5 * (gripper + 1.0) * arm.gripper.max_width_m, model.kinematics.fk)

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
