"""Views of what can vary in how an episode looks: bodies, the room, the light, the cameras."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.bodies import ROOT, Body
from unlatch.simcore.sim.sensors.camera import Camera
from unlatch.simcore.sim.views.appearance_view import AppearanceView, LightView
from unlatch.simcore.sim.views.attribute_view import AttributeView
from unlatch.simcore.sim.views.camera_view import CameraView
from unlatch.simcore.sim.visuals.appearance import LinkAppearance, TextureStore
from unlatch.simcore.sim.visuals.scenery import add_panel, add_solid
from unlatch.tasks.layout import TABLE
from unlatch.workflows.episode.randomization.distractors import DISTRACTORS
from unlatch.workflows.episode.rooms.room import SCENERY
from unlatch.workflows.episode.scene import TABLE_CENTER_M, TABLE_RGBA, TABLE_SIZE_M, EpisodeScene

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
    """Adds a floor, four walls and the legs of the table."""
    world = scene.world
    length, width, height = _ROOM_M
    x, y = TABLE_CENTER_M[0], TABLE_CENTER_M[1]
    floor = add_panel(
        world,
        FLOOR,
        size_m=(length, width),
        T_world_panel=Pose.from_translation((x, y, _FLOOR_Z_M)),
        rgba=_FLOOR_RGBA,
        tile_m=_TILE_M,
    )
    walls = []
    for number in range(4):
        yaw = number * np.pi / 2
        out = 0.5 * (length if number % 2 == 0 else width)
        middle = (x + out * np.cos(yaw), y + out * np.sin(yaw), _FLOOR_Z_M + height / 2)
        # z points into the room, y up
        z = np.array([-np.cos(yaw), -np.sin(yaw), 0.0])
        up = np.array([0.0, 0.0, 1.0])
        T = Pose(np.column_stack([np.cross(up, z), up, z]), np.array(middle))
        size = (width if number % 2 == 0 else length, height)
        walls.append(add_panel(world, f"wall_{number}", size_m=size, T_world_panel=T, rgba=_WALL_RGBA, tile_m=_TILE_M))
        walls[-1].semantic_class = "wall"
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
