"""Visuals of an episode: drawn from a stream of their own, recorded, shown again, drawn anew; physics never knows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from tests.integration.episodes import run, same_bits
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.objects.procedural.item_looks import LOOKS
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.randomization.config import RandomizationCfg, VisualDraw
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.sim.collision import BulletCollisionChecker
from unlatch.simcore.sim.renderers.light import decode_srgb, encode_srgb
from unlatch.simcore.sim.sensors.camera import Camera
from unlatch.simcore.sim.world import World
from unlatch.simcore.state import Rendering
from unlatch.workflows.episode.attempt import Attempt
from unlatch.workflows.episode.distractors import Distractor, DistractorView, read_distractors
from unlatch.workflows.episode.episode import Episode
from unlatch.workflows.episode.scene import TABLE_CENTER_M, TABLE_SIZE_M
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.replay import ReplayMode, replay_deviation
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.schema import CollectCfg
from unlatch.workflows.viewing.scene_picture import RecordedWorld, open_record, open_scene

pytestmark = pytest.mark.integration

PHYSICS = (
    "{view: drawer, attribute: joint_friction, operation: scaling, distribution: {type: uniform, lower: 1, upper: 1.5}}"
)
VISUALS = (
    "{view: drawer, attribute: tint, distribution: {type: uniform, lower: 0.5, upper: 1.3}}",
    "{view: floor, attribute: texture, distribution: {type: uniform, lower: 1, upper: 1000}}",
    "{view: light, attribute: ambient, gate: on_interval, interval: 10, "
    "distribution: {type: uniform, lower: 0.3, upper: 0.9}}",
    "{view: cameras, attribute: position, operation: additive, distribution: {type: normal, mean: 0.0, std: 0.02}}",
    "{view: cameras, attribute: image_noise, distribution: 5.0}",
)
CAMERA = (
    "sensors=[{name: front, type: camera, mount: {position_m: [0.2, -1.2, 0.9], look_at_m: [0.5, 0.0, 0.2]}, "
    "width: 64, height: 48}]"
)

WIDE = (
    "sensors=[{name: front, type: camera, mount: {position_m: [-0.9, -1.6, 1.3], look_at_m: [0.5, 0.0, 0.2]}, "
    "width: 160, height: 120, fov_deg: 75}]"
)


def config(*rules: str, line: tuple[str, ...] = (CAMERA,)) -> CollectCfg:
    return load("open_drawer", f"randomization.rules=[{','.join(rules)}]", *line)


def varied() -> CollectCfg:
    return config(
        PHYSICS, *VISUALS, line=(CAMERA, "randomization.distractors.least=4", "randomization.distractors.most=6")
    )


@pytest.fixture(scope="module")
def record() -> EpisodeRecord:
    return run(varied())


@contextmanager
def looked_at(cfg: CollectCfg, record: EpisodeRecord, draw: VisualDraw | None = None) -> Iterator[RecordedWorld]:
    with open_record(cfg, record, visual_draw=draw) as shown:
        shown.episode.scene.state_tree.enable_rgb_rendering()
        yield shown


def seen(shown: RecordedWorld, frame: int) -> np.ndarray:
    shown.show(frame)
    scene = shown.episode.scene.state_tree
    scene.update_state()
    image: np.ndarray = scene.state_dict(include_tags=["rgb"])["sensors.front.rgb_image"]
    return image


def applied_to(shown: RecordedWorld) -> dict[str, Any]:
    return shown.episode.randomization.applied()


@pytest.mark.slow
def test_visuals_change_no_draw_of_layout_physics_and_planner(record: EpisodeRecord) -> None:
    plain = run(config(PHYSICS))
    assert record.layout == plain.layout
    assert record.applied["firings"] == plain.applied["firings"]
    assert record.skills[0]["plan"]["keyframes"] == plain.skills[0]["plan"]["keyframes"]
    assert record.arrays.keys() == plain.arrays.keys()
    moved = [key for key in record.arrays if not np.array_equal(record.arrays[key], plain.arrays[key])]
    assert moved == ["sensors.front.position"]  # the camera stands elsewhere


@pytest.mark.slow
def test_rendering_does_not_change_physics(record: EpisodeRecord) -> None:
    cfg = varied()
    with World(cfg.world, visuals=True) as world, BulletCollisionChecker() as checker:
        attempt = Attempt(Episode(cfg, 0, world, checker))
        attempt.run()
        watched = attempt.episode.record()
        assert len(world.scenery) >= 9
    assert watched.applied == record.applied
    assert same_bits(watched, record)


@pytest.mark.slow
def test_visuals_are_recorded_and_replayed(record: EpisodeRecord) -> None:
    applied = record.applied["visuals"]
    assert [rule["attribute"] for rule in applied["rules"]] == ["tint", "texture", "ambient", "position", "image_noise"]
    assert [rule["view"] for rule in applied["rules"]][-2:] == ["front", "front"]
    steps = [step for step, rule, _ in applied["firings"] if rule == 2]
    assert steps == list(range(10, 2 * record.n_actions + 1, 10))
    with EpisodeRunner(varied()) as runner:
        assert replay_deviation(runner, record, ReplayMode.action).value == 0.0


PAINTED = {
    "table": (0.9, 0.1, 0.1),
    "floor": (0.1, 0.9, 0.1),
    "wall": (0.1, 0.1, 0.9),
    "drawer": (0.9, 0.9, 0.1),
    "franka_panda/panda_hand": (0.1, 0.9, 0.9),
}
"""Colour of what is seen, by its label."""


@pytest.mark.parametrize(("instance", "side"), [(1, -1.0), (2, 1.0)])
def test_pictures_are_taken_from_the_side_to_which_a_door_uncovers_what_is_behind_it(instance, side):
    cfg = load("open_tall_refrigerator", f"object.instance={instance}", "scenery=none")
    with open_scene(cfg, 0, visuals=False) as scene:
        points = scene.keypoints()
        hinge, handle = points["door.base_contact_point"], points["door.articulated_object_head"]
        assert np.sign(handle[1] - hinge[1]) == side  # the robot's left is +y
        assert np.sign(scene.view.T_world_camera.p[1]) == side


def pixels_of(cfg: CollectCfg) -> dict[str, np.ndarray]:
    """(n, 3) brightness, 0 to 255, of what is seen of every link and class by its label, at the start."""
    with open_scene(cfg, 0, renderer="software") as scene:
        (camera,) = scene.episode.scene.state_tree.sensors.children.values()
        assert isinstance(camera, Camera)
        for kind in (Rendering.rgb, Rendering.segmentation, Rendering.instance_id_segmentation):
            camera.switch_rendering(kind, on=True)
        camera.update_state()
        found = {}
        for kind in (Rendering.segmentation, Rendering.instance_id_segmentation):
            image, labels = camera.image(kind), camera.labels(kind)
            found |= {label: image == place for place, label in enumerate(labels) if np.any(image == place)}
        rgb = 255.0 * decode_srgb(camera.image(Rendering.rgb) / 255.0)
        return {label: rgb[mask] for label, mask in found.items()}


@pytest.mark.slow
def test_colours_of_table_floor_walls_objects_and_links_are_visible() -> None:
    links = 13
    hand = [-1.0] * 3 * links
    hand[3 * 9 : 3 * 10] = PAINTED["franka_panda/panda_hand"]
    values = {"table": PAINTED["table"], "floor": PAINTED["floor"], "walls": PAINTED["wall"]}
    values |= {"drawer": PAINTED["drawer"], "franka_panda": hand}
    rules = [f"{{view: {view}, attribute: colour, distribution: {list(row)}}}" for view, row in values.items()]
    no_room = "{view: floor, attribute: tint, distribution: 1.0}"  # nor its light
    plain, painted = (pixels_of(config(*given, line=(WIDE,))) for given in ([no_room], rules))
    for label, colour in PAINTED.items():
        seen = painted[label].mean(axis=0) / painted[label].mean(axis=0).max()
        assert np.all(seen[np.array(colour) < 0.5] < 0.35), label
        assert np.all(seen[np.array(colour) > 0.5] > 0.8), label
    other = "franka_panda/panda_link5"
    before, after = (255.0 * encode_srgb(each[other].mean(axis=0) / 255.0) for each in (plain, painted))
    assert after == pytest.approx(before, abs=6.0)  # as it was, but for pixels on its edge


@pytest.mark.slow
def test_textures_of_table_floor_walls_and_objects_are_visible() -> None:
    views = {"table": "table", "floor": "floor", "walls": "wall", "drawer": "drawer"}
    numbers: dict[int, dict[str, np.ndarray]] = {}
    for number in (7, 0):
        # a colour of its own, so that the room is there in each of them
        values = {"texture": number, "colour": 0.7}
        given = [f"{{view: {v}, attribute: {name}, distribution: {values[name]}}}" for v in views for name in values]
        numbers[number] = pixels_of(config(*given, line=(WIDE,)))
    for label in views.values():
        textured, plain = (numbers[number][label] for number in (7, 0))
        assert textured.shape == plain.shape
        assert np.abs(textured - plain).mean() > 5.0, label
        assert np.ptp(textured, axis=1).mean() > np.ptp(plain, axis=1).mean(), label  # it is not grey


@pytest.mark.slow
def test_distractors_stand_on_the_table_apart_from_everything() -> None:
    with EpisodeRunner(varied()) as runner:
        cases = []
        for number in range(5):
            episode = runner.episode(number)
            episode.reset()
            things = read_distractors(episode.randomization.applied()["visuals"]["distractors"], "d")
            boxes = [body.aabb()[:, :2] for name, body in episode.scene.world.bodies.items() if name != "table"]
            cases.append((things, boxes))
    for things, boxes in cases:
        assert 1 <= len(things) <= 6
        for index, thing in enumerate(things):
            p = np.array([thing.x_m, thing.y_m])
            assert (np.abs(p - TABLE_CENTER_M[:2]) < 0.5 * np.array(TABLE_SIZE_M[:2])).all()
            assert all(_outside(p, box) > thing.radius_m for box in boxes)
            assert all(_apart(thing, other) > 0.0 for other in things[:index])


def _outside(p: np.ndarray, box: np.ndarray) -> float:
    return float(np.linalg.norm(np.maximum(np.maximum(box[0] - p, p - box[1]), 0.0)))


def _apart(a: Distractor, b: Distractor) -> float:
    return float(np.hypot(a.x_m - b.x_m, a.y_m - b.y_m)) - a.radius_m - b.radius_m


@pytest.mark.slow
def test_pictures_of_a_record_do_not_depend_on_the_order_and_change_with_the_draw(record: EpisodeRecord) -> None:
    cfg = varied()
    with looked_at(cfg, record) as shown:
        first = [seen(shown, frame) for frame in (0, 3, 30)]
    with looked_at(cfg, record) as shown:
        again = [seen(shown, frame) for frame in (30, 3, 0)][::-1]
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0], first[1])  # grain is new in every image
    pictures = []
    for seed in (record.seed, 1, 1):
        with looked_at(cfg, record, VisualDraw(cfg.randomization, seed)) as shown:
            pictures.append(seen(shown, 30))
            assert applied_to(shown)["firings"] == record.applied["firings"][:1]
    assert np.array_equal(pictures[0], first[2])  # the episode's own seed is its own draw
    assert not np.array_equal(pictures[1], first[2])
    assert np.array_equal(pictures[1], pictures[2])


@pytest.mark.slow
def test_a_record_can_be_rendered_with_other_cameras(record: EpisodeRecord) -> None:
    cfg = config(PHYSICS, line=(CAMERA.replace("front", "side"),))
    with looked_at(cfg, record) as shown:
        views = {rule["view"] for rule in applied_to(shown)["visuals"]["rules"]}
    assert views == {"drawer", "floor", "light"}


@pytest.mark.slow
def test_visuals_applied_to_another_episode_look_the_same(record: EpisodeRecord) -> None:
    cfg = varied()
    cfg.randomization = RandomizationCfg(name="again", recorded=record.applied)
    with EpisodeRunner(cfg) as runner:
        episode = runner.episode(0)
        episode.reset()
        applied = episode.randomization.applied()
    assert applied["visuals"]["distractors"] == record.applied["visuals"]["distractors"]
    resets = [firing for firing in record.applied["visuals"]["firings"] if firing[0] == 0]
    assert applied["visuals"]["firings"] == resets


MOVING = (
    "{view: distractors, attribute: arrangement, gate: on_interval, interval: 6, "
    "distribution: {type: uniform, lower: 1, upper: 1000}}"
)


def arranged() -> CollectCfg:
    return config(MOVING, line=(CAMERA, "randomization.distractors.least=4", "randomization.distractors.most=6"))


@pytest.mark.slow
def test_a_rule_rearranges_distractors_during_an_episode() -> None:
    cfg = arranged()
    record, plain = run(cfg), run(config(line=(CAMERA,)))
    assert np.array_equal(*(made.arrays["robots.franka_panda.left.joint_positions"] for made in (record, plain)))
    firings = record.applied["visuals"]["firings"]
    assert len(firings) > 10
    assert len({firing[2][0] for firing in firings}) == len(firings)
    places = []
    with looked_at(cfg, record) as shown:
        for frame in (0, 30, 60, 0):
            shown.show(frame)
            view = shown.episode.randomization.layers["visuals"].setup.views["distractors"]
            assert isinstance(view, DistractorView)
            things = view.places()
            bodies = shown.episode.scene.world.scenery
            for number, thing in enumerate(things):
                np.testing.assert_allclose(bodies[f"distractor_{number}"].root_pose().p, thing.T_world.p, atol=1e-9)
                assert all(_apart(thing, other) > 0.0 for other in things[:number])
            places.append([(thing.x_m, thing.y_m) for thing in things])
    assert places[0] == places[3]  # whatever was shown in between
    assert len({tuple(place) for place in places}) == 3


def test_a_rule_of_distractors_is_refused_without_distractors() -> None:
    with (
        EpisodeRunner(config(MOVING)) as runner,
        pytest.raises(
            ConfigError, match=r"view='distractors': there are no distractors, randomization\.distractors\.most"
        ),
    ):
        runner.episode(0).reset()


@pytest.mark.slow
def test_distractors_are_things_of_the_asked_number_and_size() -> None:
    cfg = config(line=("randomization.distractors.least=5", "randomization.distractors.most=5"))
    with EpisodeRunner(cfg) as runner:
        episode = runner.episode(0)
        episode.reset()
        things = read_distractors(episode.randomization.applied()["visuals"]["distractors"], "d")
    assert 4 <= len(things) <= 5, "one may find no place"
    assert {thing.shape for thing in things} <= set(LOOKS)
    for thing in things:
        low, high = GENERATORS.load(thing.shape)(thing.instance).bounds_obj
        assert max(high - low) <= 0.2
        corners = np.array([[x, y] for x in (low[0], high[0]) for y in (low[1], high[1])])
        assert np.linalg.norm(corners, axis=1).max() <= thing.radius_m + 1e-9
