"""Conditions on free objects: the running judge and the judge of records measure the same."""

import numpy as np
import pytest

from unlatch.objects.carrying_conditions import ConditionKind, ObjectCondition, ObjectPoses
from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_instance
from unlatch.simcore.errors import AssetError, ConfigError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.measurements import object_value

ASSETS = {
    "apple": load_instance(ObjectCfg(name="apple", category="apple", instance="0")),
    "parcel": load_instance(ObjectCfg(name="parcel", category="parcel", instance="0")),
    "can": load_instance(ObjectCfg(name="can", category="can", instance="0")),
    "drawer": load_instance(ObjectCfg(name="drawer", category="drawer", instance="0")),
    "microwave": load_instance(ObjectCfg(name="microwave", category="microwave", instance="0")),
}


LYING = Pose.from_rpy([0.0, 0.0, 0.0], [0.5 * np.pi, 0.0, 0.0]).R
"""Of a can: its axis is horizontal."""


def condition(kind, value=0.01, *, name="can", **place):
    return ObjectCondition(ConditionKind(kind), name, value, place.get("of"), place.get("region")).describe(ASSETS)


def without_outline(entry):
    """Returns a condition as older records have it."""
    return {key: value for key, value in entry.items() if key != "outline"}


def measure(entry, T_object, T_region, T_start):
    key = (str(entry.get("of")), str(entry.get("region")))
    now, before = (ObjectPoses({entry["object"]: T}, {key: T_region}) for T in (T_object, T_start))
    return now.measure(entry, before)


def measure_again(entry, T_object, T_region, T_start):
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
        condition("inside", of="drawer", region="drawer"),
        condition("inside", of="microwave", region="inside"),
        condition("inside", name="apple", of="drawer", region="drawer"),
        condition("on", of="drawer", region="top"),
        condition("on", name="apple", of="drawer", region="top"),
        condition("on"),
        without_outline(condition("inside", of="drawer", region="drawer")),
        without_outline(condition("on")),
        condition("upright", 0.2),
        condition("lifted", 0.05),
    ],
    ids=lambda entry: f"{entry['kind']}-{entry['object']}-{entry.get('of')}-{'outline' in entry}",
)
def test_both_judges_measure_the_same_at_any_pose(entry):
    rng = np.random.default_rng(0)
    held = 0
    for number in range(60):
        spread = 0.3 if number % 2 else 0.01
        T_region = Pose.from_rpy(rng.uniform(-1, 1, 3), rng.uniform(-0.05, 0.05, 3))
        turn = 3.0 if entry["object"] == "apple" and entry["kind"] == "inside" else spread
        T_object = T_region @ Pose.from_rpy(spread * rng.uniform(-1, 1, 3), turn * rng.uniform(-1, 1, 3))
        if entry.get("of") is None and number % 4 == 0:
            T_object = Pose.from_rpy([*rng.uniform(-1, 1, 2), 0.004], [0.0, 0.0, rng.uniform(-3, 3)])
        T_start = Pose.from_translation([0.0, 0.0, rng.uniform(-1, 1)])
        found, again = measure(entry, T_object, T_region, T_start), measure_again(entry, T_object, T_region, T_start)
        assert found[0] == pytest.approx(again[0], abs=1e-6)  # a quaternion is rounded, and so is the arc cosine of 1
        if abs(found[0] - entry["value"]) > 1e-6:
            assert found[1] == again[1]
        held += found[1]
    assert 0 < held < 60, "the poses decide nothing"


