"""The world of one episode: builds it in a world of the engine, and everything in it by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.objects.annotation import PartKind
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.carrying_conditions import ObjectPoses
from unlatch.objects.config import ObjectSource
from unlatch.objects.friction import OBJECT_FRICTION
from unlatch.objects.procedural.colours import FINISH_OF_COLOUR
from unlatch.objects.scene_object import ObjectKeypoints, ObjectRegion, SceneObject
from unlatch.robots.arm_control import Action, ArmAction
from unlatch.robots.description import ArmCfg, RobotCfg, base_pose
from unlatch.robots.models import body_height, drawn_model_path, model_path, stands_on_body
from unlatch.robots.robot import Robot
from unlatch.simcore.errors import ConfigError, SkillError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.success_rules import MAX_JOINT_SPEED, OBJECT_VIEWS
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.collision import ObstacleModel, RobotModel
from unlatch.simcore.sim.contacts import ContactMonitor, ContactView, FingerLoads, ObjectView, TurnedContacts
from unlatch.simcore.sim.scene import Scene
from unlatch.simcore.sim.sensors.config import SENSORS, SensorCfg
from unlatch.simcore.sim.visuals.visual_shapes import FINISHES
from unlatch.simcore.sim.world import World
from unlatch.simcore.urdf.reader import read_urdf
from unlatch.skills.context import FrameSpeeds, Views
from unlatch.skills.gripping import grip_force, load_of
from unlatch.solver.kinematics import Kinematics
from unlatch.solver.scene import ArmModel
from unlatch.tasks.layout import TABLE, Layout, plinth_name
from unlatch.tasks.stand import GROUND, FixedBox, RobotStand, StandCfg, StandKind, StandRange

_LIMIT_MARGIN_RAD = 0.03
"""Distance that plans keep from the ends of a joint's range [rad]."""


def robot_model(robot: Robot, arm: ArmCfg, layout: Layout) -> RobotModel:
    """Returns the model of one arm for the collision checker; the other arms keep their present joints."""
    cfg = robot.cfg
    home: dict[str, float] = {}
    for other in cfg.arms:
        q, opening_m = layout.q_home[other.name], other.gripper.max_width_m
        if other.name != arm.name:
            q, opening_m = robot.arm(other.name).q_read, robot.arm(other.name).gripper_opening_m
        home.update(zip(other.joints, (float(v) for v in q), strict=True))
        home.update(zip(other.gripper.joints, other.gripper.positions(opening_m), strict=True))
    return RobotModel(
        urdf_path=model_path(cfg),
        T_world_base=robot.T_world_root,
        arm_joints=tuple(arm.joints),
        finger_joints=tuple(arm.gripper.joints),
        finger_links=frozenset(arm.gripper.finger_links),
        ignored_pairs=frozenset(frozenset(pair) for pair in cfg.self_collision_ignored),
        home=home,
        arm_links=None if len(cfg.arms) == 1 else frozenset((*arm.forbidden_links, *arm.gripper.finger_links)),
        fingers_at=arm.gripper.positions,
        ee_link=arm.ee_link,
    )


_LOW_M = 0.7
"""How far below its foot an arm on a stand may reach, at the scale of a Panda [m]."""


def arm_model(cfg: RobotCfg, arm: ArmCfg, *, stand_height_m: float = 0.0) -> ArmModel:
    """Returns the model of an arm for the planner: the maker's limits less a margin.

    On a stand of a height, its workspace goes down to the floor, or as far as an arm reaches.
    """
    workspace = np.array(arm.workspace)
    workspace[0, 2] -= min(stand_height_m, _LOW_M * cfg.scale)
    return ArmModel(
        kinematics=kinematics_of(cfg, arm),
        tool_keypoints={name: np.array(xyz) for name, xyz in arm.keypoints.items()},
        q_lower=np.array(arm.lower) + _LIMIT_MARGIN_RAD,
        q_upper=np.array(arm.upper) - _LIMIT_MARGIN_RAD,
        max_velocity=np.array(arm.max_velocity),
        max_acceleration=np.array(arm.max_acceleration),
        workspace=workspace,
        q_home=np.array(arm.home),
        symmetric_gripper=arm.gripper.symmetric,
    )


def base_of(robot: RobotCfg, arm: ArmCfg) -> Pose:
    """Returns `T_world_base` of an arm of a robot that stands where its configuration says."""
    return base_pose(robot) @ _read_base(model_path(robot), arm.base_link)


