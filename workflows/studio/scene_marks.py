"""Draws what is marked on the scene: regions that can be moved, axes, cameras with their images, keypoints that can be
moved, the reach and a planned chain.
"""

from __future__ import annotations

import io
import math
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import cycle
from typing import Any

import numpy as np
from PIL import Image

from unlatch.objects.annotation import Part
from unlatch.robots.description import RobotCfg
from unlatch.robots.models import model_path
from unlatch.simcore.geometry import Pose
from unlatch.simcore.urdf.model import movable_joints
from unlatch.simcore.urdf.reader import read_urdf
from unlatch.tasks.task import RegionCfg
from unlatch.workflows.studio.jobs import PLAN, RUN, Array, PlanResult, ShownPlan
from unlatch.workflows.studio.session import StudioSession
from unlatch.workflows.studio.state import STEP_M, place_m
from unlatch.workflows.viewing.annotation_editor import KeypointControls
from unlatch.workflows.viewing.picture import SEGMENT_RGB
from unlatch.workflows.viewing.recorded_scene import ColouredMesh, SceneModel, ShownBody, link_bodies
from unlatch.workflows.viewing.scene_nodes import LABEL_ANCHORS, LiveScene, SceneNodes, short_label

_REGION_RGB = (40, 90, 220)
_FAN_M = 0.22
"""Length of the lines that show how far an object may be turned [m]."""
_LEAST_BOX_M = 0.004
_STEP = 3
"""Decimals of what is dragged: millimetres."""
_YAW_STEP_DEG = 1.0


class RegionBoxes:
    """The boxes of one scene; what is dragged goes to the session."""

    def __init__(self, server: Any, session: StudioSession, redraw: Callable[[], None]) -> None:
        """Draws nothing yet; `redraw` is called at the end of a drag, in a thread of viser."""
        self._nodes, self._session, self._redraw = SceneNodes(server), session, redraw
        self._boxes: list[dict[str, Any]] = []
        self._dragged = threading.Event()

    def draw(self, regions: list[RegionCfg]) -> None:
        """Draws every region as a box with controls; controls that are being dragged stay."""
        if self._dragged.is_set():
            return
        shown = self._session.drawn().regions and self._session.clock.of != RUN
        boxes = [vars(region) | {"shown": shown, "reach": self._session.drawn().reach} for region in regions]
        if boxes == self._boxes:
            return
        self._boxes = boxes
        self._nodes.clear("regions")
        if shown:
            for index, region in enumerate(regions):
                self._add_region(index, region)

    def _add_region(self, index: int, region: RegionCfg) -> None:
        view, session = self._nodes.view, self._session
        (x, y), (dx, dy), (low, high) = region.center_m, region.half_extent_m, region.height_m
        path = f"/regions/{index}"
        flat = {"active_axes": (True, True, False), "depth_test": False}
        shifts = {**flat, "line_width": 3.0, "disable_rotations": True}
        move = view.add_transform_controls(path, scale=0.16, position=(x, y, low), **shifts)
        turn = view.add_transform_controls(
            f"/region_turns/{index}",
            scale=0.26,
            disable_axes=True,
            disable_sliders=True,
            position=(x, y, low),
            wxyz=Pose.from_rpy([0.0, 0.0, 0.0], [0.0, 0.0, math.radians(region.yaw_deg)]).quat_wxyz,
            rotation_limits=((0.0, 0.0), (0.0, 0.0), (0.0, math.pi)),
            **flat,
        )
        corner = (x + dx, y + dy, low)
        size = view.add_transform_controls(f"/region_corners/{index}", scale=0.08, position=corner, **shifts)
        height = max(high - low, _LEAST_BOX_M)
        box = view.add_box(
            f"{path}/box",
            color=_REGION_RGB,
            dimensions=(max(2 * dx, _LEAST_BOX_M), max(2 * dy, _LEAST_BOX_M), height),
            opacity=0.03 if session.drawn().reach else 0.18,
            position=(0.0, 0.0, 0.5 * height),
            cast_shadow=False,
        )
        thin = {"thickness": 2.0, "thickness_units": "screen"}
        edges = view.add_line_segments(f"{path}/edges", _box_edges(dx, dy, height), _REGION_RGB, **thin)
        fan = view.add_line_segments(f"{path}/fan", _fan_lines(region.yaw_deg), _REGION_RGB, **thin)
        for handle in (move, turn, size, box, edges, fan):
            self._nodes.keep("regions", handle)
        words = f"region of {region.object}"
        self._nodes.add_label("regions", f"regions/{index}/name", words, position=(0.0, -dy, 0.0))
        keys = ("task", "regions", index)

        def moved(_: Any) -> None:
            place = [round(float(value), _STEP) for value in move.position[:2]]
            turn.position, size.position = move.position, np.array([place[0] + dx, place[1] + dy, low])
            session.try_set((*keys, "center_m"), place, gesture=f"move {index}")

        def resized(_: Any) -> None:
            halves = [max(round(abs(float(a) - b), _STEP), 0.0) for a, b in zip(size.position, (x, y), strict=False)]
            session.try_set((*keys, "half_extent_m"), halves, gesture=f"resize {index}")

        def turned(_: Any) -> None:
            angle = abs(2.0 * math.degrees(math.atan2(float(turn.wxyz[3]), float(turn.wxyz[0]))))
            yaw = min(_YAW_STEP_DEG * round(min(angle, 360.0 - angle) / _YAW_STEP_DEG), 180.0)
            fan.points = _fan_lines(yaw)
            session.try_set((*keys, "yaw_deg"), yaw, gesture=f"turn {index}")

        for handle, action in ((move, moved), (size, resized), (turn, turned)):
            handle.on_update(action)
            handle.on_drag_start(lambda _: self._dragged.set())
            handle.on_drag_end(lambda _: self.end_drag())

    def end_drag(self) -> None:
        """Ends a drag: the boxes are drawn as the task says."""
        self._dragged.clear()
        self._session.end_gesture()
        self._boxes = []
        self._redraw()


