"""Things in drawers and behind doors: where they are, what they follow, and that they change nothing else."""

import numpy as np
import pytest

import unlatch
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.sim.collision import BulletCollisionChecker
from unlatch.simcore.sim.world import World
from unlatch.workflows.episode.distractors import DISTRACTOR_CLASS, read_contents
from unlatch.workflows.episode.episode import Episode
from unlatch.workflows.runs.loading import load_config
from unlatch.workflows.runs.schema import CollectCfg

pytestmark = pytest.mark.integration

FILLED = ("randomization.contents.least=2", "randomization.contents.most=4")


def contents_of(episode: Episode) -> list:
    assert episode.randomization is not None
    return read_contents(episode.randomization.applied().get("visuals", {}).get("contents", ()), "contents")


@pytest.mark.parametrize("task", ["open_refrigerator", "open_drawers", "open_microwave"])
def test_things_are_in_places_that_close_and_touch_neither_walls_nor_each_other(task: str) -> None:
    cfg = unlatch.load(task, "scenery=none", *FILLED, seed=3)
    with World(cfg.world, visuals=True) as world, BulletCollisionChecker() as checker:
        episode = Episode(cfg, 0, world, checker)
        episode.reset()
        things, scene = contents_of(episode), episode.scene
        assert things
        for number, thing in enumerate(things):
            asset = scene.objects[thing.object].asset
            region = asset.region(thing.region)
            assert asset.covers(region)
            T_region_world = (scene.objects[thing.object].body.link_pose(region.link) @ region.T_link_region).inverse()
            parts = [
                body
                for name, body in world.scenery.items()
                if name == f"contents_{number}" or name.startswith(f"contents_{number}_")
            ]
            assert parts
            for body in parts:
                assert body.semantic_class == DISTRACTOR_CLASS
                assert body.surface is not None
                points = T_region_world @ (body.root_pose() @ body.surface.mesh.vertices)
                assert (np.abs(points[:, :2]) < 0.5 * region.size[:2]).all()
                assert points[:, 2].min() > -0.002
                assert points[:, 2].max() < region.size[2]
        assert not any(name.startswith("contents") for name in world.bodies), "things have no colliders"


def test_things_follow_their_drawer() -> None:
    cfg = unlatch.load("open_drawer", *FILLED, "scenery=none", seed=3)
    with World(cfg.world, visuals=True) as world, BulletCollisionChecker() as checker:
        episode = Episode(cfg, 0, world, checker)
        episode.reset()
        (item,) = episode.scene.objects.values()
        thing = world.scenery["contents_0"]
        before, start = thing.root_pose().p, item.body.link_pose("drawer").p
        item.body.set_joint_positions(["drawer_slide"], [item.body.joint("drawer_slide").upper])
        world.seen_bodies()
        moved = item.body.link_pose("drawer").p - start
        assert np.linalg.norm(moved) > 0.1
        np.testing.assert_allclose(thing.root_pose().p - before, moved, atol=1e-9)


def test_a_drawer_that_a_task_fills_stays_as_it_is_and_other_draws_are_the_same() -> None:
    applied = []
    for line in ((), FILLED):
        cfg = unlatch.load("store_in_drawer", "randomization=wild", *line, seed=3)
        with World(cfg.world) as world, BulletCollisionChecker() as checker:
            episode = Episode(cfg, 0, world, checker)
            episode.reset()
            assert episode.randomization is not None
            applied.append(episode.randomization.applied())
            taken = set(episode.scene.regions)
            assert taken
            assert not taken & {(thing.object, thing.region) for thing in contents_of(episode)}
    for each in applied:
        each["visuals"].pop("contents", None)
    assert applied[0] == applied[1]


def test_there_are_no_contents_without_the_key_and_their_number_is_limited() -> None:
    assert not unlatch.load("open_drawer").randomization.active
    with pytest.raises(ConfigError, match=r"contents\.most=13 is out of range.*12"):
        unlatch.load("open_drawer", "randomization.contents.most=13")


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ("turn_faucet", "note: randomization.contents puts nothing into 'faucet': its colliders leave no floor"),
        ("put_in_dishwasher", "note: randomization.contents puts nothing into 'dishwasher': nothing is kept in a dish"),
    ],
)
def test_a_line_says_why_an_object_stays_empty(task: str, said: str) -> None:
    (line,) = load_config("collect", CollectCfg, [f"task={task}", "randomization.contents.most=4"]).notices
    assert line.startswith(said)
    assert load_config("collect", CollectCfg, [f"task={task}", "randomization=full"]).notices == []


def test_no_line_is_said_of_an_object_that_is_filled() -> None:
    assert load_config("collect", CollectCfg, ["task=open_drawers", "randomization.contents.most=4"]).notices == []
