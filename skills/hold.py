"""Holds a handle of an object while another arm moves one of its parts, then lets go and steps back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from omegaconf import MISSING

from unlatch.simcore.errors import SkillError
from unlatch.skills.articulation import ArticulationSkill
from unlatch.skills.contract.command import ManipCommand, ManipKind, Phase
from unlatch.skills.contract.config import SkillCfg
from unlatch.skills.contract.context import SkillContext
from unlatch.skills.contract.failure import Failure
from unlatch.skills.grasping import EMPTY_GRIPPER_M, closing_frames, release_frames
from unlatch.skills.holding import HoldingSkill
from unlatch.solver.planning.plan import KeyframePlan
from unlatch.solver.scene import PlanningScene
from unlatch.solver.settings.setting import PlannerSettingCfg

HANDLE, HANDLE_END, HANDLE_OUT = "handle", "handle_end", "handle_out"
"""Keypoints of the handle: its middle, a point along its bar, and one away from the object."""
_REACH_M = 0.05


@dataclass
class HoldCfg(SkillCfg):
    """Entry of `hold`: it holds a fixed handle of the object; `part` is the part that moves meanwhile."""

    handle: str = MISSING
    """Name of the handle in the object's annotation: `left_handle` or `right_handle` of a pot."""


class Hold(HoldingSkill, ArticulationSkill):
    """Success: fingers were on the handle in every frame in which it was to be held, contacts and speeds valid."""

    cfg_type: ClassVar[type[SkillCfg]] = HoldCfg

    def __init__(self, cfg: SkillCfg, context: SkillContext) -> None:
        super().__init__(cfg, context)
        if not isinstance(cfg, HoldCfg):
            raise SkillError(f"Skill 'hold' got a {type(cfg).__name__}. Expected a HoldCfg.", skill=cfg.name)
        self.handle = self.object.asset.articulation.fixed_handle(cfg.handle)

    @property
    def touched_link(self) -> str:
        """See `Skill.touched_link`: that of the handle."""
        return self.handle.link

    @property
    def follow_to(self) -> float:
        """See `ArticulationSkill.follow_to`: nothing is led."""
        return self.s

    def default_target(self) -> float:
        """See `ArticulationSkill.default_target`: nothing is led."""
        return self.s

    def snapshot(self, setting: PlannerSettingCfg | None = None) -> PlanningScene:
        """See `ArticulationSkill.snapshot`; with the handle's keypoints."""
        scene, handle = super().snapshot(setting), self.handle
        T_base_link = self.context.arm.T_world_base.inverse() @ self.object.body.link_pose(handle.link)
        points = {
            HANDLE: handle.middle,
            HANDLE_END: handle.middle + _REACH_M * handle.along,
            HANDLE_OUT: handle.middle + _REACH_M * handle.out,
        }
        return replace(
            scene, keypoints={**scene.keypoints, **{name: T_base_link @ point for name, point in points.items()}}
        )

    def make_commands(self, plan: KeyframePlan) -> list[ManipCommand]:
        """See `ArticulationSkill.make_commands`."""
        contact = plan.keyframes[plan.contact_pose_index].T_base_ee
        width, gripper = self.approach_width_m, self.context.arm.cfg.gripper
        close, release = ManipKind.close_gripper, ManipKind.open_gripper
        return [
            self._allow_contact(plan, touching=False),
            *self._motion_commands(plan, "transit", release, Phase.transit, gripper_m=width),
            *self._motion_commands(plan, "approach", release, Phase.approach, gripper_m=width),
            self._allow_contact(plan, touching=True),
            ManipCommand(close, contact, Phase.grasp, dwell_frames=closing_frames(self.context, gripper)),
            ManipCommand(close, contact, Phase.hold, dwell_frames=1),
            ManipCommand(
                release, contact, Phase.release, dwell_frames=release_frames(self.context), params={"width_m": width}
            ),
            *self._motion_commands(plan, "retreat", release, Phase.retreat, gripper_m=width),
        ]

    @property
    def gripper_hold_m(self) -> float:
        """See `HoldingSkill.gripper_hold_m`: the thickness of the handle."""
        return self.handle.thickness_m

    @property
    def q_hold(self) -> np.ndarray:
        """See `HoldingSkill.q_hold`.

        Raises:
            SkillError: It has no plan.
        """
        plan = self.keyframe_plan
        if plan is None or not plan.found:
            raise SkillError("Skill 'hold' has no plan that says where the arm holds. Call plan() first.", skill="hold")
        return plan.keyframes[plan.contact_pose_index].q

    def _on_frame(self) -> None:
        if self.phase is not Phase.hold:
            return
        opening_m = self.context.arm.gripper_opening_m
        if opening_m < EMPTY_GRIPPER_M or not self._is_touched:
            self.fail(
                "slipped",
                f"The fingers do not hold the handle of '{self.object_name}', {1e3 * opening_m:.1f} mm open",
                gripper_opening_m=opening_m,
                touching=self._is_touched,
            )

    @property
    def _is_touched(self) -> bool:
        return float(np.asarray(self.views.fingers_link.force_max_n.get_value())) > 0.0

    def unmet_condition(self) -> Failure | None:
        """See `Skill.unmet_condition`; without a plan, fingers on the handle now are enough."""
        has_let_go = self._is_to_let_go and self.phase is not Phase.hold
        if has_let_go or (not self.commands and self._is_touched):
            return None
        return self._make_failure("not_reached", f"No finger is on the handle of '{self.object_name}'")
