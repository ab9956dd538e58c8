"""A robot on a stand: the scene, its room, the planner's arm, the second engine and pages have the floor below it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import unlatch
from unlatch.configs.derived_task import MIN_STAND_DISTANCE_M, derive_region, derive_stand
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_object
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.sim.collision import BulletCollisionChecker
from unlatch.simcore.sim.world import World
from unlatch.tasks.layout import Layout
from unlatch.tasks.stand import StandCfg, StandKind
from unlatch.workflows.episode import visual_views
from unlatch.workflows.episode.asset_checks import check_assets
from unlatch.workflows.episode.episode import Episode
from unlatch.workflows.episode.scene import arm_model
from unlatch.workflows.runs.code_versions import header_of
from unlatch.workflows.runs.loading import load_config
from unlatch.workflows.runs.replay import ReplayMode, replay_deviation
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.schema import CollectCfg
from unlatch.workflows.viewing.recorded_scene import fixed_bodies

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PEDESTAL = StandCfg(kind=StandKind.pedestal, height_m=[0.2, 1.0])


@pytest.fixture(scope="module")
def fridge() -> ObjectAsset:
    return load_object(ObjectCfg(name="fridge", category="tall_refrigerator"), rng=np.random.default_rng(0))


@pytest.fixture(scope="module")
def record() -> EpisodeRecord:
    with EpisodeRunner(unlatch.load("open_tall_refrigerator", seed=515151)) as runner:
        return runner.run(0)


@contextmanager
def reset_episode(task: str, *words: str) -> Iterator[Episode]:
    """An episode that is reset in a world with visual shapes; its first layout, without a search."""
    cfg = unlatch.load(task, *words, "~skills.0", seed=3)
    with World(cfg.world, visuals=True) as world, BulletCollisionChecker() as checker:
        episode = Episode(cfg, 0, world, checker)
        episode.reset()
        yield episode


@pytest.fixture(scope="module", params=["kitchen", "studio", "workshop", "office"])
def shown(request: pytest.FixtureRequest) -> Iterator[Episode]:
    """An episode that is reset in a world with visual shapes, in a room; its first layout, without a search."""
    with reset_episode("open_tall_refrigerator", f"scenery={request.param}") as episode:
        yield episode


def test_a_derived_stand_brings_the_arm_to_the_height_of_the_handle(fridge: ObjectAsset) -> None:
    part = fridge.articulation.part("door")
    stand = derive_stand("open", fridge, part, (0.0, 0.0), PEDESTAL)
    T = fridge.model.link_pose(part.link, {})
    handle_m = float((T @ part.keypoint("articulated_object_head").xyz)[2])
    low, high = stand.height_m
    assert low < handle_m - 0.34 < high
    assert high - low == pytest.approx(0.12)
    assert (
        derive_stand("open", fridge, part, (0.0, 0.0), StandCfg(StandKind.floor, [0.02, 0.02])).height_m == [0.02] * 2
    )


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["object=room_door"], StandKind.pedestal),
        (["object=room_door", "stand=table"], StandKind.table),
        (["object=room_door", "stand=rail"], StandKind.rail),
        (["object=room_door", "robot=tiago"], StandKind.table),  # it has a body of its own
        (["object=room_door", "robot=openarm"], StandKind.table),  # the head of a stand would be where its arms are
        (["object=room_door", "robot=ur5e"], StandKind.pedestal),
        (["object=room_door", "robot=aloha"], StandKind.pedestal),
        (["object=room_door", "robot.base_height_m=0.1"], StandKind.table),
        (["object=room_door", "object.rests_on=back"], StandKind.table),
        (["object=microwave"], StandKind.table),
    ],
)
def test_an_object_as_high_as_furniture_gets_a_stand_where_none_is_stated(words: list[str], kind: StandKind) -> None:
    loaded = load_config("collect", CollectCfg, [*words, "skill=open"])
    assert loaded.cfg.stand.kind is kind
    said = [notice for notice in loaded.notices if "stands on the floor" in notice]
    assert len(said) == (kind is StandKind.pedestal)
    has_body = words[-1] in ("robot=tiago", "robot=openarm")
    assert any("stands on the table" in notice for notice in loaded.notices) == has_body


def test_only_an_experiment_that_places_something_keeps_the_stand_away(tmp_path: Path) -> None:
    (tmp_path / "experiment").mkdir()
    region = "{object: room_door, center_m: [0.9, 0.0], half_extent_m: [0, 0]}"
    for name, content in (("low", "defaults: [override /stand: floor]"), ("region", f"task: {{regions: [{region}]}}")):
        (tmp_path / "experiment" / f"{name}.yaml").write_text(f"# @package _global_\n{content}\n")
    for name, kind in (("low", StandKind.floor), ("region", StandKind.table), ("smoke", StandKind.pedestal)):
        cfg = unlatch.load("object=room_door", "skill=open", f"experiment={name}", config_dirs=(tmp_path,))
        assert cfg.stand.kind is kind


def test_a_urdf_of_full_size_gets_a_stand_as_high_as_its_part_needs(fridge: ObjectAsset) -> None:
    cfg = unlatch.load(f"object={fridge.urdf_path}", "skill=open")
    assert cfg.stand == StandCfg(StandKind.pedestal, [0.02, 1.0])
    assert cfg.task.derived is not None  # each episode derives the height


def test_a_derived_region_of_an_object_on_the_floor_leaves_room_for_the_stand(fridge: ObjectAsset) -> None:
    part = fridge.articulation.part("door")
    on_table, on_floor = (
        derive_region("open", fridge, part, (0.0, 0.0), asked=1.5, on_floor=on_floor) for on_floor in (False, True)
    )
    assert on_floor["height_m"] == [0.0, 0.0]
    assert on_floor["center_m"][0] >= on_table["center_m"][0]
    lever_m = float(np.linalg.norm(part.keypoint("articulated_object_head").xyz[:2]))
    assert on_floor["center_m"][0] >= MIN_STAND_DISTANCE_M + 0.9 * lever_m


def test_an_arm_on_a_stand_may_reach_below_its_foot_as_far_as_the_floor() -> None:
    robot = unlatch.load("open_drawer").robot
    low, on_stand, on_high = (
        arm_model(robot, robot.arms[0], stand_height_m=height).workspace for height in (0.0, 0.4, 2.0)
    )
    assert np.array_equal(low, np.array(robot.arms[0].workspace))
    assert (low - on_stand).tolist() == [[0.0, 0.0, pytest.approx(0.4)], [0.0, 0.0, 0.0]]
    assert (low - on_high)[0, 2] == pytest.approx(0.7)


def test_objects_and_rooms_stand_on_the_floor_below_the_stand(shown: Episode) -> None:
    world, stand = shown.scene.world, shown.scene.stand
    assert stand is not None
    assert "table" not in world.bodies
    assert {"ground", "stand_plate", "stand_column", "stand_head"} <= set(world.bodies)
    fridge = shown.scene.objects["tall_refrigerator"]
    lowest = fridge.body.root_pose().p[2] + fridge.asset.bounds_obj[0, 2]
    assert lowest == pytest.approx(stand.floor_z_m + 0.004)
    floors = [body for body in world.scenery.values() if body.semantic_class == "floor"]
    assert [float(body.root_pose().p[2]) for body in floors] == [pytest.approx(stand.floor_z_m, abs=1e-3)]
    assert not any(body.semantic_class in ("table", "robot_mount") for body in world.scenery.values())


def test_rules_about_the_table_are_left_out_where_there_is_none() -> None:
    with reset_episode("open_tall_refrigerator", "randomization=light") as episode:
        assert "table" in {rule.view for rule in episode.cfg.randomization.rules}
        assert '"table"' not in json.dumps(episode.randomization.applied(), default=str)


def test_a_room_is_turned_to_what_stands_on_the_floor() -> None:
    """The wall is behind the object and parallel to it, and no unit of the kitchen reaches into it."""
    with reset_episode("open_tall_refrigerator", "scenery=kitchen") as episode:
        world = episode.scene.world
        scene = episode.scene
        fridge = scene.objects["tall_refrigerator"]
        T_object_world = fridge.body.root_pose().inverse()
        low, high = fridge.asset.bounds_obj
        walls = [body for body in world.scenery.values() if body.semantic_class == "wall" and body.surface is not None]
        points = [T_object_world @ body.root_pose() @ body.surface.mesh.vertices for body in walls]
        behind = [each[:, 0] for each in points if np.ptp(each[:, 0]) < 1e-6 and each[0, 0] < low[0]]
        assert behind
        assert max(float(each[0]) for each in behind) == pytest.approx(low[0] - 0.02, abs=0.01)
        for body in world.scenery.values():
            if body.semantic_class == "furniture" and body.surface is not None:
                corners = (T_object_world @ body.root_pose() @ body.surface.mesh.triangles.reshape(-1, 3)).reshape(
                    -1, 3, 3
                )
                middles = corners.mean(axis=1)
                inside = ((middles > low + 0.03) & (middles < high - 0.08)).all(axis=1)
                assert not inside.any(), body.name


def test_a_rail_has_guides_and_a_carriage_inside_of_its_box() -> None:
    with reset_episode("open_kitchen_cabinet", "scenery=none") as episode:
        world = episode.scene.world
        assert episode.scene.stand is not None
        bed = next(box for box in episode.scene.stand.boxes if box.name == "stand_bed")
        for name in ("stand_guides", "stand_carriage", "stand_stops"):
            body = world.scenery[name]
            assert body.surface is not None
            points = body.root_pose() @ body.surface.mesh.vertices
            assert (points > bed.bounds[0] - 1e-9).all(), name
            assert (points < bed.bounds[1] + 1e-9).all(), name
        low, high = world.bodies["stand_bed"].aabb()
        np.testing.assert_allclose([low, high], bed.bounds, atol=2e-3)


def test_the_wall_around_a_door_is_that_of_the_room() -> None:
    with reset_episode("open_room_door", "scenery=office") as episode:
        world = episode.scene.world
        scene = episode.scene
        door = scene.objects["room_door"]
        low, high = door.asset.bounds_obj
        T_door_world = door.body.root_pose().inverse()
        for body in world.scenery.values():
            if body.semantic_class != "wall" or body.surface is None:
                continue
            corners = T_door_world @ body.root_pose() @ body.surface.mesh.vertices
            if np.ptp(corners[:, 0]) < 1e-6 and low[0] < corners[0, 0] < high[0]:  # before or beside the door
                beside = corners[:, 1].min() > high[1] - 0.01 or corners[:, 1].max() < low[1] + 0.01
                assert beside or corners[:, 2].min() > high[2] - 0.01, body.name


def test_the_cover_of_a_plinth_is_where_the_plinth_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The room is built in a frame of its own, and then moved."""
    covered = []
    monkeypatch.setattr(visual_views, "cover_plinth", lambda room, _, T: covered.append((room.T_world_room @ T).p))
    cfg = unlatch.load("drawer_by_held_button", "stand=pedestal", "scenery=kitchen", "~skills.0", seed=3)
    with World(cfg.world, visuals=True) as world, BulletCollisionChecker() as checker:
        Episode(cfg, 0, world, checker).reset()
        (plinth,) = (body.root_pose().p for body in world.bodies.values() if body.semantic_class == "plinth")
    assert covered == [pytest.approx(plinth)]


