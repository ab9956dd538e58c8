"""What an arm is told and what it measures: actions, the spline of motor targets between them, errors of encoders and
commands, and the mean of the motors' efforts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.impedance import JointTargets
from unlatch.simcore.state import Buffer

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
        self._steps: tuple[int, float, list[JointTargets]] = (0, 0.0, [])
        """Number of physics steps in a frame, its length [s], and the targets at the beginning of each step."""

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
        return self._at_shares([share], frame_s)[0]

    def at_step(self, index: int, n_steps: int, *, frame_s: float) -> JointTargets:
        """Returns the targets at the beginning of step `index` of `n_steps` in the frame of `frame_s` [s]."""
        if self._steps[:2] != (n_steps, frame_s):
            self._steps = n_steps, frame_s, self._at_shares([step / n_steps for step in range(n_steps)], frame_s)
        return self._steps[2][index]

    def _at_shares(self, shares: Sequence[float], frame_s: float) -> list[JointTargets]:
        before, change = self._before, self._change
        linear, quadratic = np.array([(share, 0.5 * share**2) for share in shares]).T[:, :, None]  # (n_shares, 1) each
        positions = self._half_sum + linear * before + quadratic * change
        velocities, acceleration = (before + linear * change) / frame_s, change / frame_s**2
        return [JointTargets(q, dq, acceleration) for q, dq in zip(positions, velocities, strict=True)]


MAX_LATE_STEPS = 2400
"""Longest latency [physics steps]."""


class MotorTargets(NamedTuple):
    """Targets of an arm's motors for one physics step."""

    joints: JointTargets
    """Of the joints of the arm."""
    gripper_m: float
    """Opening of the gripper [m]."""


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
        self._sent: deque[MotorTargets] = deque(maxlen=MAX_LATE_STEPS + 1)
        self._arrived: MotorTargets | None = None

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
        """Returns what reaches the motors in a physics step, in true joint positions."""
        self._sent.append(sent)
        if not self.dropped or self._arrived is None:
            self._arrived = self._sent[max(0, len(self._sent) - 1 - self.late_steps)]
        arrived = self._arrived
        if not self._has_offset:
            return arrived
        joints = arrived.joints
        return arrived._replace(joints=joints._replace(positions=joints.positions - self.encoder_offset_rad))


class EffortMean:
    """Samples the efforts of an arm's motors at every physics step.

    `joint_efforts` of a record has only those of the last physics step of each frame.
    """

    def __init__(self, body: Body, joints: Sequence[str]) -> None:
        """Samples the motors of `joints`, n of them."""
        self._torques = body.controller_torques
        self._indices = [body.joint(name).index for name in joints]
        self._samples: list[list[float]] = []
        self.buffer = Buffer(np.zeros(len(self._indices)), tags=["interval"])
        """(n,) mean over the physics steps of the frame that `end_frame` closed last [N m or N]."""

    def sample(self) -> None:
        """Adds the torques that the arm's controller applied in the last physics step."""
        self._samples.append([self._torques[index] for index in self._indices])

    def end_frame(self) -> None:
        """Writes the mean of the frame to the buffer."""
        n = max(1, len(self._samples))
        self.buffer.set_value(np.reshape(self._samples, (-1, len(self._indices))).sum(axis=0, initial=0.0) / n)
        self._samples.clear()
