"""Rooms around the table, for pictures only: physics and records do not know them."""

from __future__ import annotations

from collections.abc import Callable

from unlatch.configs.schema import Scenery
from unlatch.simcore.geometry import Pose
from unlatch.simcore.rng import stream
from unlatch.simcore.sim.renderers.renderer import Light
from unlatch.simcore.sim.visuals.scenery import remove_scenery
from unlatch.workflows.episode.rooms.kitchen import build_kitchen
from unlatch.workflows.episode.rooms.office import build_office
from unlatch.workflows.episode.rooms.room_builder import PREFIX, Material, RoomBuilder
from unlatch.workflows.episode.rooms.shell import STEEL
from unlatch.workflows.episode.rooms.studio import build_studio
from unlatch.workflows.episode.rooms.workshop import build_workshop
from unlatch.workflows.episode.scene import EpisodeScene

_KINDS: dict[Scenery, Callable[[RoomBuilder], Light]] = {
    Scenery.studio: build_studio,
    Scenery.kitchen: build_kitchen,
    Scenery.workshop: build_workshop,
    Scenery.office: build_office,
}
_MOUNT_M = 0.006
_WIDEST_MOUNT_M = 0.45


def show_room(scene: EpisodeScene, scenery: Scenery, seed: int) -> None:
    """Replaces the room of a scene, and the light of its world; without visual shapes nothing happens.

    Colours, materials and things of a room are drawn from the seed; with `random`, its kind is, too.
    """
    world = scene.world
    if not world.visuals:
        return
    for name in [name for name in world.scenery if name.startswith(PREFIX)]:
        remove_scenery(world, name)
    if scenery is Scenery.none:
        return
    rng = stream(seed, "visuals.scenery")
    if scenery is Scenery.random:
        kinds = list(_KINDS)
        scenery = kinds[int(rng.integers(len(kinds)))]
    room = RoomBuilder(rng)
    world.light = _KINDS[scenery](room)
    _add_mounts(scene, room, STEEL)
    room.build(world)


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
