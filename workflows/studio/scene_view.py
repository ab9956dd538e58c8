"""Draws the session in a scene of viser, and hands what is dragged there to the session."""

from __future__ import annotations

import json
import math
import queue
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from itertools import cycle
from typing import Any

import numpy as np

from unlatch.objects.annotate.keypoint_edit import HEAD, TAIL
from unlatch.robots.description import ArmCfg, RobotCfg
from unlatch.robots.model import model_path
from unlatch.simcore.errors import SimCoreError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.urdf.reader import read_urdf
from unlatch.tasks.task import RegionCfg
from unlatch.workflows.studio.jobs import Array, PlanResult, ShownPlan, ShownScene
from unlatch.workflows.studio.reach import FINE_M, place_m
from unlatch.workflows.studio.session import PLAN, RUN, StudioSession
from unlatch.workflows.viewing.live.scene import LiveScene, ShownEpisode
from unlatch.workflows.viewing.viewers.link_meshes import ColouredMesh
from unlatch.workflows.viewing.viewers.scene_models import SceneModel
from unlatch.workflows.viewing.viewers.viser_scene import LABEL_ANCHORS, add_body, set_view

_FRAME_S = 1.0 / 20.0
"""Time between two states of the scene while something is played [s]."""
_REGION_RGB, _GHOST_RGB, _BAD_RGB = (40, 90, 220), (90, 140, 235), (214, 69, 56)
_PLANS_RGB, _FAILS_RGB = (0, 105, 40), (175, 15, 5)
SEGMENT_RGB = {
    "transit": (130, 130, 130),
    "approach": (40, 90, 220),
    "contact": (230, 120, 20),
    "follow": (20, 150, 60),
    "retreat": (150, 60, 170),
}
"""Colours of the parts of a planned motion."""
_CAMERA_RGB = (90, 60, 140)
_AXIS_M, _FRAME_M = 0.10, 0.05
_FAN_M = 0.22
"""Length of the lines that show how far an object may be turned [m]."""
_LEAST_BOX_M = 0.004
EYE_M, TARGET_M = (-0.75, -1.55, 1.15), (0.38, -0.02, 0.27)
"""From where a page looks at first, world frame [m]."""
_STEP = 3
"""Decimals of what is dragged: millimetres."""
_YAW_STEP_DEG = 1.0