@pytest.mark.parametrize("measure", [measure, measure_again])
class TestOutline:
    def rolled_apple(self, *, past_wall_m):
        """The apple of radius 3 cm at the front of the drawer, rolled by 134 degrees, past the wall by a distance."""
        half, radius = 0.5 * ASSETS["drawer"].region("drawer").size, 0.5 * float(ASSETS["apple"].size_m[2])
        R = Pose.from_rpy([0.0] * 3, np.deg2rad([134.0, 0.0, 45.0])).R
        middle = np.array([half[0] - radius + past_wall_m, 0.0, radius])
        return Pose(R, middle - R @ [0.0, 0.0, radius])

    def test_an_apple_that_has_rolled_to_a_wall_is_inside(self, measure):
        entry, start = condition("inside", name="apple", of="drawer", region="drawer"), Pose.identity()
        reached, holds = measure(entry, self.rolled_apple(past_wall_m=0.0), Pose.identity(), start)
        assert holds
        assert reached == pytest.approx(0.0, abs=1e-4)
        older = measure(without_outline(entry), self.rolled_apple(past_wall_m=0.0), Pose.identity(), start)
        assert older == (pytest.approx(np.sqrt(0.5) * 0.03, abs=1e-3), False)  # its box stands out

    @pytest.mark.parametrize(("past_wall_m", "holds"), [(0.009, True), (0.011, False)])
    def test_an_apple_that_stands_out_by_more_than_the_value_is_not(self, past_wall_m, holds, measure):
        entry = condition("inside", name="apple", of="drawer", region="drawer")
        apple = self.rolled_apple(past_wall_m=past_wall_m)
        assert measure(entry, apple, Pose.identity(), Pose.identity()) == (pytest.approx(past_wall_m, abs=1e-4), holds)

    def test_a_turned_parcel_is_measured_at_its_corners(self, measure):
        entry = condition("inside", name="parcel", of="drawer", region="drawer")
        half = 0.5 * ASSETS["drawer"].region("drawer").size
        parcel = Pose.from_rpy([half[0] - 0.03, 0.0, 0.0], [0.0, 0.0, 0.6])
        low, high = ASSETS["parcel"].bounds_obj
        out = 0.5 * (high - low)[:2] @ np.abs([np.cos(0.6), np.sin(0.6)]) - 0.03
        reached, holds = measure(entry, parcel, Pose.identity(), Pose.identity())
        assert reached == pytest.approx(out, abs=2e-4)
        assert not holds
        assert measure(without_outline(entry), parcel, Pose.identity(), Pose.identity())[0] == pytest.approx(out)

    @pytest.mark.parametrize("roll", [0.0, 0.4, 0.25 * np.pi])
    def test_a_can_that_lies_is_on_the_table_however_it_has_rolled(self, roll, measure):
        radius = 0.5 * float(ASSETS["can"].size_m[0])
        can = Pose(LYING @ Pose.from_rpy([0.0] * 3, [0.0, 0.0, roll]).R, np.array([0.5, 0.0, radius]))
        reached, holds = measure(condition("on"), can, Pose.identity(), Pose.identity())
        assert holds
        assert reached < 0.02 * radius + 1e-4  # its colliders are a prism of 16 sides

    def test_a_can_that_leans_is_on_the_table_with_its_rim(self, measure):
        turned = Pose.from_rpy([0.0] * 3, [0.0, 0.9, 0.0]).R @ Pose.from_rpy([0.0] * 3, [0.0, 0.0, 0.25 * np.pi]).R
        rim = 0.5 * float(ASSETS["can"].size_m[0]) * np.sin(0.9)
        entry, start = condition("on"), Pose.identity()
        assert measure(entry, Pose(turned, np.array([0.0, 0.0, rim])), Pose.identity(), start)[0] < 1e-3
        above = Pose(turned, np.array([0.0, 0.0, rim + 0.0125]))
        assert not measure(entry, above, Pose.identity(), start)[1]
        assert measure(without_outline(entry), above, Pose.identity(), start)[1], "a corner of its box is lower"


def test_what_stands_out_of_a_drawer_is_not_inside():
    entry = condition("inside", of="drawer", region="drawer")
    region = ASSETS["drawer"].region("drawer")
    at_floor = Pose.identity()
    assert measure(entry, at_floor, Pose.identity(), at_floor)[1] == (ASSETS["can"].size_m[2] <= region.size[2] + 0.01)
    beside = Pose.from_translation([0.5 * float(region.size[0]), 0.0, 0.0])
    assert not measure(entry, beside, Pose.identity(), at_floor)[1]
    below = Pose.from_translation([0.0, 0.0, -0.02])
    assert not measure(entry, below, Pose.identity(), at_floor)[1]


def test_a_condition_on_a_fixed_object_is_refused():
    with pytest.raises(ConfigError, match=r"'drawer' \(drawer\) is fixed in place\. Name one of apple, parcel, can"):
        ObjectCondition(ConditionKind.upright, "drawer", 0.2).describe(ASSETS)


def test_an_unknown_region_is_named_with_those_that_exist():
    with pytest.raises(AssetError, match=r"No region 'drawr' .* Did you mean 'drawer'\? Regions: top, drawer"):
        condition("inside", of="drawer", region="drawr")
