"""Numbers of perception as rules, and as a data set keeps them."""

from __future__ import annotations

import pytest

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.randomization.config import PerceptionCfg


def test_each_standard_deviation_makes_one_rule_per_object():
    made = PerceptionCfg(orientation_std_deg=180.0 / 3.141592653589793 * 0.1, joint_std=0.02).rules(["a", "b"])
    assert [(rule.view, rule.attribute) for rule in made] == [
        (name, attribute) for name in ("a", "b") for attribute in ("seen_orientation", "seen_joints")
    ]
    assert made[0].distribution["std"] == pytest.approx(0.1)
    assert made[1].distribution["std"] == 0.02


def test_a_data_set_without_joint_std_is_resumed():
    assert set(PerceptionCfg(position_std_m=0.01).to_dict()) == {
        "position_std_m", "orientation_std_deg", "keypoint_std_m",
    }  # fmt: skip
    assert PerceptionCfg(joint_std=0.1).to_dict()["joint_std"] == 0.1


def test_an_impossible_standard_deviation_is_refused():
    with pytest.raises(ConfigError, match=r"perception.joint_std=0.7 is out of range. Expected 0 to 0.5"):
        PerceptionCfg(joint_std=0.7)
