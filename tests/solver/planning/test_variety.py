"""Variety: with 0 the plan depends on the scene alone and changes little with it, with 1 plans of one scene differ."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from unlatch.simcore.geometry import matrix_from_axis_angle
from unlatch.solver.candidates import Variation, axis_rows, room_to_turn
from unlatch.solver.goal_solver import GoalSolver
from unlatch.solver.plan import PlanBudget, PlanRequest
from unlatch.solver.planner import plan_keyframes
from unlatch.solver.term import AxisRow


@pytest.fixture
def request_open(arm, drawer, open_setting):
    """A request to pull a drawer."""

    def make(variety, scene=None, **more):
        return PlanRequest(
            arm=arm,
            scene=drawer() if scene is None else scene,
            setting=open_setting,
            q_current=arm.q_home,
            follow_to=0.2,
            budget=PlanBudget(variety=variety),
            **more,
        )

    return make


def plan(request, checker=None, seed=0):
    result = plan_keyframes(request, checker, np.random.default_rng(seed))
    assert result.found, result
    return result


def goal_of(result):
    return next(frame for frame in result.keyframes if frame.label == "goal")


def transit_of(result):
    return next(segment.q for segment in result.segments if segment.kind == "transit")


def post_ahead(arm):
    """Something that blocks the straight transit of the request."""
    home = arm.q_home
    return lambda q, *_: ("panda_link4", "post") if 0.4 < np.linalg.norm(q - home) < 0.5 and q[1] > -0.7 else None


@pytest.mark.slow
def test_with_variety_0_other_random_numbers_give_the_same_plan(arm, request_open, toy_checker):
    first, second = (plan(request_open(0.0), toy_checker(post_ahead(arm)), seed=seed) for seed in (1, 2))
    assert len(transit_of(first)) > 2
    for a, b in zip(first.segments, second.segments, strict=True):
        np.testing.assert_array_equal(a.q, b.q)


@pytest.mark.slow
def test_with_variety_0_the_goal_does_not_depend_on_where_the_arm_starts(arm, request_open):
    elsewhere = arm.q_home + np.array([0.3, 0.2, -0.2, 0.1, 0.2, -0.1, 0.3])
    at_home, away = (plan(replace(request_open(0.0), q_current=q)) for q in (arm.q_home, elsewhere))
    np.testing.assert_array_equal(goal_of(at_home).q, goal_of(away).q)


@pytest.mark.slow
def test_with_variety_0_the_goal_changes_little_in_most_small_moves_of_the_object(request_open, drawer):
    goals = [goal_of(plan(request_open(0.0, drawer(y=0.1 + 0.005 * i)))).q for i in range(7)]
    steps = np.abs(np.diff(goals, axis=0)).max(axis=1)
    # a posture ends somewhere, and the arm must take another one there
    assert np.median(steps) < 0.05


@pytest.mark.slow
def test_with_variety_1_plans_of_one_scene_differ_and_meet_the_constraints(arm, request_open):
    request = request_open(1.0, grasp_room_m=0.04)
    results = [plan(request, seed=seed) for seed in range(6)]
    head = request.scene.keypoints["articulated_object_head"]
    along = request.scene.axes["link0_contact_axis"]
    shifts = [(goal_of(r).T_base_ee @ arm.tool_keypoints["tool_head"] - head) @ along for r in results]
    assert np.ptp(shifts) > 0.02
    assert np.abs(shifts).max() <= 0.04 + 2e-3
    frames = [sum(map(len, r.segments)) for r in results]
    assert max(frames) > 1.2 * min(frames)
    for result in results:
        assert all(r.satisfied for r in result.solution.residuals), result.solution
        for segment in result.segments:
            assert np.all(segment.q >= arm.q_lower - 1e-9)
            assert np.all(segment.q <= arm.q_upper + 1e-9)


@pytest.mark.slow
def test_with_variety_1_a_free_transit_leaves_the_straight_line(request_open, toy_checker):
    q = transit_of(plan(request_open(1.0), toy_checker(lambda *_: None)))
    line = (q[-1] - q[0]) / np.linalg.norm(q[-1] - q[0])
    beside = (q - q[0]) - np.outer((q - q[0]) @ line, line)
    assert np.linalg.norm(beside, axis=1).max() > 0.02


def test_listed_motions_plan_with_every_variety(arm, drawer, open_setting):
    setting = replace(open_setting, post_actuation_motions=[["move-backward", -0.1]])
    for variety in (0.0, 1.0):
        request = PlanRequest(
            arm=arm, scene=drawer(), setting=setting, q_current=arm.q_home, budget=PlanBudget(variety=variety)
        )
        plan(request)


@pytest.mark.parametrize(("variety", "slowest"), [(0.0, 1.0), (0.5, 0.75), (1.0, 0.5)])
def test_the_pace_lies_between_the_slowest_and_the_usual_one(variety, slowest):
    variation = Variation(variety, np.random.default_rng(0))
    paces = [variation.draw_pace() for _ in range(500)]
    assert min(paces) == pytest.approx(slowest, abs=0.01)
    assert max(paces) == pytest.approx(1.0, abs=0.01)


@pytest.mark.slow
def test_the_turn_of_the_hand_uses_the_room_of_its_constraints_evenly(arm, drawer, open_setting):
    scene = drawer()
    rows = tuple(term.row(dict(arm.tool_keypoints), scene) for term in open_setting.constraint_list)
    solver = GoalSolver(arm)
    goals = solver.goals([solver.run(rows, variant="+", q_reference=arm.q_home, starts=32)], arm.q_home)
    variation = Variation(1.0, np.random.default_rng(0))
    drawn = [variation.turn_hand(goals) for _ in range(200)]
    goal, _ = drawn[0]
    axis, low, high = room_to_turn(goal.T_base_ee.R, axis_rows(rows))
    assert high - low > 0.5
    angles = []
    for _, turn in drawn:
        R = turn @ goal.T_base_ee.R
        assert all(row.lower - 1e-9 <= row.angle(R) <= row.upper + 1e-9 for row in axis_rows(rows))
        angles.append(float(Rotation.from_matrix(turn).as_rotvec() @ axis))
    quarters, _ = np.histogram(angles, bins=4, range=(low, high))
    assert quarters.sum() == 200
    assert quarters.min() > 25


def test_two_fixed_axes_leave_no_room_to_turn():
    x, y, _ = np.eye(3)
    rows = [AxisRow(x, x, 0.0, 0.05, 0.0), AxisRow(y, y, 0.0, 0.05, 0.0)]
    assert room_to_turn(np.eye(3), rows) is None
    axis, low, high = room_to_turn(np.eye(3), [rows[0], AxisRow(y, y, 0.0, 0.5, 0.0)])
    np.testing.assert_array_equal(axis, x)
    assert (low, high) == pytest.approx((-0.45, 0.45))
    assert rows[0].angle(matrix_from_axis_angle(axis, high)) == pytest.approx(0.0)


def test_postures_are_tried_by_cost_with_variety_0_and_by_chance_with_1():
    costs = [1.0, 2.0, 3.0]
    assert Variation(0.0, np.random.default_rng(0)).posture_order(costs) == [0, 1, 2]
    variation = Variation(1.0, np.random.default_rng(0))
    firsts = np.bincount([variation.posture_order(costs)[0] for _ in range(300)], minlength=3)
    assert firsts.min() > 60
