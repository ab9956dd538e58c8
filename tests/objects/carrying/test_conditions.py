"""Conditions on free objects: the running judge and the judge of records measure the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unlatch.objects.carrying.conditions import ConditionKind, ObjectCondition, ObjectPoses
from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_instance
from unlatch.simcore.errors import AssetError, ConfigError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.object_verdict import object_value

ASSETS = {
    "can": load_instance(ObjectCfg(name="can", category="can", instance="0")),
    "drawer": load_instance(ObjectCfg(name="drawer", category="drawer", instance="0")),
    "microwave": load_instance(ObjectCfg(name="microwave", category="microwave", instance="0")),
}


def condition(kind: str, value: float = 0.01, **place: str) -> dict[str, Any]:
    return ObjectCondition(ConditionKind(kind), "can", value, place.get("of"), place.get("region")).describe(ASSETS)


def measure(entry: dict[str, Any], T_can: Pose, T_region: Pose, T_start: Pose) -> tuple[float, bool]:
    key = (str(entry.get("of")), str(entry.get("region")))
    now, before = (ObjectPoses({"can": T}, {key: T_region}) for T in (T_can, T_start))
    return now.measure(entry, before)


def record_of(entry: dict[str, Any], T_can: Pose, T_region: Pose, T_start: Pose) -> EpisodeRecord:
    arrays = {
        "objects.can.root_position": np.stack([T_start.p, T_can.p]),
        "objects.can.root_quat_xyzw": np.stack([T_start.quat_xyzw, T_can.quat_xyzw]),
    }
    if entry.get("of") is not None:
        place = f"regions.{entry['of']}.{entry['region']}"
        arrays[f"{place}.position"] = np.stack([T_region.p] * 2)
        arrays[f"{place}.quat_xyzw"] = np.stack([T_region.quat_xyzw] * 2)
    return EpisodeRecord(number=0, seed=0, success=True, arrays=arrays)


@pytest.mark.parametrize(
    "entry",
    [
        condition("inside", of="drawer", region="drawer"),
        condition("inside", of="microwave", region="inside"),
        condition("on", of="drawer", region="top"),
        condition("on"),
        condition("upright", 0.2),
        condition("lifted", 0.05),
    ],
    ids=lambda entry: f"{entry['kind']}-{entry.get('of')}",
)
def test_both_judges_measure_the_same_at_any_pose(entry: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    held = 0
    for number in range(60):
        spread = 0.3 if number % 2 else 0.01
        T_region = Pose.from_rpy(rng.uniform(-1, 1, 3), rng.uniform(-0.05, 0.05, 3))
        T_can = T_region @ Pose.from_rpy(spread * rng.uniform(-1, 1, 3), spread * rng.uniform(-1, 1, 3))
        if entry.get("of") is None and number % 4 == 0:
            T_can = Pose.from_rpy([*rng.uniform(-1, 1, 2), 0.004], [0.0, 0.0, rng.uniform(-3, 3)])
        T_start = Pose.from_translation([0.0, 0.0, rng.uniform(-1, 1)])
        found = measure(entry, T_can, T_region, T_start)
        again = object_value(record_of(entry, T_can, T_region, T_start), entry, 1, 0)
        assert found[0] == pytest.approx(again[0], abs=1e-6)  # a quaternion is rounded, and so is the arc cosine of 1
        if abs(found[0] - entry["value"]) > 1e-6:
            assert found[1] == again[1]
        held += found[1]
    assert 0 < held < 60, "the poses decide nothing"


def test_what_stands_out_of_a_drawer_is_not_inside() -> None:
    entry = condition("inside", of="drawer", region="drawer")
    region = ASSETS["drawer"].region("drawer")
    at_floor = Pose.identity()
    assert measure(entry, at_floor, Pose.identity(), at_floor)[1] == (ASSETS["can"].size_m[2] <= region.size[2] + 0.01)
    beside = Pose.from_translation([0.5 * float(region.size[0]), 0.0, 0.0])
    assert not measure(entry, beside, Pose.identity(), at_floor)[1]
    below = Pose.from_translation([0.0, 0.0, -0.02])
    assert not measure(entry, below, Pose.identity(), at_floor)[1]


def test_a_condition_on_a_fixed_object_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"'drawer' \(drawer\) is fixed in place\. Name one of can"):
        ObjectCondition(ConditionKind.upright, "drawer", 0.2).describe(ASSETS)


def test_an_unknown_region_is_named_with_those_that_exist() -> None:
    with pytest.raises(AssetError, match=r"No region 'drawr' .* Did you mean 'drawer'\? Regions: top, drawer"):
        condition("inside", of="drawer", region="drawr")
