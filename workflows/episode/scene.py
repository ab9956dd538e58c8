"""The world of one episode, and everything in it by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from unlatch.objects.carrying.conditions import ObjectPoses
from unlatch.objects.scene_object import ObjectRegion, SceneObject
from unlatch.robots.action import Action, ArmAction
from unlatch.robots.robot import Robot
from unlatch.simcore.errors import SkillError
from unlatch.simcore.recording.success_rules import MAX_JOINT_SPEED
from unlatch.simcore.sim.bodies import JointInfo
from unlatch.simcore.sim.collision import ObstacleModel
from unlatch.simcore.sim.contacts import ContactMonitor, FingerLoads
from unlatch.simcore.sim.scene import Scene
from unlatch.simcore.sim.turned_contacts import TurnedContacts
from unlatch.simcore.sim.world import World
from unlatch.skills.contract.context import FrameSpeeds, Views
from unlatch.tasks.layout import Layout
from unlatch.workflows.episode.planner_models import arm_model

if TYPE_CHECKING:
    from unlatch.simcore.sim.visuals.pictures import LookAtCamera

TABLE_SIZE_M = (1.8, 2.0, 0.06)
TABLE_CENTER_M = (0.5, 0.0, -0.03)
TABLE_RGBA = (0.76, 0.7, 0.62, 1.0)
_REST_M_S = 0.002
"""Speed below which a free object rests [m/s]."""
_FELL_M = 0.05
"""An object that sinks by more has fallen [m]."""
_REST_FRAMES = 5
"""Number of record frames for which all free objects must rest before an episode begins."""
_MOST_REST_FRAMES = 90
"""Largest number of record frames that they are given to come to rest."""
REST_MOVED_M = 0.02
"""A free object that moves farther than this while it comes to rest has no valid place [m]."""
REST_TURNED_RAD = 0.3
"""A free object that turns farther than this while it comes to rest has no valid place [rad]."""
_ARM_POINTS_M = (
    (-0.12, -0.12, 0.0),
    (-0.12, 0.12, 0.0),
    (-0.1, 0.0, 0.72),
    (0.1, 0.0, 0.76),
    (0.45, 0.0, 0.72),
    (-0.24, 0.0, 0.55),
)
"""Points around an arm at its home pose, from its foot [m]."""
_OPENING_M = 0.2
"""How far before an object its parts are seen while they open [m]."""
_BEHIND_SHOULDER, _BETWEEN_SHOULDERS, _RIGHT_SIDE = (-0.8, -0.88, 0.5), (-0.95, -0.12, 0.8), (0.05, -1.0, 0.8)
"""Directions from the scene to the camera."""
_ON_TABLE_M = 0.05
"""Greatest height of an arm's foot above the table if it stands on it [m]."""
_FOV_DEG = 40.0


