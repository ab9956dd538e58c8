"""Whole motions: every part holds, the same request gives the same plan, and a refusal says why."""

from dataclasses import replace

import numpy as np
import pytest

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import Pose
from unlatch.solver.diagnosis import Diagnosis
from unlatch.solver.goal_search import GoalFinder
from unlatch.solver.path_solver import PathSolver
from unlatch.solver.plan import PlanBudget, PlanRequest
from unlatch.solver.plan_log import PlanLog
from unlatch.solver.planner import plan_keyframes
from unlatch.solver.scene import Slip, SlipMode
from unlatch.solver.setting_reader import read_planner_setting
from unlatch.solver.term_kinds import FrameAxisParallel


@pytest.fixture
def request_open(arm, door, open_setting):
    def make(setting=open_setting, follow_to=0.8, scene=None, **more):
        scene = door(s=0.05) if scene is None else scene
        return PlanRequest(arm=arm, scene=scene, setting=setting, q_current=arm.q_home, follow_to=follow_to, **more)

    return make


def plan(request, checker=None, seed=0):
    return plan_keyframes(request, checker, np.random.default_rng(seed))


def changed(setting, **more):
    """The constraints of a setting, with other values."""
    raw = {"success_threshold": 0.7, "constraint_list": setting.constraint_list, **more}
    return read_planner_setting(raw, where="skills[0].planner_setting")[0]


def test_an_open_plan_leads_to_the_handle_and_along_the_door(arm, request_open):
    request = request_open()
    result = plan(request)
    assert result.found, result
    assert [k.label for k in result.keyframes] == ["current", "pre", "goal", "post"]
    assert result.contact_pose_index == 2
    assert [segment.kind for segment in result.segments] == ["transit", "approach", "follow", "retreat"]
    goal = result.keyframes[2]
    head = request.scene.keypoints["articulated_object_head"]
    assert np.abs(goal.T_base_ee @ arm.tool_keypoints["tool_head"] - head).max() <= 1e-3 + 1e-6
    pre = result.keyframes[1].T_base_ee
    assert pre.is_close(goal.T_base_ee @ Pose.from_translation([0, 0, -0.1]), atol_m=1e-9)
    end = request.scene.at(0.8).keypoints["articulated_object_head"]
    assert np.linalg.norm(result.keyframes[3].T_base_ee @ arm.tool_keypoints["tool_head"] - end) < 2e-3
    for keyframe in result.keyframes:
        assert arm.kinematics.pose(keyframe.q).is_close(keyframe.T_base_ee, atol_m=5e-4, atol_rad=4e-3)


def test_segments_join_and_keep_limits_and_steps(arm, request_open):
    result = plan(request_open())
    np.testing.assert_allclose(result.segments[0].q[0], arm.q_home, atol=1e-9)
    for before, after in zip(result.segments[:-1], result.segments[1:], strict=True):
        np.testing.assert_allclose(before.q[-1], after.q[0], atol=1e-8)
    for segment in result.segments:
        assert np.all(segment.q >= arm.q_lower - 1e-3)
        assert np.all(segment.q <= arm.q_upper + 1e-3)
        assert (np.abs(np.diff(segment.q, axis=0)) * 30 <= 0.6 * arm.max_velocity + 1e-6).all()
        assert segment.T_base_ee_end.is_close(arm.kinematics.pose(segment.q[-1]))
    follow = result.segments[2]
    assert follow.s[0] == pytest.approx(0.05)
    assert follow.s[-1] == pytest.approx(0.8)
    assert np.abs(np.diff(follow.s)).max() * 30 <= 0.5 + 1e-6


def test_the_part_and_the_hand_move_together(arm, request_open):
    request = request_open()
    follow = plan(request).segments[2]
    tool = arm.tool_keypoints["tool_head"]
    start = arm.kinematics.pose(follow.q[0]) @ tool
    for q, s in zip(follow.q, follow.s, strict=True):
        R, t = request.scene.joint.motion(s - request.scene.s)
        assert np.linalg.norm(arm.kinematics.pose(q) @ tool - (R @ start + t)) < 1e-3


