"""Whole motions: every part holds, the same request gives the same plan, and a refusal says why."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.solver.builders import (
    ACROSS,
    FROM_ABOVE,
    HEAD,
    MOVE,
    ROT,
    ToyChecker,
    assert_inside,
    assert_joins,
    axis,
    read_setting,
)
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import Pose, matrix_from_axis_angle
from unlatch.solver.diagnosis import Diagnosis
from unlatch.solver.explanation import describe_misfit
from unlatch.solver.goal_search import GoalFinder
from unlatch.solver.path_solver import PathSolver
from unlatch.solver.plan import PlanBudget, PlanRequest
from unlatch.solver.plan_log import PlanLog
from unlatch.solver.planner import plan_from_grasp, plan_keyframes
from unlatch.solver.scene import Slip, SlipMode, bar_axis
from unlatch.solver.term_kinds import FrameAxisParallel

ONE_WAVE = PlanBudget(goal_waves=1)


@pytest.fixture
def request_open(arm, door, open_setting):
    def make(setting=open_setting, follow_to=0.8, scene=None, **more):
        scene = door(s=0.05) if scene is None else scene
        return PlanRequest(arm=arm, scene=scene, setting=setting, q_current=arm.q_home, follow_to=follow_to, **more)

    return make


def plan(request, hit=None, seed=0):
    return plan_keyframes(request, None if hit is None else ToyChecker(hit), np.random.default_rng(seed))


def found(request, hit=None, seed=0):
    result = plan(request, hit, seed)
    assert result.found, result
    return result


def follow_of(result):
    return next(segment for segment in result.segments if segment.kind == "follow")


def changed(setting, *extra, **more):
    """The constraints of a setting and further ones, with other values."""
    return read_setting(*setting.constraint_list, *extra, **more)


def test_an_open_plan_leads_to_the_handle_and_along_the_door_inside_limits_and_steps(arm, request_open):
    request = request_open()
    result = found(request)
    assert [k.label for k in result.keyframes] == ["current", "pre", "goal", "post"]
    assert result.contact_pose_index == 2
    assert [segment.kind for segment in result.segments] == ["transit", "approach", "follow", "retreat"]
    goal, tool = result.keyframes[2], arm.tool_keypoints["tool_head"]
    assert np.abs(goal.T_base_ee @ tool - request.scene.keypoints[HEAD]).max() <= 1e-3 + 1e-6
    assert result.keyframes[1].T_base_ee.is_close(goal.T_base_ee @ Pose.from_translation([0, 0, -0.1]), atol_m=1e-9)
    end = request.scene.at(0.8).keypoints[HEAD]
    assert np.linalg.norm(result.keyframes[3].T_base_ee @ tool - end) < 2e-3
    for keyframe in result.keyframes:
        assert arm.kinematics.pose(keyframe.q).is_close(keyframe.T_base_ee, atol_m=5e-4, atol_rad=4e-3)
    np.testing.assert_allclose(result.segments[0].q[0], arm.q_home, atol=1e-9)
    assert_joins(result.segments)
    for segment in result.segments:
        assert_inside(arm, segment.q, beyond=1e-3)
        # where a motion flows into the next one, both speeds add up
        share = 0.9 if segment.kind in ("transit", "approach") else request.speed_scale
        assert (np.abs(np.diff(segment.q, axis=0)) * 30 <= share * arm.max_velocity + 1e-6).all()
        assert segment.flows or segment.T_base_ee_end.is_close(arm.kinematics.pose(segment.q[-1]))
    assert [segment.flows for segment in result.segments] == [True, False, False, False]
    follow = result.segments[2]
    assert (follow.s[0], follow.s[-1]) == pytest.approx((0.05, 0.8))
    assert np.abs(np.diff(follow.s)).max() * 30 <= 0.5 + 1e-6
    start = arm.kinematics.pose(follow.q[0]) @ tool
    for q, s in zip(follow.q, follow.s, strict=True):  # the part and the hand move together
        R, t = request.scene.joint.motion(s - request.scene.s)
        assert np.linalg.norm(arm.kinematics.pose(q) @ tool - (R @ start + t)) < 1e-3
    assert json.loads(json.dumps(result.to_dict()))["keyframes"][2]["label"] == "goal"


@pytest.mark.parametrize("hinge", [1.0, -1.0])
def test_close_plan_pushes_with_closed_fingers(door, request_open, close_setting, hinge):
    openings = []
    request = request_open(close_setting, -0.03, door(x=0.85, s=0.8, hinge=hinge), closed_gripper=True)
    result = found(request, lambda q, s, gripper, allowed: openings.append(gripper))
    assert result.segments[2].s[-1] == pytest.approx(-0.03)
    assert set(openings) == {0.0}


def test_a_first_look_finds_a_roll_between_the_preferred_rolls_of_a_push(arm, door, request_open, close_setting):
    roll = axis(ACROSS, name="fingers aslant", target_axis=ROT, target_inner_product=0.707)
    look = {"budget": PlanBudget().first_look(), "closed_gripper": True}
    result = found(request_open(changed(close_setting, roll), 0.4, door(x=0.85, s=0.8), **look))
    assert result.counts["goals"] > 5  # not the one that the slower solver gives
    # along and across the bar first, then as it may be
    assert result.counts["starts"] == 2 * PlanBudget().goal_starts * len(arm.tool_variants())


def test_drawer_is_pulled_along_its_axis(arm, drawer, request_open):
    request = request_open(follow_to=0.2, scene=drawer())
    result = found(request)
    goal, post = (result.keyframes[i].T_base_ee @ arm.tool_keypoints["tool_head"] for i in (2, 3))
    np.testing.assert_allclose(post - goal, 0.2 * request.scene.axes[MOVE], atol=1e-3)


def test_a_request_gives_the_same_plan_after_other_requests(request_open):
    first, _, second = (found(request_open(follow_to=s)) for s in (0.8, 0.4, 0.8))
    assert [s.q.tobytes() for s in first.segments] == [s.q.tobytes() for s in second.segments]


def test_fingers_may_touch_the_part_at_contact_only(arm, request_open):
    def hit(q, s, gripper, allowed):
        tool = arm.kinematics.pose(q) @ arm.tool_keypoints["tool_head"]
        near = np.linalg.norm(tool - request.scene.at(s).keypoints[HEAD]) < 0.02
        return ("panda_leftfinger", "box/door") if near and "box/door" not in allowed else None

    fingers = ("panda_leftfinger", "panda_rightfinger")
    request = request_open(part_pairs=frozenset((finger, "box/door") for finger in fingers), budget=ONE_WAVE)
    found(request, hit)
    refused = plan(replace(request, part_pairs=frozenset()), hit)
    assert not refused.found
    assert refused.diagnosis.evidence["pair"] == ["panda_leftfinger", "box/door"]


def test_a_goal_that_collides_is_passed_over_for_another(request_open):
    free = found(request_open()).keyframes[2].q
    other = found(request_open(), lambda q, *_: ("panda_link5", "shelf") if np.abs(q - free).max() < 0.3 else None)
    assert np.abs(other.keyframes[2].q - free).max() > 0.3


@pytest.mark.slow
def test_a_blocked_way_is_gone_around_and_said(arm, request_open):
    def post(q, *_):
        p = arm.kinematics.pose(q).p
        return ("panda_hand", "post") if 0.33 < p[0] < 0.37 and p[2] > 0.3 and abs(p[1]) < 0.3 else None

    result = found(request_open(), post)
    assert all(post(q) is None for q in result.segments[0].q[::2])
    assert "is blocked by panda_hand and post" in result.notices[0]


@pytest.mark.slow
def test_a_request_that_no_goal_meets_says_so_in_the_words_of_the_yaml(door, request_open, open_setting):
    far = plan(request_open(scene=door(x=2.0)))
    assert (far.found, far.segments, far.diagnosis.code) == (False, (), "plan_infeasible")
    assert "'fingers at the handle' is out by" in far.diagnosis.message
    assert far.diagnosis.evidence["constraints"]["fingers at the handle"]["out_by"] > 0.5
    assert "found=False" in repr(far)
    contradicting = plan(request_open(changed(open_setting, FROM_ABOVE), budget=ONE_WAVE))
    assert (contradicting.found, contradicting.diagnosis.code) == (False, "plan_infeasible")
    assert "90.0 degrees apart on this object" in contradicting.diagnosis.message


def test_the_slower_solver_runs_if_no_found_goal_serves(request_open, monkeypatch):
    find = GoalFinder.find
    monkeypatch.setattr(GoalFinder, "find", lambda self, number: find(self, number)[:0])
    result = found(request_open(follow_to=0.2, budget=ONE_WAVE))
    assert result.solution.found  # a search with a small budget had it from there: so has one with a larger budget


def test_a_first_look_reports_how_far_it_came_without_a_worked_out_reason(request_open, door, monkeypatch):
    look = {"budget": PlanBudget().first_look()}
    monkeypatch.setattr("unlatch.solver.explanation.explain_goal", lambda *_: pytest.fail("a reason was worked out"))
    far = plan(request_open(scene=door(x=3.0), **look))
    assert far.diagnosis.code == "plan_infeasible"
    assert "at the nearest one, 'fingers at the handle' is out by" in far.diagnosis.message
    assert far.diagnosis.evidence["constraints"]["fingers at the handle"]["out_by"] > 0.5
    found(request_open(**look))
    find = GoalFinder.find

    def without_goals(stage, number):
        find(stage, number)
        stage.best = replace(stage.best, found=False)
        return []

    with monkeypatch.context() as missing:
        missing.setattr(GoalFinder, "find", without_goals)
        found(request_open(follow_to=0.2, **look))  # the waves found no goal: a slower solver is asked
    monkeypatch.setattr(GoalFinder, "find_exactly", lambda _: pytest.fail("a slower solver was asked"))
    lost = plan(request_open(scene=door(x=0.95), follow_to=-2.5, **look))
    assert lost.diagnosis.code == "path_infeasible"
    assert "the part can be led from 0.000 to -" in lost.diagnosis.message
    assert "stopped_by" not in lost.diagnosis.evidence


@pytest.mark.slow
def test_a_path_that_ends_early_says_where(door, request_open):
    result = plan(request_open(scene=door(x=0.95), follow_to=-2.5, budget=ONE_WAVE))
    assert (result.found, result.diagnosis.code) == (False, "path_infeasible")
    assert "the part can be led from 0.000 to -" in result.diagnosis.message
    assert -2.5 < result.diagnosis.evidence["reached_s"] < 0.0


@pytest.mark.slow
def test_an_obstacle_between_two_waypoints_is_detected(request_open):
    step = (0.8 - 0.05) / 24
    between = 0.5 * (0.05 + 0.8) + 0.5 * step  # the 12th and the 13th

    def thin(q, s, *_):
        return ("panda_hand", "post") if s is not None and abs(s - between) < 0.25 * step else None

    result = plan(request_open(budget=ONE_WAVE), thin)
    assert not result.found
    assert result.diagnosis.evidence["pair"] == ["panda_hand", "post"]


@pytest.mark.slow
def test_a_search_stops_once_its_work_is_spent_and_says_so(arm, request_open):
    def blocked(work):
        cage = lambda q, *_: ("panda_link3", "cage") if 0.1 < np.linalg.norm(q - arm.q_home) < 0.35 else None  # noqa: E731
        return plan(request_open(budget=PlanBudget().with_work(work)), cage)

    short, whole = blocked(1000), blocked(10_000_000)
    assert (short.found, whole.found) == (False, False)
    assert short.counts["queries"] < 0.5 * whole.counts["queries"]
    tried = {name: short.counts[name] for name in ("goals", "candidates", "queries")}
    assert short.diagnosis.evidence["stopped_after"] == tried
    assert f"stopped after {tried['goals']} goals" in short.diagnosis.message
    assert "stopped after" not in whole.diagnosis.message
    again = blocked(1000)
    assert (again.counts, again.diagnosis) == (short.counts, short.diagnosis)


@pytest.mark.slow
def test_a_larger_budget_is_not_advised_where_it_is_proved_that_no_pose_meets_the_constraints(request_open):
    setting, world = request_open().setting, {"target_axis_frame": "world"}
    down, up = (FrameAxisParallel("tool_tail", "tool_head", 0.1, target_axis=[0, 0, z], **world) for z in (-1.0, 1.0))
    setting = replace(setting, constraint_list=[*setting.constraint_list, down, up])
    budget = PlanBudget().with_work(5000)
    result = plan(request_open(setting, budget=budget))
    assert budget.meter.is_spent
    assert result.diagnosis.is_proved
    assert "planner.work" not in result.diagnosis.message


def test_a_search_over_plans_leaves_out_that_one_of_them_stopped():
    diagnosis = Diagnosis("path_infeasible", "The path ends.", {"stage": "path"})
    stopped = diagnosis.with_stop({"goals": 1, "candidates": 2, "queries": 3})
    assert "stopped after 1 goals" in stopped.message
    assert stopped.without_stop() == diagnosis.without_stop() == diagnosis


def test_plans_that_share_a_meter_share_its_work(request_open):
    budget = PlanBudget().with_work(2000)
    first, second = (plan(request_open(budget=budget), lambda *_: ("panda_hand", "wall")) for _ in range(2))
    assert first.counts["starts"] > second.counts["starts"] >= budget.goal_starts  # the first wave always runs


@pytest.fixture
def listed(drawer, request_open, open_setting):
    """A request with a list of post motions on a drawer."""

    def make(*motions, **more):
        values = {"pre_actuation_motions": [["translate_z", -0.1]], "post_actuation_motions": list(motions), **more}
        return request_open(changed(open_setting, threshold=0.1, **values), None, drawer())

    return make


def test_listed_post_motions_are_followed_and_an_empty_list_ends_at_contact(listed):
    result = found(listed(["move-backward", -0.1], ["move-backward", -0.05]))
    assert [k.label for k in result.keyframes] == ["current", "pre", "goal", "post", "post"]
    assert [k.s for k in result.keyframes][2:] == pytest.approx([0.0, 0.1, 0.15], abs=1e-6)
    moved = result.keyframes[4].T_base_ee.p - result.keyframes[2].T_base_ee.p
    np.testing.assert_allclose(moved, [-0.15, 0, 0], atol=1e-9)
    short = found(listed())
    assert [k.label for k in short.keyframes] == ["current", "pre", "goal"]
    assert [segment.kind for segment in short.segments] == ["transit", "approach", "retreat"]


def test_the_fingers_may_meet_the_part_at_a_listed_post_motion(listed):
    openings, motions = [], (["move-up", 0.02], ["move-backward", -0.1])
    at_goal = found(listed(*motions))
    later = found(listed(*motions, contact_pose_index=3), lambda q, s, gripper, _: openings.append((s, gripper)))
    assert (at_goal.contact_pose_index, later.contact_pose_index) == (2, 3)
    first, second = (
        next(s.T_base_ee_end.p for s in result.segments if s.kind == "approach") for result in (at_goal, later)
    )
    np.testing.assert_allclose(first, at_goal.keyframes[2].T_base_ee.p, atol=1e-6)
    np.testing.assert_allclose(second, later.keyframes[3].T_base_ee.p, atol=5e-4)
    np.testing.assert_allclose(second - later.keyframes[2].T_base_ee.p, [0.0, 0.0, 0.02], atol=1e-3)
    follow = follow_of(later)
    assert (follow.s[0], follow.s[-1]) == pytest.approx((0.0, 0.1), abs=1e-6)
    assert {gripper for s, gripper in openings if s == 0.0} == {0.08}  # nothing is held before contact
    assert_joins(later.segments)


@pytest.mark.slow
def test_an_obstacle_between_goal_and_a_later_contact_is_reported(arm, drawer, listed):
    def lip(q, *_):
        above = arm.kinematics.pose(q) @ arm.tool_keypoints["tool_head"] - drawer().keypoints[HEAD]
        return ("panda_hand", "box/lip") if 0.02 < above[2] < 0.04 and np.abs(above[:2]).max() < 0.01 else None

    result = plan(listed(["move-up", 0.06], ["move-backward", -0.1], contact_pose_index=3), lip)
    assert not result.found
    assert result.diagnosis.evidence["ended_at"]["approach: panda_hand and box/lip"] > 0


STEPS = {None: 24, 0.01: 75, 0.05: 15, 0.5: 8}
"""Waypoints by the largest joint step between two [rad]; without one, as many as the budget gives."""


@pytest.mark.parametrize("step", STEPS)
def test_the_step_of_a_setting_tells_how_many_waypoints_are_planned(step, request_open, open_setting):
    along = {"follow_joint": {"to": 0.8, "step": step}}
    assert request_open(changed(open_setting, post_actuation_motions=along), None).waypoints() == STEPS[step]


@pytest.mark.slow
def test_the_step_spaces_the_waypoints_of_the_parts_way(arm, request_open, open_setting, monkeypatch):
    counts, follow = [], PathSolver.follow

    def counted(self, goals, scene, *, s_values, **more):
        counts.append(len(s_values) - 1)
        return follow(self, goals, scene, s_values=s_values, **more)

    monkeypatch.setattr(PathSolver, "follow", counted)
    tool, off = arm.tool_keypoints["tool_head"], {}
    for step, wanted in STEPS.items():
        along = {"follow_joint": {"to": 0.8, "step": step}}
        request = request_open(changed(open_setting, post_actuation_motions=along), None)
        counts.clear()
        segment = follow_of(found(request))
        assert counts[-1] == request.waypoints() == wanted
        start, turns = (
            arm.kinematics.pose(segment.q[0]) @ tool,
            (request.scene.joint.motion(s - 0.05) for s in segment.s),
        )
        apart = [arm.kinematics.pose(q) @ tool - (R @ start + t) for q, (R, t) in zip(segment.q, turns, strict=True)]
        off[step] = np.abs(apart).max()
    assert off[0.01] < off[0.5]  # what the setting is for


def test_noise_on_the_goal_comes_from_the_generator(request_open, open_setting):
    noise = {"position": {"x_min": -0.01, "x_max": 0.01, "z_min": -0.02}}
    noisy, exact = changed(open_setting, keypose_random_range=noise), plan(request_open())
    first, second, again = (plan(request_open(noisy), seed=seed) for seed in (1, 2, 1))
    assert first.found
    assert (first.counts["noise_draws"] >= 1, exact.counts["noise_draws"]) == (True, 0)
    assert first.keyframes[1].q.tobytes() == again.keyframes[1].q.tobytes()
    assert not np.allclose(first.keyframes[1].q, second.keyframes[1].q)


def test_an_offset_moves_the_goal_in_the_ee_frame(arm, request_open, open_setting):
    request = request_open(changed(open_setting, modify_actuation_motion=["translate_z", 0.01]))
    contact = plan(request).keyframes[1].T_base_ee @ (arm.tool_keypoints["tool_head"] - [0, 0, 0.01])
    assert np.linalg.norm(contact - request.scene.keypoints[HEAD]) < 2.5e-3


def test_a_turn_of_the_noise_is_about_the_hand_and_in_degrees(arm, request_open, open_setting):
    turned = changed(open_setting, keypose_random_range={"orientation": {"x_min": 12.0, "x_max": 12.0}})
    request, head = request_open(turned), arm.tool_keypoints["tool_head"]
    off_m = np.linalg.norm(found(request).keyframes[1].T_base_ee @ head - request.scene.keypoints[HEAD])
    assert off_m == pytest.approx(2.0 * np.linalg.norm(head) * np.sin(np.radians(6.0)), abs=2.5e-3)


def test_a_given_slip_is_used_and_no_retreat_is_planned_if_none_is_asked(request_open):
    result = plan(request_open(slips=(Slip(SlipMode.gimbal),), retreat_m=0.0))
    assert result.slip.mode is SlipMode.gimbal
    assert [s.kind for s in result.segments] == ["transit", "approach", "follow"]


def test_a_leaning_hand_that_pushed_the_part_steps_away_from_its_face(arm, door, request_open, close_setting):
    request = request_open(close_setting, 0.4, door(x=0.85, s=0.8), closed_gripper=True)
    follow, retreat = found(request).segments[2:]
    first, last = (arm.kinematics.pose(retreat.q[row]) for row in (0, -1))
    joint = request.scene.joint
    contact = first @ arm.tool_keypoints["tool_head"]
    way = np.sign(follow.s[-1] - follow.s[0]) * np.cross(joint.axis, contact - joint.origin)
    way, back = way / np.linalg.norm(way), (first.p - last.p) / np.linalg.norm(first.p - last.p)
    lean = np.arccos(first.R @ arm.approach_axis() @ way)
    assert np.arccos(back @ way) == pytest.approx(0.5 * lean, abs=0.02)


def test_joints_of_the_wrong_length_are_refused(request_open):
    with pytest.raises(ConfigError, match="q_current must hold 7 finite joint positions"):
        replace(request_open(), q_current=np.zeros(6))


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


BAR, FIXED = Slip(SlipMode.bar), Slip(SlipMode.fixed)


@pytest.fixture
def opened(request_open):
    """The request with the door at 0.3 rad in the hand, and the joints there."""
    request = request_open()
    follow = follow_of(plan(request))
    row = int(np.argmin(np.abs(follow.s - 0.3)))
    return replace(request, scene=request.scene.at(float(follow.s[row])), q_current=follow.q[row])


def misfit(request, T, slip=BAR):
    rows = tuple(term.row(request.arm.tool_keypoints, request.scene) for term in request.setting.constraint_list)
    return describe_misfit(rows, T, slip, request)


def test_a_hand_holds_the_part_as_a_goal_would_only_in_its_place_and_at_its_angles(arm, opened):
    T, tool, bar = arm.kinematics.pose(opened.q_current), arm.tool_keypoints["tool_head"], bar_axis(opened.scene)

    def turned(axis, angle):
        """The present pose, turned about the point between the fingertips."""
        R = matrix_from_axis_angle(axis, angle) @ T.R
        return Pose(R, T @ tool - R @ tool)

    assert misfit(opened, T) is None
    # it may be turned about the bar only where it may turn while it leads the part
    assert misfit(opened, turned(bar, 0.6)) is None
    assert "rad beyond the angles of a grasp, expected at most 0.15" in misfit(opened, turned(bar, 0.6), FIXED)
    assert misfit(opened, turned(T.R[:, 2], 0.5)) is not None
    beside = Pose(T.R, T.p + 0.04 * bar)
    assert "mm off the place of its grasp, expected at most 15 mm" in misfit(opened, beside)
    assert misfit(replace(opened, grasp_room_m=0.05), beside) is None


def test_the_plan_from_a_grasp_leads_the_part_on_from_the_present_joints(arm, opened):
    plan = plan_from_grasp(opened, None, q_hand=opened.q_current)
    assert plan.found, plan
    follow, retreat = plan.segments
    assert (follow.kind, retreat.kind) == ("follow", "retreat")
    np.testing.assert_allclose(follow.q[0], opened.q_current, atol=1e-9)
    assert (follow.s[0], follow.s[-1]) == pytest.approx((opened.scene.s, 0.8))
    assert [k.label for k in plan.keyframes] == ["current", "goal", "post"]
    assert plan.contact_pose_index == 1
    start, end = (arm.kinematics.pose(follow.q[row]) @ arm.tool_keypoints["tool_head"] for row in (0, -1))
    R, t = opened.scene.joint.motion(0.8 - opened.scene.s)
    assert np.linalg.norm(end - (R @ start + t)) < 1e-3


def test_a_grasp_from_which_nothing_leads_on_has_no_plan(arm, opened):
    listed = changed(opened.setting, threshold=0.1, post_actuation_motions=[["translate_z", -0.1]])
    wall = ToyChecker(lambda q, s, *_: ("hand", "wall") if s > 0.6 else None)
    for request, checker, q, words in (
        (opened, wall, opened.q_current, ("while the part moves", "hand meets wall")),
        (opened, None, arm.q_home, ("off the place of its grasp",)),
        (
            replace(opened, setting=listed, follow_to=None),
            None,
            opened.q_current,
            ("this setting does not lead the part along its joint",),
        ),
    ):
        plan = plan_from_grasp(request, checker, q_hand=q)
        assert not plan.found
        assert all(each in plan.diagnosis.message for each in words), plan.diagnosis.message
