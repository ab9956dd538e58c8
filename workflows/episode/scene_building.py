"""Builds the scene of one episode in a world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from unlatch.objects.annotation import PartKind
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.config import ObjectSource
from unlatch.objects.friction import OBJECT_FRICTION
from unlatch.objects.procedural.colours import FINISH_OF_COLOUR
from unlatch.objects.scene_object import ObjectKeypoints, ObjectRegion, SceneObject
from unlatch.robots.description import ArmCfg, RobotCfg, base_pose
from unlatch.robots.model import drawn_model_path, model_path
from unlatch.robots.robot import Robot
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.success_rules import OBJECT_VIEWS
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.collision import ObstacleModel
from unlatch.simcore.sim.contacts import ContactMonitor, ContactView, FingerLoads, ObjectView
from unlatch.simcore.sim.scene import Scene
from unlatch.simcore.sim.sensors.catalog import SENSORS
from unlatch.simcore.sim.sensors.config import SensorCfg
from unlatch.simcore.sim.visuals.finish import FINISHES
from unlatch.simcore.sim.world import World
from unlatch.skills.contract.context import Views
from unlatch.skills.gripping import grip_force, load_of
from unlatch.tasks.layout import TABLE, Layout, plinth_name
from unlatch.workflows.episode.scene import TABLE_CENTER_M, TABLE_RGBA, TABLE_SIZE_M, EpisodeScene

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
        ConfigError: A sensor is mounted on a body that does not exist.
    """
    world.reset()
    robot_cfg = _with_chosen_grip(robot_cfg, assets, acted_on)
    fixtures: list[ObstacleModel] = []

    def add_fixture(
        name: str, size_m: tuple[float, float, float], pose: Pose, rgba: tuple[float, float, float, float]
    ) -> Body:
        fixtures.append(ObstacleModel(name=name, urdf_path=None, T_world_root=pose, size_m=size_m))
        return world.add_box(name, size_m=size_m, T_world_box=pose, rgba=rgba)

    table = add_fixture(TABLE, TABLE_SIZE_M, Pose.from_translation(TABLE_CENTER_M), TABLE_RGBA)
    urdf = drawn_model_path(robot_cfg) if world.visuals else model_path(robot_cfg)
    with_knobs = _find_with_knobs(assets, acted_on)
    robot = Robot(world, robot_cfg, urdf, T_world_root=base_pose(robot_cfg), face_contacts=bool(with_knobs))
    robot.body.semantic_class = "robot"
    robot.body.finish = FINISHES["lacquer"]
    robot.body.stand_on(table)
    for name, arm in robot.arms.items():
        arm.reset(layout.q_home[name], gripper_m=arm.cfg.gripper.max_width_m)
    scene = Scene(world)
    scene.add_robot(robot_cfg.name, robot)
    objects: dict[str, SceneObject] = {}
    for name, asset in assets.items():
        place = layout.objects[name]
        if place.plinth_size_m is not None and place.T_world_plinth is not None:
            plinth = add_fixture(plinth_name(name), place.plinth_size_m, place.T_world_plinth, _PLINTH_RGBA)
            plinth.semantic_class = "plinth"
        urdf = asset.drawn_urdf() if world.visuals else asset.urdf_path
        body = world.load_urdf(
            urdf,
            name=name,
            T_world_root=place.T_world_root,
            friction=OBJECT_FRICTION,
            fixed=not asset.free,
            face_contacts=name in with_knobs,
        )
        body.semantic_class = asset.category
        if asset.source == ObjectSource.procedural.value:
            body.finish_by_colour = FINISH_OF_COLOUR
        objects[name] = SceneObject(body, asset, world=world)
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
    episode = EpisodeScene(world, scene, robot, objects, views, loads, monitor, tuple(fixtures), shown)
    scene.update_state()
    return episode


def _find_with_knobs(assets: Mapping[str, ObjectAsset], acted_on: Sequence[tuple[str, str | None]]) -> set[str]:
    """Returns the objects with a knob that is acted on. A knob is light, and jumps if its contact points change."""
    parts = [(name, assets[name].articulation.part(part)) for name, part in acted_on if part is not None]
    return {name for name, part in parts if part.kind is PartKind.knob}


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
        others = frozenset(objects) if item.free else frozenset(objects) - free

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
    from unlatch.objects.semantic_classes import check_classes
    from unlatch.simcore.sim.sensors.lidar import LidarCfg

    for cfg in sensors:
        sensor = SENSORS.load(cfg.type)(cfg, scene.world)
        sensor.seed = seed
        if isinstance(cfg, LidarCfg):
            check_classes(cfg.reflectivity, scene.world, key=f"sensors: {cfg.name}.reflectivity")
        scene.add_sensor(sensor)
