"""Rotates a knob, a lever or a wheel: grasps it, turns it about its axis, lets go, and regrasps if the wrist must.

Each turn uses the strategy that goes furthest. A bladed knob beside a spout, for example, is first held across its
blade, and along its blade after a quarter turn.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from unlatch.objects.annotation import PartKind
from unlatch.skills.grasping import GraspingSkill
from unlatch.solver.plan import KeyframePlan
from unlatch.solver.scene import Slip, SlipMode
from unlatch.solver.setting import SuccessMode


class Rotate(GraspingSkill):
    """Success: the joint turned by the threshold, fingers on the part while it turned, contacts and speeds valid."""

    success_modes: ClassVar[tuple[SuccessMode, ...]] = (SuccessMode.abs, SuccessMode.normal, SuccessMode.fraction)

    @property
    def slips(self) -> tuple[Slip, ...]:
        """The hand turns with the part; a lever may also turn between the fingers, and about its own length."""
        fixed = Slip(SlipMode.fixed)
        if self.part.kind is not PartKind.lever:
            return (fixed,)
        return (fixed, Slip(SlipMode.side), Slip(SlipMode.gimbal))

    def _plan_motion(self, rng: np.random.Generator) -> KeyframePlan:
        if self.cfg.planner_setting.follow_joint is None:
            return super()._plan_motion(rng)
        return self._plan_turns(rng)
