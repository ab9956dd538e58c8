"""Rotate a knob, a lever or a wheel: take it, turn it about its axis, let go; where the wrist ends, take it again."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from simcore.assets.annotation import PartKind
from skills.command import ManipCommand
from skills.grasping import GraspingSkill
from skills.turning import TurningPlan, plan_turns
from solver.path.slip import Slip
from solver.path.slip_mode import SlipMode
from solver.planning.planner import KeyframePlan
from solver.settings.setting import SuccessMode

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

        def plan_turn(s: float, q: Array, to: float) -> KeyframePlan:
            return self._solve(self.request(s=s, q_current=q, follow_to=to), rng)

        return plan_turns(plan_turn, s=self.s, q=self.context.arm.q, target_s=self.follow_to)

    def _commands_of(self, plan: KeyframePlan) -> list[ManipCommand]:
        plans = [turn.plan for turn in plan.turns] if isinstance(plan, TurningPlan) else [plan]
        return [command for one in plans for command in super(Rotate, self)._commands_of(one)]
