"""What a configuration asks of its assets and its skills is checked before anything is written."""

import pytest

from unlatch.simcore.errors import ConfigError
from unlatch.workflows.episode.asset_checks import check_assets
from unlatch.workflows.runs.loading import load

SETTING = "skills.0.planner_setting"
FOLLOW = f"{SETTING}.post_actuation_motions"
CENTER = "task.regions.0.center_m"
THRESHOLD = f"{SETTING}.success_threshold"


def check(task: str, override: str) -> None:
    check_assets(load(task, "object.instance=7", override))


@pytest.mark.parametrize(
    ("task", "override"),
    [
        ("open_drawer", f"{CENTER}=[1.3,0.6]"),
        ("open_drawer", f"{SETTING}.success_mode=fraction"),
        ("close_microwave", f"{THRESHOLD}=0.0"),
        *(
            pytest.param(*row, marks=pytest.mark.slow)
            for row in (
                ("open_drawer", f"{CENTER}=[0.68,0.0]"),
                ("open_drawer", f"{CENTER}=[-0.9,0.0]"),
                ("open_drawer", "sensors=[front,wrist,imu]"),
                ("open_drawer", "sensors=[{name: a, type: imu, mount: {body: drawer, link: body}}]"),
                ("open_drawer", f"{FOLLOW}={{follow_joint: {{to: 0.2}}}}"),
                ("open_drawer", f"{FOLLOW}={{follow_joint: {{to: 100%}}}}"),
                ("close_drawer", f"{FOLLOW}={{follow_joint: {{to: -0.005}}}}"),  # a little past the limit of the joint
                ("open_drawer", "task.openness.0.range=[0.0,0.2]"),
                *(("open_microwave", f"{SETTING}.success_mode={mode}") for mode in ("abs", "normal", "fraction")),
                *(
                    ("close_microwave", f"{SETTING}.success_mode={mode}")
                    for mode in ("zero", "dis_to_init", "fraction")
                ),
            )
        ),
    ],
)
def test_what_can_be_done_is_accepted(task, override):
    check(task, override)


TO = r"^skills\[0\]\.planner_setting\.post_actuation_motions\.follow_joint\.to="


@pytest.mark.parametrize(
    ("task", "override", "message"),
    [
        (
            "open_drawer",
            "sensors=[{name: a, type: imu, mount: {body: franka_panda, link: panda_hnd}}]",
            r"^sensors\[0\]\.mount\.link='panda_hnd' is not a link of 'franka_panda'\. Did you mean 'panda_hand'",
        ),
        (
            "open_drawer",
            "sensors=[{name: a, type: imu, mount: {body: drawer, link: lid}}]",
            r"^sensors\[0\]\.mount\.link='lid' is not a link of 'drawer'\..* Links: .*\. Name",
        ),
        (
            "open_microwave",
            f"{THRESHOLD}=3.0",
            r"success_threshold=3 cannot be judged .* its joint has a range of 1\.\d+ rad",
        ),
        (
            "open_microwave",
            f"{THRESHOLD}=0.0",
            r"^skills\[0\]\.planner_setting\.success_threshold.*Expected a value above 0",
        ),
        *(
            pytest.param(*row, marks=pytest.mark.slow)
            for row in (
                (
                    "open_drawer",
                    f"{CENTER}=[2.5,0.0]",
                    r"^task\.regions\[0\]\.center_m=\[2\.5, 0\.0\] puts 'drawer' out of reach of franka_panda\. Move "
                    r"the region at least 0\.\d\d m nearer\. It begins 2\.\d+ m from the arm, the arm is at most "
                    r"1\.\d\d m long",
                ),
                ("open_drawer", f"{FOLLOW}={{follow_joint: {{to: 0.4}}}}", TO),
                ("close_drawer", f"{FOLLOW}={{follow_joint: {{to: -0.1}}}}", TO),
                ("open_microwave", f"{FOLLOW}={{follow_joint: {{to: 1.0}}}}", TO),  # it opens to -1.66
                (
                    "open_drawer",
                    "task.openness.0.range=[0.0,0.3]",
                    r"^task\.openness\[0\]\.range=\[0\.0, 0\.3\] exceeds .* at most 0\.25 m",
                ),
            )
        ),
    ],
)
def test_what_cannot_be_done_is_refused(task, override, message):
    with pytest.raises(ConfigError, match=message):
        check(task, override)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "known", "others"),
    [
        ("open_microwave", ["abs", "normal", "fraction"], ["zero", "dis_to_init"]),
        ("close_microwave", ["zero", "dis_to_init", "fraction"], ["abs", "normal"]),
    ],
)
def test_a_mode_that_the_skill_does_not_have_is_refused_with_those_that_it_has(task, known, others):
    for mode in others:
        with pytest.raises(ConfigError) as caught:
            check(task, f"{SETTING}.success_mode={mode}")
        assert caught.value.values["key"] == "skills[0].planner_setting.success_mode"
        assert caught.value.values["available"] == known


def test_contradicting_point_constraints_are_refused_before_anything_is_written():
    second = (
        f"+{SETTING}.constraint_list.3={{type: point2point_constraint, keypoint_name: tool_head, "
        "target_keypoint_name: articulated_object_tail, tolerance: 0.001}"
    )
    message = (
        r"constraint_list\[0\].*\[3\].*contradict each other.*'articulated_object_head' and 'articulated_object_tail' "
        r"of the part are 0\.\d+ m apart, and both name 'tool_head' of the hand \(out by "
    )
    with pytest.raises(ConfigError, match=message):
        check_assets(load("open_microwave", second))
