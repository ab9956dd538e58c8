"""Rotate a knob, a lever or a wheel: take it, turn it about its axis, let go; where the wrist ends, take it again.

Each turn takes the part in the first of the entry's ways that goes furthest: a bladed knob beside a spout across its
blade while that points away from it, along its blade after a quarter turn.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from unlatch.objects.annotation import PartKind
from unlatch.skills.contract.command import ManipCommand
from unlatch.skills.grasping import GraspingSkill
from unlatch.skills.turning import TurningPlan, plan_turns
from unlatch.solver.path.slip import Slip, SlipMode
from unlatch.solver.planning.plan import KeyframePlan
from unlatch.solver.settings.setting import PlannerSettingCfg, SuccessMode

Array = np.ndarray


class Rotate(GraspingSkill):
    """Success: the joint turned by the threshold, fingers on the part while it turned, contacts and speeds valid."""

    success_modes: ClassVar[tuple[SuccessMode, ...]] = (SuccessMode.abs, SuccessMode.normal, SuccessMode.fraction)

    @property
    def slips(self) -> tuple[Slip, ...]:
        """The hand turns with the part; a lever may turn between the fingers, and about its own length too."""
        fixed = Slip(SlipMode.fixed)
        if self.part.kind is not PartKind.lever:
            return (fixed,)
        return (fixed, Slip(SlipMode.side), Slip(SlipMode.gimbal))

    def _planned(self, rng: np.random.Generator) -> KeyframePlan:
        if self.cfg.planner_setting.follow_joint is None:
            return super()._planned(rng)

        def plan_turn(grip: str, s: float, q: Array, to: float) -> KeyframePlan:
            return self._solve(self.request(s=s, q_current=q, follow_to=to, setting=self._grips[grip]), rng)

        return plan_turns(plan_turn, list(self._grips), s=self.s, q=self.context.arm.q_read, target_s=self.follow_to)

    @property
    def _grips(self) -> dict[str, PlannerSettingCfg]:
        """The ways to take the part by name, the one that is planned first."""
        others = {item.name: item.planner_setting for item in self.cfg.strategies}
        return {self.cfg.strategy: self.cfg.planner_setting, **others}

    def _commands_of(self, plan: KeyframePlan) -> list[ManipCommand]:
        if not isinstance(plan, TurningPlan):
            return super()._commands_of(plan)
        grips = self._grips
        return [
            command for turn in plan.turns for command in self._taking(turn.plan, self._width_m(grips[turn.strategy]))
        ]
