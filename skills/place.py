"""Puts down what the hand holds: in or on a region of another object, beside an object, or on the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from unlatch.objects.annotation_entries import RegionKind, RegionOpening
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.carrying_conditions import DEFAULT_VALUES, ConditionKind, ObjectCondition
from unlatch.robots.description import GripperCfg
from unlatch.robots.hand_shape import hand_shape, tool_frame
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.ranges import NotNegative
from unlatch.simcore.recording.success_rules import SuccessRule
from unlatch.skills.carrying import CARRYING_PACE, CarryingSkill, seen_region, world_axis
from unlatch.skills.commands import ManipCommand, ManipKind, Phase
from unlatch.skills.config import SkillCfg
from unlatch.skills.context import SkillTarget
from unlatch.skills.strategies.free_objects import Floor, TurnRange, find_spots, turns_with_room
from unlatch.solver.plan import Carrying, KeyframePlan, PlanBudget, PlanRequest
from unlatch.solver.planner import plan_keyframes
from unlatch.solver.setting import REGION_FRONT, PlannerSettingCfg
from unlatch.solver.term import Term
from unlatch.solver.term_kinds import Point2Point

PLACE_POINT = "place_point"
"""Keypoint of the target: where the object's `bottom_center` comes to."""
DROPPED_M = 0.06
"""How far an object that was dropped may stand out of the box of its region [m]: it may roll to a round wall."""
_ABOVE_M = 0.003
"""Height above the floor at which the hand lets go [m]."""
_CLEAR_M = 0.04
"""Height above the rim of a region at which an object is brought over it [m]."""
_DESCENT_M = 0.08
"""Least height from which an object is let down [m]."""
_UPRIGHT_RAD = 0.05
_SPOTS_WITH_SPACE = 16
"""Number of spots with room for the object at which room for the hand is looked for."""
_SPOTS = 6
"""Number of spots with room for both that are planned with the budget of a first look."""
_TILT_RAD = 0.5
"""Largest tilt on the way of an object that must stand upright at the end: a cup may hold something [rad]."""
_BESIDE_GAP_M = 0.02
_DROP_M = -0.02
"""Height of the underside of an object above a rim when it is dropped [m]: it is already between the walls."""
_HAND_ROOM_M = 0.004
"""Least distance of the hand from everything where it puts something down and on its way out of a space [m]."""
_WAY_STEP_M = 0.06
"""Distance between the places on that way at which the hand needs room [m]."""
_TURN_MARK, _TURN_MARK_M = "turn_mark", 0.05
"""Keypoint in front of the middle of the underside: the line to it shows how the object is turned."""
_SAME_SPOT_M = 0.01
"""Spots that are nearer to each other are the same [m]."""
_INWARD_RAD = 0.9
"""Largest angle between the hand and straight into a space that opens to the front [rad]."""


