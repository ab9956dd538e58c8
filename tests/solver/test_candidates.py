"""Variety: with 0 the plan depends on the scene alone and changes little with it, with 1 plans of one scene differ."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tests.solver.builders import CONTACT, HEAD, ToyChecker, X, Y, assert_inside, nothing_near
from unlatch.simcore.geometry import matrix_from_axis_angle
from unlatch.solver.candidates import Variation, axis_rows, room_to_turn
from unlatch.solver.goal_solver import GoalSolver
from unlatch.solver.plan import PlanBudget, PlanRequest
from unlatch.solver.planner import plan_keyframes
from unlatch.solver.term import AxisRow


@pytest.fixture
def pulled(arm, drawer, open_setting):
    """Plans to pull a drawer."""

    def make(variety, hit=None, *, seed=0, scene=None, setting=open_setting, **more):
        where = {"arm": arm, "scene": drawer() if scene is None else scene, "q_current": arm.q_home}
        request = PlanRequest(
            setting=setting, budget=PlanBudget(variety=variety), **{**where, "follow_to": 0.2, **more}
        )
        result = plan_keyframes(request, None if hit is None else ToyChecker(hit), np.random.default_rng(seed))
        assert result.found, result
        return result

    return make


def goal_of(result):
    return next(frame for frame in result.keyframes if frame.label == "goal")


def transit_of(result):
    return next(segment.q for segment in result.segments if segment.kind == "transit")


@pytest.mark.slow
def test_with_variety_0_the_plan_depends_neither_on_random_numbers_nor_its_goal_on_the_start(arm, pulled):
    def post(q, *_):
        off = np.linalg.norm(q - arm.q_home)
        return ("panda_link4", "post") if 0.4 < off < 0.5 and q[1] > -0.7 else None

    first, second = (pulled(0.0, post, seed=seed) for seed in (1, 2))
    assert len(transit_of(first)) > 2  # the straight transit is blocked
    for a, b in zip(first.segments, second.segments, strict=True):
        np.testing.assert_array_equal(a.q, b.q)
    elsewhere = arm.q_home + np.array([0.3, 0.2, -0.2, 0.1, 0.2, -0.1, 0.3])
    np.testing.assert_array_equal(goal_of(pulled(0.0, q_current=elsewhere)).q, goal_of(pulled(0.0)).q)


@pytest.mark.slow
def test_with_variety_0_the_goal_changes_little_in_most_small_moves_of_the_object(pulled, drawer):
    goals = [goal_of(pulled(0.0, scene=drawer(y=0.1 + 0.005 * i))).q for i in range(7)]
    # a posture ends somewhere, and the arm must take another one there
    assert np.median(np.abs(np.diff(goals, axis=0)).max(axis=1)) < 0.05


@pytest.mark.slow
def test_with_variety_1_plans_of_one_scene_differ_and_meet_the_constraints(arm, pulled, drawer):
    results, scene = [pulled(1.0, seed=seed, grasp_room_m=0.04) for seed in range(6)], drawer()
    heads = [goal_of(r).T_base_ee @ arm.tool_keypoints["tool_head"] for r in results]
    shifts = [(head - scene.keypoints[HEAD]) @ scene.axes[CONTACT] for head in heads]
    assert np.ptp(shifts) > 0.02
    assert np.abs(shifts).max() <= 0.04 + 2e-3
    frames = [sum(map(len, r.segments)) for r in results]
    assert max(frames) > 1.2 * min(frames)
    for result in results:
        assert all(r.satisfied for r in result.solution.residuals), result.solution
        for segment in result.segments:
            assert_inside(arm, segment.q, beyond=1e-9)
    q = transit_of(pulled(1.0, nothing_near))  # a free transit leaves the straight line
    line = (q[-1] - q[0]) / np.linalg.norm(q[-1] - q[0])
    beside = (q - q[0]) - np.outer((q - q[0]) @ line, line)
    assert np.linalg.norm(beside, axis=1).max() > 0.02


@pytest.mark.parametrize("variety", [0.0, 1.0])
def test_listed_motions_plan_with_every_variety(pulled, open_setting, variety):
    setting = replace(open_setting, post_actuation_motions=[["move-backward", -0.1]])
    assert pulled(variety, setting=setting, follow_to=None).found


@pytest.mark.parametrize(("variety", "slowest"), [(0.0, 1.0), (0.5, 0.75), (1.0, 0.5)])
def test_the_pace_lies_between_the_slowest_and_the_usual_one(variety, slowest):
    variation = Variation(variety, np.random.default_rng(0))
    paces = [variation.draw_pace() for _ in range(500)]
    assert (min(paces), max(paces)) == pytest.approx((slowest, 1.0), abs=0.01)


@pytest.mark.slow
def test_the_turn_of_the_hand_uses_the_room_of_its_constraints_evenly(arm, drawer, open_setting):
    rows = tuple(term.row(dict(arm.tool_keypoints), drawer()) for term in open_setting.constraint_list)
    solver = GoalSolver(arm)
    goals = solver.goals([solver.run(rows, variant="+", q_reference=arm.q_home, starts=32)], arm.q_home)
    variation = Variation(1.0, np.random.default_rng(0))
    drawn = [variation.turn_hand(goals) for _ in range(200)]
    goal, _ = drawn[0]
    axis, low, high = room_to_turn(goal.T_base_ee.R, axis_rows(rows))
    assert high - low > 0.5
    for _, turn in drawn:
        R = turn @ goal.T_base_ee.R
        assert all(row.lower - 1e-9 <= row.angle(R) <= row.upper + 1e-9 for row in axis_rows(rows))
    angles = [float(Rotation.from_matrix(turn).as_rotvec() @ axis) for _, turn in drawn]
    quarters, _ = np.histogram(angles, bins=4, range=(low, high))
    assert quarters.sum() == 200
    assert quarters.min() > 25


def test_two_fixed_axes_leave_no_room_to_turn():
    first, second, loose = (AxisRow(a, a, 0.0, room, 0.0) for a, room in ((X, 0.05), (Y, 0.05), (Y, 0.5)))
    assert room_to_turn(np.eye(3), [first, second]) is None
    axis, low, high = room_to_turn(np.eye(3), [first, loose])
    np.testing.assert_array_equal(axis, X)
    assert (low, high) == pytest.approx((-0.45, 0.45))
    assert first.angle(matrix_from_axis_angle(axis, high)) == pytest.approx(0.0)


def test_postures_are_tried_by_cost_with_variety_0_and_by_chance_with_1():
    costs = [1.0, 2.0, 3.0]
    assert Variation(0.0, np.random.default_rng(0)).posture_order(costs) == [0, 1, 2]
    variation = Variation(1.0, np.random.default_rng(0))
    assert np.bincount([variation.posture_order(costs)[0] for _ in range(300)], minlength=3).min() > 60
