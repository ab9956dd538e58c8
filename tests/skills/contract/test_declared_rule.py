"""A skill declares its rule of success as a class, so that it is known without a running episode."""

import pytest

from unlatch.robots.description import GripperCfg
from unlatch.simcore.errors import SkillError
from unlatch.simcore.recording.success_rules import SuccessRule
from unlatch.skills.close import Close
from unlatch.skills.config import SkillCfg
from unlatch.skills.hold import Hold
from unlatch.skills.open import Open
from unlatch.solver.setting import PlannerSettingCfg, SuccessMode


def declared(skill, **setting):
    forces = {"contact_force_threshold_n": 3.0, "scene_force_threshold_n": 25.0}
    cfg = SkillCfg(name="x", planner_setting=PlannerSettingCfg(**setting), **forces)
    return skill.declare_rule(cfg, GripperCfg(finger_force_limit_n=80.0))


def test_the_class_of_a_skill_declares_its_rule():
    assert declared(Open, success_threshold=0.7) == SuccessRule(
        success_mode="abs",
        success_threshold=0.7,
        finger_contact_required=True,
        collision_valid_enabled=True,
        process_valid_enabled=True,
        contact_force_threshold_n=3.0,
        finger_force_limit_n=80.0,
        scene_force_threshold_n=25.0,
    )
    closed = declared(Close, success_threshold=0.1)
    assert (closed.success_mode, closed.finger_contact_required, closed.holds) == ("zero", False, False)
    assert declared(Open, success_threshold=0.7, success_mode=SuccessMode.fraction).success_mode == "fraction"
    held = declared(Hold, success_threshold=0.7)
    assert (held.success_mode, held.holds) == (None, True)


def test_a_method_under_its_old_name_is_refused():
    with pytest.raises(SkillError, match=r"Lift\._on_frame is not called\. Expected `check_frame`\."):
        type("Lift", (Open,), {"_on_frame": lambda self: None})


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("finger_contact_required", "a class attribute"),
        ("success_rule", r"declare_rule\(\)"),
        ("touched_link", r"declare_link\(\)"),
    ],
)
def test_a_rule_that_only_a_running_episode_can_read_is_refused(name, remedy):
    with pytest.raises(SkillError, match=rf"Lift\.{name} is a property, .* Expected {remedy}"):
        type("Lift", (Open,), {name: property(lambda self: None)})
