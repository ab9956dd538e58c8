"""The motors of joints and the values that each motor follows. No other module commands a motor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np
import pybullet as p

from unlatch.simcore.errors import WorldError
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.core import Acts
from unlatch.simcore.sim.impedance import MAX_DAMPING_RATIO, ImpedanceServo
from unlatch.simcore.sim.joint_mechanisms import ClosedStop
from unlatch.simcore.sim.world import World

if TYPE_CHECKING:
    from unlatch.simcore.sim.joint_gates import JointGates  # few objects have gates


class DriveMode(Enum):
    """How a motor follows its target."""

    servo = "servo"
    """Follows the target position with at most `max_effort`, as stiffly as the time step allows."""
    spring = "spring"
    """Effort = stiffness * (target - q) - damping * dq, limited to `max_effort`, computed at every physics step."""
    impedance = "impedance"
    """Joint impedance control of an arm: a spring and a damper to a moving target, with the model's inertia, gravity
    and Coriolis torques fed forward, limited to `max_effort`; see `unlatch.simcore.sim.impedance`."""
    passive = "passive"
    """No target: dry friction and viscous damping, and a spring if it has a stiffness."""


@dataclass(frozen=True)
class JointDrive:
    """Motor of one joint."""

    mode: DriveMode
    stiffness: float = 0.0
    """N m per rad, or N per m; unused by a servo. A passive joint's spring pulls to where it was attached."""
    damping: float = 0.0
    """N m s per rad, or N s per m; of the joint itself if there is no spring. For impedance control, the damping ratio:
    1 is critical, at most `MAX_DAMPING_RATIO`."""
    armature: float = 0.0
    """Inertia added at a turning joint [kg m^2] or mass added at a sliding one [kg]: of hidden moving parts, such as a
    spindle or a rotor behind its gear."""
    friction: float = 0.0
    """Break-away effort [N m or N]."""
    max_effort: float = 0.0
    """Largest effort of the motor [N m or N]; 0 = none, but unlimited for a passive joint."""
    max_velocity: float = 0.0
    """Largest commanded speed of the motor [rad/s or m/s]."""
    position_gain: float = 0.15
    """Share of the position error that a servo removes in one physics step."""
    velocity_gain: float = 1.0
    """Share of the velocity error that a servo removes in one physics step."""
    counterbalance: float = 0.0
    """Effort of a spring beside the motor that carries a weight [N m]: the effort at position 0 of a turning joint. At
    other positions it is multiplied by the cosine of the position."""

    def __post_init__(self) -> None:
        for field, value in vars(self).items():
            if field not in ("mode", "counterbalance") and value < 0.0:
                raise WorldError(f"JointDrive.{field}={value} is negative. Give 0 or more.", field=field)
        if self.mode is DriveMode.impedance and self.damping > MAX_DAMPING_RATIO:
            raise WorldError(
                f"JointDrive.damping={self.damping} of a joint with impedance control is above {MAX_DAMPING_RATIO}. It "
                "is a ratio; 1 is critical. With more, an arm follows slowly, and a stiff one shakes because the "
                f"physics steps are too long for it. Give at most {MAX_DAMPING_RATIO}.",
                field="damping",
            )


Array = np.ndarray