def stand_range(stand: StandCfg, robot: RobotCfg) -> StandRange | None:
    """Returns what is drawn of the stand of a robot; None: it stands on a table."""
    if not stand.is_used:
        return None
    root_z = float(base_pose(robot).p[2])  # an arm may be on a body of its own
    return StandRange(stand, [(*base_of(robot, arm).p[:2].tolist(), root_z) for arm in robot.arms], robot.scale)


def kinematics_of(robot: RobotCfg, arm: ArmCfg) -> Kinematics:
    """Returns the kinematics from the base of an arm to its ee link."""
    return _read_kinematics(model_path(robot), arm.base_link, arm.ee_link)


@lru_cache(maxsize=16)
def _read_base(urdf: Path, base_link: str) -> Pose:
    return read_urdf(urdf).link_pose(base_link)


@lru_cache(maxsize=16)
def _read_kinematics(urdf: Path, base_link: str, ee_link: str) -> Kinematics:
    return Kinematics.from_urdf(urdf, base_link=base_link, tip_link=ee_link)


TABLE_SIZE_M = (1.8, 2.0, 0.06)
TABLE_CENTER_M = (0.5, 0.0, -0.03)
TABLE_RGBA = (0.76, 0.7, 0.62, 1.0)
_TABLE = FixedBox(TABLE, TABLE_SIZE_M, TABLE_CENTER_M)
_STAND_RGBA, _GROUND_RGBA = (0.33, 0.35, 0.38, 1.0), (0.62, 0.60, 0.57, 1.0)
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
OPENING_M = 0.2
"""How far before an object its parts are seen while they open [m]."""


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
    stand: RobotStand | None = None
    """The stand of the robot; None: it stands on a table."""
    _has_moved: bool = field(default=False, init=False, repr=False)
    """Whether a record frame has been simulated: from then on, nothing else may move the scene."""
    _turned_contacts: TurnedContacts = field(init=False, repr=False)
    """Finds the robot's contacts anew as a hand turns what it carries."""

    def __post_init__(self) -> None:
        self._turned_contacts = TurnedContacts(self.robot.body)

    @cached_property
    def kinematics(self) -> Mapping[str, Kinematics]:
        """From the base to the ee link, by arm; to find the model of a robot takes longer than its pose."""
        return {name: kinematics_of(self.robot.cfg, arm.cfg) for name, arm in self.robot.arms.items()}

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
        """Simulates until objects that nothing fastens rest, before an episode begins.

        The clock of the world then starts at 0.
        Arms and joints of objects are put back where the layout has them.

        Returns:
            Which object does not rest where it was put, in words; None if all do.
        """
        free = {name: (item, item.body.root_pose()) for name, item in self.objects.items() if item.can_move}
        if not free:
            return None
        quiet = 0
        for _ in range(_MOST_REST_FRAMES):
            self.robot.simulate_frame()
            quiet = quiet + 1 if all(item.speed() < _REST_M_S for item, _ in free.values()) else 0
            if quiet == _REST_FRAMES:
                break
        for name, arm in self.robot.arms.items():  # they have swung by a nanoradian
            arm.reset(layout.q_home[name], gripper_m=arm.cfg.gripper.max_width_m)
        for name, item in self.objects.items():
            item.set_joints(layout.objects[name].joint_positions)
        self.world.steps = 0
        self.state_tree.update_state()
        self._has_moved = False
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
        self.monitor.forget_contacts()

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
        for name in self.robot.arms:
            prefix = f"actions.{self.robot.cfg.name}.{name}"
            arms[name] = ArmAction.of(
                arrays[f"{prefix}.joint_targets"][index],
                float(arrays[f"{prefix}.gripper_target"][index][0]),
                self.kinematics[name].fk,
            )
        flags = iter(arrays["actions.hold"][index] > 0.5)
        hold = {name: tuple(bool(next(flags)) for _ in item.joint_names) for name, item in self.objects.items()}
        if "actions.push" not in arrays:
            return Action(arms, hold=hold)
        efforts = iter(arrays["actions.push"][index])
        push = {name: tuple(float(next(efforts)) for _ in item.joint_names) for name, item in self.objects.items()}
        return Action(arms, hold=hold, push=push)

    def action_values(self, action: Action) -> dict[str, Any]:
        """Returns an action as a row of a record, by record key; `action_at` reads it back."""
        values = self._arm_values("actions", action.arms)
        values["actions.hold"] = np.array([flag for flags in action.hold.values() for flag in flags], dtype=float)
        if action.push:
            values["actions.push"] = np.array([effort for efforts in action.push.values() for effort in efforts])
        return values

    def label_values(self, arms: Mapping[str, ArmAction], *, valid: bool) -> dict[str, Any]:
        """Returns the planner's own targets of every arm as a row of a record, by record key.

        `valid` says whether they are the planner's.
        """
        values = self._arm_values("labels", arms)
        values.update({f"labels.{self.robot.cfg.name}.{name}.valid": np.array(valid) for name in arms})
        return values

    def _arm_values(self, first_word: str, arms: Mapping[str, ArmAction]) -> dict[str, Any]:
        return {
            f"{first_word}.{self.robot.cfg.name}.{name}.{key}": value
            for name, arm_action in arms.items()
            for key, value in arm_action.record_values(self.robot.arm(name).T_world_base).items()
        }

    def advance_frame(self, before_control_step: Callable[[], None] | None = None) -> FrameSpeeds:
        """Simulates one record frame; contacts and speeds are read at every physics step.

        Randomization runs `before_control_step`.

        Raises:
            SkillError: Something other than an action moved the scene since the last frame.
        """
        self._check_untouched()
        if any(item.free and item.acted_on for item in self.objects.values()):
            self._turned_contacts.update([np.asarray(arm.ee_quat_xyzw.get_value()) for arm in self.robot.arms.values()])
        self.robot.simulate_frame(before_control_step, keeps_states=self._has_moved)  # `_check_untouched` has read them
        self.monitor.sample()
        self.monitor.end_frame()
        self.state_tree.update_state()
        self._has_moved = True
        bodies = {self.robot.cfg.name: self.robot.body, **{name: item.body for name, item in self.objects.items()}}
        too_fast = {name: body.fastest_joint for name, body in bodies.items() if body.frame_speed > MAX_JOINT_SPEED}
        object_speeds = {name: item.body.frame_speed for name, item in self.objects.items()}
        return FrameSpeeds(self.robot.body.frame_speed, object_speeds, too_fast)

    def _check_untouched(self) -> None:
        """Raises if a skill changed the scene itself: only actions and physics may move it."""
        changed = self.world.find_moved() if self._has_moved else []
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


