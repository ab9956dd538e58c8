"""Views of how an episode looks: its room, its bodies, its light and its cameras."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

import numpy as np

from unlatch.configs.schema import EpisodeCfg, Scenery
from unlatch.objects.procedural.parameters import draw_one
from unlatch.robots.hand_shape import hand_shape, tool_frame
from unlatch.robots.models import model_path
from unlatch.robots.robot import Robot
from unlatch.simcore.cache import LRUCache
from unlatch.simcore.geometry import Pose, rpy_from_matrix
from unlatch.simcore.meshes.shape_surface import shape_mesh
from unlatch.simcore.recording.json_values import plain
from unlatch.simcore.rng import stream
from unlatch.simcore.sim.attribute_views import AttributeView
from unlatch.simcore.sim.bodies import ROOT, Body
from unlatch.simcore.sim.sensors.camera import Camera, CameraCfg, CameraView
from unlatch.simcore.sim.sensors.config import MountFit, SensorCfg
from unlatch.simcore.sim.visuals.appearance import (
    AppearanceView,
    LightView,
    LinkAppearance,
    TextureStore,
    add_panel,
    add_solid,
    remove_scenery,
)
from unlatch.simcore.sim.visuals.pictures import framing_camera
from unlatch.simcore.sim.visuals.visual_shapes import Light
from unlatch.simcore.urdf.reader import read_urdf
from unlatch.tasks.layout import TABLE, sample_layout
from unlatch.tasks.stand import RobotStand
from unlatch.workflows.episode.assets import load_assets, with_derived_task
from unlatch.workflows.episode.distractors import DISTRACTORS
from unlatch.workflows.episode.furnished_rooms import build_kitchen, build_office, build_studio, build_workshop
from unlatch.workflows.episode.room_parts import PLINTH, PREFIX, STEEL, Material, Niche, RoomBuilder, cover_plinth
from unlatch.workflows.episode.scene import (
    OPENING_M,
    TABLE_CENTER_M,
    TABLE_RGBA,
    TABLE_SIZE_M,
    EpisodeScene,
    base_of,
    kinematics_of,
    stand_range,
)
from unlatch.workflows.episode.stand_looks import dress_stand

Array = np.ndarray

_KINDS: dict[Scenery, Callable[[RoomBuilder], Light]] = {
    Scenery.studio: build_studio,
    Scenery.kitchen: build_kitchen,
    Scenery.workshop: build_workshop,
    Scenery.office: build_office,
}
FURNISHED = (Scenery.kitchen, Scenery.workshop, Scenery.office)
"""Kinds of drawn rooms: data in which every fourth room is an empty studio would not vary as rooms do."""
SCENERY = "scenery"
"""Name of the view of the room."""
_MAX_ROOM = 1_000_000_000
_MOUNT_M = 0.006
_WIDEST_MOUNT_M = 0.45
_MOST_LIGHT_X = -1.4
"""Largest x of the direction towards the light in a room that is built around an object, frame of the room."""
_ON_FLOOR_M = 0.05
"""What stands on the floor is at most this far above it [m]."""
_FLOATS_M = 0.01
"""A foot this far above the table does not stand on it [m]."""


class Room:
    """The room of one episode: colours, materials and things of a room are drawn from a seed."""

    def __init__(self, scene: EpisodeScene, scenery: Scenery = Scenery.studio, seed: int = 0) -> None:
        """Takes the kind of room and the seed; nothing is built yet."""
        self.number = 0
        """0 for the room of the configuration; from 1 on, the number of a drawn room: of the kind of the configuration,
        or of any where that is the default, `studio`."""
        self._scene = scene
        self._scenery, self._seed = scenery, seed
        self._shown: tuple[Scenery, int] | None = None

    def show(self, *, with_light: bool = True) -> None:
        """Builds the room, if another one or none is there, and sets the light; nothing without visual shapes."""
        wanted = (self._scenery, self._seed)
        if self.number:
            wanted = (Scenery.random if self._scenery is Scenery.studio else self._scenery, self.number)
        world = self._scene.world
        if world.visuals and self._scene.stand is not None:
            dress_stand(world, self._scene.stand)
        if not world.visuals or wanted == self._shown:
            return
        self._shown = wanted
        self._remove()
        light = _build(self._scene, *wanted)
        if with_light and light is not None:
            world.light = light

    def hide(self) -> None:
        """Removes the room and its light."""
        if self._shown is not None and self._shown[0] is not Scenery.none:
            self._remove()
            self._scene.world.light = Light()
        self._shown = (Scenery.none, 0)
        self._scenery = Scenery.none

    def table_covers(self) -> list[Body]:
        """Returns the bodies that cover the table."""
        scenery = self._scene.world.scenery
        return [body for name, body in scenery.items() if name.startswith(f"{PREFIX}{TABLE}_panel")]

    def _remove(self) -> None:
        world = self._scene.world
        for name in [name for name in world.scenery if name.startswith(PREFIX)]:
            remove_scenery(world, name)


def _build(scene: EpisodeScene, scenery: Scenery, seed: int) -> Light | None:
    """Adds the room of a seed to a scene; returns its light, or None for no room."""
    if scenery is Scenery.none:
        return None
    rng = stream(seed, "visuals.scenery")
    if scenery is Scenery.random:
        scenery = draw_one(rng, FURNISHED)
    floor_z_m = None if scene.stand is None else scene.stand.floor_z_m
    room = RoomBuilder(rng, floor_z_m=floor_z_m, niche=_find_niche(scene))
    light = _KINDS[scenery](room)
    if room.niche is not None:  # it shines on the fronts: along them, shadows of handles would have steps
        x, y, z = light.direction
        direction = room.T_world_room.rotate(np.array([min(x, _MOST_LIGHT_X), y, z]))
        light = replace(light, direction=tuple(direction.tolist()))
    _add_mounts(scene, room, STEEL)
    for body in scene.world.bodies.values():
        if body.semantic_class == PLINTH:
            T_room_plinth = room.T_world_room.inverse() @ body.root_pose()
            cover_plinth(room, body.visual_shapes[0].size, T_room_plinth)
    room.build(scene.world)
    return light


def _find_niche(scene: EpisodeScene) -> Niche | None:
    """Returns what a room is built around: the only object that is fixed to the floor before the stand of a robot."""
    fixed = [item for item in scene.objects.values() if not item.free]
    if scene.stand is None or len(fixed) != 1 or fixed[0].asset.can_move:
        return None
    asset, body = fixed[0].asset, fixed[0].body
    base = asset.model.links[asset.model.root]
    if not base.collisions:
        return None
    points = np.concatenate([shape.T_link_shape @ shape_mesh(shape).vertices for shape in base.collisions])
    low, high = points.min(axis=0), points.max(axis=0)
    depth, width, height = (high - low).tolist()
    front = Pose.from_rpy((high[0], 0.5 * (low[1] + high[1]), low[2]), (0.0, 0.0, np.pi))
    T_world_front = body.root_pose() @ front
    if T_world_front.p[2] > scene.stand.floor_z_m + _ON_FLOOR_M:
        return None
    drawn = read_urdf(asset.drawn_urdf()).links[asset.model.root].visuals
    largest = max(drawn, key=lambda shape: float(np.prod(np.ptp(shape_mesh(shape).vertices, axis=0))), default=None)
    look = (
        Material(finish=body.finish)
        if largest is None or largest.rgba is None
        else Material(largest.rgba[:3], body.finish)
    )
    return Niche(T_world_front, (depth, width, height), asset.category, look)


class RoomView(AttributeView):
    """The room of one episode; one number decides its plan, its colours and its light, and a kind that is not set."""

    kind = "scenery"

    def __init__(self, room: Room) -> None:
        super().__init__(SCENERY)
        self._room = room
        words = "number of a drawn room, of the kind that scenery= names; 0: that of the configuration"
        self._add_attribute("room", 1, "-", words, self._read, self._write, least=0.0, most=float(_MAX_ROOM))

    def _read(self, _env: int) -> Array:
        return np.array([float(self._room.number)])

    def _write(self, _env: int, values: Array) -> None:
        self._room.number = int(values[0])  # it is built once all rules have fired


def find_stands(robot: Robot) -> list[tuple[Array, Array]]:
    """Returns the lowest and the highest corner of a stand, (3,) each [m], below each arm that would float otherwise.

    An arm floats whose foot is above the table, with nothing of the robot below it.
    """
    body, links = robot.body, [arm.base_link for arm in robot.cfg.arms]
    feet = [body.link_aabb(link)[:, 2] for link in links]
    if all(low < high and low <= _FLOATS_M for low, high in feet):
        return []  # the file of the robot is not looked at
    model = read_urdf(model_path(robot.cfg))
    found: dict[tuple[float, ...], tuple[Array, Array]] = {}
    for link in links:
        boxes = [body.link_aabb(each) for each in (link, *(joint.parent for joint in model.joints_above(link)))]
        boxes = [box for box in boxes if np.all(box[0] < box[1])]  # a link without shapes has none
        if boxes and (lowest := min(boxes, key=lambda box: float(box[0, 2])))[0, 2] > _FLOATS_M:
            low, high = lowest
            found[tuple(low)] = np.array([*low[:2], 0.0]), np.array([*high[:2], low[2]])
    return list(found.values())  # arms on one body have one stand


def _add_mounts(scene: EpisodeScene, room: RoomBuilder, material: Material) -> None:
    """Adds a plate below the foot of each arm on the table, and a stand below one above it; `stand` has its own."""
    if scene.stand is not None:
        return
    body = scene.robot.body
    for (x, y, z), (far_x, far_y, top) in find_stands(scene.robot):
        room.box("robot_mount", material, (x, y, z), (far_x, far_y, top))
    for arm in scene.robot.cfg.arms:
        foot: Pose = body.link_pose(arm.base_link)
        if abs(foot.p[2]) > 0.01:
            continue
        low, high = body.link_aabb(arm.base_link)
        if max(high[:2] - low[:2]) < _WIDEST_MOUNT_M:
            start, end = (low[0] - 0.03, low[1] - 0.03, 0.0), (high[0] + 0.03, high[1] + 0.03, _MOUNT_M)
            room.box("robot_mount", material, start, end)


LIGHT, FLOOR, WALLS = "light", "floor", "walls"
CAMERAS = "cameras"
"""Name that stands for all cameras: its rule becomes one rule for each camera."""
ROOM = (FLOOR, WALLS)
"""Views of the room; the room exists only where a rule varies one of them."""
_ROOM_M = (6.0, 6.0, 2.6)
_FLOOR_Z_M = -0.75
_TILE_M = 1.2
_TABLE_TILE_M = 0.6
_SHEET_M = 5e-4
_FLOOR_RGBA, _WALL_RGBA, _LEG_RGBA = (0.6, 0.57, 0.53, 1.0), (0.86, 0.85, 0.82, 1.0), (0.3, 0.3, 0.3, 1.0)


def visual_names(scene: EpisodeScene) -> list[str]:
    """Returns the names of all views that are not views of bodies."""
    return [LIGHT, DISTRACTORS, SCENERY, *ROOM, CAMERAS, *(camera.cfg.name for camera in cameras(scene))]


def cameras(scene: EpisodeScene) -> list[Camera]:
    """Returns the cameras of a scene."""
    return [sensor for sensor in scene.state_tree.sensors.children.values() if isinstance(sensor, Camera)]


_FITTED_FROM = (-0.8, -0.95, 0.75)
"""Direction from the objects to a camera that is fitted to a task: over the robot's right shoulder."""
_FIT_OBJECTS, _FIT_LAYOUTS = 2, 6
"""Objects that are drawn, and layouts of each, to find where objects may stand."""
_FIT_MARGIN = 1.06
_HAND_POINTS_M = ((0.0, 0.0, 0.0), (-0.12, 0.1, 0.0), (-0.12, -0.1, 0.0))
"""Points of a hand at its start: its fingertips, and both sides of its palm, tool frame [m]."""
_PUT_DOWN_M = np.array([(x, y, z) for x in (0.35, 0.65) for y in (-0.2, 0.2) for z in (0.0, 0.25)])
"""Corners (8, 3) of the room in which free objects are put down, world frame [m]."""
_OVER_PALM_M, _BEHIND_PALM_M = 0.07, 0.06
"""Distance of a fitted camera from the side of the palm, and from its front, against the direction of the fingers."""
_TIPS_AT = (0.52, 0.82)
"""Highest and lowest place of the fingertips in the picture of such a camera: 0 in its middle, 1 at its lower edge."""
_RAIL_M = 0.3
"""How far a rail is seen on both sides of the arm [m]."""
_fitted: LRUCache[list[SensorCfg]] = LRUCache(8)


