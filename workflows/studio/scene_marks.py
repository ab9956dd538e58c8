"""Draws what is marked on the scene: regions that can be moved, axes, cameras with their images, keypoints that can be
moved, the reach, and names on the sides where they do not cover each other.
"""

from __future__ import annotations

import io
import math
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np
from PIL import Image

from unlatch.objects.annotation import Part
from unlatch.simcore.cameras import Pinhole
from unlatch.simcore.geometry import Pose
from unlatch.tasks.task import RegionCfg
from unlatch.workflows.studio.jobs import RUN, Array, ViewResult
from unlatch.workflows.studio.session import StudioSession
from unlatch.workflows.studio.state import FINE_M, place_m
from unlatch.workflows.viewing.annotation_editor import KeypointControls
from unlatch.workflows.viewing.recorded_scene import SceneModel
from unlatch.workflows.viewing.scene_nodes import FOV_RAD, LABEL_ANCHORS, LiveScene, SceneNodes, short_label

_ANCHORS = {
    "bottom-right": (1.0, 1.0),
    "top-left": (0.0, 0.0),
    "bottom-left": (0.0, 1.0),
    "top-right": (1.0, 0.0),
    "center-left": (0.0, 0.5),
    "center-right": (1.0, 0.5),
    "bottom-center": (0.5, 1.0),
    "top-center": (0.5, 0.0),
}
"""Shares of the width and height of a name that lie to the left of its point and above it, by the anchor of viser."""
_LETTER_PX = np.array([5.5, 17.0])
"""Width of a letter and height of a line of viser's names at a font scale of 1 [pixels]."""
VIEW_PX = 800
"""Height of the view from which places are chosen; other heights change the distances of the points [pixels]."""


@dataclass(frozen=True)
class SceneName:
    """A name in the scene."""

    label: Any
    """viser's handle."""
    p_world: Array
    """(3,) the point that is named, world frame [m]."""


def keep_names_apart(names: Iterable[SceneName], T_world_camera: Pose) -> None:
    """Sets the anchor of each name to one at which it covers least of the names before it; the present one, if equal.

    The frame of the camera: x to the right of the image, y down, z forward.
    """
    shown = list(names)
    if not shown:
        return
    points_camera = T_world_camera.inverse() @ np.array([name.p_world for name in shown])  # (K, 3)
    pixels = Pinhole.from_fov(VIEW_PX, VIEW_PX, FOV_RAD).project(points_camera)  # (K, 2)
    shares = np.array(list(_ANCHORS.values()))  # (A, 2)
    taken: list[Array] = []
    for name, pixel in zip(shown, pixels, strict=True):
        if not np.isfinite(pixel).all():
            continue
        size = _LETTER_PX * (len(name.label.text), 1) * name.label.font_screen_scale
        low = pixel - shares * size  # (A, 2) upper left corners
        covered = [sum(_overlap(corner, corner + size, box) for box in taken) for corner in low]
        present = list(_ANCHORS).index(name.label.anchor)
        best = present if covered[present] <= min(covered) else int(np.argmin(covered))
        if best != present:
            name.label.anchor = list(_ANCHORS)[best]
        taken.append(np.stack([low[best], low[best] + size]))


def _overlap(low: Array, high: Array, box: Array) -> float:
    """Returns the common area of a rectangle from `low` to `high` and a `box` (2, 2) [square pixels]."""
    return float(np.prod(np.maximum(0.0, np.minimum(high, box[1]) - np.maximum(low, box[0]))))


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
        self.names: list[SceneName] = []
        """Names of the regions that are drawn."""

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
        self.names.clear()
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
            wxyz=_yaw_wxyz(math.radians(region.yaw_deg)),
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
        name = self._nodes.add_label("regions", f"regions/{index}/name", words, position=(0.0, -dy, 0.0))
        self.names.append(SceneName(name, np.array([x, y - dy, low])))
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


