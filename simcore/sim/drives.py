"""Every joint's motor: the only place that commands one.

Bullet's POSITION_CONTROL is a velocity servo, not a spring, and URDF `<dynamics friction>` has no effect in it. So a
drive states which of the two it is, and friction is modelled as a motor that brakes with at most that effort.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import pybullet as p

from simcore.errors import WorldError
from simcore.geometry import Pose
from simcore.sim.bodies import Body
from simcore.sim.world import World

Array = np.ndarray


class DriveMode(Enum):
    """What a motor does with its target."""

    servo = "servo"
    """Follows the target position with up to `max_effort`, as stiff as the step allows."""
    spring = "spring"
    """Effort = stiffness * (target - q) - damping * dq, limited to `max_effort`, anew at every physics step."""
    passive = "passive"
    """No target: dry friction and viscous damping only."""


@dataclass(frozen=True)
class JointDrive:
    """Motor of one joint."""

    mode: DriveMode
    stiffness: float = 0.0
    """N m per rad, or N per m; `spring` only."""
    damping: float = 0.0
    """N m s per rad, or N s per m."""
    armature: float = 0.0
    """Inertia added at the joint of a part that turns [kg m^2]: of what turns with it unseen, such as a spindle."""
    friction: float = 0.0
    """Break-away effort [N m or N]; `passive` only."""
    max_effort: float = 0.0
    """Largest effort of the motor [N m or N]."""
    max_velocity: float = 0.0
    """Largest speed the motor asks for [rad/s or m/s]."""

    def __post_init__(self) -> None:
        for field in ("stiffness", "damping", "armature", "friction", "max_effort", "max_velocity"):
            if getattr(self, field) < 0.0:
                raise WorldError(f"JointDrive.{field}={getattr(self, field)} is negative. Give 0 or more.", field=field)


class DriveGroup:
    """The motors of some joints of one body."""

    def __init__(self, body: Body, drives: dict[str, JointDrive], *, world: World | None = None) -> None:
        """Takes over the motors.

        Args:
            body: The body.
            drives: Its joints' drives by name.
            world: The world whose steps apply the efforts of springs; only those need it.

        Raises:
            WorldError: A joint has a spring and there is no world.
        """
        self.body = body
        self.drives = dict(drives)
        self._indices = {name: body.joint(name).index for name in drives}
        self._spring_targets: dict[str, float] = {}
        for name, drive in self.drives.items():
            # a spring's damping is part of its effort
            damping = 0.0 if drive.mode is DriveMode.spring else drive.damping
            p.changeDynamics(body.body_id, self._indices[name], jointDamping=damping, physicsClientId=body.client)
            if drive.mode is DriveMode.passive:
                self._brake(name, drive.friction)
            if drive.armature > 0.0 and not body.joint(name).prismatic:
                self._add_inertia(name, drive.armature)
        springs = [name for name, drive in self.drives.items() if drive.mode is DriveMode.spring]
        if springs and world is None:
            raise WorldError(
                f"Joint '{springs[0]}' of '{body.name}' has a spring, whose effort is computed at every physics step. "
                "Give DriveGroup the world whose steps they are.",
                joint=springs[0],
            )
        if springs and world is not None:
            world.call_before_step(self._apply_springs)

    def set_targets(self, names: Sequence[str], positions: Array, velocities: Array) -> None:
        """Sets targets of active drives.

        Args:
            names: Joints.
            positions: (n,) target positions [rad or m].
            velocities: (n,) target velocities, fed forward [rad/s or m/s].

        Raises:
            WorldError: A joint has a passive drive.
        """
        for name, position, velocity in zip(names, positions, velocities, strict=True):
            drive = self.drives[name]
            if drive.mode is DriveMode.passive:
                raise WorldError(f"Joint '{name}' of '{self.body.name}' is passive and takes no target.", joint=name)
            if drive.mode is DriveMode.spring:
                self._spring_targets[name] = float(position)
                continue
            p.setJointMotorControl2(
                self.body.body_id,
                self._indices[name],
                p.POSITION_CONTROL,
                targetPosition=float(position),
                targetVelocity=float(velocity),
                positionGain=_SERVO_POSITION_GAIN,
                velocityGain=1.0,
                force=drive.max_effort,
                maxVelocity=drive.max_velocity,
                physicsClientId=self.body.client,
            )

    def _apply_springs(self) -> None:
        for name, target in self._spring_targets.items():
            drive = self.drives[name]
            q, dq, *_ = p.getJointState(self.body.body_id, self._indices[name], physicsClientId=self.body.client)
            effort = np.clip(drive.stiffness * (target - q) - drive.damping * dq, -drive.max_effort, drive.max_effort)
            p.setJointMotorControl2(
                self.body.body_id,
                self._indices[name],
                p.TORQUE_CONTROL,
                force=float(effort),
                physicsClientId=self.body.client,
            )

    def hold(self, name: str, *, enabled: bool) -> None:
        """Holds a passive joint where it is, with at most its own dry friction, or lets it go again.

        Args:
            name: Joint.
            enabled: Whether to hold.
        """
        drive = self.drives[name]
        if not enabled:
            self._brake(name, drive.friction)
            return
        position = p.getJointState(self.body.body_id, self._indices[name], physicsClientId=self.body.client)[0]
        p.setJointMotorControl2(
            self.body.body_id,
            self._indices[name],
            p.POSITION_CONTROL,
            targetPosition=position,
            targetVelocity=0.0,
            positionGain=_SERVO_POSITION_GAIN,
            velocityGain=1.0,
            force=drive.friction,
            physicsClientId=self.body.client,
        )

    def _add_inertia(self, name: str, armature: float) -> None:
        """Adds to a link's inertia about the axis of its joint; of an axis between principal axes, their shares."""
        index, client = self._indices[name], self.body.client
        info = p.getDynamicsInfo(self.body.body_id, index, physicsClientId=client)
        R_link_inertia = Pose.from_quat_xyzw(np.zeros(3), np.array(info[4])).R
        axis = R_link_inertia.T @ np.array(self.body.joint(name).axis, dtype=float)
        inertia = np.array(info[2]) + armature * axis**2
        p.changeDynamics(self.body.body_id, index, localInertiaDiagonal=inertia.tolist(), physicsClientId=client)

    def _brake(self, name: str, effort: float) -> None:
        p.setJointMotorControl2(
            self.body.body_id,
            self._indices[name],
            p.VELOCITY_CONTROL,
            targetVelocity=0.0,
            force=effort,
            physicsClientId=self.body.client,
        )

    def __repr__(self) -> str:
        return f"DriveGroup({self.body.name}, {self.drives})"


_SERVO_POSITION_GAIN = 0.15
"""Share of the position error that a servo removes in one physics step."""


def couple_fingers(body: Body, first: str, second: str, *, max_force_n: float) -> None:
    """Makes two finger joints move together, as the mechanism of a parallel gripper does.

    A gear constraint between the two finger links of the robot; nothing outside the robot is joined.

    Args:
        body: The robot.
        first: Finger joint.
        second: Finger joint that travels as far, the other way.
        max_force_n: Largest force of the coupling [N].
    """
    a, b = body.joint(first), body.joint(second)
    constraint = p.createConstraint(
        body.body_id,
        a.index,
        body.body_id,
        b.index,
        jointType=p.JOINT_GEAR,
        jointAxis=[1, 0, 0],
        parentFramePosition=[0, 0, 0],
        childFramePosition=[0, 0, 0],
        physicsClientId=body.client,
    )
    p.changeConstraint(constraint, gearRatio=-1, erp=0.1, maxForce=max_force_n, physicsClientId=body.client)
