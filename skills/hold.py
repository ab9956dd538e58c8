"""Holds a handle of an object while another arm moves one of its parts, then lets go and steps back."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from unlatch.objects.annotation import Articulation
from unlatch.simcore.errors import SkillError
from unlatch.skills.articulation import ArticulationSkill
from unlatch.skills.contract.command import ManipCommand, ManipKind, Phase
from unlatch.skills.contract.config import SkillCfg
from unlatch.skills.contract.context import SkillContext
from unlatch.skills.contract.entries import HoldCfg
from unlatch.skills.contract.failure import Failure
from unlatch.skills.grasping import EMPTY_GRIPPER_M
from unlatch.skills.holding import HoldingSkill
from unlatch.solver.planning.plan import KeyframePlan
from unlatch.solver.scene import PlanningScene
from unlatch.solver.settings.setting import PlannerSettingCfg

HANDLE, HANDLE_END, HANDLE_OUT = "handle", "handle_end", "handle_out"
"""Keypoints of the handle: its middle, a point along its bar, and one away from the object."""
_OFFSET_M = 0.05
"""Distance of the other two keypoints from the middle."""


class Hold(HoldingSkill, ArticulationSkill):
    """Success: fingers touched the handle in every frame of the hold, contacts and speeds valid."""

    cfg_type: ClassVar[type[SkillCfg]] = HoldCfg

    def __init__(self, cfg: SkillCfg, context: SkillContext) -> None:
        super().__init__(cfg, context)
        if not isinstance(cfg, HoldCfg):
            raise SkillError(f"Skill 'hold' got a {type(cfg).__name__}. Expected a HoldCfg.", skill=cfg.name)
        self.handle = self.object.asset.articulation.fixed_handle(cfg.handle)

    @classmethod
    def declare_link(cls, cfg: SkillCfg, articulation: Articulation) -> str | None:
        """See `Skill.declare_link`: that of the handle."""
        return articulation.fixed_handle(cfg.handle).link if isinstance(cfg, HoldCfg) else None

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
            HANDLE_END: handle.middle + _OFFSET_M * handle.along,
            HANDLE_OUT: handle.middle + _OFFSET_M * handle.out,
        }
        return replace(
            scene, keypoints={**scene.keypoints, **{name: T_base_link @ point for name, point in points.items()}}
        )

    def make_commands(self, plan: KeyframePlan) -> list[ManipCommand]:
        """See `ArticulationSkill.make_commands`."""
        T_base_hold = plan.keyframes[plan.contact_pose_index].T_base_ee
        hold = ManipCommand(ManipKind.close_gripper, T_base_hold, Phase.hold, dwell_frames=1)
        return self.grasp_commands(plan, self.approach_width_m, held=[hold], T_base_release=T_base_hold)

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

    def check_frame(self) -> None:
        """See `Skill.check_frame`: while it holds, the fingers must stay on the part."""
        if self.phase is not Phase.hold:
            return
        opening_m = self.context.arm.gripper_opening_m
        if opening_m < EMPTY_GRIPPER_M or not self.is_touched:
            self.fail(
                "slipped",
                f"The fingers do not hold the handle of '{self.object_name}', {1e3 * opening_m:.1f} mm open",
                gripper_opening_m=opening_m,
                touching=self.is_touched,
            )

    def unmet_condition(self) -> Failure | None:
        """See `Skill.unmet_condition`; without a plan, fingers on the handle now are enough."""
        has_let_go = self._is_to_let_go and self.phase is not Phase.hold
        if has_let_go or (not self.commands and self.is_touched):
            return None
        return self.make_failure("not_reached", f"No finger is on the handle of '{self.object_name}'")
