"""Opens a part: grasps its handle or edge, moves it along its joint, lets go and steps back.

A cap or a knob that is turned further than the wrist turns is let go and grasped again, as by `rotate`.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from unlatch.skills.grasping import GraspingSkill, needs_turns
from unlatch.solver.plan import LEAST_TURN_RAD, MOST_TURNS, KeyframePlan
from unlatch.solver.scene import Slip
from unlatch.solver.setting import SuccessMode


class Open(GraspingSkill):
    """Success: the joint moved by the threshold, fingers on the part while it moved, contacts and speeds valid."""

    opens: ClassVar[bool | None] = True
    regrasps_slowly: ClassVar[bool] = True
    success_modes: ClassVar[tuple[SuccessMode, ...]] = (SuccessMode.abs, SuccessMode.normal, SuccessMode.fraction)

    @property
    def slips(self) -> tuple[Slip, ...] | None:
        """None: the planner's choice."""
        return None

    def _plan_motion(self, rng: np.random.Generator) -> KeyframePlan:
        way_rad, budget = abs(self.follow_to - self.s), self.context.budget
        setting = self.cfg.planner_setting
        is_led = not self.closed_gripper or setting.drags
        if not (is_led and setting.follow_joint is not None and needs_turns(self.part.kind, way_rad)):
            return super()._plan_motion(rng)
        # smaller turns take less time than a full search for larger ones
        least_rad = max(LEAST_TURN_RAD, 0.999 * way_rad / MOST_TURNS)  # eight equal turns are allowed
        plan = self._plan_turns(rng, least_rad=least_rad, budget=budget.first_look())
        if plan.found or not budget.thorough:
            return plan
        return self._plan_turns(rng, least_rad=least_rad)
