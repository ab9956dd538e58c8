"""What the skills that hold a part have in common: fingers that close on it, lead it, and let go."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from unlatch.objects.annotation import HandleType
from unlatch.robots.gripper import GripperCfg
from unlatch.skills.articulation import ArticulationSkill
from unlatch.skills.contract.command import ManipCommand, ManipKind, Phase
from unlatch.skills.contract.config import SkillCfg
from unlatch.skills.contract.context import SkillContext
from unlatch.solver.path.slip import Slip
from unlatch.solver.planning.plan import KeyframePlan
from unlatch.solver.settings.setting import SuccessMode

_GRASP_S = 0.85
"""Least time to close the fingers: 40 mm at 50 mm/s, and a little to settle."""
_SETTLE_S = 0.05
_RELEASE_S = 0.4
_FINGER_GAP_M = 0.001
"""Least gap beside either finger as it comes to a knob: the arm is true to half a millimetre."""
EMPTY_GRIPPER_M = 0.002
"""Fingers that close further hold nothing [m]."""
_LOST_S = 0.5
"""So long without a finger on the part, while it should move, is a slip."""
_MEETS_S = 2.0
"""A hook sets out with up to 10 mm between it and the part, and slowly: it has so long to meet it."""
_OVERSHOOT = 1.2
_HOOKED_SPEED = {True: 0.075, False: 0.25}
"""Of what slides [m/s], else [rad/s]: half the planner's own. A hook cannot brake: what every step of its targets
pushes on runs ahead of it until its friction has stopped it, half as fast in a quarter of the time."""


def closing_frames(context: SkillContext, gripper: GripperCfg) -> int:
    """Record frames in which fingers close from wide open and come to rest.

    Args:
        context: The scene.
        gripper: The gripper.
    """
    return context.frames(max(_GRASP_S, 0.5 * gripper.max_width_m / gripper.max_speed_m_s + _SETTLE_S))


def release_frames(context: SkillContext) -> int:
    """Record frames in which fingers let go.

    Args:
        context: The scene.
    """
    return context.frames(_RELEASE_S)


class GraspingSkill(ArticulationSkill):
    """Takes a part between the fingers, leads it along its joint, lets go and steps back."""

    def __init__(self, cfg: SkillCfg, context: SkillContext) -> None:
        super().__init__(cfg, context)
        self._lost_frames = 0
        self._led_by: int | None = None
        self._has_met = False

    def plan(self, rng: np.random.Generator) -> bool:
        """See `Skill.plan`; a knob that the fingers cannot span is not tried."""
        wide_m = self._knob_m()
        opening_m = self.context.arm.cfg.gripper.max_width_m
        if wide_m is not None and wide_m + 2.0 * _FINGER_GAP_M > opening_m:
            self.fail(
                "plan_infeasible",
                f"'{self.part.name}' is {1e3 * wide_m:.0f} mm across where it is narrowest, the hand opens by "
                f"{1e3 * opening_m:.0f} mm",
                width_m=wide_m,
                opening_m=opening_m,
            )
            return False
        return super().plan(rng)

    def _knob_m(self) -> float | None:
        """Least width of the knob that is to be held [m]; None where something else is, or nothing."""
        setting, handle = self.cfg.planner_setting, self.part.handle
        if handle.type is not HandleType.knob or self.closed_gripper or setting.keypoint_shifts:
            return None
        return float(min(handle.size[1:]))

    @property
    @abstractmethod
    def slips(self) -> tuple[Slip, ...] | None:
        """What the part may do between the fingers, tried in this order; None for the planner's own choice."""

    @property
    def follow_to(self) -> float:
        """See `ArticulationSkill.follow_to`; the position that the setting's `follow_joint` names."""
        return self.follow_target()

    def default_target(self) -> float:
        """A fifth beyond the threshold: what the grasp slips and the arm lags is part of it."""
        setting, openness = self.cfg.planner_setting, self.part.openness
        span = abs(openness.open - openness.closed)
        wanted = float(setting.success_threshold) * (span if self.success_mode is SuccessMode.fraction else 1.0)
        limit = openness.closed + self.opening_sign * 0.97 * span
        target = self.s0 + self.opening_sign * _OVERSHOOT * wanted
        return min(target, limit) if self.opening_sign > 0 else max(target, limit)

    @property
    def closed_gripper(self) -> bool:
        """See `ArticulationSkill.closed_gripper`: fingers that stay closed on the way there hook the part."""
        return self.approach_width_m <= 0.0

    @property
    def part_speed(self) -> float | None:
        """See `ArticulationSkill.part_speed`."""
        if not self.closed_gripper:
            return None
        return _HOOKED_SPEED[self.object.body.joint(self.part.joint).prismatic]

    @property
    def finger_contact_required(self) -> bool:
        """True: the part is led, not thrown."""
        return True

    def _commands_of(self, plan: KeyframePlan) -> list[ManipCommand]:
        return self._closed_commands(plan) if self.closed_gripper else self._taking(plan, self.approach_width_m)

    def _taking(self, plan: KeyframePlan, width: float) -> list[ManipCommand]:
        """There with fingers open by `width` [m], along with the part between them, and back."""
        contact = plan.keyframes[plan.contact_pose_index].T_base_ee
        last = plan.keyframes[-1].T_base_ee
        grasp = closing_frames(self.context, self.context.arm.cfg.gripper)
        release = release_frames(self.context)
        return [
            self._allow(plan, touching=False),
            *self._moves(plan, "transit", ManipKind.open_gripper, Phase.transit, gripper_m=width),
            *self._moves(plan, "approach", ManipKind.open_gripper, Phase.approach, gripper_m=width),
            self._allow(plan, touching=True),
            ManipCommand(ManipKind.close_gripper, contact, Phase.grasp, dwell_frames=grasp),
            *self._moves(plan, "follow", ManipKind.close_gripper, Phase.follow),
            ManipCommand(ManipKind.open_gripper, last, Phase.release, dwell_frames=release, params={"width_m": width}),
            *self._moves(plan, "retreat", ManipKind.open_gripper, Phase.retreat, gripper_m=width),
        ]

    def _on_frame(self) -> None:
        if self.phase is not Phase.follow:
            return
        s, expected = self.s, self.executor.expected_s
        touching = float(np.asarray(self.views.fingers_link.force_max_n.get_value())) > 0.0
        if self._led_by != self.executor.index:  # the fingers have just closed
            self._led_by, self._lost_frames = self.executor.index, 0
            self._has_met = False
            if not self.closed_gripper:
                self._check_grasp(touching=touching)
        self._has_met = self._has_met or touching
        self._lost_frames = 0 if touching else self._lost_frames + 1
        on_its_way = self.closed_gripper and not self._has_met
        if self._lost_frames < self.context.frames(_MEETS_S if on_its_way else _LOST_S):
            return
        if on_its_way:
            self.fail(
                "grasp_missed",
                f"The hooking fingers met nothing of '{self.part.name}' in {_MEETS_S:g} s",
                s=s,
                expected=expected,
                frames_without_contact=self._lost_frames,
            )
        else:
            self.fail(
                "slipped",
                f"The fingers lost '{self.part.name}' at joint position {s:.3f} "
                f"(should be {expected if expected is not None else self.follow_to:.3f})",
                s=s,
                expected=expected,
                frames_without_contact=self._lost_frames,
            )

    def _check_grasp(self, *, touching: bool) -> None:
        opening = self.context.arm.gripper_opening_m
        if opening < EMPTY_GRIPPER_M or not touching:
            self.fail(
                "grasp_missed",
                f"The fingers closed to {1e3 * opening:.1f} mm and hold nothing of '{self.part.name}'",
                gripper_opening_m=opening,
                touching=touching,
            )
