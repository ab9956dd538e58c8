"""Base class of skills that act on a free object: what the planner sees of it, and how it is watched in the hand."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar, NamedTuple

import numpy as np

from unlatch.objects.annotation_entries import Region, RegionKind
from unlatch.objects.carrying_conditions import ObjectPoses
from unlatch.objects.scene_object import SceneObject
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.solids import Solids
from unlatch.skills.commands import ManipCommand
from unlatch.skills.config import SkillCfg
from unlatch.skills.context import Failure, SkillContext, Views
from unlatch.skills.skill import Skill
from unlatch.skills.strategies.free_objects import Obstacle
from unlatch.solver.plan import KeyframePlan
from unlatch.solver.scene import ArmModel, JointGeometry, PlanningScene
from unlatch.solver.term_kinds import FrameAxisParallel

Array = np.ndarray

CARRYING_PACE = 0.525
"""Share of the planner's usual speeds while the hand carries something: a heavy cup turns in faster fingers."""
_SLIPPED_M = 0.02
"""An object that moves farther than this in the hand has slipped [m]."""
_SLIPPED_RAD = 0.6
"""An object that turns farther than this in the hand has slipped [rad]."""
_LOST_S = 0.2
"""An object without a finger on it for this time is lost [s]."""
_RELEASE_ROOM_M = 0.03
"""How much wider than the object the fingers open to let it go [m]."""
_NEAR_M = 0.6
"""Obstacles farther away than this leave room for any hand [m]."""


class SurroundingRegion(NamedTuple):
    """The region in which an object is."""

    region: Region
    T_world_region: Pose
    """Where it is now."""
    of: str
    """The object that it belongs to."""


def seen_region(item: SceneObject, region: Region) -> Pose:
    """Returns the pose of a region of an object where the planner sees it, world frame."""
    T_world_link = item.pose_error.estimate_frame(item.body.root_pose(), item.body.link_pose(region.link))
    return T_world_link @ region.T_link_region


def world_axis(start: str, end: str, tolerance_rad: float, axis: list[float]) -> FrameAxisParallel:
    """Returns the term that leads the line between two keypoints of hand and object along an axis, world frame."""
    return FrameAxisParallel(
        start, end, tolerance_rad, target_axis=axis, target_axis_frame="world", target_inner_product=1
    )


class InHandSkill(Skill):
    """May have a free object in its hand: what the planner sees of it, and the check that it stays where it is."""

    def __init__(self, cfg: SkillCfg, context: SkillContext) -> None:
        super().__init__(cfg, context)
        self.object_name = cfg.objects[0]
        self.object: SceneObject = context.objects[self.object_name]
        self.views: Views = next(views for (name, _), views in context.views.items() if name == self.object_name)
        self._T_ee_object: Pose | None = None
        self._lost_frames = 0

    @property
    def is_carrying(self) -> bool:
        """Whether the hand has the object in the present phase."""
        return False

    @property
    def T_world_object(self) -> Pose:
        """Where the planner sees the root of the object."""
        return self.object.pose_error.estimate_root(self.object.body.root_pose())

    @property
    def T_ee_object(self) -> Pose:
        """Where the object is in the hand, if the arm is where it was told to be.

        The arm yields under the load as it will at the target: a hand that is told to be there has the object there.
        """
        arm = self.context.arm
        T_base_ee: Pose = self.context.arm_model.kinematics.pose(arm.q_target)
        return T_base_ee.inverse() @ arm.T_world_base.inverse() @ self.T_world_object

    def load_checker(self) -> None:
        """Gives the collision checker the scene as the planner sees it now."""
        self.context.budget.meter.spend("loads")
        self.context.checker.load(
            self.context.robot_model,
            self.context.obstacles(seen=True),
            ignored_substrings=self.cfg.ignore_substring,
            concurrent_motions=self.context.concurrent_motions,
            free_object=self.object_name if self.object.free else None,
        )

    def check_frame(self) -> None:
        """Checks while the hand has the object that it stays where it was grasped."""
        if not self.is_carrying:
            self._T_ee_object, self._lost_frames = None, 0
            return
        arm = self.context.arm
        T = arm.T_base_ee.inverse() @ arm.T_world_base.inverse() @ self.object.body.root_pose()
        touching = float(np.asarray(self.views.fingers_link.force_max_n.get_value())) > 0.0
        self._lost_frames = 0 if touching else self._lost_frames + 1
        if self._T_ee_object is None:
            self._T_ee_object = T
        grasped = self._T_ee_object
        # the spot between the pads: the far end of an object that turns a little in the hand moves by centimetres
        head = np.array(arm.cfg.keypoints["tool_head"])
        moved_m = float(np.linalg.norm(T @ (grasped.inverse() @ head) - head))
        turned = float(np.arccos(np.clip((np.trace(T.R.T @ grasped.R) - 1.0) / 2.0, -1.0, 1.0)))
        if self._lost_frames >= self.context.frames(_LOST_S):
            self.fail("slipped", f"The fingers lost '{self.object_name}' in phase {self.phase.name}")
        elif moved_m > _SLIPPED_M or turned > _SLIPPED_RAD:
            self.fail(
                "slipped",
                f"'{self.object_name}' moved by {1e3 * moved_m:.0f} mm and turned by {turned:.2f} rad in the hand in "
                f"phase {self.phase.name}",
                moved_m=moved_m,
                turned_rad=turned,
            )