@dataclass
class EpisodeScene:
    """The world of one episode and everything in it by name."""

    world: World
    state_tree: Scene
    """Everything in the world that has state; the paths of its values are record keys."""
    robot: Robot
    objects: Mapping[str, SceneObject]
    views: Mapping[str, Mapping[tuple[str, str | None], Views]]
    """By arm, then by (object, part); without a part for a free object."""
    loads: Mapping[str, FingerLoads]
    """Forces on the fingers, by arm."""
    monitor: ContactMonitor
    fixtures: tuple[ObstacleModel, ...]
    regions: Mapping[tuple[str, str], ObjectRegion] = field(default_factory=dict)
    """Recorded regions, by (object, region)."""
    _last_signature: dict[str, tuple[object, ...]] = field(default_factory=dict, init=False, repr=False)
    """Signature of the world after the last frame."""
    _turned_contacts: TurnedContacts = field(init=False, repr=False)
    """Finds the robot's contacts anew as a hand turns what it carries."""

    def __post_init__(self) -> None:
        self._turned_contacts = TurnedContacts(self.robot.body)

    def view(self, *, aspect: float = 1.25) -> LookAtCamera:
        """Returns a camera that sees the whole robot and the objects; it does not depend on how they stand now.

        Args:
            aspect: Width of the picture over its height.
        """
        from unlatch.simcore.sim.visuals.pictures import framing_camera

        arms = [self.robot.body.link_pose(arm.base_link).p for arm in self.robot.cfg.arms]
        points = [foot + np.array(offset) for foot in arms for offset in _ARM_POINTS_M]
        for item in self.objects.values():
            boxes = np.array([item.body.link_aabb(link) for link in item.body.mounted_links])
            low, high = boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)
            points += [np.where(pick, high, low) for pick in np.ndindex(2, 2, 2)]
            points.append(np.array([low[0] - _OPENING_M, (low[1] + high[1]) / 2, low[2]]))
        # objects turn their front to the robot: over its right shoulder, front and hand are both seen. The right one
        # of two arms would hide the object, and a torso between the arms hides it from behind
        looks_from = _BEHIND_SHOULDER
        if len(arms) > 1:
            on_table = all(abs(foot[2]) < _ON_TABLE_M for foot in arms)
            looks_from = _BETWEEN_SHOULDERS if on_table else _RIGHT_SIDE
        return framing_camera(points, looks_from, fov_deg=_FOV_DEG, aspect=aspect, margin=1.12)

    def hold_flags(self, held: Mapping[str, frozenset[str]]) -> dict[str, tuple[bool, ...]]:
        """Returns which joints of every object are held, as an action has them."""
        return {
            name: tuple(joint in held.get(name, frozenset()) for joint in item.joint_names)
            for name, item in self.objects.items()
        }

    def push_efforts(self, efforts: Mapping[tuple[str, str], float]) -> dict[str, tuple[float, ...]]:
        """Returns efforts by (object, joint) as an action has them [N m or N]; those of other joints are 0."""
        return {
            name: tuple(efforts.get((name, joint), 0.0) for joint in item.joint_names)
            for name, item in self.objects.items()
        }

    def poses(self) -> ObjectPoses:
        """Returns where the free objects and the recorded regions are now."""
        return ObjectPoses(
            {name: item.body.root_pose() for name, item in self.objects.items() if item.free},
            {key: region.T_world_region for key, region in self.regions.items()},
        )

    def let_rest(self, layout: Layout) -> str | None:
        """Simulates until free objects rest, before an episode begins; the clock of the world then starts at 0.

        Arms and joints of objects are put back where the layout has them.

        Returns:
            Which object does not rest where it was put, in words; None if all do.
        """
        free = {name: (item, item.body.root_pose()) for name, item in self.objects.items() if item.free}
        if not free:
            return None
        quiet = 0
        for _ in range(_MOST_REST_FRAMES):
            for step in range(self.world.cfg.steps_per_frame):
                self.robot.set_step_targets(step)
                self.world.step()
            quiet = quiet + 1 if all(item.speed() < _REST_M_S for item, _ in free.values()) else 0
            if quiet == _REST_FRAMES:
                break
        for name, arm in self.robot.arms.items():  # they have swung by a nanoradian
            arm.reset(layout.q_home[name], gripper_m=arm.cfg.gripper.max_width_m)
        for name, item in self.objects.items():
            item.set_joints(layout.objects[name].joint_positions)
        self.world.steps = 0
        self.state_tree.update_state()
        self._last_signature = {}
        for name, (item, before) in free.items():
            after = item.body.root_pose()
            moved_m = float(np.linalg.norm(after.p - before.p))
            turned = float(np.arccos(np.clip((np.trace(after.R.T @ before.R) - 1.0) / 2.0, -1.0, 1.0)))
            if quiet < _REST_FRAMES or moved_m > REST_MOVED_M or turned > REST_TURNED_RAD:
                return _describe_unrest(name, moved_m, turned, fell_m=float(before.p[2] - after.p[2]))
        return None

    def act_on(self, name: str, part: str | None, *, arm: str, alone: bool = True, link: str | None = None) -> None:
        """Sets the object and part that an arm acts on from now on; other objects are then obstacles.

        Args:
            name: The object.
            part: Its part; None = the whole object, which is free.
            arm: The arm.
            alone: Whether the other arms act on nothing from now on.
            link: Link of the object that its fingers may touch; None = that of the part.
        """
        for other in self.objects.values():
            for each in self.robot.arms if alone else (arm,):
                other.stop_acting(each)
        self.objects[name].act_on(part, arm=arm, link=link)

    def apply(self, action: Action) -> None:
        """Gives an action to the robot, and its hold events to the objects."""
        self.robot.apply(action)
        for name, flags in action.hold.items():
            item = self.objects[name]
            item.hold(frozenset(joint for joint, flag in zip(item.joint_names, flags, strict=True) if flag))
        for name, efforts in action.push.items():
            for joint, effort in zip(self.objects[name].joint_names, efforts, strict=True):
                self.objects[name].drives.set_effort(joint, effort)

    def action_at(self, arrays: Mapping[str, np.ndarray], index: int) -> Action:
        """Reads the action of one row of a record."""
        arms = {}
        for name, arm in self.robot.arms.items():
            prefix = f"actions.{self.robot.cfg.name}.{name}"
            arms[name] = ArmAction.of(
                arrays[f"{prefix}.joint_targets"][index],
                float(arrays[f"{prefix}.gripper_target"][index][0]),
                arm_model(self.robot.cfg, arm.cfg).kinematics.fk,
            )
        flags = iter(arrays["actions.hold"][index] > 0.5)
        hold = {name: tuple(bool(next(flags)) for _ in item.joint_names) for name, item in self.objects.items()}
        if "actions.push" not in arrays:
            return Action(arms, hold=hold)
        efforts = iter(arrays["actions.push"][index])
        push = {name: tuple(float(next(efforts)) for _ in item.joint_names) for name, item in self.objects.items()}
        return Action(arms, hold=hold, push=push)

    def action_values(self, action: Action) -> dict[str, np.ndarray]:
        """Returns an action as a row of a record, by record key; `action_at` reads it back."""
        values = self._arm_values("actions", action.arms)
        values["actions.hold"] = np.array([flag for flags in action.hold.values() for flag in flags], dtype=float)
        if action.push:
            values["actions.push"] = np.array([effort for efforts in action.push.values() for effort in efforts])
        return values

    def label_values(self, arms: Mapping[str, ArmAction], *, valid: bool) -> dict[str, np.ndarray]:
        """Returns the planner's own targets of every arm as a row of a record, by record key.

        `valid` says whether they are the planner's.
        """
        values = self._arm_values("labels", arms)
        values.update({f"labels.{self.robot.cfg.name}.{name}.valid": np.array(valid) for name in arms})
        return values

    def _arm_values(self, first_word: str, arms: Mapping[str, ArmAction]) -> dict[str, np.ndarray]:
        values: dict[str, np.ndarray] = {}
        for name, arm_action in arms.items():
            prefix = f"{first_word}.{self.robot.cfg.name}.{name}"
            T_world_ee = self.robot.arm(name).T_world_base @ arm_action.T_base_ee
            values[f"{prefix}.joint_targets"] = arm_action.joint_targets
            values[f"{prefix}.ee_target_position"] = T_world_ee.p
            values[f"{prefix}.ee_target_quat_xyzw"] = T_world_ee.quat_xyzw
            values[f"{prefix}.gripper_target"] = np.array([arm_action.gripper_target_m])
        return values

    def advance_frame(self, before_control_step: Callable[[], None] | None = None) -> FrameSpeeds:
        """Simulates one record frame; contacts and speeds are read at every physics step.

        Randomization runs `before_control_step`.

        Raises:
            SkillError: Something other than an action moved the scene since the last frame.
        """
        self._check_untouched()
        if any(item.free and item.acted_on for item in self.objects.values()):
            self._turned_contacts.update([np.asarray(arm.ee_quat_xyzw.get_value()) for arm in self.robot.arms.values()])
        world, robot, rates = self.world, self.robot, self.world.cfg
        robot_speed = 0.0
        object_speeds = dict.fromkeys(self.objects, 0.0)
        too_fast: dict[str, JointInfo] = {}
        for step in range(rates.steps_per_frame):
            hook = before_control_step if step % rates.physics_steps == 0 else None
            if hook is not None:
                hook()
            robot.set_step_targets(step)
            # joint states were read at the beginning of the frame and after each step; randomization may move bodies
            world.step(keeps_states=hook is None)
            self.monitor.sample()
            robot.sample_efforts()
            if (speed := robot.max_joint_speed()) > robot_speed:
                robot_speed = speed
                if speed > MAX_JOINT_SPEED:
                    too_fast[robot.cfg.name] = robot.body.fastest_joint()
            for name, item in self.objects.items():
                if (speed := item.max_joint_speed()) > object_speeds[name]:
                    object_speeds[name] = speed
                    if speed > MAX_JOINT_SPEED:
                        too_fast[name] = item.body.fastest_joint()
        self.monitor.end_frame()
        robot.end_frame()
        self.state_tree.update_state()
        self._last_signature = world.signature(reads_anew=False)
        return FrameSpeeds(robot_speed, object_speeds, too_fast)

    def _check_untouched(self) -> None:
        """Raises if a skill changed the scene itself: only actions and physics may move it."""
        now = self.world.signature()
        if not self._last_signature:
            return
        changed = sorted(
            name for name in {*now, *self._last_signature} if now.get(name) != self._last_signature.get(name)
        )
        if changed:
            raise SkillError(
                f"{', '.join(changed)} of the scene changed between two record frames. Only actions and physics may "
                "move the robot and the objects, and nothing may join them. Let the skill command the arm.",
                changed=changed,
            )

    def interval_values(self) -> dict[str, np.ndarray]:
        """Returns the contact forces and mean efforts of the frame by record key."""
        return self.state_tree.state_dict(include_tags=["interval"])


def _describe_unrest(name: str, moved_m: float, turned: float, *, fell_m: float) -> str:
    """Returns how a free object did not rest where it was put; it moved [m], turned [rad] and fell [m]."""
    what = f"'{name}' does not rest where it was put."
    if fell_m > _FELL_M:
        return f"{what} Move its region to where something is below it: it fell by {fell_m:.2f} m"
    return (
        f"{what} Move its region to where it stands level and touches nothing: it moved by {1e3 * moved_m:.0f} mm and "
        f"turned by {turned:.2f} rad"
    )
