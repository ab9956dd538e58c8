"""Rotates a knob, a lever or a wheel: grasps it, turns it about its axis, lets go, and regrasps if the wrist must.

Each turn uses the strategy that goes furthest. A bladed knob beside a spout, for example, is first held across its
blade, and along its blade after a quarter turn.
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
from unlatch.solver.planning.planner import plan_keyframes
from unlatch.solver.settings.setting import PlannerSettingCfg, SuccessMode

Array = np.ndarray


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

        def plan_turn(strategy: str, s: float, q: Array, to: float) -> KeyframePlan:
            request = self.request(s=s, q_current=q, follow_to=to, setting=self._settings_by_strategy[strategy])
            return plan_keyframes(request, self.context.checker, rng)

        return plan_turns(
            plan_turn, list(self._settings_by_strategy), s=self.s, q=self.context.arm.q_target, target_s=self.follow_to
        )

    @property
    def _settings_by_strategy(self) -> dict[str, PlannerSettingCfg]:
        """The planner settings by strategy, in the order in which they are tried."""
        others = {item.name: item.planner_setting for item in self.cfg.strategies}
        return {self.cfg.strategy: self.cfg.planner_setting, **others}

    def make_commands(self, plan: KeyframePlan) -> list[ManipCommand]:
        """See `ArticulationSkill.make_commands`."""
        if not isinstance(plan, TurningPlan):
            return super().make_commands(plan)
        settings = self._settings_by_strategy
        return [
            command
            for turn in plan.turns
            for command in self._grasp_and_lead(turn.plan, self._approach_width_of(settings[turn.strategy]))
        ]
