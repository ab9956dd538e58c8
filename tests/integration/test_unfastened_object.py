"""Objects that nothing fastens: they stand by their weight, and an episode fails if they slide or tip."""

import numpy as np
import pybullet as p
import pytest

import unlatch
from unlatch.objects import ObjectCfg, SceneObject, load_object
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.measurements import moved_object_rows
from unlatch.simcore.recording.verdict import recompute_success
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.workflows.runs.runner import EpisodeRunner

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def slid():
    """A light box that slides while its lid is pulled open."""
    with EpisodeRunner(unlatch.load("open_box", "object.fixed=false", seed=1)) as runner:
        return runner.run(0)


def test_a_box_that_slides_as_its_lid_is_pulled_fails_with_moved_object(slid):
    assert slid.code == "moved_object"
    verdict = recompute_success(slid)
    assert (verdict.code, verdict.evidence["frame"]) == (slid.code, slid.evidence["frame"])
    for key in ("moved_m", "turned_rad"):
        assert verdict.evidence[key] == pytest.approx(slid.evidence[key], abs=1e-12)


def test_a_record_that_denies_the_motion_of_the_box_is_judged_otherwise(slid):
    places = slid.arrays["objects.box.root_position"].copy()
    quats = slid.arrays["objects.box.root_quat_xyzw"].copy()
    entry = next(each for each in slid.skills if each["name"] == "open")
    start = slice(entry["frame_start"], None)
    ((row, moved_m, turned),) = moved_object_rows(slid, entry, start)
    assert row + 1 == slid.evidence["frame"]
    assert moved_m > 0.02 or turned > 0.1
    slid.arrays["objects.box.root_position"][:] = places[0]
    slid.arrays["objects.box.root_quat_xyzw"][:] = quats[0]
    assert moved_object_rows(slid, entry, start) == []
    assert recompute_success(slid).code != "moved_object"
    slid.arrays["objects.box.root_position"][:], slid.arrays["objects.box.root_quat_xyzw"][:] = places, quats


@pytest.mark.slow
def test_another_arm_keeps_a_light_box_where_it_is_while_its_lid_is_raised():
    with EpisodeRunner(unlatch.load("open_light_box", seed=0)) as runner:
        record = runner.run(0)
    assert record.success
    assert recompute_success(record).success
    places = record.arrays["objects.light_box.root_position"]
    assert 0.0 < np.linalg.norm(places - places[0], axis=1).max() < 0.02  # it does move: nothing fastens it


@pytest.mark.slow
def test_one_arm_leaves_a_light_box_where_it_is_by_a_pull_that_keeps_its_front_down():
    with EpisodeRunner(unlatch.load("open_light_box_alone", seed=0)) as runner:
        record = runner.run(3)  # by its knob, and about its hinge, the lid would tip this box by 0.1 rad
    assert record.success
    assert recompute_success(record).success
    assert record.skills[-1]["strategy"] == "edge"
    places = record.arrays["objects.light_box.root_position"]
    assert np.linalg.norm(places - places[0], axis=1).max() < 0.012
    turned = np.abs(
        record.arrays["objects.light_box.root_quat_xyzw"] @ record.arrays["objects.light_box.root_quat_xyzw"][0]
    )
    assert 2.0 * np.arccos(np.clip(turned, 0.0, 1.0)).max() < 0.05


def test_a_fastened_object_is_never_said_to_have_moved():
    with EpisodeRunner(unlatch.load("open_box", seed=1)) as runner:
        record = runner.run(0)
    assert record.success
    assert "objects.box.root_linear_velocity" not in record.arrays
    assert moved_object_rows(record, record.skills[-1], slice(0, None)) == []


def test_a_door_that_is_flush_with_the_underside_does_not_rub_on_what_the_object_stands_on():
    cfg = ObjectCfg(name="it", category="microwave", instance="5", fixed=False)
    asset = load_object(cfg, rng=np.random.default_rng(0))
    for kept_off in (False, True):
        with World(WorldCfg()) as world:
            top = float(asset.bounds_obj[0, 2]) - 0.002
            table = world.add_box("table", size_m=(2, 2, 0.1), T_world_box=Pose.from_translation((0, 0, top - 0.05)))
            body = world.load_urdf(asset.urdf_path, name="it", T_world_root=Pose.identity(), fixed=False)
            item = SceneObject(body, asset, world=world)
            if kept_off:
                item.keep_parts_off(table)
            world.step(120)
            points = p.getContactPoints(body.body_id, table.body_id, physicsClientId=world.client)
            assert ("it/door" in {body.label(point[3]) for point in points}) is not kept_off
            assert "it/body" in {body.label(point[3]) for point in points}


def test_an_object_to_carry_needs_no_key_to_be_free():
    cfg = ObjectCfg(name="can", category="can", instance="0", fixed=False)
    with pytest.raises(ConfigError, match=r"object\.fixed=false has no meaning for can '0': it is carried"):
        load_object(cfg, rng=np.random.default_rng(0))
