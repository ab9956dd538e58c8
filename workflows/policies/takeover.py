"""When the planner takes over from a policy."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from unlatch.robots.action import ArmAction
from unlatch.simcore.errors import ConfigError
from unlatch.skills.articulation import ArticulationSkill
from unlatch.workflows.episode.episode import Episode

Array = np.ndarray

RANDOM_FRAMES = (1, 180)
"""Frames of `takeover=random`: the first 6 s at 30 Hz, as long as a demonstration takes."""
_RANGE = re.compile(r"(\d+)(?:-(\d+))?\Z")
_STUCK_S = 2.0
"""A hand that stays within `_STUCK_M` for this time makes no progress."""
_STUCK_M = 0.01
_AHEAD_FRAMES = 6
"""An arm that brakes from now on goes on about as far as in this number of frames."""
_LATEST_SHARE = 0.5
"""With `failing`, the planner takes over after this share of the time limit at the latest."""


@dataclass(frozen=True)
class TakeoverRule:
    """`random`, `failing`, a frame or a range of frames, as on the command line."""

    first: int
    """First frame at which the planner may take over."""
    last: int | None
    """Last such frame; None: the policy acts until it is about to fail."""

    @classmethod
    def parse(cls, text: str) -> TakeoverRule:
        """Reads `random`, `failing`, `40` or `40-90`.

        Raises:
            ConfigError: It is none of these.
        """
        if text == "random":
            return cls(*RANDOM_FRAMES)
        if text == "failing":
            return cls(1, None)
        found = _RANGE.match(text)
        if found is None or int(found[2] or found[1]) < max(1, int(found[1])):
            raise ConfigError(
                f"takeover={text} cannot be read. Expected random, failing, a frame from 1 on such as 40, or a range "
                "of frames such as 40-90. Change it.",
                key="takeover",
            )
        return cls(int(found[1]), int(found[2] or found[1]))

    def draw(self, rng: np.random.Generator) -> int | None:
        """Returns the number of frames in which the policy acts; None: until it is about to fail."""
        return None if self.last is None else int(rng.integers(self.first, self.last + 1))


class FailureWatch:
    """Sees that a policy is about to fail: its hand stands still, or its next targets are in collision."""

    def __init__(self, episode: Episode) -> None:
        self._episode = episode
        self._positions: list[Array] = []

    def sees_failure(self, arms: dict[str, ArmAction]) -> str | None:
        """Returns why the policy is about to fail with its next action, by arm; None if it is not."""
        episode = self._episode
        run = episode.judge.current[-1]
        skill, arm = run.skill, episode.scene.robot.arm(run.arm)
        self._positions.append(arm.T_base_ee.p)
        recent = np.array(self._positions[-skill.context.frames(_STUCK_S) :])
        if len(recent) >= skill.context.frames(_STUCK_S) and float(np.ptp(recent, axis=0).max()) < _STUCK_M:
            return f"the hand made no progress for {_STUCK_S:g} s"
        if episode.scene.world.time_s > _LATEST_SHARE * episode.cfg.task.max_duration_s:
            return "half of the time is over"
        return self._find_collision(skill, arms[run.arm]) if isinstance(skill, ArticulationSkill) else None

    def _find_collision(self, skill: ArticulationSkill, action: ArmAction) -> str | None:
        skill.load_checker()
        checker, arm, s = skill.context.checker, skill.context.arm, skill.snapshot().s
        step = action.joint_targets - arm.q_target
        with checker.allow(skill.request().contact_links):
            for frames in (1, _AHEAD_FRAMES // 2, _AHEAD_FRAMES):
                hit = checker.deepest_collision(arm.q_target + frames * step, s=s, gripper=arm.gripper_opening_m)
                if hit is not None:
                    return f"{hit.link_a} would meet {hit.link_b}"
        return None
