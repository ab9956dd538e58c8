"""What a skill is asked for is something that it and its part can do."""

import pytest

from unlatch.simcore.errors import ConfigError
from unlatch.workflows.episode.asset_checks import check_assets
from unlatch.workflows.runs.loading import load

FOLLOW = "skills.0.planner_setting.post_actuation_motions"


def check(task: str, *overrides: str) -> None:
    cfg = load(task, "object.instance=7", *overrides)
    check_assets(cfg)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "known"),
    [("open_microwave", ["abs", "normal", "fraction"]), ("close_microwave", ["zero", "dis_to_init", "fraction"])],
)
def test_a_mode_that_the_skill_does_not_have_is_refused(task, known):
    for mode in ("abs", "normal", "zero", "dis_to_init", "fraction"):
        override = f"skills.0.planner_setting.success_mode={mode}"
        if mode in known:
            check(task, override)
            continue
        with pytest.raises(ConfigError) as caught:
            check(task, override)
        assert caught.value.values["key"] == "skills[0].planner_setting.success_mode"
        assert caught.value.values["available"] == known


@pytest.mark.slow
def test_a_target_may_be_only_a_little_past_the_limits_of_the_joint():
    check("open_drawer", f"{FOLLOW}={{follow_joint: {{to: 0.2}}}}")
    check("open_drawer", f"{FOLLOW}={{follow_joint: {{to: 100%}}}}")
    check("close_drawer", f"{FOLLOW}={{follow_joint: {{to: -0.005}}}}")
    for task, to in (("open_drawer", "0.4"), ("close_drawer", "-0.1"), ("open_microwave", "1.0")):  # it opens to -1.66
        with pytest.raises(
            ConfigError, match=r"^skills\[0\]\.planner_setting\.post_actuation_motions\.follow_joint\.to="
        ):
            check(task, f"{FOLLOW}={{follow_joint: {{to: {to}}}}}")


@pytest.mark.slow
def test_a_start_opening_beyond_the_part_is_refused():
    check("open_drawer", "task.openness.0.range=[0.0,0.2]")
    with pytest.raises(ConfigError, match=r"^task\.openness\[0\]\.range=\[0\.0, 0\.3\] exceeds .* at most 0\.25 m"):
        check("open_drawer", "task.openness.0.range=[0.0,0.3]")


def test_contradicting_point_constraints_are_refused_before_anything_is_written():
    second = (
        "+skills.0.planner_setting.constraint_list.3={type: point2point_constraint, keypoint_name: tool_head, "
        "target_keypoint_name: articulated_object_tail, tolerance: 0.001}"
    )
    cfg = load("open_microwave", second)
    with pytest.raises(ConfigError) as caught:
        check_assets(cfg)
    assert "constraint_list[0]" in caught.value.message
    assert "[3]" in caught.value.message
    assert "contradict each other" in caught.value.message
    assert "'articulated_object_head' and 'articulated_object_tail' of the part are 0." in caught.value.message
    assert " m apart, and both name 'tool_head' of the hand (out by " in caught.value.message


@pytest.mark.parametrize(
    ("task", "override", "message"),
    [
        (
            "open_microwave",
            "success_threshold=3.0",
            r"success_threshold=3 cannot be judged .* its joint has a range of 1\.\d+ rad",
        ),
        ("open_microwave", "success_threshold=0.0", "Expected a value above 0"),
        ("open_drawer", "success_mode=fraction", None),
        ("close_microwave", "success_threshold=0.0", None),
    ],
)
def test_a_threshold_that_the_joint_cannot_reach_is_refused(task, override, message):
    changed = f"skills.0.planner_setting.{override}"
    if message is None:
        check(task, changed)
        return
    with pytest.raises(ConfigError, match=message) as caught:
        check(task, changed)
    assert caught.value.values["key"] == "skills[0].planner_setting.success_threshold"