def fit_sensors(cfg: EpisodeCfg, sensors: Sequence[SensorCfg]) -> list[SensorCfg]:
    """Returns the sensors with the places of those that are fitted to the hand or to the task.

    The places follow from the configuration alone, so that they are the same in all its episodes.

    Raises:
        ConfigError, AssetError: The configuration names something that does not exist.
    """
    if not any(sensor.mount.is_fitted for sensor in sensors):
        return list(sensors)
    key = repr(plain([cfg.task, cfg.object, cfg.objects, cfg.robot, cfg.stand, *sensors]))
    return _fitted.get(key, lambda: [_fit_sensor(cfg, sensor) for sensor in sensors])


def _fit_sensor(cfg: EpisodeCfg, sensor: SensorCfg) -> SensorCfg:
    if not sensor.mount.is_fitted or not isinstance(sensor, CameraCfg):
        return sensor
    optics = sensor.optics()
    half_rad = 0.5 * min(optics.fov_rad, 2.0)
    if sensor.mount.fit is MountFit.hand:
        mount = _mount_on_hand(cfg, sensor.mount.link, half_rad)
    else:
        aspect = optics.width / optics.height
        view = framing_camera(
            _task_points(cfg),
            _FITTED_FROM,
            fov_deg=float(np.degrees(2.0 * half_rad)),
            aspect=aspect,
            margin=_FIT_MARGIN,
        )
        mount = {"position_m": _rounded(view.eye), "look_at_m": _rounded(view.target)}
    return replace(sensor, mount=replace(sensor.mount, fit=MountFit.none, **mount))