def _box_edges(dx: float, dy: float, height: float) -> Array:
    """Returns the edges (12, 2, 3) of a box that stands on its frame's origin."""
    low = [(-dx, -dy, 0.0), (dx, -dy, 0.0), (dx, dy, 0.0), (-dx, dy, 0.0)]
    high = [(x, y, height) for x, y, _ in low]
    rings = [(ring[k], ring[(k + 1) % 4]) for ring in (low, high) for k in range(4)]
    return np.array([*rings, *zip(low, high, strict=True)])


def _fan_lines(yaw_deg: float) -> Array:
    """Returns lines (2, 2, 3) from the middle to where the front of an object faces at most: about -x."""
    ends = [np.pi + sign * math.radians(yaw_deg) for sign in (-1.0, 1.0)]
    return np.array([[(0.0, 0.0, 0.0), (_FAN_M * math.cos(end), _FAN_M * math.sin(end), 0.0)] for end in ends])


_PLANS_RGB, _FAILS_RGB = (0, 105, 40), (175, 15, 5)
_CAMERA_RGB = (90, 60, 140)
_AXIS_RGB = ((220, 40, 40), (40, 170, 60), (50, 90, 230), (200, 120, 20))
_AXIS_M, _FRAME_M = 0.16, 0.05
_ARROW_M = {"shaft_radius": 0.003, "head_radius": 0.008, "head_length": 0.02}