@pytest.mark.parametrize("hinge", [1.0, -1.0])
def test_close_plan_pushes_with_closed_fingers(arm, door, close_setting, toy_checker, hinge):
    openings = []
    checker = toy_checker(lambda q, s, gripper, allowed: openings.append(gripper))
    request = PlanRequest(
        arm=arm,
        scene=door(x=0.85, s=0.8, hinge=hinge),
        setting=close_setting,
        q_current=arm.q_home,
        follow_to=-0.03,
        closed_gripper=True,
    )
    result = plan(request, checker)
    assert result.found, result
    assert result.segments[2].s[-1] == pytest.approx(-0.03)
    assert set(openings) == {0.0}


def test_a_first_look_finds_a_roll_between_the_preferred_rolls_of_a_push(arm, door, request_open, close_setting):
    roll = {
        "name": "fingers aslant",
        "type": "frame_axis_parallel",
        "axis_from_keypoint_name": "tool_head",
        "axis_to_keypoint_name": "tool_side",
        "target_axis": "link0_rot_axis",
        "target_inner_product": 0.707,
        "tolerance": 0.1,
    }
    setting = changed(close_setting, constraint_list=[*close_setting.constraint_list, roll])
    look = {"budget": PlanBudget().first_look()}
    result = plan(request_open(setting, 0.4, door(x=0.85, s=0.8), closed_gripper=True, **look))
    assert result.found, result
    assert result.counts["goals"] > 5  # not the one that the slower solver gives
    # along and across the bar first, then as it may be
    assert result.counts["starts"] == 2 * PlanBudget().goal_starts * len(arm.tool_variants())


def test_drawer_is_pulled_along_its_axis(arm, drawer, open_setting):
    request = PlanRequest(arm=arm, scene=drawer(), setting=open_setting, q_current=arm.q_home, follow_to=0.2)
    result = plan(request)
    assert result.found, result
    goal, post = (result.keyframes[i].T_base_ee @ arm.tool_keypoints["tool_head"] for i in (2, 3))
    np.testing.assert_allclose(post - goal, 0.2 * request.scene.axes["link0_move_axis"], atol=1e-3)


def test_a_request_gives_the_same_plan_after_other_requests(request_open):
    first = plan(request_open())
    plan(request_open(follow_to=0.4))
    second = plan(request_open())
    assert [s.q.tobytes() for s in first.segments] == [s.q.tobytes() for s in second.segments]


def test_fingers_may_touch_the_part_at_contact_only(arm, request_open, toy_checker):
    def hit(q, s, gripper, allowed):
        tool = arm.kinematics.pose(q) @ arm.tool_keypoints["tool_head"]
        handle = scene.at(s).keypoints["articulated_object_head"]
        near = np.linalg.norm(tool - handle) < 0.02
        return ("panda_leftfinger", "box/door") if near and "box/door" not in allowed else None

    pairs = frozenset({("panda_leftfinger", "box/door"), ("panda_rightfinger", "box/door")})
    request = request_open(part_pairs=pairs)
    scene = request.scene
    assert plan(request, toy_checker(hit)).found
    refused = plan(request_open(), toy_checker(hit))
    assert not refused.found
    assert refused.diagnosis.evidence["pair"] == ["panda_leftfinger", "box/door"]


def test_a_goal_that_collides_is_passed_over_for_another(arm, request_open, toy_checker):
    free = plan(request_open()).keyframes[2].q
    checker = toy_checker(lambda q, *_: ("panda_link5", "shelf") if np.abs(q - free).max() < 0.3 else None)
    other = plan(request_open(), checker)
    assert other.found
    assert np.abs(other.keyframes[2].q - free).max() > 0.3


@pytest.mark.slow
def test_a_blocked_way_is_gone_around_and_said(arm, request_open, toy_checker):
    def post(q, s, gripper, allowed):
        p = arm.kinematics.pose(q).p
        return ("panda_hand", "post") if 0.33 < p[0] < 0.37 and p[2] > 0.3 and abs(p[1]) < 0.3 else None

    checker = toy_checker(post)
    result = plan(request_open(), checker)
    assert result.found, result
    assert all(post(q, None, None, None) is None for q in result.segments[0].q[::2])
    assert result.notices
    assert "is blocked by panda_hand and post" in result.notices[0]


