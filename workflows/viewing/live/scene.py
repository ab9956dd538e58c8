"""The scene of an episode in the browser, shown state by state, for pages that follow a run or a plan."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.robots.description import RobotCfg
from unlatch.workflows.viewing.viewers.recorded_scene import (
    ShownBody,
    fixed_bodies,
    object_bodies,
    robot_bodies,
    shown_points,
)
from unlatch.workflows.viewing.viewers.scene_models import (
    SceneModel,
    choose_view,
    load_assets,
    open_object,
    open_robot,
)
from unlatch.workflows.viewing.viewers.viser_scene import SceneNodes, set_view

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


class LiveScene:
    """Shows one episode at a time on a `viser.ViserServer`; use it from one thread, as a context manager.

    The robot stays while the next episode has the same one: its meshes are sent once.
    """

    def __init__(self, server: Any, *, has_view: bool = False) -> None:
        """Makes an empty scene; `has_view` says that from where a page looks is set already."""
        self._server = server
        self._has_view = has_view
        self.nodes = SceneNodes(server)
        """What is shown of the episode."""
        self.assets: Mapping[str, ObjectAsset] = {}
        """The objects that are shown, by name."""
        self.objects: dict[str, SceneModel] = {}
        """The models of the objects that are shown, by name."""
        self.robot: SceneModel | None = None
        """The model of the robot that is shown."""
        self._robot_cfg: RobotCfg | None = None
        self._fixed: list[ShownBody] = []
        """Table and plinths."""
        self._key: Hashable = None
        self._models_key: Hashable = None
        self._object_worlds, self._robot_world = ExitStack(), ExitStack()

    def __enter__(self) -> LiveScene:
        return self

    def __exit__(self, *exc: object) -> None:
        self._object_worlds.close()
        self._robot_world.close()

    def show(self, episode: ShownEpisode, arrays: Mapping[str, Array], frame: int, *, acted_on: set[str]) -> None:
        """Shows a state.

        Args:
            episode: The episode; a scene that shows another one is built anew.
            arrays: Arrays (T, ...) by the key of the record; values that are not finite are not shown.
            frame: Which of the T states.
            acted_on: `object.part` of the parts whose keypoints are shown.

        Raises:
            UnlatchError: The robot or an object is not available here.
            KeyError: A value is missing.
        """
        now = {key: array[frame : frame + 1] for key, array in arrays.items() if array.dtype.kind == "f"}
        if not all(np.isfinite(array).all() for array in now.values()):
            return
        if episode.key != self._key:
            self._open_models(episode, now)
        robot = robot_bodies(self.robot, episode.cfg.robot, now) if self.robot is not None else ()
        objects = (object_bodies(model, name, now) for name, model in self.objects.items())
        points = (point for point in shown_points(now, acted_on) if point.acted_on)
        self.nodes.show([*self._fixed, *robot, *chain.from_iterable(objects)], points)

    def _open_models(self, episode: ShownEpisode, now: Mapping[str, Array]) -> None:
        """Opens the models of an episode; those of the robot and of equal objects stay open."""
        cfg, self._key = episode.cfg, None
        if self._models_key is None or episode.models_key != self._models_key:
            self._models_key = None
            self._object_worlds.close()
            self.objects.clear()
            self.assets, _ = load_assets(
                [cfg.object, *cfg.objects], episode.layout, episode.hashes, number=episode.number
            )
            if not self._has_view:
                set_view(self._server, *choose_view(self.assets, now))
                self._has_view = True
            for name, asset in self.assets.items():
                self.objects[name] = self._object_worlds.enter_context(open_object(name, asset))
        if self._robot_cfg != cfg.robot:
            self.robot, self._robot_cfg = None, None
            self._robot_world.close()
            self.robot = self._robot_world.enter_context(open_robot(cfg.robot))
            self._robot_cfg = cfg.robot
        self._fixed = list(fixed_bodies(episode.layout))
        self._key, self._models_key = episode.key, episode.models_key