class SceneMarks:
    """Marks of one scene."""

    def __init__(self, server: Any, session: StudioSession, scene: LiveScene) -> None:
        self._nodes, self._session, self._scene = SceneNodes(server), session, scene

    def draw_axes(self, acted_on: set[str]) -> None:
        """Draws axes and handle frame of the parts that a skill acts on."""
        self._nodes.clear("axes")
        if not self._session.drawn().axes or self._session.clock.playing:
            return
        for owner, model in self._scene.objects.items():
            for part in self._scene.assets[owner].articulation.parts.values():
                if f"{owner}.{part.name}" in acted_on:
                    self._add_axes(f"axes/{owner}/{part.name}", part, model)

    def _add_axes(self, path: str, part: Part, model: SceneModel) -> None:
        head = part.keypoints["articulated_object_head"]
        start = model.frame_pose(part, head.frame) @ head.xyz
        for index, (name, axis) in enumerate(part.axes.items()):
            end = start + _AXIS_M * model.frame_pose(part, axis.frame).rotate(axis.xyz)
            rgb, ends = _AXIS_RGB[index % len(_AXIS_RGB)], np.array([[start, end]])
            self._nodes.keep("axes", self._nodes.view.add_arrows(f"/{path}/{name}", ends, rgb, **_ARROW_M))
            beyond = start + 1.15 * (end - start)
            self._name_axis(f"{path}/{name}", name.replace("_", " "), anchor="center-left", position=beyond)
        if part.handle.T_link_handle is not None:
            pose = model.link_pose(part.link) @ part.handle.T_link_handle
            path = f"{path}/contact"
            place = {"position": pose.p, "wxyz": pose.quat_wxyz}
            frame = self._nodes.view.add_frame(f"/{path}", axes_length=_FRAME_M, axes_radius=0.002, **place)
            self._nodes.keep("axes", frame)
            self._name_axis(path, f"contact frame ({part.handle.type.value})", anchor="top-right")

    def _name_axis(self, path: str, words: str, **place: Any) -> None:
        if self._session.drawn().names:
            self._nodes.add_label("axes", f"{path}/name", words, scale=0.6, **place)

    def draw_keypoint_controls(self) -> None:
        """Draws a control at each keypoint that is being moved."""
        self._nodes.clear("handles")
        annotation = self._session.annotation
        if annotation is None or annotation.object not in self._scene.objects:
            return
        asset = self._scene.assets[annotation.object]
        frame_pose = self._scene.objects[annotation.object].frame_pose
        style = {"scale": 0.14 * annotation.loaded.size_m, "depth_test": False}
        controls = KeypointControls(self._nodes, annotation, frame_pose, self._session.move_keypoint, style)
        for (part, keypoint), anchor in zip(annotation.movable(asset.articulation), cycle(LABEL_ANCHORS), strict=False):
            controls.add(part, keypoint, f"{part}: {short_label(keypoint)}", anchor=anchor)

    def draw_cameras(self) -> None:
        """Draws every camera as a frustum with what it sees; while a run plays, it is not known."""
        self._nodes.clear("cameras")
        session, clock = self._session, self._session.clock
        scene, views = session.scene, session.views
        if scene is None or not session.drawn().cameras or (clock.of == RUN and clock.playing):
            return
        for camera in views.cameras if views is not None and clock.of == RUN else scene.cameras:
            pose = Pose.from_quat_xyzw(camera.position, camera.quat_xyzw)
            seen = None if views is None else views.images.get(camera.name)
            # size of the frustum of a camera; a camera beside the eye hid the object behind a larger one
            frustum = self._nodes.view.add_camera_frustum(
                f"/cameras/{camera.name}",
                camera.fov_rad,
                camera.aspect,
                image=None if seen is None else np.asarray(Image.open(io.BytesIO(seen)).convert("RGB")),
                scale=0.04,
                thickness=2.0,
                thickness_units="screen",
                color=_CAMERA_RGB,
                cast_shadow=False,
                wxyz=pose.quat_wxyz,
                position=pose.p,
            )
            self._nodes.keep("cameras", frustum)
            self._nodes.add_label("cameras", f"cameras/{camera.name}/name", f"camera {camera.name}")

    def draw_reach(self, regions: list[RegionCfg]) -> None:
        """Colours the places of which is known whether layouts there plan."""
        self._nodes.clear("reach")
        session = self._session
        if not session.drawn().reach:
            return
        with session.changed:
            places = [item for region in regions for item in session.reach.get(region.object, {}).items()]
        side = 0.46 * STEP_M
        square = np.array([[-side, -side, 0], [side, -side, 0], [side, side, 0], [-side, side, 0]], dtype=np.float32)
        faces = np.array([[0, 1, 2], [0, 2, 3]], dtype=np.uint32)
        for plans, rgb in ((True, _PLANS_RGB), (False, _FAILS_RGB)):
            chosen = [place_m(place) for place, result in places if result.plans is plans]
            if chosen:
                centers = np.array([(x, y, 0.003) for x, y in chosen], dtype=np.float32)
                handle = self._nodes.view.add_batched_meshes_simple(
                    f"/reach/{plans}",
                    square,
                    faces,
                    batched_wxyzs=np.tile([1.0, 0.0, 0.0, 0.0], (len(centers), 1)),
                    batched_positions=centers,
                    batched_colors=rgb,
                    side="double",
                    cast_shadow=False,
                )
                self._nodes.keep("reach", handle)