def test_only_an_arm_on_a_stand_has_one_in_the_header_of_its_data_set() -> None:
    """A data set of a version without stands is continued."""
    assert "stand" not in header_of(unlatch.load("open_drawer"))["config"]
    assert header_of(unlatch.load("open_drawer", "stand=pedestal"))["config"]["stand"]["kind"] == "pedestal"


def test_names_of_parts_of_a_stand_are_taken_only_where_there_is_one() -> None:
    unlatch.load("open_drawer", "object.name=stand_head")
    with pytest.raises(ConfigError, match="a part of the stand has that name"):
        unlatch.load("open_drawer", "object.name=stand_head", "stand=pedestal")


def test_a_robot_with_a_body_of_its_own_has_no_stand() -> None:
    cfg = unlatch.load("open_tall_refrigerator", "robot=baxter", "~skills.0", seed=3)
    with World(cfg.world) as world, BulletCollisionChecker() as checker:
        episode = Episode(cfg, 0, world, checker)
        with pytest.raises(
            ConfigError, match=r"stand=pedestal has no room for 'baxter', which stands on a body .*, 1\.89 m"
        ):
            episode.reset()
    with pytest.raises(ConfigError, match="stand=pedestal has no room for 'baxter'"):
        check_assets(cfg)  # before a data set has a folder


