"""A hand that is at the part already: whether it holds it as a goal would, and the plan that goes on from there."""

from dataclasses import replace

import numpy as np
import pytest

from unlatch.simcore.geometry import Pose, matrix_from_axis_angle
from unlatch.solver.explanation import describe_misfit
from unlatch.solver.plan import PlanRequest
from unlatch.solver.planner import plan_from_grasp, plan_keyframes
from unlatch.solver.scene import Slip, SlipMode, bar_axis
from unlatch.solver.setting_reader import read_planner_setting

BAR, FIXED = Slip(SlipMode.bar), Slip(SlipMode.fixed)


@pytest.fixture
def request_open(arm, door, open_setting):
    return PlanRequest(arm=arm, scene=door(s=0.05), setting=open_setting, q_current=arm.q_home, follow_to=0.8)


@pytest.fixture
def opened(request_open):
    """The request with the door at 0.3 rad in the hand, and the joints there."""
    plan = plan_keyframes(request_open, None, np.random.default_rng(0))
    follow = plan.segments[2]
    row = int(np.argmin(np.abs(follow.s - 0.3)))
    return replace(request_open, scene=request_open.scene.at(float(follow.s[row])), q_current=follow.q[row])


def rows(request):
    return tuple(term.row(request.arm.tool_keypoints, request.scene) for term in request.setting.constraint_list)


def turned(request, axis, angle):
    """The present pose, turned about the point between the fingertips."""
    T, tool = request.arm.kinematics.pose(request.q_current), request.arm.tool_keypoints["tool_head"]
    R = matrix_from_axis_angle(axis, angle) @ T.R
    return Pose(R, T @ tool - R @ tool)


def test_a_hand_that_leads_the_part_holds_it_as_a_goal_would(opened):
    assert describe_misfit(rows(opened), opened.arm.kinematics.pose(opened.q_current), BAR, opened) is None


def test_a_hand_may_be_turned_about_the_bar_only_where_it_may_turn_while_it_leads_the_part(opened):
    T = turned(opened, bar_axis(opened.scene), 0.6)
    assert describe_misfit(rows(opened), T, BAR, opened) is None
    refused = describe_misfit(rows(opened), T, FIXED, opened)
    assert refused is not None
    assert "rad beyond the angles of a grasp, expected at most 0.15" in refused


def test_a_hand_that_is_turned_about_its_approach_does_not_hold_the_part(opened):
    T = opened.arm.kinematics.pose(opened.q_current)
    assert describe_misfit(rows(opened), turned(opened, T.R[:, 2], 0.5), BAR, opened) is not None


def test_a_hand_beside_the_handle_does_not_hold_it_unless_there_is_room_along_the_bar(opened):
    T = opened.arm.kinematics.pose(opened.q_current)
    beside = Pose(T.R, T.p + 0.04 * bar_axis(opened.scene))
    refused = describe_misfit(rows(opened), beside, BAR, opened)
    assert refused is not None
    assert "mm off the place of its grasp, expected at most 15 mm" in refused
    assert describe_misfit(rows(opened), beside, BAR, replace(opened, grasp_room_m=0.05)) is None


def test_the_plan_from_a_grasp_leads_the_part_on_from_the_present_joints(arm, opened):
    plan = plan_from_grasp(opened, None, q_hand=opened.q_current)
    assert plan.found, plan
    follow, retreat = plan.segments
    assert (follow.kind, retreat.kind) == ("follow", "retreat")
    np.testing.assert_allclose(follow.q[0], opened.q_current, atol=1e-9)
    assert follow.s[0] == pytest.approx(opened.scene.s)
    assert follow.s[-1] == pytest.approx(0.8)
    assert [k.label for k in plan.keyframes] == ["current", "goal", "post"]
    assert plan.keyframes[plan.contact_pose_index].label == "goal"
    tool = arm.tool_keypoints["tool_head"]
    start = arm.kinematics.pose(follow.q[0]) @ tool
    R, t = opened.scene.joint.motion(0.8 - opened.scene.s)
    assert np.linalg.norm(arm.kinematics.pose(follow.q[-1]) @ tool - (R @ start + t)) < 1e-3


def test_a_grasp_without_a_free_way_on_has_no_plan(opened, toy_checker):
    hits = toy_checker(lambda q, s, gripper, allowed: ("hand", "wall") if s > 0.6 else None)
    plan = plan_from_grasp(opened, hits, q_hand=opened.q_current)
    assert not plan.found
    assert "while the part moves" in plan.diagnosis.message
    assert "hand meets wall" in plan.diagnosis.message


def test_a_hand_that_is_elsewhere_has_no_plan_from_its_grasp(arm, opened):
    plan = plan_from_grasp(opened, None, q_hand=arm.q_home)
    assert not plan.found
    assert "off the place of its grasp" in plan.diagnosis.message


def test_a_setting_that_names_post_motions_has_no_plan_from_a_grasp(opened):
    raw = {
        "success_threshold": 0.1,
        "constraint_list": opened.setting.constraint_list,
        "post_actuation_motions": [["translate_z", -0.1]],
    }
    setting = read_planner_setting(raw, where="skills[0].planner_setting")[0]
    plan = plan_from_grasp(replace(opened, setting=setting, follow_to=None), None, q_hand=opened.q_current)
    assert not plan.found
    assert plan.diagnosis.message == "this setting does not lead the part along its joint"