class DriveGroup:
    """The motors of some joints of one body."""

    def __init__(self, body: Body, drives: dict[str, JointDrive], *, world: World | None = None) -> None:
        """Takes over the motors.

        Args:
            body: The body.
            drives: Its joints' drives by name.
            world: The world whose steps apply efforts that change at every step: those of springs, impedance control,
                `set_effort`, `set_closed_stop` and `limit_speed`; only these need it.

        Raises:
            WorldError: A joint has a spring and there is no world.
        """
        self.body = body
        self.drives = dict(drives)
        self._world = world
        self._indices = {name: body.joint(name).index for name in drives}
        self._acting = body.state.mechanisms
        self._servo_targets: dict[str, tuple[float, float]] = {}
        self._springs: set[str] = set()
        """Joints with a spring that pulls to where it was attached, or to a target."""
        self._stuck: set[str] = set()
        self._changed: set[str] = set()
        self._max_velocity: dict[tuple[str, ...], Array] = {}
        """What `max_velocity` has returned by joints since the last change of a drive."""
        self.gates: JointGates | None = None
        """What holds, pushes and pulls its joints beside their drives; None: nothing does."""
        self.closed_stops: dict[str, ClosedStop] = {}
        """Catches and gaskets by joint; joints without are left out. `set_closed_stop` adds them."""
        impedance = [name for name, drive in self.drives.items() if drive.mode is DriveMode.impedance]
        self._impedance: ImpedanceServo | None = None
        self.must_repeat_targets = any(
            drive.mode is DriveMode.servo and drive.friction > 0.0 for drive in drives.values()
        )
        """Whether targets must be set again in every physics step: the friction of a servo acts then."""
        if impedance:
            # Before armatures are added: Bullet refuses inertias with armatures in its model for inverse dynamics. It
            # makes this model of a body at the first call and keeps it. So armatures that the group of another arm of
            # the same body has added are not in it, and the servo adds those of its own group itself.
            self._need_steps(impedance[0], "impedance control")
            turning = {name: drive.armature for name, drive in drives.items() if not body.joint(name).prismatic}
            self._impedance = ImpedanceServo(body, impedance, armatures=turning)
            self._send_gains()
        for name, drive in self.drives.items():
            self._set_damping(name, drive)
            if name in body.rows:
                self._set_mechanism(name, friction=drive.friction)
            if drive.counterbalance != 0.0:
                self._need_steps(name, "a counterbalance")
                self._switch(name, Acts.counterbalance, counterbalance=drive.counterbalance)
            if drive.mode is DriveMode.passive or (drive.mode in _BY_TORQUE and drive.friction > 0.0):
                self._brake_joint(name, drive.friction)
            if drive.armature > 0.0:
                self._set_armature(name, drive.armature)
            if drive.mode is DriveMode.spring:
                self._need_steps(name, "a spring")
            elif drive.mode is DriveMode.passive and drive.stiffness > 0.0:
                self._begin_spring(name)

    def max_velocity(self, names: Sequence[str]) -> Array:
        """Returns (n,) largest speed of joints [rad/s or m/s]."""
        key = tuple(names)
        if key not in self._max_velocity:
            self._max_velocity[key] = np.array([self.drives[name].max_velocity for name in names])
        return self._max_velocity[key]

    def change(self, field: str, names: Sequence[str], values: Sequence[float]) -> None:
        """Changes a field of some joints' drives; targets, holds and positions stay.

        Args:
            field: Field of `JointDrive`.
            names: Joints.
            values: (n,) new values.

        Raises:
            WorldError: A value is out of range, or needs a world and the group has none.
        """
        drives, servos, gains_changed = self.drives, False, False
        self._max_velocity.clear()
        for name, value in zip(names, values, strict=True):
            old = drives[name]
            if getattr(old, field) == value:
                continue
            changed: dict[str, Any] = {field: value}
            drives[name] = drive = replace(old, **changed)
            gains_changed |= drive.mode is DriveMode.impedance
            if name in self.body.rows:
                self._set_mechanism(name, friction=drive.friction)
            if name in self._springs:
                self._set_spring(name)
            if drive.mode is DriveMode.servo:
                self._changed.add(name)
                servos = True
                self.must_repeat_targets |= drive.friction > 0.0
            elif field == "stiffness" and drive.mode is DriveMode.passive and name not in self._springs:
                self._begin_spring(name)
            elif field == "friction":
                self._apply_friction(name)
            if field == "damping":
                self._set_damping(name, drive)
            elif field == "armature":
                self._set_armature(name, drive.armature)
        if gains_changed:
            self._send_gains()
        if self._impedance is not None:
            self._impedance.state.struct.repeats_fingers = self.must_repeat_targets
        if servos:
            self._update_servos(field)

    def _update_servos(self, field: str) -> None:
        """Updates changed servos before the next physics step, once for all changes; immediately without a world."""
        if self._world is not None:
            self._world.call_once_before_step(self._drive_changed)
            return
        if field == "friction":
            raise WorldError(
                f"A servo of '{self.body.name}' gets friction, which needs to know the length of a step. Give "
                "DriveGroup the world whose steps they are.",
                body=self.body.name,
            )
        self._drive_changed()

    def _drive_changed(self) -> None:
        for name in sorted(self._changed):
            self._drive_servo(name)

    def set_effort(self, name: str, effort: float) -> None:
        """Applies an effort to a joint beside its drive at every physics step, until another is set [N m or N].

        Raises:
            WorldError: The group has no world.
        """
        if effort != 0.0:
            self._need_steps(name, "an effort of its own")
        self._switch(name, Acts.effort, on=effort != 0.0, effort=effort)

    def set_spring_rest(self, name: str, rest: float) -> None:
        """Lets the spring of a passive joint pull to a position, instead of to where it was attached [rad or m]."""
        self._set_mechanism(name, spring_target=rest)

    def set_closed_stop(self, name: str, stop: ClosedStop) -> None:
        """Applies the efforts of a catch and a gasket to a joint at every physics step, beside its drive.

        Raises:
            WorldError: The group has no world.
        """
        self._need_steps(name, "a catch or a gasket")
        self.closed_stops[name] = stop
        self._switch(
            name,
            Acts.stop,
            stop_closed=stop.closed,
            stop_sign=stop.sign,
            stop_reach=stop.reach,
            catch_effort=stop.catch_effort,
            enter_effort=stop.enter_share * stop.catch_effort,
            catch_reach=stop.catch_reach,
            gasket_effort=stop.gasket_effort,
            gasket_reach=stop.gasket_reach,
            drawing_speed=stop.drawing_speed,
        )

    def limit_speed(self, name: str, max_velocity: float) -> None:
        """Limits the speed of a joint without servo by its motor [rad/s or m/s]; infinite: no limit.

        Note:
            A speed can exceed the limit by the gain of one physics step.

        Raises:
            WorldError: The group has no world.
        """
        limited = math.isfinite(max_velocity)
        if limited:
            self._need_steps(name, "a speed limit")
        self._switch(name, Acts.speed_limit, on=limited, speed_limit=max_velocity)

    def _need_steps(self, name: str, what: str) -> float:
        """Returns the length of a physics step [s]; raises if the group has no world whose steps apply an effort."""
        if self._world is None:
            raise WorldError(
                f"Joint '{name}' of '{self.body.name}' has {what}, whose effort is computed at every physics step. "
                "Give DriveGroup the world whose steps they are.",
                joint=name,
            )
        return self._world.dt

    def _set_mechanism(self, name: str, **values: float) -> None:
        """Writes values of what acts on a joint; they act from the next physics step on."""
        row = self.body.rows[name]
        for field, value in values.items():
            self._acting[field][row] = value

    def _switch(self, name: str, what: Acts, *, on: bool = True, **values: float) -> None:
        """Switches on or off what acts on a joint, and writes its values."""
        self._set_mechanism(name, **values)
        self.body.state.set_acting(self.body.rows[name], what, on=on)

    def _begin_spring(self, name: str) -> None:
        self._need_steps(name, "a spring")
        self._springs.add(name)
        self._set_mechanism(name, spring_target=self._joint_state(name)[0])
        self._set_spring(name)

    def _set_spring(self, name: str) -> None:
        drive = self.drives[name]
        is_passive = drive.mode is DriveMode.passive
        self._switch(
            name,
            Acts.spring,
            spring_stiffness=drive.stiffness,
            spring_damping=0.0 if is_passive else drive.damping,  # that of a passive joint is its own
            spring_limit=(drive.max_effort or math.inf) if is_passive else drive.max_effort,
        )

    def _send_gains(self) -> None:
        """Gives impedance control the gains and limits of its joints."""
        if self._impedance is not None:
            drives = [self.drives[name] for name in self._impedance.joints]
            self._impedance.set_gains([drive.stiffness for drive in drives], [drive.damping for drive in drives])
            self._impedance.set_limits([drive.max_effort for drive in drives])

    def _set_damping(self, name: str, drive: JointDrive) -> None:
        # the damping of a spring is part of its effort
        damping = 0.0 if drive.mode in _BY_TORQUE else drive.damping
        p.changeDynamics(self.body.body_id, self._indices[name], jointDamping=damping, physicsClientId=self.body.client)

    def _set_armature(self, name: str, armature: float) -> None:
        joint = self.body.joint(name)
        self.body.masses.set_armature(joint.index, armature, axis_link=joint.axis, prismatic=joint.prismatic)
        slides = joint.prismatic and armature > 0.0
        if slides:
            self._need_steps(name, "the armature of a sliding joint")
        if name in self.body.rows:
            mass_kg = self.body.masses.link(joint.index).added_mass_kg
            self._switch(name, Acts.sliding_armature, on=slides, armature_mass=mass_kg)

    @property
    def servo(self) -> ImpedanceServo:
        """The impedance control of its joints.

        Raises:
            WorldError: No joint has one.
        """
        if self._impedance is None:
            raise WorldError(
                f"No drive of this group of '{self.body.name}' has impedance control, so it has no targets to follow. "
                "Use set_targets for servos and springs.",
                body=self.body.name,
            )
        return self._impedance

    def refresh_inertia(self, *, least_motion_rad: float = 0.0) -> None:
        """Computes the inertia that impedance control uses at the present positions; without such joints, nothing.

        `least_motion_rad` is explained in `ImpedanceServo.refresh_inertia`.
        """
        if self._impedance is not None:
            self._impedance.refresh_inertia(least_motion_rad=least_motion_rad)

    def set_targets(self, names: Sequence[str], positions: Array, velocities: Array) -> None:
        """Sets targets of servos and springs.

        Args:
            names: Joints.
            positions: (n,) target positions [rad or m].
            velocities: (n,) target velocities, fed forward [rad/s or m/s].

        Raises:
            WorldError: The drive of a joint is neither a servo nor a spring.
        """
        for name, position, velocity in zip(names, positions, velocities, strict=True):
            drive = self.drives[name]
            if drive.mode not in (DriveMode.servo, DriveMode.spring):
                raise WorldError(
                    f"Joint '{name}' of '{self.body.name}' has the drive mode '{drive.mode.value}' and takes no target "
                    "here. Expected a servo or a spring.",
                    joint=name,
                )
            if drive.mode is DriveMode.spring:
                self._set_mechanism(name, spring_target=position)
                if name not in self._springs:
                    self._springs.add(name)
                    self._set_spring(name)
                continue
            self._servo_targets[name] = (float(position), float(velocity))
            self._drive_servo(name)

    def _drive_servo(self, name: str) -> None:
        self._changed.discard(name)
        if name not in self._servo_targets:
            return
        drive = self.drives[name]
        position, velocity = self._servo_targets[name]
        if drive.friction > 0.0 and self._sticks(name, drive):
            self._brake_joint(name, drive.max_effort + drive.friction)
            return
        self._command_motor(
            name,
            p.POSITION_CONTROL,
            targetPosition=position,
            targetVelocity=velocity,
            positionGain=drive.position_gain,
            velocityGain=drive.velocity_gain,
            force=max(0.0, drive.max_effort - drive.friction),
            maxVelocity=drive.max_velocity,
        )

    def _sticks(self, name: str, drive: JointDrive) -> bool:
        """Returns whether friction holds a servo's joint: it stands or is driven back, and cannot break away."""
        q, dq, _, borne = self._joint_state(name)
        position, velocity = self._servo_targets[name]
        wanted = velocity + drive.position_gain * (position - q) / (self._world.dt if self._world else math.inf)
        moves = abs(dq) > 1e-3 and dq * wanted > 0.0  # speed below which a joint counts as at rest [rad/s or m/s]
        breaks_away = name in self._stuck and borne * math.copysign(1.0, wanted) < drive.max_effort - drive.friction
        if moves or breaks_away:
            self._stuck.discard(name)
            return False
        self._stuck.add(name)
        return True

    def _apply_friction(self, name: str) -> None:
        """Gives the motor of a joint without servo to its friction, or to what holds it."""
        row = self.body.rows[name]
        if self._acting["is_held"][row]:
            self._hold_at(name, float(self._acting["held_at"][row]))
        else:
            self._brake_joint(name, self.drives[name].friction)

    def hold(self, name: str, *, enabled: bool) -> None:
        """Holds a passive joint in place with at most its own dry friction, or releases it."""
        self._set_mechanism(name, is_held=enabled)
        if enabled:
            self._set_mechanism(name, held_at=self._joint_state(name)[0])
        self._apply_friction(name)

    def _hold_at(self, name: str, position: float) -> None:
        self._command_motor(
            name,
            p.POSITION_CONTROL,
            targetPosition=position,
            targetVelocity=0.0,
            positionGain=0.15,  # share of the position error that a hold removes in one physics step
            velocityGain=1.0,
            force=self.drives[name].friction,
        )

    def _brake_joint(self, name: str, effort: float, *, velocity: float = 0.0) -> None:
        self._command_motor(name, p.VELOCITY_CONTROL, targetVelocity=velocity, force=effort)

    def _command_motor(self, name: str, mode: int, **values: float) -> None:
        p.setJointMotorControl2(
            self.body.body_id, self._indices[name], mode, **values, physicsClientId=self.body.client
        )

    def _joint_state(self, name: str) -> tuple[Any, ...]:
        return p.getJointState(self.body.body_id, self._indices[name], physicsClientId=self.body.client)

    def __repr__(self) -> str:
        return f"DriveGroup({self.body.name}, {self.drives})"


_BY_TORQUE = (DriveMode.spring, DriveMode.impedance)
"""Modes whose motors are torques computed at every physics step."""