_GHOST_RGB, _BAD_RGB = (90, 140, 235), (214, 69, 56)


class PlanGhosts:
    """The plans of one scene as ghosts."""

    def __init__(self, server: Any, session: StudioSession, scene: LiveScene) -> None:
        self._session, self._scene = session, scene
        self._hands, self._arms = SceneNodes(server), SceneNodes(server)
        self._drawn: tuple[PlanResult, int | None, bool] | None = None
        self._tinted: dict[tuple[str, tuple[int, int, int]], list[ColouredMesh]] = {}
        """Meshes of the links of the robot `_tinted_robot` in the colour of a ghost: equal ones are not sent again."""
        self._tinted_robot: RobotCfg | None = None

    def draw(self, plan: PlanResult | None, robot: RobotCfg) -> None:
        """Draws the whole chain; while the time slider shows the plan, the hands of the present skill only."""
        show, clock, model = self._session.drawn(), self._session.clock, self._scene.robot
        if plan is None or not show.ghosts or clock.of == RUN or model is None:
            self._hands.clear("plan")
            self._hands.show([])
            self._drawn = None
            self._arms.hide_bodies()
            return
        if self._tinted_robot != robot:
            self._tinted, self._tinted_robot = {}, robot
        stage = plan.moment(clock.frame)[0] if clock.of == PLAN else None
        if self._drawn is None or self._drawn[0] is not plan or self._drawn[1:] != (stage, show.names):
            self._draw_chain(plan, robot, model, stage)
            self._drawn = plan, stage, show.names
        self._pose_arms(plan, robot, model)

    def _draw_chain(self, plan: PlanResult, robot: RobotCfg, model: SceneModel, stage: int | None) -> None:
        """Draws the paths of all skills, and the hands at the keyframes of one stage; None: of all stages."""
        self._hands.clear("plan")
        hands: list[ShownBody] = []
        for index, each in enumerate(plan.plans):
            for number, segment in enumerate(each.segments):
                if len(segment.tip) > 1:
                    rgb = SEGMENT_RGB.get(segment.kind, (0, 0, 0))
                    self._hands.add_path("plan", f"plan/{index}/path/{number}", segment.tip, rgb, thickness=0.006)
            if stage is None or each.stage == stage:
                number_of_skill = index + 1 if len(plan.plans) > 1 else None
                hands += self._hands_of(f"plan/{index}", each, robot, model, number=number_of_skill)
        self._hands.show(hands)

    def _hands_of(
        self, path: str, plan: ShownPlan, robot: RobotCfg, model: SceneModel, *, number: int | None
    ) -> Iterator[ShownBody]:
        """Yields the hand of every keyframe but the present one, and writes the names of the keyframes.

        In a chain, which has a `number` for each skill, only the goal has a name.
        """
        names = self._session.drawn().names  # so many that those of the keyframes would hide them
        arm = next(entry for entry in robot.arms if entry.name == plan.arm)
        meshes = self._tint(model, links_below(robot, arm.ee_link), _GHOST_RGB)
        for index, keyframe in enumerate(plan.keyframes):
            if keyframe.label == "current":
                continue
            place = f"{path}/keyframes/{index}"
            yield from link_bodies(place, meshes, robot_poses(model, robot, {plan.arm: keyframe.q}))
            if not names and (number is None or keyframe.label == "goal"):
                words = keyframe.label if number is None else f"{number} {plan.skill}"
                self._hands.add_label("plan", f"{place}/name", words, position=keyframe.position)

    def _pose_arms(self, plan: PlanResult, robot: RobotCfg, model: SceneModel) -> None:
        """Poses the arms at the moment of the clock, or where the constraints are nearest to being met."""
        joints = self.joints(plan)
        if not joints:
            self._arms.hide_bodies()
            return
        arms = [entry for entry in robot.arms if entry.name in joints]
        links = set().union(*(links_below(robot, arm.base_link) for arm in arms))
        meshes = self._tint(model, links, _GHOST_RGB if plan.found else _BAD_RGB)
        self._arms.show(link_bodies("ghost", meshes, robot_poses(model, robot, joints)))

    def joints(self, plan: PlanResult) -> dict[str, Array]:
        """Returns the joints (n,) of every arm that acts at the moment of the clock, by its name [rad]."""
        clock = self._session.clock
        stage, frame = plan.moment(clock.frame) if clock.of == PLAN else (len(plan.stage_frames()) - 1, 0)
        joints: dict[str, Array] = {}
        for each in plan.plans:
            if each.stage != stage:
                continue
            if clock.of == PLAN and each.segments:
                joints[each.arm] = row_at(each, frame)
            elif each.compromise is not None:
                joints[each.arm] = each.compromise
        return joints

    def _tint(
        self, model: SceneModel, links: Collection[str], rgb: tuple[int, int, int]
    ) -> dict[str, list[ColouredMesh]]:
        """Returns the meshes of the visible ones of some links, translucent in one colour."""
        red, green, blue = (value / 255 for value in rgb)
        found = {}
        for link in model.meshes:
            if link in links:
                if (link, rgb) not in self._tinted:
                    self._tinted[link, rgb] = [
                        ColouredMesh(mesh.vertices, mesh.faces, (red, green, blue, 0.35)) for mesh in model.meshes[link]
                    ]
                found[link] = self._tinted[link, rgb]
        return found


