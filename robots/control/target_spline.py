"""The motor targets between actions: a spline through the middles of successive actions."""

from __future__ import annotations

import math

import numpy as np

from unlatch.simcore.sim.impedance import JointTargets

Array = np.ndarray


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
        self._acceleration = math.nan, self._change
        """Length of a frame [s], and the acceleration for it [rad/s^2]."""

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
        before, change = self._before, self._change
        if self._acceleration[0] != frame_s:
            self._acceleration = frame_s, change / frame_s**2
        return JointTargets(
            self._half_sum + share * before + 0.5 * share**2 * change,
            (before + share * change) / frame_s,
            self._acceleration[1],
        )
