"""Every key of a planner setting that says where the hand goes is seen in the plan of the skill."""

from __future__ import annotations

from pathlib import Path

import pytest

from unlatch.skills.commands import ManipKind
from unlatch.skills.skill import Skill
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.runner import EpisodeRunner

pytestmark = pytest.mark.integration

SETTING = "skills.0.planner_setting"
EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "configs"


def planned(task: str, *overrides: str) -> Skill:
    cfg = load(task, "object.instance=7", *overrides)
    with EpisodeRunner(cfg) as runner:
        return runner.plan(0)


def test_listed_post_motions_are_what_the_hand_does():
    skill = planned("close_drawer", f"{SETTING}.post_actuation_motions=[]")
    plan = skill.keyframe_plan
    assert plan.found, plan
    assert [keyframe.label for keyframe in plan.keyframes] == ["current", "pre", "goal"]
    assert "follow" not in [segment.kind for segment in plan.segments]


def test_a_list_leads_the_part_as_far_as_it_says_and_no_farther():
    skill = planned("open_drawer", f"{SETTING}.post_actuation_motions=[[move-backward,-0.05]]")
    plan = skill.keyframe_plan
    assert plan.found, plan
    # the drawer may stand at an angle to the arm's base
    assert 0.04 < plan.keyframes[-1].s - plan.keyframes[0].s <= 0.05


def test_the_gripper_closes_at_the_contact_keyframe():
    motions = f"{SETTING}.post_actuation_motions=[[translate_z,0.01],[move-backward,-0.05]]"
    skill = planned("open_drawer", motions, f"{SETTING}.contact_pose_index=3")
    plan = skill.keyframe_plan
    assert plan.found, plan
    closing = next(command for command in skill.commands if command.kind is ManipKind.close_gripper)
    assert closing.T_base_ee.is_close(plan.keyframes[3].T_base_ee)
    shift = plan.keyframes[2].T_base_ee.inverse() @ closing.T_base_ee
    assert shift.p == pytest.approx([0.0, 0.0, 0.01], abs=1e-3)


@pytest.mark.parametrize("side", ["left", "right"])
def test_turns_of_another_system_open_a_door_with_its_hinge_on_either_side(side):
    where = f"object.where={{hinge_side: {side}}}"
    cfg = load("open_microwave_interndata", where, seed=2, config_dirs=[EXAMPLES])
    with EpisodeRunner(cfg) as runner:
        plan = runner.plan(0).keyframe_plan
    assert plan.found, plan
    assert abs(plan.keyframes[-1].s - plan.keyframes[0].s) == pytest.approx(0.6)