_PLINTH_RGBA = (0.45, 0.47, 0.5, 1.0)


def build_scene(
    world: World,
    robot_cfg: RobotCfg,
    assets: Mapping[str, ObjectAsset],
    layout: Layout,
    acted_on: Sequence[tuple[str, str | None]],
    *,
    regions: Sequence[tuple[str, str]] = (),
    sensors: Sequence[SensorCfg] = (),
    seed: int = 0,
    object_views: bool = True,
) -> EpisodeScene:
    """Empties a world and adds table, plinths, robot, objects and sensors.

    Args:
        world: An open world.
        robot_cfg: The robot.
        assets: Objects by name.
        layout: Where they stand.
        acted_on: (object, part) of every skill; contact views are made for these, and the hands grip with the force
            that the hardest part to move needs.
        regions: (object, region) of every region whose pose is recorded.
        sensors: The sensors; they are read last, in this order.
        seed: Seed of the episode, for noise of sensors.
        object_views: Whether objects have contact views of their own: whether a skill judges them.

    Raises:
        ConfigError: A sensor is mounted on a body that does not exist, or the robot stands on a body of its own and
            has a stand.
    """
    world.reset()
    robot_cfg = _with_chosen_grip(robot_cfg, assets, acted_on)
    fixtures: list[ObstacleModel] = []

    def add_fixture(
        name: str, size_m: tuple[float, float, float], pose: Pose, rgba: tuple[float, float, float, float]
    ) -> Body:
        fixtures.append(ObstacleModel(name=name, urdf_path=None, T_world_root=pose, size_m=size_m))
        return world.add_box(name, size_m=size_m, T_world_box=pose, rgba=rgba)

    ground, *stand = (
        add_fixture(box.name, box.size_m, box.T_world_box, _colour_of(box)) for box in standing_boxes(layout)
    )
    if layout.stand is not None:
        ground.semantic_class = "floor"
    for body in stand:
        body.semantic_class = "stand"
    urdf = drawn_model_path(robot_cfg) if world.visuals else model_path(robot_cfg)
    parts = [(name, assets[name].articulation.part(part)) for name, part in acted_on if part is not None]
    with_knobs = {name for name, part in parts if part.kind is PartKind.knob}  # it jumps if its contact points change
    robot = Robot(world, robot_cfg, urdf, T_world_root=base_pose(robot_cfg), face_contacts=bool(with_knobs))
    robot.body.semantic_class = "robot"
    robot.body.finish = FINISHES["lacquer"]
    if layout.stand is not None:
        check_foot(robot_cfg, layout.stand.kind)
    for body in stand or [ground]:
        robot.body.stand_on(body)
    for name, arm in robot.arms.items():
        arm.reset(layout.q_home[name], gripper_m=arm.cfg.gripper.max_width_m)
    scene = Scene(world)
    scene.add_robot(robot_cfg.name, robot)
    objects: dict[str, SceneObject] = {}
    for name, asset in assets.items():
        place, support = layout.objects[name], ground
        if place.plinth_size_m is not None and place.T_world_plinth is not None:
            support = add_fixture(plinth_name(name), place.plinth_size_m, place.T_world_plinth, _PLINTH_RGBA)
            support.semantic_class = "plinth"
        urdf = asset.drawn_urdf() if world.visuals else asset.urdf_path
        body = world.load_urdf(
            urdf,
            name=name,
            T_world_root=place.T_world_root,
            friction=OBJECT_FRICTION,
            self_collision=asset.articulation.has_solid_parts,
            fixed=not asset.can_move,
            face_contacts=name in with_knobs,
        )
        body.semantic_class = asset.category
        if asset.source == ObjectSource.procedural.value:
            body.finish_by_colour = FINISH_OF_COLOUR
        objects[name] = SceneObject(body, asset, world=world)
        if not asset.fixed:
            objects[name].keep_parts_off(support)
        objects[name].set_joints(place.joint_positions)
        scene.add_object(name, objects[name])
        for part in asset.articulation.parts:
            scene.add_keypoints(name, part, ObjectKeypoints(objects[name], part))
    shown = {(name, region): ObjectRegion(objects[name], assets[name].region(region)) for name, region in regions}
    for (name, region), module in shown.items():
        scene.add_region(name, region, module)
    monitor = ContactMonitor(
        world, robot.body, ignored_self_pairs=[frozenset(pair) for pair in robot_cfg.self_collision_ignored]
    )
    views = {arm.name: _make_views(robot_cfg, arm, objects, acted_on, monitor) for arm in robot_cfg.arms}
    loads = {arm.name: monitor.add_loads(_make_loads(robot, arm, world.cfg.physics_hz)) for arm in robot_cfg.arms}
    if object_views:
        _add_object_views(monitor, objects, world.cfg.physics_hz)
    for view in monitor.views.values():
        scene.add_contact_view(view)
    for each in loads.values():
        scene.add_contact_view(each)
    _add_sensors(scene, sensors, seed)
    built = EpisodeScene(world, scene, robot, objects, views, loads, monitor, tuple(fixtures), shown, layout.stand)
    scene.update_state()
    return built