def _mount_on_hand(cfg: EpisodeCfg, link: str | None, half_rad: float) -> dict[str, Any]:
    """Returns position and rotation of a camera that looks over the palm at the fingertips, frame of the ee link.

    The palm stays below the picture as far as that leaves the fingertips in its lower third.
    """
    arm = next((arm for arm in cfg.robot.arms if arm.ee_link == link), cfg.robot.arms[0])
    hand, T_ee_tool = hand_shape(cfg.robot, arm), tool_frame(arm.keypoints)
    _, palm = hand.boxes(hand.max_width_m)
    near_palm = palm[palm[:, 1, 0] > palm[:, 1, 0].max() - _BEHIND_PALM_M] if len(palm) else np.zeros((1, 2, 3))
    side_m, front_m = float(-near_palm[:, 0, 2].min()), float(near_palm[:, 1, 0].max())
    over_m, along_m = side_m + _OVER_PALM_M, front_m - _BEHIND_PALM_M
    to_palm = np.arctan2(over_m - side_m, front_m - along_m)
    to_tips = np.arctan2(over_m, hand.tip_m - along_m)
    high, low = (to_tips - np.arctan(place * np.tan(half_rad)) for place in _TIPS_AT)
    turned = float(np.clip(to_palm - half_rad, low, high))
    z = np.array([np.cos(turned), 0.0, np.sin(turned)])  # tool frame: x along the fingers, the camera at negative z
    x = np.array([0.0, 1.0, 0.0])
    T_tool_camera = Pose(np.column_stack([x, np.cross(z, x), z]), np.array([along_m, 0.0, -over_m]))
    T_ee_camera = T_ee_tool @ T_tool_camera
    rpy_deg = np.degrees(rpy_from_matrix(T_ee_camera.R))
    return {"position_m": _rounded(T_ee_camera.p), "rpy_deg": [round(float(value), 3) for value in rpy_deg]}