@pytest.mark.slow
def test_out_of_reach_is_reported_in_the_words_of_the_yaml(arm, door, request_open):
    result = plan(request_open(scene=door(x=2.0)))
    assert not result.found
    assert result.segments == ()
    assert result.diagnosis.code == "plan_infeasible"
    assert "'fingers at the handle' is out by" in result.diagnosis.message
    assert result.diagnosis.evidence["constraints"]["fingers at the handle"]["out_by"] > 0.5
    assert "found=False" in repr(result)


@pytest.mark.slow
def test_a_contradiction_of_this_object_is_reported(request_open, open_setting, arm):
    extra = {
        "name": "from above",
        "type": "frame_axis_parallel",
        "axis_from_keypoint_name": "tool_head",
        "axis_to_keypoint_name": "tool_tail",
        "target_axis": "link0_rot_axis",
        "tolerance": 0.1,
    }
    setting = changed(open_setting, constraint_list=[*open_setting.constraint_list, extra])
    result = plan(request_open(setting=setting, budget=PlanBudget(goal_waves=1)))
    assert not result.found
    assert result.diagnosis.code == "plan_infeasible"
    assert "'from the front'" in result.diagnosis.message
    assert "'from above'" in result.diagnosis.message
    assert "90.0 degrees apart on this object" in result.diagnosis.message


def test_the_slower_solver_runs_if_no_found_goal_serves(request_open, monkeypatch):
    find = GoalFinder.find
    monkeypatch.setattr(GoalFinder, "find", lambda self, number: find(self, number)[:0])
    result = plan(request_open(follow_to=0.2, budget=PlanBudget(goal_waves=1)))
    assert result.solution.found
    assert result.found  # a search with a small budget had it from there: so has the plan with a larger one


def test_a_first_look_reports_how_far_it_came_without_a_worked_out_reason(request_open, door, monkeypatch):
    look = {"budget": PlanBudget().first_look()}
    monkeypatch.setattr("unlatch.solver.explanation.explain_goal", lambda *_: pytest.fail("a reason was worked out"))
    far = plan(request_open(scene=door(x=3.0), **look))
    assert far.diagnosis.code == "plan_infeasible"
    assert "at the nearest one, 'fingers at the handle' is out by" in far.diagnosis.message
    assert far.diagnosis.evidence["constraints"]["fingers at the handle"]["out_by"] > 0.5
    assert plan(request_open(**look)).found
    find = GoalFinder.find

    def without_goals(stage, number):
        find(stage, number)
        stage.best = replace(stage.best, found=False)
        return []

    with monkeypatch.context() as missing:
        missing.setattr(GoalFinder, "find", without_goals)
        assert plan(request_open(follow_to=0.2, **look)).found  # the waves found no goal: a slower solver is asked
    monkeypatch.setattr(GoalFinder, "find_exactly", lambda _: pytest.fail("a slower solver was asked"))
    lost = plan(request_open(scene=door(x=0.95), follow_to=-2.5, **look))
    assert lost.diagnosis.code == "path_infeasible"
    assert "the part can be led from 0.000 to -" in lost.diagnosis.message
    assert "stopped_by" not in lost.diagnosis.evidence


@pytest.mark.slow
def test_a_path_that_ends_early_says_where_and_why(arm, door, request_open):
    result = plan(request_open(scene=door(x=0.95), follow_to=-2.5, budget=PlanBudget(goal_waves=1)))
    assert not result.found
    assert result.diagnosis.code == "path_infeasible"
    assert "the part can be led from 0.000 to -" in result.diagnosis.message
    assert -2.5 < result.diagnosis.evidence["reached_s"] < 0.0


def test_a_path_that_collides_names_pair_and_opening(request_open, toy_checker):
    checker = toy_checker(lambda q, s, *_: ("panda_link6", "box/body") if s > 0.5 else None)
    result = plan(request_open(budget=PlanBudget(goal_waves=1)), checker)
    assert not result.found
    assert result.diagnosis.code == "path_infeasible"
    assert result.diagnosis.evidence["pair"] == ["panda_link6", "box/body"]
    assert result.diagnosis.evidence["s"] > 0.5


