"""Opens a part: grasps its handle or edge, moves it along its joint, lets go and steps back."""

from __future__ import annotations

from typing import ClassVar

from unlatch.skills.grasping import GraspingSkill
from unlatch.solver.path.slip import Slip
from unlatch.solver.settings.setting import SuccessMode


class Open(GraspingSkill):
    """Success: the joint moved by the threshold, fingers on the part while it moved, contacts and speeds valid."""

    opens: ClassVar[bool | None] = True
    success_modes: ClassVar[tuple[SuccessMode, ...]] = (SuccessMode.abs, SuccessMode.normal, SuccessMode.fraction)

    @property
    def slips(self) -> tuple[Slip, ...] | None:
        """None: the planner's choice."""
        return None