def _task_points(cfg: EpisodeCfg) -> Array:
    """Returns points (K, 3) that a camera should see, world frame [m].

    They are those of the boxes around objects, before objects that open, around the hands at their start, and of the
    part of the table in which free objects are put down, or of the stands.
    """
    points = []
    for arm in cfg.robot.arms:
        T_world_ee = base_of(cfg.robot, arm) @ kinematics_of(cfg.robot, arm).pose(np.array(arm.home, dtype=float))
        T_world_tool = T_world_ee @ tool_frame(arm.keypoints)
        points += [T_world_tool @ np.array(place) for place in _HAND_POINTS_M]
    homes = [(arm.name, arm.home, arm.home_std) for arm in cfg.robot.arms]
    for number in range(_FIT_OBJECTS):
        rng = stream(number, "sensors.fit")
        assets = load_assets(cfg, number, None, rng)
        filled = with_derived_task(cfg, assets)
        stand = stand_range(filled.stand, cfg.robot)
        for _ in range(_FIT_LAYOUTS):
            layout = sample_layout(filled.task, assets, homes, rng, stand=stand)
            if layout.stand is not None:
                points += list(seen_corners(layout.stand))
            for name, asset in assets.items():
                low, high = asset.bounds_obj
                corners = [np.where(pick, high, low) for pick in np.ndindex(2, 2, 2)]
                box = np.array([layout.objects[name].T_world_root @ corner for corner in corners])
                points += list(box)
                if asset.free:
                    points += list(_PUT_DOWN_M)
                else:
                    middle = box.mean(axis=0)
                    points.append(np.array([box[:, 0].min() - OPENING_M, middle[1], box[:, 2].min()]))
    return np.array(points)