def check_foot(robot: RobotCfg, stand: StandKind) -> None:
    """Raises for a robot that stands on a body of its own: a stand has no room for it.

    Raises:
        ConfigError: It does.
    """
    if stands_on_body(robot):
        raise ConfigError(
            f"stand={stand.value} has no room for '{robot.name}', which stands on a body of its own, "
            f"{body_height(robot):.2f} m high. Expected an arm alone. Use stand=table, or another robot.",
            key="stand",
        )


def standing_boxes(layout: Layout) -> tuple[FixedBox, ...]:
    """Returns what objects stand on, the table or the floor, then the parts of the robot's stand."""
    return (_TABLE,) if layout.stand is None else layout.stand.boxes


def stated_boxes(stand: Mapping[str, Any] | None) -> tuple[FixedBox, ...]:
    """Returns the same as `standing_boxes` from the stand in the layout of a record; None: there is a table."""
    return (_TABLE,) if stand is None else RobotStand.from_dict(stand).boxes


def _colour_of(box: FixedBox) -> tuple[float, float, float, float]:
    return {TABLE: TABLE_RGBA, GROUND: _GROUND_RGBA}.get(box.name, _STAND_RGBA)


def _with_chosen_grip(
    robot: RobotCfg, assets: Mapping[str, ObjectAsset], acted_on: Sequence[tuple[str, str | None]]
) -> RobotCfg:
    """Returns a robot whose hands grip with the force for the hardest part to move.

    All hands get the same load: the arm that holds an object bears what another arm does to it.

    Where something is carried, the pads have no friction anchors: Bullet keeps anchored contact points with their old
    normals, and what is let go sticks to a finger. Without them an object creeps in the hand by 1 to 3 mm in 5 s.
    """
    carries = any(part is None for _, part in acted_on)
    load_n = max((load_of(assets[name], part) for name, part in acted_on), default=0.0)
    grippers = [
        replace(
            arm.gripper,
            grip_force_n=grip_force(arm.gripper, load_n),
            friction_anchor=arm.gripper.friction_anchor and not carries,
        )
        for arm in robot.arms
    ]
    arms = [replace(arm, gripper=gripper) for arm, gripper in zip(robot.arms, grippers, strict=True)]
    return replace(robot, arms=arms)


