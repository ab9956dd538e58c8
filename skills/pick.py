"""Picks a free object up: grasps it where the hand has room, and lifts it. Friction alone holds it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from unlatch.objects.annotation_entries import RegionOpening
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.carrying_conditions import ConditionKind, ObjectCondition
from unlatch.robots.hand_shape import hand_shape
from unlatch.simcore.geometry import Pose
from unlatch.simcore.ranges import Range
from unlatch.skills.carrying import CarryingSkill, world_axis
from unlatch.skills.commands import ManipCommand, ManipKind, Phase
from unlatch.skills.config import SkillCfg
from unlatch.skills.strategies.free_objects import GraspCandidate, GraspSide, grasp_candidates
from unlatch.solver.plan import Carrying, KeyframePlan, PlanBudget, PlanRequest
from unlatch.solver.planner import plan_keyframes
from unlatch.solver.scene import Array
from unlatch.solver.setting import REGION_FRONT, PlannerSettingCfg
from unlatch.solver.term_kinds import KeypointAxisParallel, Point2Point

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
_SHELF_LIFT_M = (0.005, 0.03)
"""Least and preferred height by which an object on a shelf is lifted before it is moved out [m]."""
_UNDER_SHELF_M = 0.012
"""Height that stays free above it under another shelf, if the least height allows it [m]."""
_CANDIDATES = 8
"""Number of grasps that are planned with the budget of a first look."""
_ALIKE_M, _ALIKE_COSINE = 0.015, 0.2
"""Grasps are alike if heights and distances from the axis differ by less than the first value [m], and the cosines of
the angles of the hand to the vertical by less than the second."""
_EMPTY_M = 0.0015
"""Fingers with a smaller opening hold nothing [m]."""
_CLOSING_S = 0.35
"""Time for the grip to settle after the fingers have closed [s]."""


@dataclass
class PickCfg(SkillCfg):
    """An entry of `skills` for `pick`."""

    lift_m: Annotated[float, Range(LIFTED_M, 0.5)] = 0.1
    """How far the object is lifted [m]; out of an open container by as much as its rim needs, on a shelf by 3 cm, of
    which as much as fits under the next shelf before it is moved out."""
    approach: GraspSide = GraspSide.any
    """From where the hand comes: `above`, `side`, or `any`. What is to go onto a shelf must be taken from the side."""


class Pick(CarryingSkill):
    """Success: the object is lifted, the fingers were on it while it moved, contacts and speeds are valid."""

    cfg_type = PickCfg
    _candidate: GraspCandidate | None = None
    """The grasp that was planned last."""
    _T_object_tool: Pose | None = None
    """Where the hand is in that grasp, in the frame of the object."""
    missed: Sequence[Pose] = ()
    """`choice` of earlier attempts at this skill: these grasps are tried last."""

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

    def plan_options(self, rng: np.random.Generator) -> Iterator[KeyframePlan]:
        """See `CarryingSkill.plan_options`: grasps, each with the budget of a first look, and the best one in full.

        Once a grasp was taken, and a later skill had no plan with it, grasps that differ only by a turn about the
        vertical are left out: most things are put down with any such turn.
        """
        checker, budget = self.context.checker, self.context.budget
        taken: list[GraspCandidate] = []
        refused: list[GraspCandidate] = []
        for candidate in self._candidates():
            if any(self._is_alike(candidate, other) for other in taken):
                continue
            self._choose(candidate)
            plan = plan_keyframes(self._request(candidate, budget.first_look()), checker, rng)
            yield plan
            (taken if plan.found else refused).append(candidate)
            if budget.meter.is_spent or len(refused) + len(taken) >= _CANDIDATES:
                break
        if not taken and refused and budget.thorough and not budget.meter.is_spent:
            self._choose(refused[0])
            yield plan_keyframes(self._request(refused[0], budget), checker, rng)
        elif not taken and not refused:
            reason = (
                " with room for the hand was found before planner.work was spent; a larger one makes it try more"
                if budget.meter.is_spent
                else " was found: it has no two opposite spots with room for the hand. Move it away from what is "
                "around it, or take a hand that opens wider"
            )
            self.fail("plan_infeasible", f"No grasp of '{self.object_name}'{reason}")

    def _choose(self, candidate: GraspCandidate) -> None:
        self._candidate = candidate
        self._T_object_tool = self.T_world_object.inverse() @ candidate.T_world_tool

    def _is_alike(self, one: GraspCandidate, other: GraspCandidate) -> bool:
        """Returns whether two grasps differ at most by a turn of the hand about the vertical axis of the object."""
        values = []
        for T in (one.T_world_tool, other.T_world_tool):
            offset = T.p - self.T_world_object.p
            values.append([offset[2], float(np.hypot(*offset[:2])), *(_ALIKE_M * T.R[2, :2] / _ALIKE_COSINE)])
        # the hand is symmetric: its closing axis has no sign
        (*first, axis_1), (*second, axis_2) = values
        return bool(np.max(np.abs(np.array([*first, abs(axis_1)]) - [*second, abs(axis_2)])) < _ALIKE_M)

    @property
    def release_width_m(self) -> float:
        """See `CarryingSkill.release_width_m`: the opening of the approach, which had room."""
        return super().release_width_m if self._candidate is None else self._candidate.opening_m

    @property
    def choice(self) -> Pose | None:
        """See `Skill.choice`: `T_object_tool` of the grasp."""
        return self._T_object_tool

    def _candidates(self) -> Iterator[GraspCandidate]:
        """Yields the grasps, the one of the suggestion first, and those that missed last."""
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
            floor_m=self.context.ground_z_m,
            side=self.cfg.approach if isinstance(self.cfg, PickCfg) else GraspSide.any,
            inward=-around.T_world_region.R[:, 0] if around is not None and is_shelf else None,
            preferred=self.T_world_object @ self.suggestion if isinstance(self.suggestion, Pose) else None,
            avoided=[self.T_world_object @ each for each in self.missed],
            meter=self.context.budget.meter,
        )

    def _lift(self) -> tuple[list[list[Any]], dict[str, Array]]:
        """Returns the motions that lift the object out of what surrounds it, and the axes that they need."""
        scale = self.context.scale
        lift_m = max(LIFTED_M, scale * (self.cfg.lift_m if isinstance(self.cfg, PickCfg) else 0.1))
        around = self.surrounding_region()
        if around is None:
            return [["move-up", lift_m]], {}
        bottom = (self.T_world_object @ self.object.asset.articulation.keypoint("bottom_center").xyz)[2]
        if around.region.opening is RegionOpening.above:
            rim_m = float(around.T_world_region.p[2] + around.region.size[2] - bottom)
            return [["move-up", max(lift_m, rim_m + scale * _CLEAR_M)]], {}
        middle = around.T_world_region.inverse() @ (self.T_world_object @ self.object.asset.bounds_obj.mean(axis=0))
        out_m = float(0.5 * around.region.size[0] - middle[0]) + self.radius_m + scale * _CLEAR_M
        # how far the object is lifted in a space that opens to the front: less below a low ceiling [m]
        least_m, preferred_m = _SHELF_LIFT_M
        top = self.T_world_object @ self.object.asset.articulation.keypoint("top_center").xyz
        room_m = float(around.region.size[2] - (around.T_world_region.inverse() @ top)[2])
        up_m = float(np.clip(room_m - _UNDER_SHELF_M, least_m, preferred_m))
        motions: list[list[Any]] = [["move-up", up_m], ["translate_out", out_m]]
        if up_m < _SHELF_LIFT_M[1]:
            motions.append(["move-up", _SHELF_LIFT_M[1] - up_m])
        return motions, {REGION_FRONT: around.T_world_region.R[:, 0]}

    def _request(self, candidate: GraspCandidate, budget: PlanBudget) -> PlanRequest:
        T, context = candidate.T_world_tool, self.context
        lift, axes = self._lift()
        T_world_object = self.T_world_object
        points = {name: T_world_object @ v.xyz for name, v in self.object.asset.articulation.keypoints.items()}
        points |= {GRASP_HEAD: T.p, GRASP_TAIL: T.p + _TAIL_M * T.R[:, 1]}
        scene = self.planning_scene(points, axes=axes, T_world_link=T_world_object)
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
                world_axis("tool_tail", "tool_head", _LEAN_RAD, T.R[:, 0].tolist()),
            ],
            pre_actuation_motions=[["translate_z", -context.scale * _APPROACH_M]],
            post_actuation_motions=lift,
        )
        if not own.derived and own.constraint_list:
            setting = replace(own, post_actuation_motions=own.listed_post_motions or lift)
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
            part_speed=0.15,
            asset=self.object.asset.instance,
            budget=budget,
            carrying=Carrying.taken,
        )

    def make_commands(self, plan: KeyframePlan) -> list[ManipCommand]:
        """See `CarryingSkill.make_commands`."""
        candidate = self._candidate
        if candidate is None:
            return []
        gripper, frames = self.context.arm.cfg.gripper, self.context.frames
        opening_m = candidate.opening_m
        closing_s = 0.5 * (opening_m - candidate.width_m) / gripper.max_speed_m_s + _CLOSING_S
        if gripper.on_levers:
            closing_s *= 1.5
        T_base_grasp = plan.keyframes[plan.contact_pose_index].T_base_ee
        return [
            *self.motion_commands(plan, "transit", ManipKind.open_gripper, Phase.transit, gripper_m=opening_m),
            *self.motion_commands(plan, "approach", ManipKind.open_gripper, Phase.approach, gripper_m=opening_m),
            ManipCommand(
                ManipKind.close_gripper, T_base_grasp, Phase.grasp, dwell_frames=frames(closing_s), until_rest=True
            ),
            ManipCommand(ManipKind.attach_obj, T_base_grasp, Phase.follow, params={"object": self.object_name}),
            *self.motion_commands(plan, "follow", ManipKind.close_gripper, Phase.follow),
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
        return None if self._candidate is None else self._candidate.width_m

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