class SceneView:
    """Draws what the session has, in a thread of its own; a failure is a message of the session, never its end."""

    def __init__(self, server: Any, session: StudioSession) -> None:
        """Makes a view on a `viser.ViserServer`; `start` starts its thread."""
        self._server, self._session = server, session
        self._events: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._scene = LiveScene(server, has_view=True)
        self._drawn: dict[str, list[Any]] = {}
        """Handles by what they belong to."""
        self._region_boxes: list[dict[str, Any]] = []
        self._dragged = threading.Event()
        self._ghost: dict[str, Any] = {}
        self._ghost_of: tuple[RobotCfg, tuple[int, int, int]] | None = None
        self._drawn_plan: PlanResult | None = None
        self._run_count = 0
        self._last_run: object = None
        self.problem = ""
        """Why the scene could not be drawn; empty if it could."""
        session.listeners.append(self._events.put)
        server.on_client_disconnect(lambda _: self._end_drag())  # a page may be closed in the middle of a drag
        set_view(server, np.array(EYE_M), np.array(TARGET_M))
        server.scene.configure_default_lights(cast_shadow=False)  # a browser without a GPU draws twice as fast
        server.gui.configure_theme(show_logo=False, show_share_button=False)
        server.gui.main_panel.minimize()  # the page has its own controls

    def start(self) -> None:
        """Starts the thread."""
        threading.Thread(target=self._run, name="unlatch-studio-scene", daemon=True).start()

    def stop(self) -> None:
        """Ends the thread."""
        self._events.put("stop")

    def _run(self) -> None:
        played = time.monotonic()
        with self._scene:
            while True:
                try:
                    what = {self._events.get(timeout=_FRAME_S if self._session.clock.playing else 60.0)}
                except queue.Empty:
                    what = set()
                with suppress(queue.Empty):
                    while True:
                        what.add(self._events.get_nowait())
                if "stop" in what:
                    return
                now = time.monotonic()
                if self._session.clock.playing and now - played >= _FRAME_S:
                    frames = round(min(now - played, 0.5) * self._session.frame_hz())
                    self._session.tick(max(frames, 1))
                    what.add("clock")
                    played = now
                elif not self._session.clock.playing:
                    played = now
                self._draw(what)

    def _draw(self, what: set[str]) -> None:
        try:
            with self._session.changed:
                scene = self._session.scene
                plan = None if self._session.plan_is_old() else self._session.plan
            if scene is None:
                return
            if what & {"scene", "plan", "run", "clock", "openings", "show"}:
                self._draw_state(scene.scene, plan)
            if what & {"scene", "show"}:
                self._draw_regions(scene.scene.cfg.task.regions)
                self._draw_cameras()
            if what & {"scene", "plan", "show", "clock"}:
                self._draw_plan(plan, scene.scene.cfg.robot)
            if what & {"scene", "annotation"}:
                self._draw_handles()
            if what & {"annotation", "keypoint"}:
                self._session.check_annotation()
            if what & {"scene", "reach", "show"}:
                self._draw_reach(scene.scene.cfg.task.regions)
            self.problem = ""
        except (SimCoreError, OSError, ValueError, LookupError) as exc:  # a damaged mesh, an object that was removed
            self.problem = exc.message if isinstance(exc, SimCoreError) else f"{type(exc).__name__}: {exc}"

    def _draw_state(self, first: ShownScene, plan: PlanResult | None) -> None:
        """Poses robot and objects: as in the run, in the plan, or at the start."""
        session, show = self._session, self._session.show
        scene = first if plan is None else plan.scene
        acted_on = {f"{skill.object}.{skill.part}" for skill in (session.scene.skills if session.scene else ())}
        if session.clock.of == RUN and session.run is not None and session.run.record.arrays:
            record = session.run.record
            if session.run is not self._last_run:
                self._run_count, self._last_run = self._run_count + 1, session.run
            shown = ShownEpisode(
                ("run", self._run_count),
                session.run.cfg,
                record.number,
                record.layout,
                record.assets,
                _models_key(record.assets),
            )
            self._scene.show(shown, record.arrays, session.clock.frame, acted_on=acted_on)
        else:
            shown = ShownEpisode(
                json.dumps(scene.layout, sort_keys=True, default=str),
                scene.cfg,
                scene.episode,
                scene.layout,
                scene.hashes,
                _models_key(scene.hashes),
            )
            state = {key: np.asarray(value)[None] for key, value in scene.state.items()}
            self._scene.show(shown, state, 0, acted_on=acted_on)
            moved = dict(session.openings)
            if session.clock.of == PLAN and plan is not None:
                moved.update(_planned_positions(plan, session.clock.frame))
            if moved:
                self._scene.show(shown, self._move_parts(state, moved), 0, acted_on=acted_on)
        self._scene.label_points(dots=show.keypoints, names=show.names)
        self._draw_axes(acted_on)

    def _move_parts(self, state: Mapping[str, Array], moved: Mapping[tuple[str, str], float]) -> dict[str, Array]:
        """Returns a state (1, ...) with other positions of joints, by (object, joint), and of their keypoints."""
        result = dict(state)
        for name, model in self._scene.objects.items():
            joints = [joint.name for joint in model.body.movable_joints]
            key = f"objects.{name}.joint_positions"
            positions = np.array(state[key])
            for column, joint in enumerate(joints):
                positions[0, column] = moved.get((name, joint), positions[0, column])
            result[key] = positions
            model.body.set_joint_positions(joints, positions[0])
            for part in self._scene.assets[name].articulation.parts.values():
                for label, point in part.keypoints.items():
                    frame = model.body.link_pose({"link": part.link, "base": part.base}.get(point.frame, part.base))
                    if point.frame not in ("link", "base"):
                        frame = model.body.root_pose()
                    if (place := f"keypoints.{name}.{part.name}.{label}") in result:
                        result[place] = np.asarray(frame @ point.xyz)[None]
        return result

    def _draw_axes(self, acted_on: set[str]) -> None:
        """Draws axes and handle frame of the parts that a skill acts on."""
        self._clear("axes")
        if not self._session.show.axes or self._session.clock.playing:
            return
        view, names = self._server.scene, self._session.show.names
        for owner, model in self._scene.objects.items():
            for part in self._scene.assets[owner].articulation.parts.values():
                if f"{owner}.{part.name}" not in acted_on:
                    continue
                frames = {"link": model.body.link_pose(part.link), "base": model.body.link_pose(part.base)}
                head = part.keypoints["articulated_object_head"]
                start = frames.get(head.frame, model.body.root_pose()) @ head.xyz
                for index, (name, axis) in enumerate(part.axes.items()):
                    end = start + _AXIS_M * frames.get(axis.frame, model.body.root_pose()).rotate(axis.xyz)
                    rgb = ((220, 40, 40), (40, 170, 60), (50, 90, 230), (200, 120, 20))[index % 4]
                    path = f"/axes/{owner}/{part.name}/{name}"
                    self._keep(
                        "axes",
                        view.add_arrows(
                            path,
                            np.array([[start, end]]),
                            rgb,
                            shaft_radius=0.003,
                            head_radius=0.008,
                            head_length=0.02,
                        ),
                    )
                    if names:
                        label = name.replace("_", " ")
                        self._keep("axes", view.add_label(f"{path}/name", label, position=end, font_screen_scale=0.7))
                if part.handle.T_link_handle is not None:
                    pose = frames["link"] @ part.handle.T_link_handle
                    path = f"/axes/{owner}/{part.name}/contact"
                    self._keep(
                        "axes",
                        view.add_frame(
                            path, axes_length=_FRAME_M, axes_radius=0.002, position=pose.p, wxyz=pose.quat_wxyz
                        ),
                    )
                    if names:
                        words = f"contact frame ({part.handle.type.value})"
                        self._keep("axes", view.add_label(f"{path}/name", words, font_screen_scale=0.7))

    def _draw_handles(self) -> None:
        """Draws a control at each keypoint that is being moved."""
        self._clear("handles")
        annotation = self._session.annotation
        if annotation is None or annotation.object not in self._scene.objects:
            return
        model, asset = self._scene.objects[annotation.object], self._scene.assets[annotation.object]
        controls: dict[tuple[str, str], Any] = {}
        anchors = cycle(LABEL_ANCHORS)
        for part_name, name in annotation.movable(asset.articulation):
            part = annotation.edit.articulation.part(part_name)
            point = part.keypoint(name)
            link = {"link": part.link, "base": part.base}.get(point.frame)
            T_world_frame = model.body.root_pose() if link is None else model.body.link_pose(link)
            control = self._server.scene.add_transform_controls(
                f"/handles/{part_name}/{name}",
                scale=0.14 * annotation.edit.loaded.size_m,
                disable_rotations=True,
                depth_test=False,
                position=T_world_frame @ point.xyz,
            )
            label = self._server.scene.add_label(
                f"/handles/{part_name}/{name}/name",
                f"{part_name}: {name.replace('_', ' ')}",
                font_screen_scale=0.75,
                anchor=next(anchors),
            )
            controls[part_name, name] = control
            self._keep("handles", control)
            self._keep("handles", label)

            def moved(_: Any, key: tuple[str, str] = (part_name, name), T_world_frame: Pose = T_world_frame) -> None:
                p_world = np.asarray(controls[key].position, dtype=float)
                self._session.move_keypoint(*key, T_world_frame.inverse() @ p_world)
                follower = controls.get((key[0], TAIL))
                if key[1] == HEAD and follower is not None:
                    tail = annotation.edit.articulation.part(key[0]).keypoint(TAIL)
                    follower.position = T_world_frame @ tail.xyz

            control.on_update(moved)

    def _draw_cameras(self) -> None:
        self._clear("cameras")
        scene = self._session.scene
        for camera in scene.cameras if scene is not None and self._session.show.cameras else ():
            pose = Pose.from_quat_xyzw(camera.position, camera.quat_xyzw)
            path = f"/cameras/{camera.name}"
            self._keep(
                "cameras",
                self._server.scene.add_camera_frustum(
                    path,
                    camera.fov_rad,
                    camera.aspect,
                    scale=0.1,
                    thickness=2.0,
                    thickness_units="screen",
                    color=_CAMERA_RGB,
                    cast_shadow=False,
                    wxyz=pose.quat_wxyz,
                    position=pose.p,
                ),
            )
            words = f"camera {camera.name}"
            self._keep("cameras", self._server.scene.add_label(f"{path}/name", words, font_screen_scale=0.75))

    def _draw_regions(self, regions: list[RegionCfg]) -> None:
        """Draws every region as a box with controls; controls that are being dragged stay."""
        if self._dragged.is_set():
            return
        boxes = [
            vars(region) | {"shown": self._session.show.regions, "reach": self._session.show.reach}
            for region in regions
        ]
        if boxes == self._region_boxes:
            return
        self._region_boxes = boxes
        self._clear("regions")
        if self._session.show.regions:
            for index, region in enumerate(regions):
                self._add_region(index, region)

    def _add_region(self, index: int, region: RegionCfg) -> None:
        view, session = self._server.scene, self._session
        (x, y), (dx, dy), (low, high) = region.center_m, region.half_extent_m, region.height_m
        path, ring = f"/regions/{index}", f"/region_turns/{index}"
        move = view.add_transform_controls(
            path,
            scale=0.16,
            line_width=3.0,
            active_axes=(True, True, False),
            disable_rotations=True,
            depth_test=False,
            position=(x, y, low),
        )
        turn = view.add_transform_controls(
            ring,
            scale=0.26,
            active_axes=(True, True, False),
            disable_axes=True,
            disable_sliders=True,
            depth_test=False,
            position=(x, y, low),
            wxyz=_yaw_wxyz(math.radians(region.yaw_deg)),
            rotation_limits=((0.0, 0.0), (0.0, 0.0), (0.0, math.pi)),
        )
        size = view.add_transform_controls(
            f"/region_corners/{index}",
            scale=0.08,
            line_width=3.0,
            active_axes=(True, True, False),
            disable_rotations=True,
            depth_test=False,
            position=(x + dx, y + dy, low),
        )
        height = max(high - low, _LEAST_BOX_M)
        box = view.add_box(
            f"{path}/box",
            color=_REGION_RGB,
            dimensions=(max(2 * dx, _LEAST_BOX_M), max(2 * dy, _LEAST_BOX_M), height),
            opacity=0.03 if session.show.reach else 0.18,
            position=(0.0, 0.0, 0.5 * height),
            cast_shadow=False,
        )
        edges = view.add_line_segments(
            f"{path}/edges", _box_edges(dx, dy, height), _REGION_RGB, thickness=2.0, thickness_units="screen"
        )
        fan = view.add_line_segments(
            f"{path}/fan", _fan_lines(region.yaw_deg), _REGION_RGB, thickness=2.0, thickness_units="screen"
        )
        name = view.add_label(
            f"{path}/name", f"region of {region.object}", position=(0.0, -dy, 0.0), font_screen_scale=0.75
        )
        for handle in (move, turn, size, box, edges, fan, name):
            self._keep("regions", handle)
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
            handle.on_drag_end(lambda _: self._end_drag())

    def _end_drag(self) -> None:
        self._dragged.clear()
        self._session.end_gesture()
        self._region_boxes = []
        self._events.put("show")

    def _draw_plan(self, plan: PlanResult | None, robot: RobotCfg) -> None:
        """Draws paths, keyframes and the arm at the moment of the clock as ghosts."""
        show, clock = self._session.show, self._session.clock
        visible = plan is not None and show.ghosts and clock.of != RUN
        if not visible or self._drawn_plan is not plan:
            self._clear("plan")
        if plan is None or not visible:
            self._drawn_plan = None
            self._hide_ghost()
            return
        if self._drawn_plan is not plan:
            for each in plan.plans:
                self._add_paths(each)
                self._add_hands(each, robot)
            self._drawn_plan = plan
        self._pose_ghost(plan, robot)

    def _add_paths(self, plan: ShownPlan) -> None:
        for index, segment in enumerate(plan.segments):
            if len(segment.tip) < 2:
                continue
            pairs = np.stack([segment.tip[:-1], segment.tip[1:]], axis=1)
            rgb = SEGMENT_RGB.get(segment.kind, (0, 0, 0))
            path = f"/plan/{plan.arm}/path/{index}"
            self._keep("plan", self._server.scene.add_line_segments(path, pairs, rgb, thickness=0.006))

    def _add_hands(self, plan: ShownPlan, robot: RobotCfg) -> None:
        """Draws the hand of every keyframe but the present one."""
        model = self._scene.robot
        if model is None:
            return
        arm = next(entry for entry in robot.arms if entry.name == plan.arm)
        links = hand_links(robot, arm)
        meshes = {
            link: [_tinted(mesh, _GHOST_RGB) for mesh in model.meshes[link]] for link in links if link in model.meshes
        }
        for index, keyframe in enumerate(plan.keyframes):
            path = f"plan/{plan.arm}/keyframes/{index}"
            if keyframe.label != "current":
                for link, pose in self._robot_poses(robot, {plan.arm: keyframe.q}).items():
                    if link in meshes:
                        self._keep(
                            "plan",
                            add_body(
                                self._server.scene,
                                f"{path}/{link}",
                                meshes[link],
                                position=pose.p,
                                wxyz=pose.quat_wxyz,
                            ),
                        )
            label = f"{index} {keyframe.label}"
            self._keep(
                "plan",
                self._server.scene.add_label(
                    f"/{path}/name", label, position=keyframe.position, font_screen_scale=0.75
                ),
            )

    def _pose_ghost(self, plan: PlanResult, robot: RobotCfg) -> None:
        """Poses the arms at the moment of the clock, or where the constraints are nearest to being met."""
        clock = self._session.clock
        joints: dict[str, Array] = {}
        for each in plan.plans:
            if clock.of == PLAN and each.segments:
                joints[each.arm] = _row_at([segment.q for segment in each.segments], clock.frame)
            elif each.compromise is not None:
                joints[each.arm] = each.compromise
        model = self._scene.robot
        if not joints or model is None:
            self._hide_ghost()
            return
        rgb = _GHOST_RGB if plan.found else _BAD_RGB
        self._make_ghost(model, robot, rgb)
        arms = [entry for entry in robot.arms if entry.name in joints]
        shown = set().union(*(arm_links(robot, arm) for arm in arms))
        for link, pose in self._robot_poses(robot, joints).items():
            frame = self._ghost[link]
            frame.visible = link in shown
            frame.position, frame.wxyz = pose.p, pose.quat_wxyz

    def _make_ghost(self, model: SceneModel, robot: RobotCfg, rgb: tuple[int, int, int]) -> None:
        if self._ghost and self._ghost_of == (robot, rgb):
            return
        for frame in self._ghost.values():
            frame.remove()
        self._ghost_of = robot, rgb
        self._ghost = {
            link: add_body(
                self._server.scene,
                f"ghost/{link}",
                [_tinted(mesh, rgb) for mesh in meshes],
                position=np.zeros(3),
                wxyz=np.array([1.0, 0.0, 0.0, 0.0]),
            )
            for link, meshes in model.meshes.items()
        }

    def _hide_ghost(self) -> None:
        for frame in self._ghost.values():
            frame.visible = False

    def _robot_poses(self, robot: RobotCfg, joints: Mapping[str, Array]) -> dict[str, Pose]:
        """Returns the pose of every link of the robot with other joint positions (n,) of some arms [rad]."""
        model = self._scene.robot
        if model is None:
            return {}
        names: list[str] = []
        positions: list[float] = []
        for arm in robot.arms:
            if arm.name in joints:
                names += arm.joints
                positions += [float(value) for value in joints[arm.name]]
        before = model.body.joint_positions(names)
        poses = model.link_poses(names, np.array(positions))
        model.body.set_joint_positions(names, before)
        return poses

    def _draw_reach(self, regions: list[RegionCfg]) -> None:
        self._clear("reach")
        session = self._session
        if not session.show.reach:
            return
        with session.changed:
            places = [
                (place, colour)
                for region in regions
                for found in [session.reach.get(region.object)]
                if found is not None
                for place in found.known_places(region)
                for colour in [found.colour_of(place)]
                if colour is not None
            ]
        side = 0.46 * FINE_M
        square = np.array([[-side, -side, 0], [side, -side, 0], [side, side, 0], [-side, side, 0]], dtype=np.float32)
        faces = np.array([[0, 1, 2], [0, 2, 3]], dtype=np.uint32)
        for plans, rgb in ((True, _PLANS_RGB), (False, _FAILS_RGB)):
            chosen = [place_m(place) for place, colour in places if colour is plans]
            if chosen:
                centers = np.array([(x, y, 0.003) for x, y in chosen], dtype=np.float32)
                handle = self._server.scene.add_batched_meshes_simple(
                    f"/reach/{plans}",
                    square,
                    faces,
                    batched_wxyzs=np.tile([1.0, 0.0, 0.0, 0.0], (len(centers), 1)),
                    batched_positions=centers,
                    batched_colors=rgb,
                    side="double",
                    cast_shadow=False,
                )
                self._keep("reach", handle)

    def _keep(self, group: str, handle: Any) -> None:
        self._drawn.setdefault(group, []).append(handle)

    def _clear(self, group: str) -> None:
        for handle in reversed(self._drawn.pop(group, [])):
            with suppress(KeyError):  # it went with its parent
                handle.remove()