def _make_loads(robot: Robot, arm: ArmCfg, physics_hz: int) -> FingerLoads:
    """Returns the loads of an arm's fingers; finger links that no joint moves relative to each other are one finger."""
    own = frozenset(arm.gripper.finger_links)
    fingers = [group & own for group in robot.body.rigid_groups if group & own]
    return FingerLoads(f"{robot.cfg.name}.{arm.name}.fingers", fingers, physics_hz=physics_hz)


def _add_object_views(monitor: ContactMonitor, objects: Mapping[str, SceneObject], physics_hz: int) -> None:
    """Adds the views of each object. A contact of a free object with an articulated one is in that of the first."""
    free = frozenset(name for name, item in objects.items() if item.free)
    for name, item in objects.items():
        others = (frozenset(objects) if item.free else frozenset(objects) - free) - {name}

        def on_furniture(_link: str, body: str, _other: str) -> bool:
            return body not in objects

        def on_objects(_link: str, body: str, _other: str, others: frozenset[str] = others) -> bool:
            return body in others

        for word, selects in zip(OBJECT_VIEWS, (on_furniture, on_objects), strict=True):
            monitor.add_object_view(ObjectView(f"{name}.{word}", selects, physics_hz=physics_hz), item.body)


def _make_views(
    robot: RobotCfg,
    arm: ArmCfg,
    objects: Mapping[str, SceneObject],
    acted_on: Sequence[tuple[str, str | None]],
    monitor: ContactMonitor,
) -> dict[tuple[str, str | None], Views]:
    fingers = frozenset(arm.gripper.finger_links)
    forbidden = frozenset(arm.forbidden_links)
    environment_name = f"{robot.name}.environment"
    if environment_name not in monitor.views:

        def elsewhere(_link: str, body: str, _other: str) -> bool:
            return body not in objects or not objects[body].acted_on

        monitor.add(ContactView(environment_name, elsewhere))
    found: dict[tuple[str, str | None], Views] = {}
    for name in dict.fromkeys(name for name, _ in acted_on):
        item = objects[name]
        prefix = f"{robot.name}.{arm.name}.{name}"

        def on_part(link: str, body: str, other: str, name: str = name, item: SceneObject = item) -> bool:
            return link in fingers and body == name and other == item.acted_link(arm.name)

        def on_base(link: str, body: str, other: str, name: str = name, item: SceneObject = item) -> bool:
            return link in fingers and body == name and other != item.acted_link(arm.name)

        def by_arm(link: str, body: str, other: str, name: str = name) -> bool:
            return link in forbidden and body == name

        views = Views(
            fingers_link=monitor.add(ContactView(f"{prefix}.fingers_link", on_part)),
            fingers_base=monitor.add(ContactView(f"{prefix}.fingers_base", on_base)),
            forbid_collision=monitor.add(ContactView(f"{prefix}.forbid_collision", by_arm)),
            environment=monitor.views[environment_name],
        )
        found.update({(name, part): views for owner, part in acted_on if owner == name})
    return found


def _add_sensors(scene: Scene, sensors: Sequence[SensorCfg], seed: int) -> None:
    """Adds the sensors of an episode to its scene; `seed` is that of their noise."""
    if not sensors:
        return
    from unlatch.objects.validation import check_classes
    from unlatch.simcore.sim.sensors.lidar import LidarCfg

    for cfg in sensors:
        sensor = SENSORS.load(cfg.type)(cfg, scene.world)
        sensor.seed = seed
        if isinstance(cfg, LidarCfg):
            check_classes(cfg.reflectivity, scene.world, key=f"sensors: {cfg.name}.reflectivity")
        scene.add_sensor(sensor)
