"""What an arm is told and what it measures: actions, the spline of motor targets between them, errors of encoders and
commands, and the mean of the motors' efforts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.impedance import JointTargets

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


@dataclass(frozen=True)
class Action:
    """One record frame's action."""

    arms: Mapping[str, ArmAction]
    """Targets by arm name."""
    hold: Mapping[str, tuple[bool, ...]] = field(default_factory=dict)
    """By object: whether each of its joints is held, by no more than its own friction."""
    push: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """By object: effort on each of its joints from outside [N m or N]; empty where nothing is pushed."""


class TargetSpline:
    """Uniform quadratic B-spline whose control points are the actions, one a record frame.

    Positions and velocities of the targets are continuous, and the acceleration is constant within a frame. At the end
    of a frame the target is the middle between its action and the one before, so targets are half a frame late. A
    policy's actions get the same spline as those of a skill.
    """

    def __init__(self, positions: Array) -> None:
        """Starts at rest at positions (n,) [rad]."""
        self.reset(positions)

    def reset(self, positions: Array) -> None:
        """Starts anew at rest at positions (n,) [rad]."""
        self._set_points((np.array(positions, dtype=float),) * 3)

    def _set_points(self, points: tuple[Array, Array, Array]) -> None:
        """Sets the control points of this frame, and what is the same at every share of it."""
        self._points = first, second, third = points
        self._half_sum = 0.5 * (first + second)
        self._before = second - first
        self._change = (third - second) - self._before

    @property
    def last_action(self) -> Array:
        """(n,) the last action [rad]."""
        return self._points[-1].copy()

    def add_action(self, positions: Array, max_step: Array) -> None:
        """Begins the next frame.

        Args:
            positions: (n,) the frame's action [rad].
            max_step: (n,) largest change from the action before [rad]; a larger one is cut off, so that no target moves
                faster than a motor can.
        """
        _, before, last = self._points
        self._set_points((before, last, np.clip(positions, last - max_step, last + max_step)))

    def at(self, share: float, *, frame_s: float) -> JointTargets:
        """Returns the targets when a share (0 to 1) of the frame of `frame_s` [s] is over."""
        positions, velocities, accelerations = self.at_shares(np.array([share]), frame_s=frame_s)
        return JointTargets(positions[0], velocities[0], accelerations[0])

    def at_shares(self, shares: Array, *, frame_s: float) -> JointTargets:
        """Returns the targets (s, n) when shares (s,), 0 to 1, of the frame of `frame_s` [s] are over."""
        before, change = self._before, self._change
        linear = shares[:, None]
        positions = self._half_sum + linear * before + (0.5 * linear**2) * change
        velocities = (before + linear * change) / frame_s
        return JointTargets(positions, velocities, np.tile(change / frame_s**2, (len(shares), 1)))


MAX_LATE_STEPS = 2400
"""Longest latency [physics steps]."""


class MotorTargets(NamedTuple):
    """Targets of an arm's motors for some physics steps."""

    joints: JointTargets
    """Of the joints of the arm, (steps, n) each."""
    gripper_m: Array
    """(steps,) opening of the gripper [m]."""


class ArmSignals:
    """Errors of one arm's encoders and commands; none at first.

    An encoder reads joint position plus offset. The arm follows its targets by the reading, so it stands off by the
    error.
    """

    def __init__(self, n_joints: int) -> None:
        self.encoder_offset_rad = np.zeros(n_joints)
        self.late_steps = 0
        """Number of physics steps by which commands reach the motors late."""
        self.dropped = False
        """Whether the command of this control step is lost; the motors then keep the last one."""
        self._sent: deque[_Command] = deque(maxlen=2 * MAX_LATE_STEPS)
        self._arrived: _Command | None = None

    @property
    def encoder_offset_rad(self) -> Array:
        """(n,) error of each encoder: its reading minus the joint's position [rad]."""
        return self._encoder_offset_rad

    @encoder_offset_rad.setter
    def encoder_offset_rad(self, offsets: Array) -> None:
        self._encoder_offset_rad = np.array(offsets)
        self._encoder_offset_rad.setflags(write=False)
        self._has_offset = bool(offsets.any())

    def reading(self, q: Array) -> Array:
        """Returns (n,) what the encoders read at joint positions q (n,) [rad]."""
        return q + self.encoder_offset_rad if self._has_offset else q

    def clear(self) -> None:
        """Forgets commands that have not arrived; a reset needs this."""
        self._sent.clear()
        self._arrived = None

    def transmit(self, sent: MotorTargets) -> MotorTargets:
        """Returns what reaches the motors in some physics steps, in true joint positions, from what is sent in them.

        Latency and losses are the same in all these steps.
        """
        steps = len(sent.gripper_m)
        self._sent.extend(zip(*sent.joints, sent.gripper_m, strict=True))
        arrived = sent
        if self.dropped and self._arrived is not None:
            arrived = _stack([self._arrived] * steps)
        elif self.late_steps or self.dropped:
            last = len(self._sent) - 1
            arrived = _stack([self._sent[max(0, last - k - self.late_steps)] for k in reversed(range(steps))])
        if self.dropped and self._arrived is None:  # nothing has arrived before: the first command does
            arrived = _stack([tuple(array[0] for array in (*arrived.joints, arrived.gripper_m))] * steps)
        self._arrived = tuple(array[-1] for array in (*arrived.joints, arrived.gripper_m))
        if not self._has_offset:
            return arrived
        joints = arrived.joints
        return arrived._replace(joints=joints._replace(positions=joints.positions - self.encoder_offset_rad))


_Command = tuple[Any, ...]
"""Positions, velocities, accelerations (n,) and opening of one physics step."""


def _stack(commands: Sequence[_Command]) -> MotorTargets:
    """Returns commands of single physics steps together."""
    positions, velocities, accelerations, openings = (np.array(values) for values in zip(*commands, strict=True))
    return MotorTargets(JointTargets(positions, velocities, accelerations), openings)
