"""A view of a robot's encoder and command errors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unlatch.robots.robot import Arm
from unlatch.robots.signals import MAX_LATE_STEPS
from unlatch.simcore.sim.views.attribute_view import AttributeView

Array = np.ndarray


class SignalView(AttributeView):
    """The errors between a robot's arms and their commands, in the one environment of an episode."""

    kind = "signal view"

    def __init__(self, arms: Sequence[Arm], *, name: str, control_hz: int) -> None:
        """Makes a view of all arms of a robot; the joints of fingers have no encoder here."""
        super().__init__(name)
        self._arms = tuple(arms)
        joints = [joint for arm in arms for joint in arm.cfg.joints]
        words = f"one a joint: {', '.join(joints)}"
        self._add_attribute("encoder_offset", len(joints), "rad", words, self._offsets, self._set_offsets)

        def late(_env: int) -> Array:
            return np.array([self._arms[0].signals.late_steps / control_hz])

        def set_late(_env: int, values: Array) -> None:
            for arm in self._arms:
                arm.signals.late_steps = round(float(values[0]) * control_hz)

        most_s = MAX_LATE_STEPS / control_hz
        self._add_attribute("action_latency", 1, "s", "time", late, set_late, least=0.0, most=most_s)
        self._add_dropping()

    def _add_dropping(self) -> None:
        def read(_env: int) -> Array:
            return np.array([float(self._arms[0].signals.dropped)])

        def write(_env: int, values: Array) -> None:
            for arm in self._arms:
                arm.signals.dropped = bool(values[0] >= 0.5)

        self._add_attribute("action_dropped", 1, "-", "1: lost", read, write, least=0.0, most=1.0, brief=True)

    def _offsets(self, _env: int) -> Array:
        return np.concatenate([arm.signals.encoder_offset_rad for arm in self._arms])

    def _set_offsets(self, _env: int, values: Array) -> None:
        start = 0
        for arm in self._arms:
            count = len(arm.signals.encoder_offset_rad)
            arm.signals.encoder_offset_rad = np.array(values[start : start + count])
            start += count
