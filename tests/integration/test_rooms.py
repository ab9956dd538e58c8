"""Rooms are for pictures only: drawn from a seed, seen alike by every renderer, unknown to physics and records."""

from __future__ import annotations

import numpy as np
import pybullet as p
import pytest

from unlatch.configs.schema import Scenery
from unlatch.simcore.cameras import Pinhole
from unlatch.simcore.catalogs import RENDERERS
from unlatch.simcore.errors import ConfigError, WorldError
from unlatch.simcore.sim.renderers.renderer import RenderRequest
from unlatch.simcore.sim.renderers.software import SoftwareRenderer
from unlatch.simcore.sim.visuals.pictures import link_labels, require_visuals, visible_links
from unlatch.simcore.sim.visuals.visual_shapes import Light
from unlatch.simcore.sim.world import World
from unlatch.workflows.episode import room_pictures as pictures
from unlatch.workflows.episode.visual_views import Room
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.viewing.scene_picture import DrawnScene, open_scene

pytestmark = pytest.mark.integration

KINDS = [kind for kind in Scenery if kind not in (Scenery.none, Scenery.random)]
ONLY_A_ROOM = (
    "randomization.rules=[{view: scenery, attribute: room, distribution: {type: uniform, lower: 1, upper: 1.0e9}}]"
)


@pytest.fixture(autouse=True, scope="module")
def small_pictures():
    """Rooms look the same from far away, and are built ten times as fast."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pictures, "PIXELS", 64)
        yield


@pytest.fixture(scope="module")
def drawn():
    with open_scene(load("open_drawer", "scenery=none"), 0, renderer="software") as scene:
        yield scene


def bodies_of_room(world: World) -> dict[str, tuple[object, ...]]:
    """What tells one room from another: names, colours, finishes, and the pictures' files."""
    return {
        name: (body.visual_shapes[0].rgba, body.finish, body.surface.texture)
        for name, body in world.scenery.items()
        if body.surface is not None
    }


def show(drawn: DrawnScene, kind: Scenery, seed: int) -> dict[str, tuple[object, ...]]:
    room = Room(drawn.episode.scene, kind, seed)
    room.hide()
    Room(drawn.episode.scene, kind, seed).show()
    return bodies_of_room(drawn.world)


def test_drawn_rooms_are_furnished(drawn: DrawnScene) -> None:
    seen = set()
    for seed in range(12):
        show(drawn, Scenery.random, seed)
        seen.add(any(body.semantic_class == "wall" for body in drawn.world.scenery.values()))
    assert seen == {True}, "a studio has no walls"


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_room_is_a_function_of_its_kind_and_seed(drawn: DrawnScene, kind: Scenery) -> None:
    first, light = show(drawn, kind, 1), drawn.world.light
    assert show(drawn, kind, 1) == first
    assert drawn.world.light == light
    assert show(drawn, kind, 2) != first
    assert all(body.semantic_class for body in drawn.world.scenery.values())


def test_a_room_has_no_colliders_and_no_mass(drawn: DrawnScene) -> None:
    show(drawn, Scenery.kitchen, 3)
    client = drawn.world.client
    for body in drawn.world.scenery.values():
        assert not p.getCollisionShapeData(body.body_id, -1, physicsClientId=client)
        assert p.getDynamicsInfo(body.body_id, -1, physicsClientId=client)[0] == 0.0


def test_without_a_room_the_world_is_empty_again(drawn: DrawnScene) -> None:
    room = Room(drawn.episode.scene, Scenery.office, 0)
    room.show()
    assert drawn.world.scenery
    room.hide()
    assert not drawn.world.scenery
    assert drawn.world.light == Light()


@pytest.mark.slow
def test_the_states_of_an_episode_do_not_depend_on_the_room() -> None:
    states = []
    for scenery in ("none", "kitchen"):
        with EpisodeRunner(load("open_drawer", f"scenery={scenery}")) as runner:
            episode = runner.episode(0)
            episode.begin()
            states.append(episode.frames.recorder.arrays())
    assert states[0].keys() == states[1].keys()
    for key, values in states[0].items():
        np.testing.assert_array_equal(values, states[1][key])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pygfx"])
def test_another_renderer_sees_the_same_links_and_depths_of_a_room(drawn: DrawnScene, name: str) -> None:
    world = drawn.world
    show(drawn, Scenery.workshop, 0)
    require_visuals(world)
    request = RenderRequest(Pinhole.from_fov(160, 120, 0.8), drawn.view.T_world_camera, 0.02, 10.0, colours=False)
    expected = SoftwareRenderer().render(world, request)
    renderer = RENDERERS.load(name)()
    try:
        renderer.open(world)
    except WorldError as exc:
        pytest.skip(exc.message)
    found = renderer.render(world, request)
    same = found.link_ids == expected.link_ids
    assert same.mean() > 0.99
    both = same & (found.link_ids > 0)
    assert (np.abs(found.depth_m - expected.depth_m)[both] < 2e-3).mean() > 0.99
    seen = {link_labels(world)[index - 1][1] for index in np.unique(found.link_ids) if index}
    assert {"table", "robot", "wall", "furniture"} <= seen


@pytest.mark.slow
def test_a_rule_of_the_scenery_draws_a_room_and_its_number_is_recorded() -> None:
    with open_scene(load("open_drawer", ONLY_A_ROOM), 0, renderer="software") as scene:
        applied = scene.episode.randomization.applied()["visuals"]
        (number,) = applied["firings"][0][2]
        drawn_room = bodies_of_room(scene.world)
        room = Room(scene.episode.scene)
        room.number = int(number)
        room.show()
        assert number >= 1
        assert bodies_of_room(scene.world) == drawn_room


@pytest.mark.parametrize("kind", [Scenery.office, Scenery.none])
def test_a_drawn_room_has_the_kind_that_is_set(kind: Scenery) -> None:
    with open_scene(load("open_drawer", ONLY_A_ROOM, f"scenery={kind.value}"), 0, renderer="software") as scene:
        applied = scene.episode.randomization.applied()["visuals"]
        (number,) = applied["firings"][0][2]
        drawn_room = bodies_of_room(scene.world)
        Room(scene.episode.scene, kind, int(number)).show()
        assert bodies_of_room(scene.world) == drawn_room


def test_rules_of_floor_and_walls_replace_the_room() -> None:
    rule = "randomization.rules=[{view: floor, attribute: tint, distribution: 1.0}]"
    with open_scene(load("open_drawer", rule, "scenery=kitchen"), 0, renderer="software") as scene:
        assert not [name for name in scene.world.scenery if name.startswith("room_")]
        assert "floor" in scene.world.scenery


@pytest.mark.slow
@pytest.mark.parametrize("task", ["open_drawer", "open_refrigerator"])
@pytest.mark.parametrize("kind", [Scenery.kitchen, Scenery.office])
def test_furniture_does_not_hide_robot_and_object_from_the_view_of_a_scene(task: str, kind: Scenery) -> None:
    with open_scene(load(task, f"scenery={kind.value}"), 0, renderer="software") as drawn_scene:
        seen = visible_links(drawn_scene.world, drawn_scene.view, width=160, height=120)
        scene = drawn_scene.episode.scene
        for body in (scene.robot.body, *(item.body for item in scene.objects.values())):
            assert sum(seen.get(body.label(link), 0) for link in body.link_names) > 0.02 * 160 * 120


def test_a_misspelt_room_is_reported() -> None:
    with pytest.raises(ConfigError, match="kitchn"):
        load("open_drawer", "scenery=kitchn")
