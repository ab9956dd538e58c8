"""Pushes a part while the hand approaches it, as when somebody bumps into an open door."""

from __future__ import annotations

import numpy as np

from unlatch.skills.articulation import ArticulationSkill
from unlatch.skills.contract.command import Phase
from unlatch.skills.gripping import joint_load
from unlatch.solver.planning.segments import HINGE_SPEED_RAD_S, SLIDER_SPEED_M_S

_SHARES = (0.04, 0.12)
"""Least and largest displacement, as shares of the range from closed to open."""
_BEGIN = (0.1, 0.5)
"""When the push begins, as a share of the transit."""
_EFFORT_FACTOR = 1.5
"""Factor on the effort that the planner's own motion of the part needs."""
_LONGEST_S = 1.0
_FREE_SHARE = 0.02
"""A part that a catch or a gasket may hold is pushed where it stands farther open than this share of its range."""


def can_be_nudged(skill: ArticulationSkill) -> bool:
    """Whether the part of a skill moves freely: a push that overcomes a catch would fling it open."""
    openness = skill.part.openness
    return skill.part.closing_forces is None or abs(skill.s - openness.closed) > _FREE_SHARE * openness.span


class Nudge:
    """One push on the joint of a skill's part: a constant effort that is off while the part is fast enough."""

    def __init__(self, skill: ArticulationSkill, rng: np.random.Generator) -> None:
        """Draws the push for a planned skill."""
        openness, joint = skill.part.openness, skill.object.body.joint(skill.part.joint)
        self._skill = skill
        self._distance = float(rng.uniform(*_SHARES)) * openness.span
        frames = sum(count for phase, count in skill.executor.remaining() if phase is Phase.transit)
        self._wait = max(1, round(float(rng.uniform(*_BEGIN)) * frames))
        sign = 1.0 if rng.uniform() < 0.5 else -1.0
        if not joint.lower <= skill.s + sign * self._distance <= joint.upper:  # no room on that side
            sign = -sign
        self._sign = sign
        self._speed = SLIDER_SPEED_M_S if joint.prismatic else HINGE_SPEED_RAD_S
        self._effort = _EFFORT_FACTOR * joint_load(skill.object.asset, skill.part)
        self._left = skill.context.frames(_LONGEST_S)
        self._start: float | None = None

    def next_effort(self) -> float:
        """Returns the effort on the joint in the next record frame [N m or N]; 0 before and after the push."""
        self._wait -= 1
        if self._wait > 0 or self._left <= 0:
            return 0.0
        s = self._skill.s
        self._start = s if self._start is None else self._start
        self._left -= 1
        if self._sign * (s - self._start) >= self._distance:
            self._left = 0
            return 0.0
        _, speeds, _ = self._skill.object.body.joint_states([self._skill.part.joint])
        return self._sign * self._effort if self._sign * float(speeds[0]) < self._speed else 0.0