def hand_links(robot: RobotCfg, arm: ArmCfg) -> set[str]:
    """Returns the names of the links of an arm's hand: the link that carries the gripper and all below it."""
    return _links_below(robot, arm.ee_link)


def arm_links(robot: RobotCfg, arm: ArmCfg) -> set[str]:
    """Returns the names of the links of an arm and its hand."""
    return _links_below(robot, arm.base_link)


def _links_below(robot: RobotCfg, top: str) -> set[str]:
    model = read_urdf(model_path(robot), packages=True)
    return {link for link in model.links if model.is_below(link, top)}


def _models_key(hashes: Mapping[str, str]) -> str:
    return json.dumps(dict(hashes), sort_keys=True)


def _planned_positions(plan: PlanResult, frame: int) -> dict[tuple[str, str], float]:
    """Returns the positions of the parts at a frame of a plan, by object and joint [rad or m]."""
    found = {}
    for each in plan.plans:
        if each.joint is None or not each.keyframes:
            continue
        at, first = each.keyframes[0].s, 0
        for segment in each.segments:
            if frame < first:
                break
            if segment.s is not None:
                at = float(segment.s[min(frame - first, len(segment.s) - 1)])
            first += len(segment.q)
        found[each.object, each.joint] = at
    return found


def _row_at(parts: list[Array], frame: int) -> Array:
    rows = np.concatenate(parts)
    row: Array = rows[min(frame, len(rows) - 1)]
    return row


def _tinted(mesh: ColouredMesh, rgb: tuple[int, int, int]) -> ColouredMesh:
    return ColouredMesh(mesh.vertices, mesh.faces, (*(value / 255 for value in rgb), 0.35))  # type: ignore[arg-type]


def _yaw_wxyz(yaw_rad: float) -> tuple[float, float, float, float]:
    return math.cos(0.5 * yaw_rad), 0.0, 0.0, math.sin(0.5 * yaw_rad)


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
