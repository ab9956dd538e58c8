"""Picks a free object up: grasps it where the hand has room, and lifts it. Friction alone holds it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.carrying.conditions import ConditionKind, ObjectCondition
from unlatch.objects.carrying.region import RegionOpening
from unlatch.robots.hand_shape import hand_shape
from unlatch.simcore.errors import check_range
from unlatch.simcore.geometry import Pose
from unlatch.skills.carrying import CarryingSkill
from unlatch.skills.contract.command import ManipCommand, ManipKind, Phase
from unlatch.skills.contract.config import SkillCfg
from unlatch.skills.strategies.grasps import GraspCandidate, GraspSide, grasp_candidates
from unlatch.solver.planning.plan import Carrying, KeyframePlan, PlanBudget, PlanRequest
from unlatch.solver.planning.planner import plan_keyframes
from unlatch.solver.scene import Array
from unlatch.solver.settings.hand_motions import REGION_FRONT
from unlatch.solver.settings.setting import PlannerSettingCfg
from unlatch.solver.terms.axis import FrameAxisParallel, KeypointAxisParallel
from unlatch.solver.terms.point2point import Point2Point

GRASP_HEAD, GRASP_TAIL = "grasp_head", "grasp_tail"
"""Keypoints of a grasp: between the pads, and 5 cm from there along the closing axis."""
LIFTED_M = 0.02
"""An object counts as lifted from this height on [m]."""
_TAIL_M = 0.05
_APPROACH_M = 0.08
_LEAN_RAD = 0.08
"""Largest angle between the hand and the approach of a candidate [rad]."""
_CLEAR_M = 0.04
"""Distance beyond a rim or an edge at which an object is out of a region [m]."""
_SHELF_LIFT_M = 0.03
_CANDIDATES = 8
"""Number of grasps that are planned with the budget of a first look."""
_EMPTY_M = 0.0015
"""Fingers with a smaller opening hold nothing [m]."""
_CLOSING_S = 0.35
"""Time for the grip to settle after the fingers have closed [s]."""


@dataclass
class PickCfg(SkillCfg):
    """An entry of `skills` for `pick`."""

    lift_m: float = 0.1
    """How far the object is lifted [m]; out of an open container by as much as its rim needs, on a shelf by 3 cm."""
    approach: GraspSide = GraspSide.any
    """From where the hand comes: `above`, `side`, or `any`. What is to go onto a shelf must be taken from the side."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("skills[pick].lift_m", self.lift_m, LIFTED_M, 0.5)


