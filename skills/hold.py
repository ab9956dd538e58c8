"""Holds a handle of an object, or keeps a button pressed, while another arm moves what that frees; then steps back."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from unlatch.objects.annotation import SPOT, Articulation, Part
from unlatch.objects.annotation_entries import FixedHandle
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.robots.description import RobotCfg
from unlatch.robots.hand_shape import HandShape
from unlatch.simcore.errors import ConfigError, SkillError
from unlatch.simcore.sim.collision import PlannedMotion
from unlatch.skills.articulation import ArticulationSkill
from unlatch.skills.close import Close
from unlatch.skills.commands import ManipCommand, ManipKind, Phase
from unlatch.skills.config import HoldCfg, SkillCfg
from unlatch.skills.context import Failure, SkillContext
from unlatch.skills.grasping import EMPTY_GRIPPER_M
from unlatch.skills.skill import HoldingSkill, Skill
from unlatch.solver.plan import KeyframePlan
from unlatch.solver.scene import PlanningScene
from unlatch.solver.setting import PlannerSettingCfg
from unlatch.solver.term_kinds import KeypointAxisOrthogonal, KeypointAxisParallel, Point2Point

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


_ROOM_M = 0.012
"""Gap between each finger and the bar on the approach [m]."""
_APPROACH_M = 0.06
_LEAN_RAD = 0.4
"""Largest angle between the hand and straight out of the object."""


def hold_setting(handle: FixedHandle, hand: HandShape) -> PlannerSettingCfg:
    """Returns the planner setting for holding a handle."""
    across = KeypointAxisOrthogonal(
        "tool_head",
        "tool_side",
        0.1,
        target_axis_from_keypoint_name=HANDLE,
        target_axis_to_keypoint_name=HANDLE_END,
        target_inner_product=0,
    )
    outward = KeypointAxisParallel(
        "tool_head",
        "tool_tail",
        _LEAN_RAD,
        target_axis_from_keypoint_name=HANDLE,
        target_axis_to_keypoint_name=HANDLE_OUT,
        target_inner_product=1,
    )
    return PlannerSettingCfg(
        success_threshold=0.0,
        constraint_list=[Point2Point("tool_head", HANDLE, 0.002), across, outward],
        approach_width_m=round(min(handle.thickness_m + 2 * _ROOM_M, hand.max_width_m), 4),
        pre_actuation_motions=[["translate_z", -_APPROACH_M]],
        post_actuation_motions=[],
    )


def planned_motion(skill: Skill) -> PlannedMotion:
    """Returns the motion that a planned skill still has to carry out, from where its arm and part are now."""
    arm = skill.context.arm
    commands = skill.commands[skill.executor.index :]
    motions = [command.motion for command in commands if command.motion is not None and len(command.motion)]
    widths = [arm.gripper_opening_m, arm.gripper_target_m]
    widths += [float(np.max(motion.gripper_m)) for motion in motions if motion.gripper_m is not None]
    if any(command.kind is ManipKind.open_gripper and command.motion is None for command in commands):
        widths.append(arm.cfg.gripper.max_width_m)
    obstacle, joint, s = None, None, np.zeros(0)
    if isinstance(skill, ArticulationSkill) and not isinstance(skill, HoldingSkill):
        obstacle, joint = skill.object_name, skill.part.joint
        limits = skill.object.body.joint(joint)
        led = [motion.s for motion in motions if motion.s is not None]
        s = np.clip(np.concatenate([[skill.s], *led]), limits.lower, limits.upper)
    return PlannedMotion(
        links=frozenset((*arm.cfg.forbidden_links, *arm.cfg.gripper.finger_links)),
        joints=tuple(arm.cfg.joints),
        q=np.concatenate([arm.q[None], *(motion.q for motion in motions)]),
        fingers=dict(zip(arm.cfg.gripper.joints, arm.cfg.gripper.positions(max(widths)), strict=True)),
        obstacle=obstacle,
        joint=joint,
        s=s,
    )


class HoldPressed(HoldingSkill, Close):
    """Success: fingers touched the button in every frame of the hold, contacts and speeds valid."""

    derived_as: ClassVar[str | None] = "close"

    def make_commands(self, plan: KeyframePlan) -> list[ManipCommand]:
        """See `Close.make_commands`; the hand waits between the press and the step back."""
        commands = super().make_commands(plan)
        place = next(index for index, command in enumerate(commands) if command.phase is Phase.retreat)
        pressed = commands[place - 1].T_base_ee
        hold = ManipCommand(ManipKind.close_gripper, pressed, Phase.hold, dwell_frames=1)
        return [*commands[:place], hold, *commands[place:]]

    @property
    def gripper_hold_m(self) -> float:
        """See `HoldingSkill.gripper_hold_m`: the fingers are closed."""
        return min(self.context.arm.cfg.gripper.widths_m, default=0.0)

    @property
    def q_hold(self) -> np.ndarray:
        """See `HoldingSkill.q_hold`.

        Raises:
            SkillError: It has no plan.
        """
        plan = self.keyframe_plan
        led = [] if plan is None or not plan.found else [each for each in plan.segments if each.kind == "follow"]
        if not led:
            raise SkillError(
                "Skill 'hold_pressed' has no plan that says where the arm presses. Call plan() first.",
                skill="hold_pressed",
            )
        return led[-1].q[-1]

    @property
    def positions_held(self) -> dict[str, float]:
        """See `HoldingSkill.positions_held`: the button is pressed to its stop."""
        return {self.part.joint: self.part.openness.closed}

    def check_frame(self) -> None:
        """See `Close.check_frame`; while it holds, a finger must stay on the button."""
        super().check_frame()
        if self.phase is Phase.hold and not self.is_touched:
            self.fail("slipped", f"No finger presses '{self.part.name}' of '{self.object_name}' any more", s=self.s)

    def unmet_condition(self) -> Failure | None:
        """See `Skill.unmet_condition`; without a plan, fingers on the button now are enough."""
        has_let_go = self._is_to_let_go and self.phase is not Phase.hold
        if has_let_go or (not self.commands and self.is_touched):
            return None
        return self.make_failure("not_reached", f"No finger presses '{self.part.name}' of '{self.object_name}'")


def arms_side_by_side(robot: RobotCfg, asset: ObjectAsset, part: Part, button: Part) -> tuple[str, str]:
    """Returns the arms that move a part and that press a button meanwhile: the one on the side of the button presses.

    The object faces the robot, so what lies on its left, as it is seen from the front, is on the left of the robot.

    Raises:
        ConfigError: The robot has one arm.
    """
    if len(robot.arms) < 2:
        raise ConfigError(
            f"'{part.name}' of '{asset.name}' moves only while '{button.name}' is pressed, and robot '{robot.name}' "
            "has one arm. Expected two: one presses, the other moves the part. Choose robot=dual_panda.",
            key="robot",
        )
    rest = asset.rest_positions

    def y_m(each: Part) -> float:
        return float((asset.model.link_pose(each.link, rest) @ each.keypoint(SPOT).xyz)[1])

    left, right = sorted(arm.name for arm in robot.arms[:2])
    return (left, right) if y_m(button) >= y_m(part) else (right, left)