@dataclass
class PlaceCfg(SkillCfg):
    """An entry of `skills` for `place`; `objects`: what is carried and, unless it goes on the table, the other one."""

    region: str | None = None
    """Region of the second object; None: its only region of the kind that `on` or `inside` needs, the largest."""
    beside: bool = False
    """Whether the object goes on the table beside the second object, not in or on it."""
    center_m: list[float] | None = None
    """x, y of the middle of the area in which the object goes [m]: on the table in the world frame, in a region from
    the middle of its floor. None: [0.5, 0] on the table, the whole region otherwise."""
    half_extent_m: list[NotNegative] = field(default_factory=lambda: [0.1, 0.1])
    """Half of the size of the area about `center_m` [m]."""
    upright: bool = True
    """Whether the object must stand upright."""
    drop: bool = False
    """Whether the hand lets go above the rim of a region that is open above, and the object falls into it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for key in ("center_m", "half_extent_m"):
            value = getattr(self, key)
            if value is not None and len(value) != 2:
                raise ConfigError(f"skills[place].{key} has {len(value)} values, expected 2.", key=key)
        if len(self.objects) < 2 and (self.beside or self.region is not None):
            raise ConfigError(
                f"skills[place].objects={self.objects} names no second object, which `region` and `beside` need. Add "
                "the object with the region.",
                key="objects",
            )


class PlaceChoice(NamedTuple):
    """Where a plan puts the object, and how the arm is there."""

    spot: np.ndarray
    """(3,) place of its underside on the floor, frame of the floor [m]."""
    q: np.ndarray
    """(n,) joints where the hand lets go [rad]."""


class Place(CarryingSkill):
    """Success: the object is in its place and upright, the fingers were on it while it moved, contacts are valid."""

    cfg_type = PlaceCfg
    _spot: np.ndarray | None = None
    """(3,) spot that was planned last, frame of the floor [m]."""

    @classmethod
    def declare_target(cls, cfg: SkillCfg, assets: Mapping[str, ObjectAsset]) -> SkillTarget:
        """See `Skill.declare_target`."""
        if not isinstance(cfg, PlaceCfg) or len(cfg.objects) < 2:
            return SkillTarget(None, None)
        of = cfg.objects[1]
        if cfg.beside:
            return SkillTarget(of, None)
        if cfg.region is not None:
            assets[of].region(cfg.region)
            return SkillTarget(of, cfg.region)
        regions = assets[of].regions
        inside = [name for name, region in regions.items() if region.kind is RegionKind.inside]
        named = [*inside, *regions]
        if not named:
            raise ConfigError(
                f"'{of}' ({assets[of].category}) has no region to put something in or on. Name another object, or "
                "place the object beside it.",
                key="region",
            )
        return SkillTarget(of, named[0])

    @classmethod
    def declare_conditions(cls, cfg: SkillCfg, assets: Mapping[str, ObjectAsset]) -> list[ObjectCondition]:
        """See `Skill.declare_conditions`."""
        target, name = cls.declare_target(cfg, assets), cfg.objects[0]
        on_table = target.of is None or target.region is None
        is_inside = not on_table and assets[str(target.of)].region(str(target.region)).kind is RegionKind.inside
        kind = ConditionKind.inside if is_inside else ConditionKind.on
        place = (None, None) if on_table else (target.of, target.region)
        drops = isinstance(cfg, PlaceCfg) and cfg.drop
        found = [ObjectCondition(kind, name, DROPPED_M if drops else DEFAULT_VALUES[kind], *place)]
        if isinstance(cfg, PlaceCfg) and cfg.upright:
            found.append(ObjectCondition(ConditionKind.upright, name, DEFAULT_VALUES[ConditionKind.upright]))
        return found

    @classmethod
    def declare_rule(cls, cfg: SkillCfg, gripper: GripperCfg) -> SuccessRule:
        """See `Skill.declare_rule`: an object that is dropped moves without the hand, too."""
        rule = super().declare_rule(cfg, gripper)
        return replace(rule, finger_contact_required=not (isinstance(cfg, PlaceCfg) and cfg.drop))

    @property
    def is_carrying(self) -> bool:
        """See `CarryingSkill.is_carrying`."""
        return self.phase in (Phase.transit, Phase.approach)

    def plan(self, rng: np.random.Generator) -> bool:
        """See `Skill.plan`: the hand must hold the object, and the object must fit."""
        if float(np.asarray(self.views.fingers_link.force_max_n.get_value())) <= 0.0 and not self.is_held:
            self.fail("grasp_missed", f"The hand does not hold '{self.object_name}', so it cannot put it down")
            return False
        headroom_m = self._floor().headroom_m
        if self.height_m > headroom_m:
            self.fail(
                "plan_infeasible",
                f"'{self.object_name}' does not fit where it is to be put. Name a higher region. The object is "
                f"{1e3 * self.height_m:.0f} mm high, the region {1e3 * headroom_m:.0f} mm",
                height_m=self.height_m,
                headroom_m=headroom_m,
            )
            return False
        return super().plan(rng)

    def plan_options(self, rng: np.random.Generator) -> Iterator[KeyframePlan]:
        """See `CarryingSkill.plan_options`: spots, each with the budget of a first look, and the best one in full."""
        checker, budget, floor = self.context.checker, self.context.budget, self._floor()
        spots = find_spots(
            floor.T_world_floor,
            floor.size.tolist(),
            radius_m=self.radius_m,
            height_m=self.height_m,
            obstacles=self.obstacles_near(floor.T_world_floor.p),
            opens_above=floor.opens_above,
            count=_SPOTS_WITH_SPACE,
            area=self._area(self._target().region is not None),
        )
        if not spots:
            self.fail(
                "plan_infeasible",
                f"There is no free spot for '{self.object_name}' where it is to be put. Name a larger region, or take "
                "something out of it",
            )
            return
        first = self.suggestion if isinstance(self.suggestion, PlaceChoice) else None
        if first is not None:
            wanted = floor.T_world_floor @ first.spot
            spots.sort(key=lambda spot: bool(np.linalg.norm(spot - wanted) > _SAME_SPOT_M))
        planned, best, is_any_found, is_blocked = 0, None, False, False
        for spot in spots:
            turns = self._turns_with_room(spot, floor)
            if not turns:
                continue
            self._spot = floor.T_world_floor.inverse() @ spot
            request = self._request(spot, floor, turns[0], budget.first_look())
            if first is not None and planned == 0:
                request = replace(request, q_preferred=first.q)
            best = best or replace(request, budget=budget)
            if is_blocked and not budget.thorough:
                # a way around what is in the way that does not exist to one spot hardly exists to the next one, and its
                # search takes as long as all else in a layout
                request = replace(request, budget=replace(request.budget, searches=0))
            plan = plan_keyframes(request, checker, rng)
            is_any_found, planned = is_any_found or plan.found, planned + 1
            is_blocked = is_blocked or (
                plan.diagnosis is not None and plan.diagnosis.evidence.get("stage") == "transit"
            )
            yield plan
            if budget.meter.is_spent:
                return
            if planned == _SPOTS:
                break
        if best is None:
            self.fail(
                "plan_infeasible",
                f"At none of {len(spots)} free spots for '{self.object_name}' has the hand room, the way it holds it. "
                "Open the part further, or begin the chain with artpreplan, which tries other grasps",
            )
        elif budget.thorough and not is_any_found:
            yield plan_keyframes(best, checker, rng)

    @property
    def choice(self) -> PlaceChoice | None:
        """See `Skill.choice`: the spot, and the joints of the arm there."""
        plan = self.keyframe_plan
        if self._spot is None or plan is None or not plan.found:
            return None
        return PlaceChoice(self._spot, plan.keyframes[plan.contact_pose_index].q)

    def _turns_with_room(self, spot: np.ndarray, floor: Floor) -> list[TurnRange]:
        """Returns the turns of the object about the vertical in which the hand can stand at a spot (3,), world frame.

        The way out of a space that opens to the front must be free for the hand, too.
        """
        if not self.cfg.planner_setting.derived and self.cfg.planner_setting.constraint_list:
            return [TurnRange(0.0, np.pi)]
        self.context.budget.meter.spend("fits")
        arm = self.context.arm
        fingers, palm = hand_shape(self.context.robot.cfg, arm.cfg).boxes(self.release_width_m)
        up, front = np.array([0.0, 0.0, 1.0]), floor.T_world_floor.R[:, 0]
        way = [spot + self._release_height_m(floor) * up]
        if not floor.opens_above:
            out = np.arange(0.0, floor.way_out_m(spot, self.radius_m), _WAY_STEP_M)
            way += [way[0] + floor.lift_over_sill_m(self.height_m) * up + out_m * front for out_m in out]
        return turns_with_room(
            self.T_ee_object.inverse() @ tool_frame(arm.cfg.keypoints),
            self.object.asset.articulation.keypoint("bottom_center").xyz,
            np.concatenate([fingers, palm]),
            way=way,
            obstacles=self.obstacles_near(spot),
            margin_m=0.0 if floor.opens_above else _HAND_ROOM_M,
            allows=lambda T: floor.opens_above or float(T.R[:, 0] @ front) <= -np.cos(_INWARD_RAD),
        )

    @property
    def height_m(self) -> float:
        """Height of the upright object [m]."""
        low, high = self.object.asset.bounds_obj
        return float(high[2] - low[2])

    @property
    def is_held(self) -> bool:
        """Whether the object is between the fingers, as in a search that has simulated no grasp."""
        arm = self.context.arm
        head = np.array(arm.cfg.keypoints["tool_head"])
        T_world_ee = arm.T_world_base @ self.context.arm_model.kinematics.pose(arm.q_target)
        reach = float(np.linalg.norm(self.object.asset.bounds_obj, axis=1).max())
        middle = self.T_world_object @ self.object.asset.bounds_obj.mean(axis=0)
        return float(np.linalg.norm(T_world_ee @ head - middle)) < reach

    def _target(self) -> SkillTarget:
        return self.declare_target(self.cfg, {name: item.asset for name, item in self.context.objects.items()})

    def _area(self, in_region: bool) -> np.ndarray | None:
        """Returns (2, 2) lower and upper corner of the area on the floor of a region, its middle the origin [m]."""
        if not (in_region and isinstance(self.cfg, PlaceCfg)) or self.cfg.center_m is None:
            return None
        center, half = np.array(self.cfg.center_m), np.array(self.cfg.half_extent_m)
        return np.stack([center - half, center + half])

    def _floor(self) -> Floor:
        """Returns the floor onto which the object goes."""
        cfg, target = self.cfg, self._target()
        if target.of is not None and target.region is not None:
            item = self.context.objects[target.of]
            region = item.asset.region(target.region)
            rim_m = float(region.size[2]) if region.kind is RegionKind.inside else 0.0
            opens_above = region.opening is RegionOpening.above
            headroom_m = float(region.size[2]) if item.asset.covers(region) else np.inf
            return Floor(seen_region(item, region), region.size[:2], rim_m, headroom_m, opens_above)
        center, half = [0.5, 0.0], [0.1, 0.1]
        if isinstance(cfg, PlaceCfg):
            center, half = list(cfg.center_m or center), list(cfg.half_extent_m)
        if target.of is not None:
            item = self.context.objects[target.of]
            box = item.body.aabb()
            room = 2.0 * self.radius_m + 2.0 * _BESIDE_GAP_M
            half = (0.5 * (box[1] - box[0])[:2] + room).tolist()
            center = box.mean(axis=0)[:2].tolist()
        radius = self.radius_m
        return Floor(Pose.from_translation([*center, 0.0]), 2.0 * (np.array(half) + radius), 0.0, np.inf, True)

    def _request(self, spot: np.ndarray, floor: Floor, turns: TurnRange, budget: PlanBudget) -> PlanRequest:
        T_world_floor = floor.T_world_floor
        context, arm = self.context, self.arm_with_object()
        scene = self.planning_scene(
            {PLACE_POINT: spot + np.array([0.0, 0.0, self._release_height_m(floor)])},
            axes={REGION_FRONT: T_world_floor.R[:, 0], "region_up": T_world_floor.R[:, 2]},
            T_world_link=T_world_floor,
        )
        up_m = max(context.scale * _DESCENT_M, floor.rim_m + context.scale * _CLEAR_M - self._release_height_m(floor))
        approach: list[list[Any]] = [["move-up", up_m]]
        constraints: list[Term] = []
        retreat_m = context.scale * PlanRequest.retreat_m
        if not floor.opens_above:
            out_m = floor.way_out_m(spot, self.radius_m)
            approach = [["move-up", floor.lift_over_sill_m(self.height_m)], ["translate_out", out_m]]
            retreat_m = out_m + 0.5 * retreat_m
            bottom = self.object.asset.articulation.keypoint("bottom_center").xyz
            mark = self.T_ee_object @ (bottom + np.array([_TURN_MARK_M, 0.0, 0.0]))
            arm = replace(arm, tool_keypoints={**arm.tool_keypoints, _TURN_MARK: mark})
            constraints.append(world_axis("bottom_center", _TURN_MARK, turns.half_rad, turns.direction.tolist()))
        upright = world_axis("bottom_center", "top_center", _UPRIGHT_RAD, [0.0, 0.0, 1.0])
        own = self.cfg.planner_setting
        setting = PlannerSettingCfg(
            success_threshold=0.0,
            constraint_list=[Point2Point("bottom_center", PLACE_POINT, 0.002), upright, *constraints],
            pre_actuation_motions=approach,
            post_actuation_motions=[],
        )
        if not own.derived and own.constraint_list:
            pre = own.pre_actuation_motions or setting.pre_actuation_motions
            setting = replace(own, pre_actuation_motions=pre, post_actuation_motions=[])
        opening_m = context.arm.gripper_opening_m
        return PlanRequest(
            arm=arm,
            scene=scene,
            setting=setting,
            q_current=context.arm.q_target,
            part_pairs=self.finger_pairs(),
            frame_s=context.frame_s,
            gripper_open_m=opening_m,
            gripper_contact_m=opening_m,
            gripper_released_m=self.release_width_m,
            retreat_m=retreat_m,
            asset=self.object.asset.instance,
            pace=CARRYING_PACE,
            budget=budget,
            carrying=Carrying.put,
            carried_tilt_rad=_TILT_RAD if isinstance(self.cfg, PlaceCfg) and self.cfg.upright else None,
        )

    def predicted_poses(self) -> Mapping[str, Pose]:
        """See `Skill.predicted_poses`: the object stands where the hand lets go of it."""
        plan = self.keyframe_plan
        if plan is None or not plan.found:
            return {}
        T_base_place = plan.keyframes[plan.contact_pose_index].T_base_ee
        T = self.context.arm.T_world_base @ T_base_place @ self.T_ee_object
        return {self.object_name: Pose.from_translation([0.0, 0.0, -self._release_height_m(self._floor())]) @ T}

    def predicted_opening_m(self) -> float | None:
        """See `Skill.predicted_opening_m`: the fingers have let go."""
        return self.release_width_m

    def _release_height_m(self, floor: Floor) -> float:
        """Returns the height above the floor at which the hand lets go [m]."""
        drops = isinstance(self.cfg, PlaceCfg) and self.cfg.drop and floor.opens_above
        return max(_ABOVE_M, floor.rim_m + _DROP_M) if drops else _ABOVE_M

    def make_commands(self, plan: KeyframePlan) -> list[ManipCommand]:
        """See `CarryingSkill.make_commands`."""
        width_m, T_base_place = self.release_width_m, plan.keyframes[plan.contact_pose_index].T_base_ee
        return [
            *self.motion_commands(plan, "transit", ManipKind.close_gripper, Phase.transit),
            *self.motion_commands(plan, "approach", ManipKind.close_gripper, Phase.approach),
            ManipCommand(ManipKind.detach_obj, T_base_place, Phase.release, params={"object": self.object_name}),
            self.release_command(T_base_place, width_m),
            *self.motion_commands(plan, "retreat", ManipKind.open_gripper, Phase.retreat, gripper_m=width_m),
        ]
