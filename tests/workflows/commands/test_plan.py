"""What `unlatch plan` prints where there is no plan, and that a data set holds the same."""

import re

import pytest
from PIL import Image

from unlatch.simcore.recording.data_set import DataSet
from unlatch.solver.diagnosis import Diagnosis
from unlatch.workflows.commands.collect import collect_command as collect_main
from unlatch.workflows.commands.looking import plan_command as main

FAR = "task.regions.0.center_m=[2.0,0.0]"
CROSSED = "skills.0.planner_setting.constraint_list.1.axis_to_keypoint_name=tool_tail"
"""The approach along the edge of the door, beside the approach from the front."""
DEEP = "skills.0.planner_setting.pre_actuation_motions=[[translate_z,-1.5]]"

pytestmark = [pytest.mark.integration, pytest.mark.slow]


def printed(capsys, *overrides) -> list[str]:
    assert main(["task=open_microwave", *overrides]) == 1
    out = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 160 for line in out)
    return out[out.index("no plan") :]


def test_an_object_out_of_reach_is_explained_by_a_table(capsys):
    lines = printed(capsys, FAR)
    text = "\n".join(lines)
    assert lines[1].startswith("  plan_infeasible: No arm configuration was found that meets all constraints: at")
    assert "  best compromise (value of tolerance):" in lines
    (row,) = (line for line in lines if line.startswith("    point2point_constraint"))
    assert "OUT by" in row
    assert row.split()[-1] == "m"
    assert text.count("plan_infeasible") == 1
    assert "traceback" not in text.lower()
    assert lines[-1].startswith("timings [ms]: goal ")
    assert re.match(r"tried: starts \d+, goals 0, candidates 0, ", lines[-2])


def test_a_contradiction_names_both_constraints(capsys):
    text = " ".join(" ".join(printed(capsys, CROSSED)).split())
    assert "No grasp exists: 'keypoint_axis_parallel' (0.0 to 2.9 degrees) and 'frame_axis_parallel'" in text
    assert "contradict each other." in text
    assert "Both are about the same tool axis, and the targets are 90.0 degrees apart" in text
    assert "(out by 0.6208 rad (35.57 degrees))" in text


def test_a_failure_after_the_goal_is_printed_with_the_residuals_of_the_goal(capsys):
    lines = printed(capsys, DEEP)
    text = " ".join(" ".join(lines).split())
    assert "motion_blocked: " in text
    assert "the hand cannot step back to the pre-grasp" in text
    assert "residuals at the goal:" in lines
    assert "  where the candidates ended:" in lines


def test_a_data_set_holds_the_diagnosis(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    asked = ["task=open_microwave", FAR, "only=[0]", "executor=serial", "pictures=0", "out=set"]
    assert collect_main(asked) == 0
    record = DataSet.open("set").read(0)
    assert (record.success, record.code) == (False, "plan_infeasible")
    plan = record.skills[0]["plan"]
    assert plan["found"] is False
    assert plan["solution"]["q"] is None
    assert len(plan["solution"]["compromise_q"]) == 7
    diagnosis = Diagnosis.from_dict(plan["diagnosis"])
    assert diagnosis.message == record.evidence["message"]
    constraints = diagnosis.evidence["constraints"]
    assert constraints == record.evidence["constraints"]
    assert constraints["point2point_constraint"]["out_by"] > 0.5
    assert constraints["point2point_constraint"]["unit"] == "m"
    assert diagnosis.lines()[0].startswith("plan_infeasible: No arm configuration was found that meets all constraints")


def test_two_arms_that_begin_together_are_both_printed(capsys):
    assert main(["task=close_carton_both", "object.instance=3"]) == 0
    out = capsys.readouterr().out.splitlines()
    plans = [line for line in out if line.startswith("KeyframePlan(found=True")]
    assert len(plans) == 2
    assert [out.index(plan) - 1 for plan in plans] == [
        out.index("left: close 'lid'"),
        out.index("right: close 'lid_2'"),
    ]


def test_randomized_values_are_printed_before_the_plan_and_visible_in_the_picture(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("unlatch.workflows.commands.looking.PICTURE_SIZE", (240, 180))
    monkeypatch.chdir(tmp_path)
    assert main(["task=open_drawer", "randomization=full", "picture=true", "out=drawn/plan.png"]) == 0
    out = capsys.readouterr().out.splitlines()
    title = next(index for index, line in enumerate(out) if line.startswith("randomization full: "))
    count = int(out[title].split()[2])
    rules = out[title + 1 : title + 1 + count]
    assert all(re.match(r"  (at reset|every \d+ control steps \([\d.]+ s\)): [\w.]+ ", line) for line in rules)
    told = "\n".join(rules)
    for part in (
        "at reset: simulation_context.gravity scaling uniform(lower [1.0, 1.0, 0.9965], upper [1.0, 1.0, 1.0023]) "
        "-> [0, 0, -9.81] became [0, 0, -9.8",
        "every 6 control steps (0.1 s): franka_panda.joint_efforts direct normal(mean 0.0, std 0.3) [N m or N]",
        "at reset: drawer.damping scaling log_uniform(lower 0.5, upper 2.0) -> [",
        "every 6 control steps (0.1 s): franka_panda.action_dropped direct choice(choices [0.0, 1.0], weights",
        "at reset: scenery.room ",
    ):
        assert part in told
    planned = next(index for index, line in enumerate(out) if line.startswith("KeyframePlan(found=True"))
    assert re.fullmatch(r"  distractors: \d(\n  contents: \d+)?", "\n".join(out[title + 1 + count : planned]))
    assert "residuals at the goal:" in out
    assert any(line.startswith("timings [ms]: ") for line in out)
    assert out[-1] == "picture: drawn/plan.png"
    with Image.open("drawn/plan.png") as drawn:
        assert drawn.size == (240, 180)
