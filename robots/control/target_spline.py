"""The motor targets between actions: a spline through the middles of successive actions."""

from __future__ import annotations

from collections.abc import Sequence

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