def test_an_obstacle_between_two_waypoints_is_detected(arm, request_open, toy_checker):
    free = plan(request_open())
    follow = next(segment for segment in free.segments if segment.kind == "follow")
    middle = 0.5 * (0.05 + 0.8)
    step = (0.8 - 0.05) / 24

    def thin(q, s, *_):
        # half a step wide, between the 12th and the 13th waypoint
        return ("panda_hand", "post") if s is not None and abs(s - (middle + 0.5 * step)) < 0.25 * step else None

    result = plan(request_open(budget=PlanBudget(goal_waves=1)), toy_checker(thin))
    assert follow.s[-1] == pytest.approx(0.8)
    assert not result.found
    assert result.diagnosis.evidence["pair"] == ["panda_hand", "post"]


def test_no_way_there_is_motion_blocked(arm, request_open, toy_checker):
    home = arm.q_home
    checker = toy_checker(lambda q, *_: ("panda_link3", "cage") if 0.1 < np.linalg.norm(q - home) < 0.35 else None)
    budget = PlanBudget(goal_waves=1, motion_queries=300, searches=1)
    result = plan(request_open(budget=budget), checker)
    assert not result.found
    assert result.diagnosis.code == "motion_blocked"
    assert "no way around panda_link3 and cage" in result.diagnosis.message


@pytest.mark.slow
def test_a_search_stops_once_its_work_is_spent_and_says_so(arm, request_open, toy_checker):
    def blocked(work):
        checker = toy_checker(
            lambda q, *_: ("panda_link3", "cage") if 0.1 < np.linalg.norm(q - arm.q_home) < 0.35 else None
        )
        return plan(request_open(budget=PlanBudget().with_work(work)), checker)

    short, whole = blocked(1000), blocked(10_000_000)
    assert not short.found
    assert not whole.found
    assert short.counts["queries"] < 0.5 * whole.counts["queries"]
    tried = {name: short.counts[name] for name in ("goals", "candidates", "queries")}
    assert short.diagnosis.evidence["stopped_after"] == tried
    assert f"stopped after {tried['goals']} goals" in short.diagnosis.message
    assert "stopped after" not in whole.diagnosis.message
    again = blocked(1000)
    assert (again.counts, again.diagnosis) == (short.counts, short.diagnosis)


@pytest.mark.slow
def test_a_larger_budget_is_not_advised_where_it_is_proved_that_no_pose_meets_the_constraints(arm, request_open):
    setting = request_open().setting
    down, up = (
        FrameAxisParallel("tool_tail", "tool_head", 0.1, target_axis=[0.0, 0.0, z], target_axis_frame="world")
        for z in (-1.0, 1.0)
    )
    setting = replace(setting, constraint_list=[*setting.constraint_list, down, up])
    budget = PlanBudget().with_work(5000)
    result = plan(request_open(setting=setting, budget=budget))
    assert budget.meter.is_spent
    assert result.diagnosis.is_proved
    assert "planner.work" not in result.diagnosis.message


def test_a_search_over_plans_leaves_out_that_one_of_them_stopped():
    diagnosis = Diagnosis("path_infeasible", "The path ends.", {"stage": "path"})
    stopped = diagnosis.with_stop({"goals": 1, "candidates": 2, "queries": 3})
    assert "stopped after 1 goals" in stopped.message
    assert stopped.without_stop() == diagnosis
    assert diagnosis.without_stop() == diagnosis


def test_plans_that_share_a_meter_share_its_work(request_open, toy_checker):
    budget = PlanBudget().with_work(2000)
    checker = toy_checker(lambda *_: ("panda_hand", "wall"))
    first, second = (plan(request_open(budget=budget), checker) for _ in range(2))
    assert first.counts["starts"] > second.counts["starts"] >= budget.goal_starts  # the first wave always runs


def test_listed_post_motions_are_followed(listed):
    result = plan(listed(["move-backward", -0.1], ["move-backward", -0.05]))
    assert result.found, result
    assert [k.label for k in result.keyframes] == ["current", "pre", "goal", "post", "post"]
    assert [k.s for k in result.keyframes][2:] == pytest.approx([0.0, 0.1, 0.15], abs=1e-6)
    moved = result.keyframes[4].T_base_ee.p - result.keyframes[2].T_base_ee.p
    np.testing.assert_allclose(moved, [-0.15, 0, 0], atol=1e-9)


