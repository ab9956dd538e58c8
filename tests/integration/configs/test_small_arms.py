"""Tasks of small arms, and what an arm of five joints gets."""

from dataclasses import replace

import numpy as np
import pytest

from tests.integration.episodes import run
from tests.skills.builders import panda
from unlatch.configs.derived_task import scaled_setting, scaled_task, skill_strategies
from unlatch.objects.library import load_object
from unlatch.skills.commands import Phase
from unlatch.tasks.task import GoalCfg, GoalKind
from unlatch.workflows.runs.loading import load


def drawer_task(scale: float):
    cfg = load("close_drawer")
    cfg = replace(cfg, robot=replace(cfg.robot, scale=scale), object=replace(cfg.object, instance="3", size=scale))
    return cfg, {"drawer": load_object(cfg.object, rng=np.random.default_rng(0))}


def test_places_openings_and_goals_in_metres_have_the_size_of_the_robots_tasks():
    (whole, _), (cfg, small) = drawer_task(1.0), drawer_task(0.5)
    made, task = scaled_task(cfg, small).task, whole.task
    for key in ("center_m", "half_extent_m", "height_m"):
        assert getattr(made.regions[0], key) == pytest.approx([0.5 * v for v in getattr(task.regions[0], key)])
    assert made.regions[0].yaw_deg == task.regions[0].yaw_deg
    assert made.openness[0].range == pytest.approx([0.5 * v for v in task.openness[0].range])
    assert made.goal[0].value == pytest.approx(0.5 * task.goal[0].value)


def test_how_high_an_object_is_to_be_lifted_has_the_size_of_the_robots_tasks():
    cfg, small = drawer_task(0.5)
    cfg = replace(cfg, task=replace(cfg.task, goal=[GoalCfg("drawer", kind=GoalKind.lifted, value=0.06)]))
    assert scaled_task(cfg, small).task.goal[0].value == pytest.approx(0.03)


@pytest.mark.integration
def test_the_hand_of_a_small_arm_steps_back_by_less():
    record = run(load("close_drawer", "robot.scale=0.7"))
    assert record.success
    name = "franka_panda.left"
    q = record.arrays[f"actions.{name}.joint_targets"][record.arrays["skills.phase"][1:] == Phase.retreat.value]
    first, last = (panda().kinematics.pose(each).p for each in q[[0, -1]])
    assert 0.05 < np.linalg.norm(last - first) < 0.0701


def test_shares_and_angles_stay():
    cfg = load("open_drawer")
    cfg = replace(cfg, robot=replace(cfg.robot, scale=0.5), object=replace(cfg.object, instance="3"))
    made = scaled_task(cfg, {"drawer": load_object(cfg.object, rng=np.random.default_rng(0))}).task
    assert [goal.value for goal in made.goal] == pytest.approx([cfg.task.goal[0].value, 0.5 * cfg.task.goal[1].value])
    cfg = load("close_microwave")
    cfg = replace(cfg, robot=replace(cfg.robot, scale=0.5), object=replace(cfg.object, instance="3"))
    made = scaled_task(cfg, {"microwave": load_object(cfg.object, rng=np.random.default_rng(0))}).task
    assert made.openness[0].range == cfg.task.openness[0].range
    assert made.goal[0].value == cfg.task.goal[0].value


def test_straight_approaches_are_shorter_and_turns_are_not():
    (entry,) = [skill for skill in load("open_drawer").skills if skill.name == "open"]
    setting = replace(entry.planner_setting, pre_actuation_motions=[["translate_z", -0.1], ["rotate", 0.3]])
    made = scaled_setting(setting, 0.5, in_metres=True)
    assert made.pre_actuation_motions == [["translate_z", -0.05], ["rotate", 0.3]]
    assert made.success_threshold == setting.success_threshold  # a share
    meters = replace(setting, success_mode=None, success_threshold=0.2)
    assert scaled_setting(meters, 0.5, in_metres=True).success_threshold == pytest.approx(0.1)


@pytest.mark.parametrize(("joints", "names"), [(7, ["given"]), (5, ["given", "given+loose"])])
def test_an_arm_of_five_joints_gets_each_strategy_a_second_time_with_the_fingertips_less_strict(joints, names):
    cfg, assets = drawer_task(1.0)
    part = assets["drawer"].articulation.parts["drawer"]
    (arm,) = cfg.robot.arms
    index = next(i for i, skill in enumerate(cfg.skills) if skill.name == "close")
    short = {
        key: getattr(arm, key)[:joints]
        for key in ("joints", "home", "lower", "upper", "max_velocity", "max_acceleration", "max_effort", "armature")
    }
    arm = replace(arm, **short, stiffness=arm.stiffness[:joints], counterbalance={})
    found = skill_strategies(cfg, index, assets, part=part, arm=arm, s=part.openness.open)
    assert [entry.strategy for entry in found] == names
    if joints < 6:
        strict, loose = (entry.planner_setting.constraint_list for entry in found)
        changed = [b for a, b in zip(strict, loose, strict=True) if a != b]
        assert [term.tolerance for term in changed] == [0.5]
        assert all("tool_side" in (term.axis_from_keypoint_name, term.axis_to_keypoint_name) for term in changed)


def test_the_size_of_objects_follows_the_robot_unless_it_is_stated():
    assert load("open_drawer").object.size is None
    assert load("open_drawer", "robot.scale=0.5").object.size == pytest.approx(0.5)
    assert load("open_drawer", "robot.scale=0.5", "object.size=0.8").object.size == pytest.approx(0.8)