class CarryingSkill(InHandSkill):
    """Acts on one free object.

    A subclass writes `plan_options` and `make_commands`, and says with `is_carrying` when the hand has the object.
    """

    finger_contact_required: ClassVar[bool] = True
    carries: ClassVar[bool] = True

    def __init__(self, cfg: SkillCfg, context: SkillContext) -> None:
        super().__init__(cfg, context)
        self._start = self._poses()
        self._options: Iterator[KeyframePlan] = iter(())
        """What `plan_options` has not yielded yet."""

    @abstractmethod
    def plan_options(self, rng: np.random.Generator) -> Iterator[KeyframePlan]:
        """Yields the plans of one choice after the other, such as of grasps, the most promising first.

        It notes a failure if there is no choice.
        """

    @abstractmethod
    def make_commands(self, plan: KeyframePlan) -> list[ManipCommand]:
        """Returns the commands that carry out the plan that `plan_options` yielded last."""

    def plan(self, rng: np.random.Generator) -> bool:
        """See `Skill.plan`: takes the first choice that has a plan."""
        self._options = self.plan_options(rng)
        return self.plan_next()

    def plan_next(self) -> bool:
        """See `Skill.plan_next`: goes on with the choices after the one that was taken."""
        self.load_checker()
        self.commands, refused = [], None
        for plan in self._options:
            if plan.found:
                self.keyframe_plan = plan
                self.commands = self.make_commands(plan)
                return True
            refused = plan
        if refused is not None:
            self.refuse(refused)
        return False

    def unmet_condition(self) -> Failure | None:
        """See `Skill.unmet_condition`: the first declared condition that does not hold."""
        assets = {name: item.asset for name, item in self.context.objects.items()}
        poses = self._poses()
        for condition in self.declare_conditions(self.cfg, assets):
            described = condition.describe(assets)
            reached, holds = poses.measure(described, self._start)
            if not holds:
                return self.make_failure(
                    "not_reached",
                    f"'{self.object_name}' is not '{condition.kind.value}': {reached:.4f}, limit {condition.value:g}",
                    condition=described,
                    reached=reached,
                )
        return None

    def _poses(self) -> ObjectPoses:
        free = {name: item.body.root_pose() for name, item in self.context.objects.items() if item.free}
        return ObjectPoses(free, {key: region.T_world_region for key, region in self.context.regions.items()})

    def surrounding_region(self) -> SurroundingRegion | None:
        """Returns the region of another object in which the object is; None if it stands free."""
        middle = self.T_world_object @ self.object.asset.bounds_obj.mean(axis=0)
        for name, item in self.context.objects.items():
            low, high = item.body.aabb()
            if name == self.object_name or np.any(middle < low) or np.any(middle - high > [0.0, 0.0, _NEAR_M]):
                continue
            for region in item.asset.regions.values():
                if region.kind is RegionKind.inside:
                    T = seen_region(item, region)
                    if region.holds(T.inverse() @ middle):
                        return SurroundingRegion(region, T, name)
        return None

    @property
    def release_width_m(self) -> float:
        """Opening of the fingers that lets go of what the hand holds [m]."""
        arm = self.context.arm
        return min(arm.gripper_opening_m + _RELEASE_ROOM_M, arm.cfg.gripper.max_width_m)

    def obstacles_near(self, p_world: Array) -> list[Obstacle]:
        """Returns the colliders of all other objects near a point (3,), where the planner sees them."""
        found = []
        for name, item in self.context.objects.items():
            if name == self.object_name:
                continue
            T_world_root = item.pose_error.estimate_root(item.body.root_pose())
            reach = float(np.linalg.norm(item.asset.size_m)) + _NEAR_M
            if float(np.linalg.norm(T_world_root.p - p_world)) < reach:
                positions = item.pose_error.joint_positions(item.body.joint_states()[0])
                named = dict(zip(item.joint_names, positions.tolist(), strict=True))
                found.append(Obstacle(Solids.from_urdf(item.asset.urdf_path), T_world_root, named))
        return found

    def planning_scene(
        self, keypoints: Mapping[str, Array], *, axes: Mapping[str, Array] | None = None, T_world_link: Pose
    ) -> PlanningScene:
        """Returns points (3,) and axes (3,) of the world as the planner's scene, in the arm's base frame.

        Nothing moves along a joint: its position counts how far a listed motion goes up [m].
        """
        T_base_world = self.context.arm.T_world_base.inverse()
        return PlanningScene(
            keypoints={name: T_base_world @ point for name, point in keypoints.items()},
            axes={name: T_base_world.rotate(axis) for name, axis in (axes or {}).items()},
            R_base_link=(T_base_world @ T_world_link).R,
            R_base_world=T_base_world.R,
            joint=JointGeometry(True, np.zeros(3), T_base_world.R[:, 2], 0.0, -10.0, 10.0),
            s_closed=0.0,
            s_open=1.0,
        )

    @property
    def radius_m(self) -> float:
        """Radius of the upright object about its vertical axis [m]."""
        low, high = self.object.asset.bounds_obj
        return 0.5 * float(np.linalg.norm((high - low)[:2]))

    def arm_with_object(self) -> ArmModel:
        """Returns the arm with the keypoints of the object in its hand as further tool keypoints.

        The two sides of the hand are no longer alike.
        """
        T_ee_object = self.T_ee_object
        points = self.object.asset.articulation.keypoints
        carried = {name: T_ee_object @ point.xyz for name, point in points.items()}
        model = self.context.arm_model
        return replace(model, tool_keypoints={**model.tool_keypoints, **carried}, symmetric_gripper=False)

    def finger_pairs(self) -> frozenset[tuple[str, str]]:
        """Returns the pairs of links that may touch: each finger with the object."""
        label = self.object.body.label(-1)
        return frozenset((finger, label) for finger in self.context.arm.cfg.gripper.finger_links)
