"""A stand brings the foot of an arm to the height of full-size objects, which are on the floor."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.objects.builders import generated
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.rng import stream
from unlatch.tasks.layout import Layout, sample_layout
from unlatch.tasks.stand import GROUND, StandCfg, StandKind, StandRange
from unlatch.tasks.task import GoalCfg, GoalKind, OpennessCfg, RegionCfg, TaskCfg

FEET = [(0.0, 0.0, 0.0)]
PEDESTAL = StandCfg(kind=StandKind.pedestal, height_m=[0.3, 0.8])
RAIL = StandCfg(kind=StandKind.rail, height_m=[0.5, 0.5], along_m=0.2)


def draw(cfg, *, seed=1, feet=FEET, scale=1.0):
    return StandRange(cfg, feet, scale).draw(stream(seed, "layout"))


@pytest.fixture(scope="module")
def dishwasher():
    return generated("kitchen_dishwasher", 0, name="dishwasher")


def lay(asset, stand, *, x=0.9, led=0.7, seed=1):
    cfg = TaskCfg(
        name="t",
        regions=[
            RegionCfg(object=asset.name, center_m=[x, 0.0], half_extent_m=[0.0, 0.0], yaw_deg=0.0, height_m=[0.0, 0.0])
        ],
        openness=[OpennessCfg(object=asset.name, part="door", range=[0.0, 0.0])],
        goal=[GoalCfg(object=asset.name, part="door", kind=GoalKind.moved, value=led)],
    )
    return sample_layout(cfg, {asset.name: asset}, [], stream(seed, "layout"), stand=StandRange(stand, FEET))


@pytest.mark.parametrize(
    ("kind", "names"),
    [("pedestal", ["plate", "column", "head"]), ("floor", ["plate"]), ("rail", ["bed", "column", "head"])],
)
def test_a_stand_reaches_from_the_floor_to_the_foot_of_the_arm_without_a_gap(kind, names):
    cfg = StandCfg(kind=StandKind(kind), height_m=[0.02, 0.9], along_m=0.2)
    for seed in range(40):
        stand = draw(cfg, seed=seed)
        ground, *parts = stand.boxes
        assert 0.02 <= stand.height_m <= 0.9
        assert (ground.name, ground.bounds[1, 2]) == (GROUND, pytest.approx(stand.floor_z_m))
        assert [part.name for part in parts] in (
            [f"stand_{name}" for name in names],
            [f"stand_{names[0]}", "stand_head"],
        )
        ends = [ground.bounds[1, 2], *(z for part in parts for z in part.bounds[:, 2]), 0.0]
        assert np.allclose(ends[::2], ends[1::2])
        assert all(part.bounds[1, 2] > part.bounds[0, 2] for part in parts)


def test_a_stand_is_below_the_feet_of_all_arms():
    feet = [(0.0, 0.3, 0.0), (0.1, -0.5, 0.0)]
    for part in draw(PEDESTAL, feet=feet).boxes[1:]:
        assert np.all(part.bounds[0, :2] < np.min(feet, axis=0)[:2])
        assert np.all(part.bounds[1, :2] > np.max(feet, axis=0)[:2])


def test_a_stand_reaches_up_to_a_robot_whose_foot_is_above_zero():
    for kind in (StandKind.pedestal, StandKind.floor):
        stand = draw(replace(PEDESTAL, kind=kind), feet=[(0.0, 0.0, 0.2), (0.0, 0.4, 0.3)])
        assert stand.boxes[-1].bounds[1, 2] == pytest.approx(0.2)


def test_a_small_robot_has_a_small_stand():
    full, half = draw(PEDESTAL), draw(PEDESTAL, scale=0.5)
    sizes = [np.array([box.size_m for box in stand.boxes[1:]]) for stand in (full, half)]
    assert half.height_m == pytest.approx(0.5 * full.height_m)
    assert np.allclose(sizes[1], 0.5 * sizes[0])


def test_on_a_rail_the_object_is_as_far_to_one_side_as_the_arm_is_to_the_other(dishwasher):
    alongs = []
    for seed in range(30):
        layout = lay(dishwasher, RAIL, seed=seed)
        alongs.append(layout.stand.along_m)
        bed = layout.stand.boxes[1]
        middle = layout.objects["dishwasher"].T_world_root.p[1]
        assert (middle, bed.position[1]) == pytest.approx((-alongs[-1], -alongs[-1]))
        assert bed.bounds[0, 1] < -0.13
        assert bed.bounds[1, 1] > 0.13
    assert min(alongs) < -0.12
    assert max(alongs) > 0.12
    assert max(map(abs, alongs)) <= 0.2


def test_an_object_is_on_the_floor_and_its_plinth_too(dishwasher):
    layout = lay(dishwasher, PEDESTAL)
    place = layout.objects["dishwasher"]
    assert place.T_world_root.p[2] == pytest.approx(0.004 + layout.stand.floor_z_m)
    assert place.plinth_size_m is None


def test_a_layout_with_a_stand_is_read_from_a_record_exactly(dishwasher):
    layout = lay(dishwasher, RAIL)
    values = json.loads(json.dumps(layout.to_dict()))
    assert Layout.from_dict(values).to_dict() == layout.to_dict()
    assert Layout.from_dict(values).stand == layout.stand


@pytest.mark.parametrize(
    ("x", "led", "problem"),
    [
        (0.9, 0.7, None),
        (0.5, 0.05, None),
        (0.5, 0.7, "'door' of 'dishwasher', open by 0.92, meets the stand column of the robot"),
        (0.1, 0.05, "'dishwasher' meets the stand plate of the robot"),
    ],
)
def test_a_layout_whose_door_would_meet_the_stand_says_so(dishwasher, x, led, problem):
    stand = replace(PEDESTAL, height_m=[0.4, 0.4])
    assert lay(dishwasher, stand, x=x, led=led).problem == problem


def test_a_height_near_another_one_stays_in_the_range():
    assert PEDESTAL.near(0.5, 0.1) == [0.4, 0.6]
    assert PEDESTAL.near(0.1, 0.1) == [0.3, 0.4]
    assert PEDESTAL.near(2.0, 0.1) == [0.7, 0.8]


def test_a_table_needs_no_height_and_stands_need_one_as_thick_as_their_plate():
    assert not StandCfg().is_used
    with pytest.raises(ConfigError, match=r"stand.height_m=\[0.01, 0.5\] begins below 0.02 m, the thickness"):
        StandCfg(kind=StandKind.pedestal, height_m=[0.01, 0.5])
    with pytest.raises(ConfigError, match=r"stand.height_m=\[0.5, 0.4\] must be two values, low <= high"):
        StandCfg(kind=StandKind.pedestal, height_m=[0.5, 0.4])