@pytest.fixture
def listed(arm, drawer, open_setting):
    """A request with a list of post motions on a drawer."""

    def make(*motions, **more):
        setting = changed(
            open_setting,
            success_threshold=0.1,
            pre_actuation_motions=[["translate_z", -0.1]],
            post_actuation_motions=list(motions),
            **more,
        )
        return PlanRequest(arm=arm, scene=drawer(), setting=setting, q_current=arm.q_home)

    return make


def test_an_empty_list_of_post_motions_ends_at_contact(listed):
    result = plan(listed())
    assert result.found, result
    assert [k.label for k in result.keyframes] == ["current", "pre", "goal"]
    assert [segment.kind for segment in result.segments] == ["transit", "approach", "retreat"]


def test_the_fingers_may_meet_the_part_at_a_listed_post_motion(arm, listed, toy_checker):
    openings = []
    checker = toy_checker(lambda q, s, gripper, allowed: openings.append((s, gripper)))
    motions = (["move-up", 0.02], ["move-backward", -0.1])
    at_goal, later = plan(listed(*motions)), plan(listed(*motions, contact_pose_index=3), checker)
    assert later.found, later
    assert (at_goal.contact_pose_index, later.contact_pose_index) == (2, 3)
    ends = {
        name: {s.kind: s.T_base_ee_end.p for s in result.segments}
        for name, result in (("at_goal", at_goal), ("later", later))
    }
    np.testing.assert_allclose(ends["at_goal"]["approach"], at_goal.keyframes[2].T_base_ee.p, atol=1e-6)
    np.testing.assert_allclose(ends["later"]["approach"], later.keyframes[3].T_base_ee.p, atol=5e-4)
    np.testing.assert_allclose(ends["later"]["approach"] - later.keyframes[2].T_base_ee.p, [0.0, 0.0, 0.02], atol=1e-3)
    follow = next(s for s in later.segments if s.kind == "follow")
    assert (follow.s[0], follow.s[-1]) == pytest.approx((0.0, 0.1), abs=1e-6)
    assert {gripper for s, gripper in openings if s == 0.0} == {0.08}  # nothing is held before contact
    for before, after in zip(later.segments[:-1], later.segments[1:], strict=True):
        np.testing.assert_allclose(before.q[-1], after.q[0], atol=1e-8)


@pytest.mark.slow
def test_an_obstacle_between_goal_and_a_later_contact_is_reported(arm, drawer, listed, toy_checker):
    head = drawer().keypoints["articulated_object_head"]

    def lip(q, s, gripper, allowed):
        above = arm.kinematics.pose(q) @ arm.tool_keypoints["tool_head"] - head
        return ("panda_hand", "box/lip") if 0.02 < above[2] < 0.04 and np.abs(above[:2]).max() < 0.01 else None

    motions = (["move-up", 0.06], ["move-backward", -0.1])
    result = plan(listed(*motions, contact_pose_index=3), toy_checker(lip))
    assert not result.found
    assert result.diagnosis.evidence["ended_at"]["approach: panda_hand and box/lip"] > 0


def test_the_step_spaces_the_waypoints_of_the_parts_way(arm, door, open_setting, monkeypatch):
    counts = []
    follow = PathSolver.follow

    def counted(self, goals, scene, *, s_values, **more):
        counts.append(len(s_values) - 1)
        return follow(self, goals, scene, s_values=s_values, **more)

    monkeypatch.setattr(PathSolver, "follow", counted)
    fine = {}
    for step, wanted in ((None, 24), (0.01, 75), (0.05, 15), (0.5, 8)):
        setting = changed(open_setting, post_actuation_motions={"follow_joint": {"to": 0.8, "step": step}})
        request = PlanRequest(arm=arm, scene=door(s=0.05), setting=setting, q_current=arm.q_home)
        counts.clear()
        result = plan(request)
        assert result.found, result
        assert counts[-1] == request.waypoints() == wanted
        fine[step] = next(s for s in result.segments if s.kind == "follow")
    tool, scene = arm.tool_keypoints["tool_head"], door(s=0.05)
    off = {}
    for step, segment in fine.items():
        start = arm.kinematics.pose(segment.q[0]) @ tool
        places = [
            arm.kinematics.pose(q) @ tool - (R @ start + t)
            for q, (R, t) in zip(segment.q, (scene.joint.motion(s - 0.05) for s in segment.s), strict=True)
        ]
        off[step] = np.abs(places).max()
    assert off[0.01] < off[0.5]  # what the setting is for


