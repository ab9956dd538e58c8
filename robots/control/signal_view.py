"""A view of a robot's encoder and command errors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unlatch.robots.control.signals import MAX_LATE_STEPS
from unlatch.robots.robot import Arm
from unlatch.simcore.sim.views.attribute_view import AttributeView

Array = np.ndarray


class SignalView(AttributeView):
    """Errors of the encoders and commands of a robot's arms. An episode has one environment, so `_env` is not used."""

    kind = "signal view"

    def __init__(self, arms: Sequence[Arm], *, name: str, physics_hz: int) -> None:
        """Makes a view of all arms of a robot; the joints of fingers have no encoder here."""
        super().__init__(name)
        self._arms = tuple(arms)
        joints = [joint for arm in arms for joint in arm.cfg.joints]
        words = f"one a joint: {', '.join(joints)}"
        self._add_attribute("encoder_offset", len(joints), "rad", words, self._offsets, self._set_offsets)

        def read_latency(_env: int) -> Array:
            return np.array([self._arms[0].signals.late_steps / physics_hz])

        def write_latency(_env: int, values: Array) -> None:
            for arm in self._arms:
                arm.signals.late_steps = round(float(values[0]) * physics_hz)

        most_s = MAX_LATE_STEPS / physics_hz
        self._add_attribute("action_latency", 1, "s", "time", read_latency, write_latency, least=0.0, most=most_s)
        self._add_dropping()

    def _add_dropping(self) -> None:
        def read(_env: int) -> Array:
            return np.array([float(self._arms[0].signals.dropped)])

        def write(_env: int, values: Array) -> None:
            for arm in self._arms:
                arm.signals.dropped = bool(values[0] >= 0.5)

        self._add_attribute("action_dropped", 1, "-", "1: lost", read, write, least=0.0, most=1.0, lasts_one_step=True)

    def _offsets(self, _env: int) -> Array:
        return np.concatenate([arm.signals.encoder_offset_rad for arm in self._arms])

    def _set_offsets(self, _env: int, values: Array) -> None:
        ends = np.cumsum([len(arm.signals.encoder_offset_rad) for arm in self._arms])
        for arm, offsets in zip(self._arms, np.split(values, ends[:-1]), strict=True):
            arm.signals.encoder_offset_rad = offsets
