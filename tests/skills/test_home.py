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


def filled(*chain):
    return [(each.objects, each.part, each.arm) for each in fill_objects(chain) if each.name == "home"]


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


class TestEntry:
    def test_object_part_and_arm_are_those_of_the_entry_before(self):
        chain = [entry("open", "drawer", "upper", "left"), entry("home"), entry("close", "oven", "door", "right")]
        assert filled(*chain) == [(["drawer"], "upper", "left")]

    def test_the_entry_before_is_that_of_the_same_arm(self):
        chain = [entry("pick", "can", arm="left"), entry("open", "oven", "door", "right"), entry("home", arm="left")]
        assert filled(*chain) == [(["can"], None, "left")]

    def test_at_the_beginning_they_are_those_of_the_entry_after(self):
        assert filled(entry("home"), entry("open", "oven", "door")) == [(["oven"], "door", None)]

    def test_a_search_for_a_layout_acts_on_nothing(self):
        search = LayoutSearchCfg(name="artpreplan", objects=["oven"])
        assert filled(search, entry("home"), entry("open", "oven", "door", "left")) == [(["oven"], "door", "left")]

    def test_an_arm_that_does_nothing_else_has_those_of_another_arm_and_keeps_its_own(self):
        assert filled(entry("open", "oven", "door", "left"), entry("home", arm="right")) == [
            (["oven"], "door", "right")
        ]

    def test_two_entries_in_a_row_have_the_same(self):
        assert filled(entry("pick", "can"), entry("home"), entry("home")) == [(["can"], None, None)] * 2

    def test_given_objects_stay_and_without_any_entry_there_are_none(self):
        assert filled(entry("pick", "can"), entry("home", "oven")) == [(["oven"], None, None)]
        assert filled(entry("home")) == [([], None, None)]

    def test_other_skills_need_their_objects(self):
        chain = [entry("pick", "can"), entry("open")]
        assert fill_objects(chain) == chain

    def test_a_planner_setting_is_refused(self):
        with pytest.raises(ConfigError, match=r"skills\[home\]\.planner_setting and strategies have no effect"):
            HomeCfg(name="home", planner_setting=PlannerSettingCfg(success_threshold=1.0))


class TestCondition:
    def test_the_class_declares_that_it_goes_home_and_moves_no_joint(self):
        rule = Home.declare_rule(entry("home", "oven"), GripperCfg())
        assert (rule.goes_home, rule.success_mode, rule.finger_contact_required) == (True, None, False)

    @pytest.mark.parametrize(("away", "speed"), [(0.0, 0.0), (0.0299, 0.05), (-0.0299, -0.05)])
    def test_an_arm_that_is_back_and_stands_still_meets_it(self, away, speed):
        assert arm_at(away, speed).unmet_condition() is None

    @pytest.mark.parametrize(("away", "speed"), [(0.031, 0.0), (-0.031, 0.0), (0.0, 0.051), (0.0, -0.051)])
    def test_an_arm_that_is_away_or_moves_does_not(self, away, speed):
        failure = arm_at(away, speed).unmet_condition()
        assert failure is not None
        assert failure.code == "not_reached"
        assert failure.evidence == pytest.approx({"away": abs(away), "speed": abs(speed)})


@pytest.mark.parametrize(
    ("free", "force_n", "depth_m", "held"),
    [(True, 0.0, 0.01, True), (True, 0.0, -0.01, False), (True, 5.0, -0.01, True), (False, 5.0, 0.01, False)],
    ids=["between the fingers", "let go", "pressed", "fixed"],
)
def test_what_the_hand_has_is_pressed_or_between_the_fingers(monkeypatch, free, force_n, depth_m, held):
    skill = arm_at(0.0, 0.0)
    force = SimpleNamespace(get_value=lambda: force_n)
    skill.views = SimpleNamespace(fingers_link=SimpleNamespace(force_max_n=force))
    skill.object = SimpleNamespace(free=free, asset=SimpleNamespace(bounds_obj=np.array([[-0.03] * 3, [0.03] * 3])))
    T_ee_object = Pose(np.eye(3), np.array([0.0, 0.0, HEAD[2] + 0.03 - depth_m]))
    monkeypatch.setattr(Home, "T_ee_object", T_ee_object)
    assert skill.is_held is held
