"""Rooms around the table, for pictures only: physics and records do not know them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from unlatch.configs.schema import Scenery
from unlatch.simcore.geometry import Pose
from unlatch.simcore.rng import stream
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.views.attribute_view import AttributeView
from unlatch.simcore.sim.visuals.scenery import remove_scenery
from unlatch.simcore.sim.visuals.visual_shapes import Light
from unlatch.tasks.layout import TABLE
from unlatch.workflows.episode.rooms.kitchen import build_kitchen
from unlatch.workflows.episode.rooms.office import build_office
from unlatch.workflows.episode.rooms.room_builder import PREFIX, Material, RoomBuilder
from unlatch.workflows.episode.rooms.shell import STEEL
from unlatch.workflows.episode.rooms.studio import build_studio
from unlatch.workflows.episode.rooms.workshop import build_workshop
from unlatch.workflows.episode.scene import EpisodeScene

Array = np.ndarray

_KINDS: dict[Scenery, Callable[[RoomBuilder], Light]] = {
    Scenery.studio: build_studio,
    Scenery.kitchen: build_kitchen,
    Scenery.workshop: build_workshop,
    Scenery.office: build_office,
}
SCENERY = "scenery"
"""Name of the view of the room."""
_MAX_ROOM = 1_000_000_000
_MOUNT_M = 0.006
_WIDEST_MOUNT_M = 0.45


class Room:
    """The room of one episode: colours, materials and things of a room are drawn from a seed."""

    def __init__(self, scene: EpisodeScene, scenery: Scenery = Scenery.none, seed: int = 0) -> None:
        """Takes the kind of room and the seed; nothing is built yet."""
        self.number = 0
        """0 for the room of the configuration; from 1 on, the number of a drawn room of any kind."""
        self._scene = scene
        self._scenery, self._seed = scenery, seed
        self._shown: tuple[Scenery, int] | None = None

    def show(self, *, with_light: bool = True) -> None:
        """Builds the room, if another one or none is there, and sets the light; nothing without visual shapes."""
        wanted = (Scenery.random, self.number) if self.number else (self._scenery, self._seed)
        world = self._scene.world
        # a renderer without colours, egl, does not draw meshes that are made in memory, and warns of each
        if not world.visuals or not world.renderer.draws_colours or wanted == self._shown:
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
        kinds = list(_KINDS)
        scenery = kinds[int(rng.integers(len(kinds)))]
    room = RoomBuilder(rng)
    light = _KINDS[scenery](room)
    _add_mounts(scene, room, STEEL)
    room.build(scene.world)
    return light


class RoomView(AttributeView):
    """The room of one episode; one number decides its kind, its colours and its light."""

    kind = "scenery"

    def __init__(self, room: Room) -> None:
        super().__init__(SCENERY)
        self._room = room
        words = "number of a drawn room; 0: that of the configuration"
        self._add_attribute("room", 1, "-", words, self._read, self._write, least=0.0, most=float(_MAX_ROOM))

    def _read(self, _env: int) -> Array:
        return np.array([float(self._room.number)])

    def _write(self, _env: int, values: Array) -> None:
        self._room.number = int(values[0])  # it is built once all rules have fired


def _add_mounts(scene: EpisodeScene, room: RoomBuilder, material: Material) -> None:
    """Adds a plate below the foot of each arm that stands on the table."""
    body = scene.robot.body
    for arm in scene.robot.cfg.arms:
        foot: Pose = body.link_pose(arm.base_link)
        if abs(foot.p[2]) > 0.01:
            continue
        low, high = body.link_aabb(arm.base_link)
        if max(high[:2] - low[:2]) < _WIDEST_MOUNT_M:
            start, end = (low[0] - 0.03, low[1] - 0.03, 0.0), (high[0] + 0.03, high[1] + 0.03, _MOUNT_M)
            room.box("robot_mount", material, start, end)
