"""Every key of a planner setting that says where the hand goes is seen in the plan of the skill."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from unlatch import command_table
from unlatch.objects.annotate.peer_info import with_info_file
from unlatch.objects.annotation_reader import read_articulation
from unlatch.objects.config import ObjectCfg, ObjectSource
from unlatch.objects.importers.urdf_object import load_source_object
from unlatch.simcore.errors import AssetError
from unlatch.skills.commands import ManipKind
from unlatch.skills.skill import Skill
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.runner import EpisodeRunner

pytestmark = pytest.mark.integration

SETTING = "skills.0.planner_setting"


def planned(task: str, *overrides: str) -> Skill:
    cfg = load(task, "object.instance=7", *overrides)
    with EpisodeRunner(cfg) as runner:
        return runner.plan(0)


@pytest.mark.parametrize("task", ["open_drawer", "close_drawer"])
def test_listed_post_motions_are_what_the_hand_does(task: str) -> None:
    skill = planned(task, f"{SETTING}.post_actuation_motions=[]")
    plan = skill.keyframe_plan
    assert plan.found, plan
    assert [keyframe.label for keyframe in plan.keyframes] == ["current", "pre", "goal"]
    assert "follow" not in [segment.kind for segment in plan.segments]


def test_a_list_leads_the_part_as_far_as_it_says_and_no_farther() -> None:
    skill = planned("open_drawer", f"{SETTING}.post_actuation_motions=[[move-backward,-0.05]]")
    plan = skill.keyframe_plan
    assert plan.found, plan
    # the drawer may stand at an angle to the arm's base
    assert 0.04 < plan.keyframes[-1].s - plan.keyframes[0].s <= 0.05


def test_the_part_is_followed_to_where_the_setting_says() -> None:
    plan = planned("open_drawer", f"{SETTING}.post_actuation_motions={{follow_joint: {{to: 0.1}}}}").keyframe_plan
    assert plan.keyframes[-1].s == pytest.approx(0.1)


def test_the_gripper_closes_at_the_contact_keyframe() -> None:
    motions = f"{SETTING}.post_actuation_motions=[[translate_z,0.01],[move-backward,-0.05]]"
    skill = planned("open_drawer", motions, f"{SETTING}.contact_pose_index=3")
    plan = skill.keyframe_plan
    assert plan.found, plan
    closing = next(command for command in skill.commands if command.kind is ManipKind.close_gripper)
    assert closing.T_base_ee.is_close(plan.keyframes[3].T_base_ee)
    shift = plan.keyframes[2].T_base_ee.inverse() @ closing.T_base_ee
    assert shift.p == pytest.approx([0.0, 0.0, 0.01], abs=1e-3)


EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "configs"


@pytest.mark.parametrize("side", ["left", "right"])
def test_turns_of_another_system_open_a_door_with_its_hinge_on_either_side(side: str) -> None:
    where = f"object.where={{hinge_side: {side}}}"
    cfg = load("open_microwave_interndata", where, seed=2, config_dirs=[EXAMPLES])
    with EpisodeRunner(cfg) as runner:
        plan = runner.plan(0).keyframe_plan
    assert plan.found, plan
    assert abs(plan.keyframes[-1].s - plan.keyframes[0].s) == pytest.approx(0.6)


def test_an_info_file_replaces_the_keypoints_for_one_skill(tmp_path: Path) -> None:
    unlatch_object = tmp_path / "safe"
    assert command_table.main(["make-object", "safe", "seed=4", f"out={unlatch_object}"]) == 0
    assert (
        command_table.main(["annotate", str(unlatch_object), "convention=interndata", "force=true", "picture=false"])
        == 0
    )
    info = unlatch_object / "Kps" / "door" / "info.json"
    content = json.loads(info.read_text(encoding="utf-8"))
    assert content["object_link0_contact_axis"].startswith("-"), "down"
    found = read_articulation(unlatch_object)
    part = found.part("door")
    asset = load_source_object(
        ObjectCfg(name="safe", category="safe", source=ObjectSource.urdf, root=str(unlatch_object))
    )
    same = with_info_file(asset.articulation.part("door"), asset, info)
    for name, point in part.keypoints.items():
        np.testing.assert_allclose(same.keypoint(name).xyz, point.xyz, atol=1e-6, err_msg=name)
    content["object_keypoints"]["articulated_object_head"][2] += 2.0
    info.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(AssetError, match=r"info.json: part 'door': keypoint 'articulated_object_head' lies"):
        with_info_file(asset.articulation.part("door"), asset, info)