def test_noise_on_the_goal_comes_from_the_generator(arm, request_open, open_setting):
    noisy = changed(open_setting, keypose_random_range={"position": {"x_min": -0.01, "x_max": 0.01, "z_min": -0.02}})
    exact = plan(request_open())
    first, second, again = (plan(request_open(setting=noisy), seed=seed) for seed in (1, 2, 1))
    assert first.found
    assert first.counts["noise_draws"] >= 1
    assert exact.counts["noise_draws"] == 0
    assert first.keyframes[1].q.tobytes() == again.keyframes[1].q.tobytes()
    assert not np.allclose(first.keyframes[1].q, second.keyframes[1].q)


def test_an_offset_moves_the_goal_in_the_ee_frame(arm, request_open, open_setting):
    setting = changed(open_setting, modify_actuation_motion=["translate_z", 0.01])
    request = request_open(setting=setting)
    goal = plan(request).keyframes[1].T_base_ee
    contact = goal @ (arm.tool_keypoints["tool_head"] - [0, 0, 0.01])
    assert np.linalg.norm(contact - request.scene.keypoints["articulated_object_head"]) < 2.5e-3


def test_a_given_slip_is_used(request_open):
    result = plan(request_open(slips=(Slip(SlipMode.gimbal),)))
    assert result.slip.mode is SlipMode.gimbal


def test_no_retreat_is_planned_if_none_is_asked(request_open):
    assert [s.kind for s in plan(request_open(retreat_m=0.0)).segments] == ["transit", "approach", "follow"]


def test_a_leaning_hand_that_pushed_the_part_steps_away_from_its_face(arm, door, request_open, close_setting):
    request = request_open(close_setting, 0.4, door(x=0.85, s=0.8), closed_gripper=True)
    result = plan(request)
    assert result.found, result
    follow, retreat = result.segments[2:]
    first, last = (arm.kinematics.pose(retreat.q[row]) for row in (0, -1))
    joint = request.scene.joint
    contact = first @ arm.tool_keypoints["tool_head"]
    way = np.sign(follow.s[-1] - follow.s[0]) * np.cross(joint.axis, contact - joint.origin)
    axis = first.R @ arm.approach_axis()
    lean = np.arccos(axis @ way / np.linalg.norm(way))
    back = np.arccos((first.p - last.p) @ way / np.linalg.norm(first.p - last.p) / np.linalg.norm(way))
    assert back == pytest.approx(0.5 * lean, abs=0.02)


def test_joints_of_the_wrong_length_are_refused(arm, door, open_setting):
    with pytest.raises(ConfigError, match="q_current must hold 7 finite joint positions"):
        PlanRequest(arm=arm, scene=door(), setting=open_setting, q_current=np.zeros(6))


def test_a_plan_as_plain_values(request_open):
    import json

    text = json.dumps(plan(request_open()).to_dict())
    assert json.loads(text)["keyframes"][2]["label"] == "goal"


def test_the_goal_nearest_to_the_preferred_joints_comes_first(arm, request_open):
    def find(request):
        return GoalFinder(request, PathSolver(arm), np.random.default_rng(0), PlanLog()).find(0)

    request = request_open()
    goals = find(request)
    assert np.abs(goals[-1].q - goals[0].q).max() > 0.5
    preferred = find(replace(request, q_preferred=goals[-1].q))
    np.testing.assert_allclose(preferred[0].q, goals[-1].q, atol=1e-3)
    varied = replace(request, q_preferred=goals[-1].q, budget=PlanBudget(variety=0.5))
    np.testing.assert_array_equal(varied.q_reference, arm.q_home)