def seen_corners(stand: RobotStand) -> Array:
    """Returns corners (K, 3) of a stand that a picture should show, of a rail only those near the arm [m]."""
    parts = [box.bounds for box in stand.boxes[1:]]
    low, high = parts[-1][:, 1] + np.array([-_RAIL_M, _RAIL_M])
    corners = np.array([np.where(pick, *bounds) for bounds in parts for pick in np.ndindex(2, 2, 2)])
    corners[:, 1] = np.clip(corners[:, 1], low, high)
    return corners


def _rounded(point: Sequence[float] | Array) -> list[float]:
    return [round(float(value), 4) for value in point]


def visual_views(
    scene: EpisodeScene, used: AbstractSet[str], textures: TextureStore, table_covers: Sequence[Body]
) -> list[AttributeView]:
    """Returns the views that rules use; in a world with visuals, the bodies they show are added to the scene.

    `table_covers` are the bodies of a room that cover the table; without any, a sheet is added.
    """
    world = scene.world
    found: list[AttributeView] = []
    for name, body in world.bodies.items():
        if name in used:
            painted = [body]
            if name == TABLE and world.visuals:
                painted += table_covers or [_add_table_top(scene)]
            appearance = LinkAppearance(world, painted, textures, links=list(body.links.values()))
            found.append(AppearanceView(appearance, name=name, links=list(body.links)))
    if LIGHT in used:
        found.append(LightView(world, name=LIGHT))
    if not used.isdisjoint(ROOM):
        rooms = _add_room(scene) if world.visuals else {}
        for name in ROOM:
            appearance = LinkAppearance(world, rooms.get(name, []), textures, links=[ROOT])
            found.append(AppearanceView(appearance, name=name, links=[name]))
    found += [CameraView(camera) for camera in cameras(scene) if camera.cfg.name in used]
    return found


def _add_table_top(scene: EpisodeScene) -> Body:
    """Adds a sheet on the table on which a texture repeats; on a box it would be stretched over each side."""
    x, y, z = TABLE_CENTER_M
    length, width, height = TABLE_SIZE_M
    sheet = add_panel(
        scene.world,
        "table_top",
        size_m=(length, width),
        T_world_panel=Pose.from_translation((x, y, z + 0.5 * height + _SHEET_M)),
        rgba=TABLE_RGBA,
        tile_m=_TABLE_TILE_M,
    )
    sheet.semantic_class = TABLE
    return sheet


def _add_room(scene: EpisodeScene) -> dict[str, list[Body]]:
    """Adds a floor, four walls and the legs of the table, or a floor and walls around a stand."""
    world = scene.world
    floor_z = _FLOOR_Z_M if scene.stand is None else scene.stand.floor_z_m + _SHEET_M
    length, width, height = _ROOM_M
    x, y = TABLE_CENTER_M[0], TABLE_CENTER_M[1]
    floor = add_panel(
        world,
        FLOOR,
        size_m=(length, width),
        T_world_panel=Pose.from_translation((x, y, floor_z)),
        rgba=_FLOOR_RGBA,
        tile_m=_TILE_M,
    )
    walls = []
    for number in range(4):
        yaw = number * np.pi / 2
        out = 0.5 * (length if number % 2 == 0 else width)
        middle = (x + out * np.cos(yaw), y + out * np.sin(yaw), floor_z + height / 2)
        # z points into the room, y up
        z = np.array([-np.cos(yaw), -np.sin(yaw), 0.0])
        up = np.array([0.0, 0.0, 1.0])
        T = Pose(np.column_stack([np.cross(up, z), up, z]), np.array(middle))
        size = (width if number % 2 == 0 else length, height)
        walls.append(add_panel(world, f"wall_{number}", size_m=size, T_world_panel=T, rgba=_WALL_RGBA, tile_m=_TILE_M))
        walls[-1].semantic_class = "wall"
    if scene.stand is None:
        _add_legs(scene)
    return {FLOOR: [floor], WALLS: walls}


def _add_legs(scene: EpisodeScene) -> None:
    """Adds two columns under the table."""
    top = TABLE_CENTER_M[2] - 0.5 * TABLE_SIZE_M[2]
    for number, side in enumerate((-1.0, 1.0)):
        x = TABLE_CENTER_M[0] + side * (0.5 * TABLE_SIZE_M[0] - 0.3)
        height = top - _FLOOR_Z_M
        body = add_solid(
            scene.world,
            f"table_leg_{number}",
            shape="cylinder",
            size_m=height,
            T_world_solid=Pose.from_translation((x, TABLE_CENTER_M[1], _FLOOR_Z_M + height / 2)),
            rgba=_LEG_RGBA,
        )
        body.semantic_class = "table"