def robot_poses(model: SceneModel, robot: RobotCfg, joints: Mapping[str, Array]) -> dict[str, Pose]:
    """Returns the world pose of every visible link of a robot with joint positions (n,) of some arms [rad].

    Arms without positions stay as they were posed last.
    """
    for arm in robot.arms:
        if arm.name in joints:
            model.move(arm.joints, joints[arm.name])
    return model.link_poses()


def row_at(plan: ShownPlan, frame: int) -> Array:
    """Returns the joints (n,) of a plan's arm in a frame of its motion; after its end, those of its end [rad]."""
    rows = np.concatenate([segment.q for segment in plan.segments])
    return rows[min(frame, len(rows) - 1)]


def links_below(robot: RobotCfg, top: str) -> set[str]:
    """Returns the names of a link and of all links below it: of an arm, or of a hand with its gripper."""
    model = read_urdf(model_path(robot), packages=True)
    return {link for link in model.links if model.is_below(link, top)}


State = dict[str, Array]
"""Arrays (1, ...) by the key of the record."""


def planned_state(plan: PlanResult, frame: int, robot: RobotCfg, scene: LiveScene) -> State:
    """Returns the state at a frame of the chain; the robot stays where it is at the start."""
    stage, frame = plan.moment(frame)
    state = {key: np.asarray(value)[None] for key, value in plan.scene.state.items()}
    begun = plan.states[stage] if stage < len(plan.states) else {}
    state.update({key: np.asarray(value)[None] for key, value in begun.items() if not key.startswith("robots.")})
    present = [each for each in plan.plans if each.stage == stage]
    for each in present:
        if each.joint is not None and each.keyframes:
            at = _position_of_part(each, frame)
            _move_contents(state, each, at, scene)
            state = move_parts(state, {(each.object, each.joint): at}, scene)
        _carry(state, each, frame, robot, scene)
    return state


