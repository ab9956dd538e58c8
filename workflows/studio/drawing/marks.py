"""Draws what is marked on the scene: axes, cameras with their images, keypoints that can be moved, and the reach."""

from __future__ import annotations

import io
from itertools import cycle
from typing import Any

import numpy as np
from PIL import Image

from unlatch.objects.annotation import Part
from unlatch.simcore.geometry import Pose
from unlatch.tasks.task import RegionCfg
from unlatch.workflows.studio.drawing.name_places import SceneName
from unlatch.workflows.studio.jobs import Array, ViewResult
from unlatch.workflows.studio.reach import FINE_M, place_m
from unlatch.workflows.studio.session import RUN, StudioSession
from unlatch.workflows.viewing.annotation_editor import KeypointControls
from unlatch.workflows.viewing.live.scene import LiveScene
from unlatch.workflows.viewing.viewers.scene_models import SceneModel
from unlatch.workflows.viewing.viewers.viser_scene import LABEL_ANCHORS, SceneNodes, short_label

_PLANS_RGB, _FAILS_RGB = (0, 105, 40), (175, 15, 5)
_CAMERA_RGB = (90, 60, 140)
_AXIS_RGB = ((220, 40, 40), (40, 170, 60), (50, 90, 230), (200, 120, 20))
_AXIS_M, _FRAME_M = 0.16, 0.05
_ARROW_M = {"shaft_radius": 0.003, "head_radius": 0.008, "head_length": 0.02}
_CAMERA_SCALE = 0.04
"""Size of the frustum of a camera; a camera beside the eye hid the object behind a larger one."""


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
            frustum = self._nodes.view.add_camera_frustum(
                f"/cameras/{camera.name}",
                camera.fov_rad,
                camera.aspect,
                image=_read_image(views, camera.name),
                scale=_CAMERA_SCALE,
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