@pytest.mark.slow
def test_an_episode_on_a_pedestal_succeeds_and_is_replayed_exactly(record: EpisodeRecord) -> None:
    assert record.success
    assert record.layout["stand"]["kind"] == "pedestal"
    with EpisodeRunner(unlatch.load("open_tall_refrigerator", seed=515151)) as runner:
        assert replay_deviation(runner, record, ReplayMode.action).value == 0.0


@pytest.mark.slow
def test_pages_show_the_floor_and_the_stand_in_place_of_the_table(record: EpisodeRecord) -> None:
    bodies = {body.name: body for body in fixed_bodies(record.layout)}
    assert list(bodies) == ["ground", "stand_plate", "stand_column", "stand_head"]
    tops = {n: b.positions[0][2] + max(m.vertices[:, 2].max() for m in b.meshes) for n, b in bodies.items()}
    assert tops["ground"] == pytest.approx(-record.layout["stand"]["height_m"], abs=1e-6)
    assert tops["stand_head"] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.slow
def test_the_second_engine_has_the_floor_and_the_stand(record: EpisodeRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    engine = import_module("mujoco_scene")
    layout = Layout.from_dict(record.layout)
    scene = engine.build_mujoco_scene(unlatch.load("open_tall_refrigerator").robot, {}, layout)
    assert layout.stand is not None
    for box in layout.stand.boxes:
        found = [
            scene.model.geom(i) for i in range(scene.model.ngeom) if np.allclose(scene.model.geom(i).pos, box.position)
        ]
        assert any(np.allclose(2.0 * geom.size, box.size_m) for geom in found), box.name
