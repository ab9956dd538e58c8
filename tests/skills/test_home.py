"""An arm that goes home: what its entry may leave out, and when it is there."""

from types import SimpleNamespace

import numpy as np
import pytest

from unlatch.robots.description import GripperCfg
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import Pose
from unlatch.skills.config import HomeCfg, SkillCfg, fill_objects
from unlatch.skills.home import Home
from unlatch.skills.layout_search import LayoutSearchCfg
from unlatch.solver.setting import PlannerSettingCfg

HEAD = [0.0, 0.0, 0.1]


def entry(name, thing="", part=None, arm=None):
    kind = HomeCfg if name == "home" else SkillCfg
    return kind(name=name, objects=[thing] if thing else [], part=part, arm=arm)


def arm_at(away, speed):
    """Returns the skill with the second of two joints away from its home, and the first one moving."""
    skill = Home.__new__(Home)
    arm = SimpleNamespace(
        cfg=SimpleNamespace(joints=["a", "b"], keypoints={"tool_head": HEAD}),
        joint_positions=SimpleNamespace(get_value=lambda: np.array([0.5, -1.0 + away])),
        joint_velocities=SimpleNamespace(get_value=lambda: np.array([speed, 0.0])),
    )
    model = SimpleNamespace(home={"b": -1.0, "a": 0.5, "finger": 0.04})
    skill.context = SimpleNamespace(arm=arm, robot_model=model, time_s=2.0)
    return skill


SEARCH = LayoutSearchCfg(name="artpreplan", objects=["oven"])
HOME, CAN = entry("home"), ("can", None, "left")


@pytest.mark.parametrize(
    ("chain", "filled"),
    [
        # those of the entry before, of the same arm
        ([entry("open", "drawer", "upper", "left"), HOME, entry("close", "oven")], [("drawer", "upper", "left")]),
        ([entry("pick", "can", arm="left"), entry("open", "oven", arm="right"), entry("home", arm="left")], [CAN]),
        # at the beginning, those of the entry after; a search for a layout acts on nothing
        ([SEARCH, HOME, entry("open", "oven", "door", "left")], [("oven", "door", "left")]),
        # an arm that does nothing else has those of another and keeps its own
        ([entry("open", "oven", "door", "left"), entry("home", arm="right")], [("oven", "door", "right")]),
        ([entry("pick", "can"), HOME, HOME], [("can", None, None)] * 2),
        ([entry("pick", "can"), entry("home", "oven")], [("oven", None, None)]),
        ([HOME], [(None, None, None)]),
    ],
)
def test_object_part_and_arm_of_an_entry_are_filled_in(chain, filled):
    found = [each for each in fill_objects(chain) if each.name == "home"]
    assert [((*each.objects, None)[0], each.part, each.arm) for each in found] == filled


def test_other_skills_need_their_objects_and_a_planner_setting_is_refused():
    chain = [entry("pick", "can"), entry("open")]
    assert fill_objects(chain) == chain
    with pytest.raises(ConfigError, match=r"skills\[home\]\.planner_setting and strategies have no effect"):
        HomeCfg(name="home", planner_setting=PlannerSettingCfg(success_threshold=1.0))


def test_the_class_declares_that_it_goes_home_and_moves_no_joint():
    rule = Home.declare_rule(entry("home", "oven"), GripperCfg())
    assert (rule.goes_home, rule.success_mode, rule.finger_contact_required) == (True, None, False)


@pytest.mark.parametrize(("away", "speed", "meets"), [(0.0299, 0.05, True), (-0.031, 0.0, False), (0.0, -0.051, False)])
def test_an_arm_that_is_back_and_stands_still_meets_the_condition(away, speed, meets):
    failure = arm_at(away, speed).unmet_condition()
    assert (failure is None) == meets
    if failure is not None:
        assert failure.code == "not_reached"
        assert failure.evidence == pytest.approx({"away": abs(away), "speed": abs(speed)})


@pytest.mark.parametrize(
    ("free", "force_n", "depth_m", "held"),
    [(True, 0.0, 0.01, True), (True, 0.0, -0.01, False), (True, 5.0, -0.01, True), (False, 5.0, 0.01, False)],
    ids=["between the fingers", "let go", "pressed", "fixed"],
)
def test_what_the_hand_has_is_pressed_or_between_the_fingers(monkeypatch, free, force_n, depth_m, held):
    skill, force = arm_at(0.0, 0.0), SimpleNamespace(get_value=lambda: force_n)
    skill.views = SimpleNamespace(fingers_link=SimpleNamespace(force_max_n=force))
    skill.object = SimpleNamespace(free=free, asset=SimpleNamespace(bounds_obj=np.array([[-0.03] * 3, [0.03] * 3])))
    T_ee_object = Pose.from_translation([0.0, 0.0, HEAD[2] + 0.03 - depth_m])
    monkeypatch.setattr(Home, "T_ee_object", T_ee_object)
    assert skill.is_held is held
