"""The scene of an episode in the browser: posed again for each state, rebuilt for each episode."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np

from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.robots.description import RobotCfg
from unlatch.simcore.geometry import Pose
from unlatch.workflows.viewing.viewers.scene_models import (
    SceneModel,
    choose_view,
    fixed_meshes,
    load_assets,
    object_joints,
    open_object,
    open_robot,
    robot_joints,
)
from unlatch.workflows.viewing.viewers.viser_scene import LABEL_ANCHORS, add_body, add_point, set_view

Array = np.ndarray


@dataclass(frozen=True)
class ShownEpisode:
    """What a scene is built from."""

    key: Hashable
    """Differs between episodes."""
    cfg: EpisodeCfg
    """The configuration of its data set."""
    number: int
    layout: Mapping[str, Any]
    """As in a record."""
    hashes: Mapping[str, str]
    """Content hash of each object, as in a record."""
    models_key: Hashable = None
    """Equal for episodes with the same objects, which are then only moved; None: they are built anew."""


@dataclass(frozen=True)
class _ShownModel:
    model: SceneModel
    frames: dict[str, Any]
    """viser's frame of each link."""

    def pose(self, joints: list[str], positions: Array, root: Pose | None = None) -> None:
        for link, pose in self.model.link_poses(joints, positions, root).items():
            frame = self.frames[link]
            frame.position, frame.wxyz = pose.p, pose.quat_wxyz


class LiveScene:
    """Shows one episode at a time on a `viser.ViserServer`; use it from one thread, as a context manager.

    The robot stays while the next episode has the same one: its meshes are sent once.
    """

    def __init__(self, server: Any, *, has_view: bool = False) -> None:
        """Makes an empty scene; `has_view` says that from where a page looks is set already."""
        self._server = server
        self._key: Hashable = None
        self._models_key: Hashable = None
        self.assets: Mapping[str, ObjectAsset] = {}
        """The objects that are shown, by name."""
        self._episode_stack = ExitStack()
        self._robot_stack = ExitStack()
        self._robot_cfg: RobotCfg | None = None
        self._robot: _ShownModel | None = None
        self._objects: dict[str, _ShownModel] = {}
        self._points: dict[str, tuple[Any, ...]] = {}
        self._handles: list[Any] = []
        """Of the bodies and points of this episode."""
        self._fixed: list[Any] = []
        """Handles of table and plinths."""
        self._has_view = has_view

    def __enter__(self) -> LiveScene:
        return self

    def __exit__(self, *exc: object) -> None:
        self._episode_stack.close()
        self._robot_stack.close()

    def show(self, episode: ShownEpisode, arrays: Mapping[str, Array], frame: int, *, acted_on: set[str]) -> None:
        """Shows a state.

        Args:
            episode: The episode; a scene that shows another one is built anew.
            arrays: Arrays (T, ...) by the key of the record; values that are not finite are not shown.
            frame: Which of the T states.
            acted_on: `object.part` of the parts whose keypoints are shown.

        Raises:
            SimCoreError: The robot or an object is not available here.
            KeyError: A value is missing.
        """
        now = {key: array[frame : frame + 1] for key, array in arrays.items() if array.dtype.kind == "f"}
        if not all(np.isfinite(array).all() for array in now.values()):
            return
        with self._server.atomic():
            if episode.key != self._key:
                if self._models_key is None or episode.models_key != self._models_key:
                    self._clear()
                    self._build(episode, now)
                self._show_robot(episode.cfg.robot)
                self._show_fixed(episode.layout)
                self._key, self._models_key = episode.key, episode.models_key
            self._pose(episode.cfg.robot, now, acted_on)

    @property
    def robot(self) -> SceneModel | None:
        """The robot that is shown."""
        return None if self._robot is None else self._robot.model

    @property
    def objects(self) -> dict[str, SceneModel]:
        """The objects that are shown, by name."""
        return {name: shown.model for name, shown in self._objects.items()}

    @property
    def point_labels(self) -> list[Any]:
        """Handles of the visible names of keypoints; their positions are in the world frame."""
        return [label for _, label in self._points.values() if label.visible]

    def label_points(self, *, dots: bool, names: bool) -> None:
        """Decides whether keypoints and their names are visible."""
        for dot, label in self._points.values():
            dot.visible, label.visible = dots, dots and names

    def _clear(self) -> None:
        self._key, self._models_key = None, None
        self._episode_stack.close()
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._objects.clear()
        self._points.clear()

    def _build(self, episode: ShownEpisode, now: Mapping[str, Array]) -> None:
        cfg = episode.cfg
        assets, _ = load_assets([cfg.object, *cfg.objects], episode.layout, episode.hashes, number=episode.number)
        self.assets = assets
        if not self._has_view:
            set_view(self._server, *choose_view(assets, now))
            self._has_view = True
        for name, asset in assets.items():
            shown = self._add_model(self._episode_stack.enter_context(open_object(name, asset)))
            self._objects[name] = shown
            self._handles.extend(shown.frames.values())

    def _show_fixed(self, layout: Mapping[str, Any]) -> None:
        for handle in self._fixed:
            handle.remove()
        self._fixed = [
            add_body(self._server.scene, name, [mesh], position=pose.p, wxyz=pose.quat_wxyz)
            for name, mesh, pose in fixed_meshes(layout)
        ]

    def _show_robot(self, robot: RobotCfg) -> None:
        if self._robot_cfg == robot:
            return
        for frame in () if self._robot is None else self._robot.frames.values():
            frame.remove()
        self._robot, self._robot_cfg = None, None
        self._robot_stack.close()
        self._robot = self._add_model(self._robot_stack.enter_context(open_robot(robot)))
        self._robot_cfg = robot

    def _add_model(self, model: SceneModel) -> _ShownModel:
        view, pose = self._server.scene, Pose.identity()
        return _ShownModel(
            model,
            {
                link: add_body(view, f"{model.name}/{link}", meshes, position=pose.p, wxyz=pose.quat_wxyz)
                for link, meshes in model.meshes.items()
            },
        )

    def _pose(self, robot: RobotCfg, now: Mapping[str, Array], acted_on: set[str]) -> None:
        if self._robot is not None:
            joints, positions = robot_joints(robot, now)
            self._robot.pose(joints, positions[0])
        for name, shown in self._objects.items():
            joints, positions, roots = object_joints(shown.model, name, now)
            shown.pose(joints, positions[0], roots[0])
        self._pose_points(now, acted_on)

    def _pose_points(self, now: Mapping[str, Array], acted_on: set[str]) -> None:
        anchors = cycle(LABEL_ANCHORS)
        for key, positions in now.items():
            first, _, name = key.partition(".")
            if first != "keypoints" or name.rpartition(".")[0] not in acted_on:
                continue
            anchor, position = next(anchors), positions[0]
            if name not in self._points:
                label = name.rpartition(".")[2]
                path = name.replace(".", "/")
                self._points[name] = add_point(self._server.scene, path, label, position, anchor=anchor, has_label=True)
                self._handles.extend(self._points[name])
            for handle in self._points[name]:
                handle.position = position
