"""Close a part: push it along its joint with the fingers closed, and step back."""

from __future__ import annotations

import math

from skills.articulation import ArticulationSkill
from skills.command import ManipCommand, ManipKind, Phase
from skills.failure import Failure
from solver.path import Slip, SlipMode
from solver.planner import KeyframePlan
from solver.setting import SuccessMode

_PAST_CLOSED_RAD = 0.02
_PAST_CLOSED_M = 0.003
_PUSH_LIMIT_RAD = math.radians(60.0)


class Close(ArticulationSkill):
    """Success: the joint is near closed, contacts and speeds valid."""

    default_mode = SuccessMode.zero

    @property
    def closed_gripper(self) -> bool:
        """See `ArticulationSkill.closed_gripper`."""
        return True

    @property
    def slips(self) -> tuple[Slip, ...]:
        """The hand may turn about the line between its fingertips while it pushes; else in a cone."""
        return (Slip(SlipMode.side, limit_rad=_PUSH_LIMIT_RAD), Slip(SlipMode.cone, limit_rad=_PUSH_LIMIT_RAD))

    @property
    def follow_to(self) -> float:
        """See `ArticulationSkill.follow_to`; the position that the setting's `follow_joint` names."""
        return self.follow_target()

    def default_target(self) -> float:
        """A little past closed: the limit stops the part, the push makes sure that it gets there."""
        prismatic = self.object.body.joint(self.part.joint).prismatic
        past = _PAST_CLOSED_M if prismatic else _PAST_CLOSED_RAD
        return self.part.openness.closed - self.opening_sign * past

    def _commands_of(self, plan: KeyframePlan) -> list[ManipCommand]:
        return [
            self._allow(plan, touching=False),
            *self._moves(plan, "transit", ManipKind.close_gripper, Phase.transit),
            *self._moves(plan, "approach", ManipKind.close_gripper, Phase.approach),
            self._allow(plan, touching=True),
            *self._moves(plan, "follow", ManipKind.close_gripper, Phase.follow),
            *self._moves(plan, "retreat", ManipKind.close_gripper, Phase.retreat),
        ]

    def _holds_joint(self) -> bool:
        """Once it is closed far enough."""
        return self.shortfall() is None

    def _distance(self) -> float:
        """How far the joint is from closed [rad or m]."""
        return abs(self.s - self.part.openness.closed)

    def shortfall(self) -> Failure | None:
        """See `Skill.shortfall`: under mode `zero`, the joint is too far from closed."""
        if self.success_mode is not SuccessMode.zero:
            return super().shortfall()
        distance, allowed = self._distance(), self.cfg.planner_setting.success_threshold
        if distance <= allowed:
            return None
        return self._failure(
            "not_reached",
            f"'{self.part.name}' is {distance:.3f} from closed, expected at most {allowed:.3f}",
            distance=distance,
            allowed=allowed,
            s=self.s,
            s0=self.s0,
        )
