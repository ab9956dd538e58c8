"""Closes a part: pushes it along its joint with closed fingers, or grasps and leads it, and steps back."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from unlatch.objects.annotation import SPOT
from unlatch.objects.closing_force_values import lever_m
from unlatch.skills.articulation import ArticulationSkill
from unlatch.skills.commands import ManipCommand, ManipKind, Phase
from unlatch.skills.config import SkillCfg
from unlatch.skills.context import SKIN_M, SkillContext
from unlatch.skills.grasping import GraspingSkill
from unlatch.solver.plan import KeyframePlan, PlanRequest
from unlatch.solver.scene import Slide, Slip, SlipMode
from unlatch.solver.setting import SuccessMode

if TYPE_CHECKING:
    from unlatch.skills.mechanism_steps import PressToPop

_PAST_CLOSED_RAD = 0.02
_PAST_CLOSED_M = 0.003
_PUSH_LIMIT_RAD = math.radians(60.0)
_SLIDER_LIMIT_RAD = math.radians(45.0)
_CLOSED_SHARE = 0.5
"""Where a push ends that cannot reach the stop, as a share of the distance from closed that counts as closed."""
_LISTED_LEAD = 1.2
_PRESS_N = 20.0
"""The push of a part at its stop ends at this force of the fingers [N]. If a stiff arm goes on, it presses with 100 to
400 N, which is too much for a real arm, and its fingers drag the part open when they step back."""
_PRESS_S = 0.75
"""Time in which a part that moves little is pressed: the hand must stop before its fingertips meet what is around the
part."""
_PRESSED_SHARE = 0.1
"""Distance from closed at which the press of such a part ends, as a share of its range."""
_POPPED_SHARE = 0.2
"""Opening at which a part has left its latch, as a share of that to which it pops out."""
_POP_S = 1.0
"""Time in which a part that pops out comes to rest."""
_AT_STOP_RAD = 0.002
_AT_STOP_M = 0.0005


class Close(GraspingSkill):
    """Success: the joint is near closed, contacts and speeds valid.

    A setting with `approach_width_m` above 0 grasps the part, such as a bail; others push it.
    """

    opens: ClassVar[bool | None] = False
    finger_contact_required: ClassVar[bool] = ArticulationSkill.finger_contact_required
    success_modes: ClassVar[tuple[SuccessMode, ...]] = (SuccessMode.zero, SuccessMode.dis_to_init, SuccessMode.fraction)

    def __init__(self, cfg: SkillCfg, context: SkillContext) -> None:
        super().__init__(cfg, context)
        openness, asset = self.part.openness, self.object.asset
        self._press: PressToPop | None = None
        if asset.articulation.mechanisms:
            from unlatch.skills.mechanism_steps import press_of

            self._press = press_of(asset, self.part, openness.sign * (self.s - openness.closed))

    @property
    def closed_gripper(self) -> bool:
        """See `Skill.closed_gripper`."""
        return not self.cfg.planner_setting.approach_width_m

    @property
    def slips(self) -> tuple[Slip, ...] | None:
        """The hand may turn about the line between its fingertips; without a plan, also in a cone; then also slide.

        On a slider a hand that does not turn is tried first, and the other turns are smaller than on a door: fingertips
        roll off levers and bars. None for a hand that grasps.
        """
        if not self.closed_gripper:
            return None
        prismatic = self.object.body.joint(self.part.joint).prismatic
        side = Slip(SlipMode.side, limit_rad=_SLIDER_LIMIT_RAD if prismatic else _PUSH_LIMIT_RAD)
        cone = replace(side, mode=SlipMode.cone)
        first = (Slip(SlipMode.fixed), side) if prismatic else (side,)
        return (*first, cone, replace(cone, slide=Slide.across), replace(cone, slide=Slide.edge))

    @property
    def part_speed(self) -> float | None:
        """See `ArticulationSkill.part_speed`."""
        if self.cfg.planner_setting.drags:
            return super().part_speed
        held = self.held_part()
        if held is not self.part and held.moves_little:
            return None
        return self.part.openness.span / _PRESS_S if self.part.moves_little else None

    def request(self, **options: Any) -> PlanRequest:
        """See `ArticulationSkill.request`.

        Fingertips that are wider than a button may plan to press on what is around it: the press ends before they do.
        """
        found = super().request(**options)
        held = self.held_part()
        if not held.moves_little:
            return found
        around = frozenset((finger, f"{self.object_name}/{held.base}") for finger, _ in found.part_pairs)
        return replace(found, part_pairs=found.part_pairs | around)

    @property
    def _pops(self) -> bool:
        """Whether the part, or its button, is pressed so that the part pops out."""
        return self.success_mode is SuccessMode.dis_to_init and self._press is not None

    def default_target(self) -> float:
        """Returns a position a little past closed: the joint limit stops the part."""
        if self.part.moves_little:
            spot = self.part.keypoint(SPOT)
            return self.part.openness.position(
                -SKIN_M / max(lever_m(self.object.asset.model, self.part, spot.xyz), SKIN_M)
            )
        prismatic = self.object.body.joint(self.part.joint).prismatic
        past = _PAST_CLOSED_M if prismatic else _PAST_CLOSED_RAD
        return self.part.openness.position(-past)

    def _check_target(self) -> None:
        """`default_target` leads a part that moves little `SKIN_M` beyond its stop, which can be a large angle."""
        if not self.part.moves_little or type(self).default_target is not Close.default_target:
            super()._check_target()

    def listed_ends(self) -> tuple[tuple[float, float], ...]:
        """See `ArticulationSkill.listed_ends`: a push ends at the stop or, if it cannot reach it, when it is closed."""
        openness = self.part.openness
        stop = openness.closed
        wanted = float(self.cfg.planner_setting.success_threshold)
        if self.success_mode is SuccessMode.zero:
            closed = openness.position(_CLOSED_SHARE * wanted)
        else:
            wanted *= openness.span if self.success_mode is SuccessMode.fraction else 1.0
            closed = openness.position(max(0.0, openness.sign * (self.s - stop) - _LISTED_LEAD * wanted))
        return tuple((end, math.inf) if openness.sign > 0.0 else (-math.inf, end) for end in (stop, closed))

    def check_frame(self) -> None:
        """Ends the push of a part at its stop; see `_PRESS_N`. The press of a part that moves little ends before it.

        A part that a catch or its own momentum brings to the stop ahead of the hand needs no push any more: a hand that
        came after it would hit it at full speed.

        A lever whose range goes on beyond closed has no stop there: its push ends when it is closed.
        """
        if not self.closed_gripper or self.cfg.planner_setting.drags:
            super().check_frame()
        if not self.closed_gripper or self.phase is not Phase.follow:
            return
        if self._pops:
            if self._is_pressed():
                self.executor.end_motion()
            return
        if not self._is_at_stop():
            self.lead_on()
            return
        force_n = float(np.asarray(self.views.fingers_link.force_mean_n.get_value()))
        if self.part.moves_little or self._goes_on() or force_n > _PRESS_N or not self.is_touched:
            self.executor.end_motion()

    def _is_pressed(self) -> bool:
        """Whether a part that pops out is pressed far enough, or pops out already."""
        press, openness = self._press, self.part.openness
        opening = openness.sign * (self.s - openness.closed)
        if press is None or press.at is not self.part:
            return press is not None and opening > _POPPED_SHARE * press.pops_to
        return opening <= -press.depth

    def make_commands(self, plan: KeyframePlan) -> list[ManipCommand]:
        """See `ArticulationSkill.make_commands`; a hand that has pressed waits until the part has popped out."""
        commands = super().make_commands(plan)
        if not self._pops:
            return commands
        wait = ManipCommand(
            ManipKind.close_gripper, commands[-1].T_base_ee, Phase.retreat, dwell_frames=self.context.frames(_POP_S)
        )
        return [*commands, wait]

    def _goes_on(self) -> bool:
        """Whether the range of the joint goes on beyond closed."""
        joint, openness = self.object.body.joint(self.part.joint), self.part.openness
        past = openness.closed - joint.lower if openness.sign > 0.0 else joint.upper - openness.closed
        return past > _PAST_CLOSED_RAD

    def _is_at_stop(self) -> bool:
        joint = self.object.body.joint(self.part.joint)
        stop = min(max(self.part.openness.closed, joint.lower), joint.upper)
        if self.part.moves_little:
            return self.part.openness.sign * (self.s - stop) <= _PRESSED_SHARE * self.part.openness.span
        return self.part.openness.sign * (self.s - stop) <= (_AT_STOP_M if joint.prismatic else _AT_STOP_RAD)

    def _is_joint_held(self) -> bool:
        """The joint is held once the part is closed far enough."""
        return self.unmet_condition() is None
