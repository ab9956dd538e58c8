"""What lies between an arm and who commands it: encoders that err, commands that come late or not at all."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

Array = np.ndarray

MAX_LATE_STEPS = 600
"""Longest latency [control steps]."""


class MotorTargets(NamedTuple):
    """What the motors of an arm are told for one control step."""

    positions: Array
    """(n,) joint positions [rad]."""
    velocities: Array
    """(n,) joint velocities [rad/s]."""
    gripper_m: float
    """Opening of the gripper [m]."""


class ArmSignals:
    """Errors of one arm's encoders and of the way of its commands; none at first.

    An encoder reads joint position plus offset. The servo believes it: it goes to where the reading is the target.
    """

    def __init__(self, n_joints: int) -> None:
        self.encoder_offset_rad: Array = np.zeros(n_joints)
        """(n,) what each encoder reads beyond the joint's position [rad]."""
        self.late_steps = 0
        """Control steps by which commands reach the motors late."""
        self.dropped = False
        """Whether the command of this control step is lost; the motors then keep the last one."""
        self._sent: deque[MotorTargets] = deque(maxlen=MAX_LATE_STEPS + 1)
        self._arrived: MotorTargets | None = None

    def reading(self, q: Array) -> Array:
        """(n,) what the encoders read [rad].

        Args:
            q: (n,) where the joints are [rad].
        """
        return q + self.encoder_offset_rad if self.encoder_offset_rad.any() else q

    def clear(self) -> None:
        """Forgets commands that are on their way: after a reset none is."""
        self._sent.clear()
        self._arrived = None

    def transmit(self, sent: MotorTargets) -> MotorTargets:
        """What reaches the motors in a control step, in joint positions as they are.

        Args:
            sent: The command of this control step.
        """
        self._sent.append(sent)
        if not self.dropped or self._arrived is None:
            self._arrived = self._sent[max(0, len(self._sent) - 1 - self.late_steps)]
        arrived = self._arrived
        if not self.encoder_offset_rad.any():
            return arrived
        return arrived._replace(positions=arrived.positions - self.encoder_offset_rad)