class Pick(CarryingSkill):
    """Success: the object is lifted, the fingers were on it while it moved, contacts and speeds are valid."""

    cfg_type = PickCfg
    _width_m: float | None = None
    """Width of the object between the pads, where there is a plan [m]."""

    @classmethod
    def declare_conditions(cls, cfg: SkillCfg, assets: Mapping[str, ObjectAsset]) -> list[ObjectCondition]:
        """See `Skill.declare_conditions`."""
        threshold = cfg.planner_setting.success_threshold
        lifted_m = LIFTED_M if cfg.planner_setting.derived else float(threshold)
        return [ObjectCondition(ConditionKind.lifted, cfg.objects[0], lifted_m)]

    @property
    def is_carrying(self) -> bool:
        """See `CarryingSkill.is_carrying`."""
        return self.phase is Phase.follow

    def plan(self, rng: np.random.Generator) -> bool:
        """See `Skill.plan`: plans the most promising grasps one after the other and takes the first that works."""
        self.load_checker()
        context, budget = self.context, self.context.budget
        candidates = list(islice(self._candidates(), _CANDIDATES))
        if not candidates:
            self.fail("plan_infeasible", f"'{self.object_name}' has no two opposite spots with room for the hand")
            return False
        first: KeyframePlan | None = None
        for number, (candidate, each) in enumerate(
            [(c, budget.first_look()) for c in candidates] + ([(candidates[0], budget)] if budget.thorough else [])
        ):
            plan = plan_keyframes(self._request(candidate, each), context.checker, rng)
            if plan.found:
                self.commands = self._make_commands(plan, candidate)
                return self.take_plan(plan)
            first = plan if number == 0 or number == len(candidates) else first
            if budget.meter.is_spent:
                break
        return self.take_plan(first) if first is not None else False

    def _candidates(self) -> Iterator[GraspCandidate]:
        arm = self.context.arm
        hand = hand_shape(self.context.robot.cfg, arm.cfg)
        around = self.surrounding_region()
        is_shelf = around is not None and around.region.opening is RegionOpening.front
        return grasp_candidates(
            self.object.asset,
            self.T_world_object,
            hand,
            self.obstacles_near(self.T_world_object.p),
            p_world_base=arm.T_world_base.p,
            floor_m=0.0,
            side=self.cfg.approach if isinstance(self.cfg, PickCfg) else GraspSide.any,
            inward=-around.T_world_region.R[:, 0] if around is not None and is_shelf else None,
        )

    def _lift(self) -> tuple[list[list[Any]], dict[str, Array]]:
        """Returns the motions that lift the object out of what surrounds it, and the axes that they need."""
        lift_m = self.cfg.lift_m if isinstance(self.cfg, PickCfg) else 0.1
        around = self.surrounding_region()
        if around is None:
            return [["move-up", lift_m]], {}
        bottom = (self.T_world_object @ self.object.asset.articulation.keypoint("bottom_center").xyz)[2]
        if around.region.opening is RegionOpening.above:
            rim_m = float(around.T_world_region.p[2] + around.region.size[2] - bottom)
            return [["move-up", max(lift_m, rim_m + _CLEAR_M)]], {}
        middle = around.T_world_region.inverse() @ (self.T_world_object @ self.object.asset.bounds_obj.mean(axis=0))
        out_m = float(0.5 * around.region.size[0] - middle[0]) + self.radius_m + _CLEAR_M
        motions: list[list[Any]] = [["move-up", _SHELF_LIFT_M], ["translate_out", out_m]]
        return motions, {REGION_FRONT: around.T_world_region.R[:, 0]}

    def _request(self, candidate: GraspCandidate, budget: PlanBudget) -> PlanRequest:
        T, context = candidate.T_world_tool, self.context
        lift, axes = self._lift()
        scene = self.planning_scene(
            {
                **self.object_keypoints_world(),
                GRASP_HEAD: T.p,
                GRASP_TAIL: T.p + _TAIL_M * T.R[:, 1],
            },
            axes=axes,
            T_world_link=self.T_world_object,
        )
        own = self.cfg.planner_setting
        setting = PlannerSettingCfg(
            success_threshold=LIFTED_M,
            constraint_list=[
                Point2Point("tool_head", GRASP_HEAD, 0.002),
                KeypointAxisParallel(
                    "tool_head",
                    "tool_side",
                    0.05,
                    target_axis_from_keypoint_name=GRASP_HEAD,
                    target_axis_to_keypoint_name=GRASP_TAIL,
                    target_inner_product=1,
                ),
                FrameAxisParallel(
                    "tool_tail",
                    "tool_head",
                    _LEAN_RAD,
                    target_axis=T.R[:, 0].tolist(),
                    target_axis_frame="world",
                    target_inner_product=1,
                ),
            ],
            pre_actuation_motions=[["translate_z", -_APPROACH_M]],
            post_actuation_motions=lift,
        )
        if not own.derived and own.constraint_list:
            listed = own.listed_post_motions or lift
            setting = replace(own, post_actuation_motions=listed)
        return PlanRequest(
            arm=context.arm_model,
            scene=scene,
            setting=setting,
            q_current=context.arm.q_target,
            part_pairs=self.finger_pairs(),
            frame_s=context.frame_s,
            retreat_m=0.0,
            gripper_open_m=candidate.opening_m,
            gripper_contact_m=candidate.width_m,
            part_speed=0.12,
            asset=self.object.asset.instance,
            budget=budget,
            carrying=Carrying.taken,
        )

    def _make_commands(self, plan: KeyframePlan, candidate: GraspCandidate) -> list[ManipCommand]:
        self.keyframe_plan, self._width_m = plan, candidate.width_m
        gripper, frames = self.context.arm.cfg.gripper, self.context.frames
        opening_m = candidate.opening_m
        closing_s = 0.5 * (opening_m - candidate.width_m) / gripper.max_speed_m_s + _CLOSING_S
        if gripper.on_levers:
            closing_s *= 1.5
        T_base_grasp = plan.keyframes[plan.contact_pose_index].T_base_ee
        return [
            *self.motions("transit", ManipKind.open_gripper, Phase.transit, gripper_m=opening_m),
            *self.motions("approach", ManipKind.open_gripper, Phase.approach, gripper_m=opening_m),
            ManipCommand(ManipKind.close_gripper, T_base_grasp, Phase.grasp, dwell_frames=frames(closing_s)),
            ManipCommand(ManipKind.attach_obj, T_base_grasp, Phase.follow, params={"object": self.object_name}),
            *self.motions("follow", ManipKind.close_gripper, Phase.follow, gripper_m=None),
        ]

    def predicted_poses(self) -> Mapping[str, Pose]:
        """See `Skill.predicted_poses`: the object is in the hand."""
        plan, T_world_base = self.keyframe_plan, self.context.arm.T_world_base
        if plan is None or not plan.found:
            return {}
        T_world_grasp = T_world_base @ plan.keyframes[plan.contact_pose_index].T_base_ee
        T_ee_object = T_world_grasp.inverse() @ self.T_world_object
        return {self.object_name: T_world_base @ plan.keyframes[-1].T_base_ee @ T_ee_object}

    def predicted_opening_m(self) -> float | None:
        """See `Skill.predicted_opening_m`: the width of the object."""
        return self._width_m

    def check_frame(self) -> None:
        """See `CarryingSkill.check_frame`; also checks at the first frame of the lift that the fingers hold it."""
        is_first = self.is_carrying and self._T_ee_object is None
        super().check_frame()
        opening_m = self.context.arm.gripper_opening_m
        touching = float(np.asarray(self.views.fingers_link.force_max_n.get_value())) > 0.0
        if is_first and (opening_m < _EMPTY_M or not touching):
            self.fail(
                "grasp_missed",
                f"The fingers closed to {1e3 * opening_m:.1f} mm and hold nothing of '{self.object_name}'",
                gripper_opening_m=opening_m,
                touching=touching,
            )