_PLANS_RGB, _FAILS_RGB = (0, 105, 40), (175, 15, 5)
_CAMERA_RGB = (90, 60, 140)
_AXIS_RGB = ((220, 40, 40), (40, 170, 60), (50, 90, 230), (200, 120, 20))
_AXIS_M, _FRAME_M = 0.16, 0.05
_ARROW_M = {"shaft_radius": 0.003, "head_radius": 0.008, "head_length": 0.02}


class SceneMarks:
    """Marks of one scene."""

    def __init__(self, server: Any, session: StudioSession, scene: LiveScene) -> None:
        self._nodes, self._session, self._scene = SceneNodes(server), session, scene
        self.axis_names: list[SceneName] = []
        """Names of the axes and handle frames that are drawn."""

    def draw_axes(self, acted_on: set[str]) -> None:
        """Draws axes and handle frame of the parts that a skill acts on."""
        self._nodes.clear("axes")
        self.axis_names.clear()
        if not self._session.drawn().axes or self._session.clock.playing:
            return
        for owner, model in self._scene.objects.items():
            for part in self._scene.assets[owner].articulation.parts.values():
                if f"{owner}.{part.name}" in acted_on:
                    self._add_axes(f"axes/{owner}/{part.name}", part, model)

    def _add_axes(self, path: str, part: Part, model: SceneModel) -> None:
        frames = {"link": model.body.link_pose(part.link), "base": model.body.link_pose(part.base)}
        root = model.body.root_pose()
        head = part.keypoints["articulated_object_head"]
        start = frames.get(head.frame, root) @ head.xyz
        for index, (name, axis) in enumerate(part.axes.items()):
            end = start + _AXIS_M * frames.get(axis.frame, root).rotate(axis.xyz)
            rgb, ends = _AXIS_RGB[index % len(_AXIS_RGB)], np.array([[start, end]])
            self._nodes.keep("axes", self._nodes.view.add_arrows(f"/{path}/{name}", ends, rgb, **_ARROW_M))
            beyond = start + 1.15 * (end - start)
            self._name_axis(f"{path}/{name}", name.replace("_", " "), beyond, anchor="center-left", position=beyond)
        if part.handle.T_link_handle is not None:
            pose = frames["link"] @ part.handle.T_link_handle
            path = f"{path}/contact"
            place = {"position": pose.p, "wxyz": pose.quat_wxyz}
            frame = self._nodes.view.add_frame(f"/{path}", axes_length=_FRAME_M, axes_radius=0.002, **place)
            self._nodes.keep("axes", frame)
            self._name_axis(path, f"contact frame ({part.handle.type.value})", pose.p, anchor="top-right")

    def _name_axis(self, path: str, words: str, p_world: Array, **place: Any) -> None:
        if self._session.drawn().names:
            label = self._nodes.add_label("axes", f"{path}/name", words, scale=0.6, **place)
            self.axis_names.append(SceneName(label, p_world))

    def draw_keypoint_controls(self) -> None:
        """Draws a control at each keypoint that is being moved."""
        self._nodes.clear("handles")
        annotation = self._session.annotation
        if annotation is None or annotation.object not in self._scene.objects:
            return
        body, asset = self._scene.objects[annotation.object].body, self._scene.assets[annotation.object]

        def frame_pose(part: Part, frame: str) -> Pose:
            links = {"link": part.link, "base": part.base}
            return body.link_pose(links[frame]) if frame in links else body.root_pose()

        controls = KeypointControls(
            self._nodes,
            annotation.edit,
            frame_pose=frame_pose,
            move=self._session.move_keypoint,
            scale=0.14 * annotation.edit.loaded.size_m,
            depth_test=False,
        )
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
            # size of the frustum of a camera; a camera beside the eye hid the object behind a larger one
            frustum = self._nodes.view.add_camera_frustum(
                f"/cameras/{camera.name}",
                camera.fov_rad,
                camera.aspect,
                image=_read_image(views, camera.name),
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


def _read_image(views: ViewResult | None, camera: str) -> Array | None:
    """Returns what a camera sees (h, w, 3) uint8; None: it is not known yet."""
    picture = None if views is None else views.images.get(camera)
    return None if picture is None else np.asarray(Image.open(io.BytesIO(picture)).convert("RGB"))
