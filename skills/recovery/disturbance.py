"""Pushes the executed joint targets off the plan, so that a record shows the way back to it.

This is the noise injection of DART (Laskey et al. 2017): a demonstration visits states that a policy reaches by its own
errors, and the planner's target in such a state leads back to the plan.
"""

from __future__ import annotations

import math

import numpy as np

from unlatch.robots.action import ArmAction
from unlatch.skills.contract.command import Phase
from unlatch.skills.contract.execution import CommandExecutor
from unlatch.skills.recovery.config import DisturbCfg
from unlatch.solver.kinematics import Kinematics
from unlatch.solver.scene import ArmModel

Array = np.ndarray

_MAX_DEVIATIONS = 2.5
"""The noise stays within this many standard deviations."""
_MEMORY_TIMES = 20
"""The filters forget what is longer ago than this number of correlation times."""
_FREE = frozenset({Phase.transit, Phase.approach, Phase.retreat})
"""Phases in which the hand touches nothing."""


class SmoothNoise:
    """Correlated noise of standard deviation 1 with continuous velocity and acceleration.

    White noise passes three first-order low-pass filters of the same pole `exp(-k dt)`; after the first one it is an
    Ornstein-Uhlenbeck process. Its correlation is `(1 + k t + (k t)^2 / 3) exp(-k t)` (Matern 5/2; Rasmussen and
    Williams 2006, 4.2.1). The integral of that over t >= 0, the correlation time, is `8 / (3 k)`.
    """

    def __init__(self, size: int, *, correlation_s: float, dt: float, rng: np.random.Generator) -> None:
        """Starts at 0; `size` is the number of independent values."""
        self._pole = math.exp(-8.0 / 3.0 * dt / correlation_s)
        lag = np.arange(math.ceil(_MEMORY_TIMES * correlation_s / dt))
        response = (lag + 1) * (lag + 2) / 2 * self._pole**lag
        self._gain = 1.0 / math.sqrt(float((response**2).sum()))
        self._stages = np.zeros((3, size))
        self._rng = rng

    def step(self) -> Array:
        """Returns the next values (size,)."""
        values: Array = self._rng.standard_normal(self._stages.shape[1])
        for stage in self._stages:
            stage[:] = values = self._pole * stage + values
        return self._gain * values


class Disturbance:
    """Turns the actions of a plan into the executed actions of one arm, frame by frame.

    Executed targets keep the joint limits of the planner and the arm's limits of speed and acceleration.
    """

    def __init__(self, cfg: DisturbCfg, arm: ArmModel, *, frame_s: float, rng: np.random.Generator) -> None:
        self._cfg = cfg
        self._kinematics: Kinematics = arm.kinematics
        self._lower, self._upper = arm.q_lower, arm.q_upper
        self._max_step = arm.max_velocity * frame_s
        self._max_change = arm.max_acceleration * frame_s**2
        self._fade_frames = max(1, round(cfg.fade_s / frame_s))
        self._noise = SmoothNoise(arm.n_q, correlation_s=cfg.correlation_s, dt=frame_s, rng=rng)
        self._deviation_rad = 0.0
        self._frames = 0
        self._executor: CommandExecutor | None = None
        self._last: tuple[Array, Array] | None = None
        """Targets of the last frame, and their change from the frame before [rad]."""

    def disturb(self, planned: ArmAction, executor: CommandExecutor, *, q_target: Array) -> ArmAction:
        """Returns the action to execute in place of the planned one; tells the executor how far it is off.

        Args:
            planned: The action of the plan for the next frame.
            executor: Gave the planned action; says how long its phase lasts.
            q_target: (n,) targets of the frame before [rad].
        """
        offset = self._next_offset(executor)
        q = np.clip(
            planned.joint_targets + offset,
            np.minimum(self._lower, planned.joint_targets),
            np.maximum(self._upper, planned.joint_targets),
        )
        q = self._limit(q, q_target)
        executor.offset = q - planned.joint_targets
        if not executor.offset.any():
            return planned
        return ArmAction.of(q, planned.gripper_target_m, self._kinematics.fk)

    def _next_offset(self, executor: CommandExecutor) -> Array:
        """Returns the noise (n,) of the next frame [rad]; it is 0 where a stretch of phases begins and ends."""
        deviation_rad = self._deviation_in(executor.phase)
        goes_on = deviation_rad == self._deviation_rad and executor is self._executor
        self._frames = self._frames + 1 if goes_on else 0
        self._deviation_rad, self._executor = deviation_rad, executor
        left = 0
        for phase, frames in executor.remaining():
            if frames and self._deviation_in(phase) != deviation_rad:
                break
            left += frames
        share = min(1.0, min(self._frames, left) / self._fade_frames)
        noise = _MAX_DEVIATIONS * np.tanh(self._noise.step() / _MAX_DEVIATIONS)
        return deviation_rad * share * share * (3.0 - 2.0 * share) * noise

    def _deviation_in(self, phase: Phase) -> float:
        """Returns the standard deviation of each joint in a phase [rad]."""
        if phase in _FREE:
            return self._cfg.free_rad
        return self._cfg.follow_rad if phase is Phase.follow else 0.0

    def _limit(self, q: Array, q_target: Array) -> Array:
        """Returns targets that the arm can follow from those of the frame before."""
        last, change = self._last if self._last is not None else (q_target, np.zeros_like(q_target))
        if not np.array_equal(last, q_target):  # others moved the arm meanwhile
            change = np.zeros_like(q_target)
        low = np.maximum(change - self._max_change, -self._max_step)
        high = np.minimum(change + self._max_change, self._max_step)
        limited: Array = np.clip(q, q_target + low, q_target + high)
        self._last = (limited, limited - q_target)
        return limited
