"""Conditions on free objects: the running judge and the judge of records measure the same."""

import numpy as np
import pytest

from tests.objects.builders import generated
from unlatch.objects.carrying_conditions import ConditionKind, ObjectCondition, ObjectPoses
from unlatch.simcore.errors import AssetError, ConfigError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.measurements import object_value

ASSETS = {name: generated(name) for name in ("apple", "parcel", "can", "drawer", "microwave")}
HERE = Pose.identity()


def turn(*rpy):
    return Pose.from_rpy([0.0] * 3, rpy).R


def condition(kind, value=0.01, *, name="can", of=None, region=None):
    return ObjectCondition(ConditionKind(kind), name, value, of, region).describe(ASSETS)


def in_drawer(name="can"):
    return condition("inside", name=name, of="drawer", region="drawer")


def without_outline(entry):
    """Returns a condition as older records have it."""
    return {key: value for key, value in entry.items() if key != "outline"}


def measure(entry, T_object, T_region=HERE, T_start=HERE):
    key = (str(entry.get("of")), str(entry.get("region")))
    now, before = (ObjectPoses({entry["object"]: T}, {key: T_region}) for T in (T_object, T_start))
    return now.measure(entry, before)


def measure_again(entry, T_object, T_region=HERE, T_start=HERE):
    """Returns what the judge of records measures."""
    name = f"objects.{entry['object']}"
    arrays = {
        f"{name}.root_position": np.stack([T_start.p, T_object.p]),
        f"{name}.root_quat_xyzw": np.stack([T_start.quat_xyzw, T_object.quat_xyzw]),
    }
    if entry.get("of") is not None:
        place = f"regions.{entry['of']}.{entry['region']}"
        arrays[f"{place}.position"] = np.stack([T_region.p] * 2)
        arrays[f"{place}.quat_xyzw"] = np.stack([T_region.quat_xyzw] * 2)
    return object_value(EpisodeRecord(number=0, seed=0, success=True, arrays=arrays), entry, 1, 0)


@pytest.mark.parametrize(
    "entry",
    [
        in_drawer(),
        in_drawer("apple"),
        condition("inside", of="microwave", region="inside"),
        condition("on", of="drawer", region="top"),
        condition("on", name="apple", of="drawer", region="top"),
        condition("on"),
        without_outline(in_drawer()),
        without_outline(condition("on")),
        condition("upright", 0.2),
        condition("lifted", 0.05),
    ],
    ids=lambda entry: f"{entry['kind']}-{entry['object']}-{entry.get('of')}-{'outline' in entry}",
)
def test_both_judges_measure_the_same_at_any_pose(entry):
    rng, held = np.random.default_rng(0), 0
    for number in range(40):
        spread = 0.3 if number % 2 else 0.01
        T_region = Pose.from_rpy(rng.uniform(-1, 1, 3), rng.uniform(-0.05, 0.05, 3))
        angle = 3.0 if entry["object"] == "apple" and entry["kind"] == "inside" else spread
        T_object = T_region @ Pose.from_rpy(spread * rng.uniform(-1, 1, 3), angle * rng.uniform(-1, 1, 3))
        if entry.get("of") is None and number % 4 == 0:
            T_object = Pose.from_rpy([*rng.uniform(-1, 1, 2), 0.004], [0.0, 0.0, rng.uniform(-3, 3)])
        T_start = Pose.from_translation([0.0, 0.0, rng.uniform(-1, 1)])
        found, again = (each(entry, T_object, T_region, T_start) for each in (measure, measure_again))
        assert found[0] == pytest.approx(again[0], abs=1e-6)  # a quaternion is rounded, and so is the arc cosine of 1
        if abs(found[0] - entry["value"]) > 1e-6:
            assert found[1] == again[1]
        held += found[1]
    assert 0 < held < 40, "the poses decide nothing"


both_judges = pytest.mark.parametrize("measure", [measure, measure_again])


@both_judges
@pytest.mark.parametrize(("past_wall_m", "holds"), [(0.0, True), (0.009, True), (0.011, False)])
def test_an_apple_that_has_rolled_to_a_wall_is_inside_unless_it_stands_out_by_more_than_the_value(
    measure, past_wall_m, holds
):
    # of radius 3 cm, at the front of the drawer, rolled by 134 degrees
    half, radius = 0.5 * ASSETS["drawer"].region("drawer").size, 0.5 * float(ASSETS["apple"].size_m[2])
    R, entry = turn(*np.deg2rad([134.0, 0.0, 45.0])), in_drawer("apple")
    apple = Pose(R, np.array([half[0] - radius + past_wall_m, 0.0, radius]) - R @ [0.0, 0.0, radius])
    assert measure(entry, apple) == (pytest.approx(past_wall_m, abs=1e-4), holds)
    if past_wall_m == 0.0:  # its box stands out
        assert measure(without_outline(entry), apple) == (pytest.approx(np.sqrt(0.5) * 0.03, abs=1e-3), False)


@both_judges
def test_a_can_that_lies_or_leans_is_on_the_table_with_its_rim(measure):
    radius = 0.5 * float(ASSETS["can"].size_m[0])
    for roll in (0.0, 0.4, 0.25 * np.pi):
        can = Pose(turn(0.5 * np.pi, 0.0, 0.0) @ turn(0.0, 0.0, roll), np.array([0.5, 0.0, radius]))
        reached, holds = measure(condition("on"), can)
        assert holds
        assert reached < 0.02 * radius + 1e-4  # its colliders are a prism of 16 sides
    leaning, rim = turn(0.0, 0.9, 0.0) @ turn(0.0, 0.0, 0.25 * np.pi), radius * np.sin(0.9)
    assert measure(condition("on"), Pose(leaning, np.array([0.0, 0.0, rim])))[0] < 1e-3
    above = Pose(leaning, np.array([0.0, 0.0, rim + 0.0125]))
    assert not measure(condition("on"), above)[1]
    assert measure(without_outline(condition("on")), above)[1], "a corner of its box is lower"


def test_a_condition_on_a_fixed_object_or_an_unknown_region_is_refused():
    with pytest.raises(ConfigError, match=r"'drawer' \(drawer\) is fixed in place\. Name one of apple, parcel, can"):
        condition("upright", 0.2, name="drawer")
    with pytest.raises(AssetError, match=r"No region 'drawr' in the drawer\. Did you mean 'drawer'\? Regions: top,"):
        condition("inside", of="drawer", region="drawr")
