"""Errors between an arm and its commands: wrong encoders, late and lost commands."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from unlatch.simcore.sim.impedance import JointTargets

Array = np.ndarray

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