def move_parts(state: Mapping[str, Array], moved: Mapping[tuple[str, str], float], scene: LiveScene) -> State:
    """Returns a state with other positions of joints, by (object, joint), and of their keypoints."""
    result = dict(state)
    for name, model in scene.objects.items():
        joints = movable_joints(model.model)
        key = f"objects.{name}.joint_positions"
        positions = np.array(state[key])
        for column, joint in enumerate(joints):
            positions[0, column] = moved.get((name, joint), positions[0, column])
        result[key] = positions
        model.move(joints, positions[0])
        for part in scene.assets[name].articulation.parts.values():
            for label, point in part.keypoints.items():
                if (place := f"keypoints.{name}.{part.name}.{label}") in result:
                    result[place] = np.asarray(model.frame_pose(part, point.frame) @ point.xyz)[None]
    return result


def _position_of_part(plan: ShownPlan, frame: int) -> float:
    """Returns the position of the part that a plan leads, at a frame of its motion [rad or m]."""
    at, first = plan.keyframes[0].s, 0
    for segment in plan.segments:
        if frame < first:
            break
        if segment.s is not None:
            at = float(segment.s[min(frame - first, len(segment.s) - 1)])
        first += len(segment.q)
    return at


def _move_contents(state: State, plan: ShownPlan, at: float, scene: LiveScene) -> None:
    """Moves what lies in a part, such as a drawer, along with it."""
    model, asset = scene.objects[plan.object], scene.assets[plan.object]
    link = next(part.link for part in asset.articulation.parts.values() if part.joint == plan.joint)
    positions = state[f"objects.{plan.object}.joint_positions"][0]
    model.move(movable_joints(model.model), positions, _root_pose(state, plan.object))
    T_world_start = model.link_pose(link)
    model.move([str(plan.joint)], [at])
    T_world_now = model.link_pose(link)
    regions = [region for region in asset.regions.values() if region.link == link]
    for name, other in scene.assets.items():
        if name == plan.object:
            continue
        pose = _root_pose(state, name)
        middle = pose @ other.bounds_obj.mean(axis=0)
        if any(region.holds((T_world_start @ region.T_link_region).inverse() @ middle) for region in regions):
            _set_root_pose(state, name, T_world_now @ T_world_start.inverse() @ pose)


def _carry(state: State, plan: ShownPlan, frame: int, robot: RobotCfg, scene: LiveScene) -> None:
    """Moves what the hand of a plan has at a frame of its motion."""
    carried, model = plan.carried, scene.robot
    if carried is None or model is None or not plan.segments or carried.object not in scene.objects:
        return
    arm = next(entry for entry in robot.arms if entry.name == plan.arm)
    now = min(max(frame, carried.first), carried.last)
    hands = []
    for each in (now, carried.first):
        model.move(arm.joints, row_at(plan, each))
        hands.append(model.link_pose(arm.ee_link))
    moved = hands[0] @ hands[1].inverse()
    _set_root_pose(state, carried.object, moved @ _root_pose(state, carried.object))


def _root_pose(state: Mapping[str, Array], name: str) -> Pose:
    return Pose.from_quat_xyzw(state[f"objects.{name}.root_position"][0], state[f"objects.{name}.root_quat_xyzw"][0])


def _set_root_pose(state: State, name: str, pose: Pose) -> None:
    state[f"objects.{name}.root_position"] = pose.p[None]
    state[f"objects.{name}.root_quat_xyzw"] = pose.quat_xyzw[None]
