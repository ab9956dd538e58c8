"""Goals hold when measured anew, are repeatable, and what is not found cannot be read."""

import gc
import math
import weakref
from dataclasses import replace

import numpy as np
import pytest

from unlatch.simcore.errors import ConfigError, NoSolutionError
from unlatch.simcore.geometry import angle_between
from unlatch.solver.goal_solver import GoalSolver
from unlatch.solver.kinematics import Kinematics
from unlatch.solver.program import program_of
from unlatch.solver.setting import PlannerSettingCfg
from unlatch.solver.term import AxisRow, ExpressionRow, RowKind


@pytest.fixture
def solver(arm):
    return GoalSolver(arm)


def test_residuals_recomputed_from_q_lie_inside_the_tolerances(solver, arm, door, open_setting):
    scene = door(yaw=0.2, s=0.05)
    solutions = solver.solve_all(open_setting.constraint_list, scene, q_reference=arm.q_home)
    assert all(s.found for s in solutions)
    assert {s.tool_variant for s in solutions} == {"+", "-"}
    head, tail = scene.keypoints["articulated_object_head"], scene.keypoints["articulated_object_tail"]
    outward = np.cross(tail - head, scene.axes["link0_contact_axis"])
    for solution in solutions:
        T = arm.kinematics.fk(solution.q)
        tool = T[:3, :3] @ np.array([0, 0, 0.1034]) + T[:3, 3]
        assert np.abs(tool - head).max() <= 1e-3 + 1e-6
        side = T[:3, 1] if solution.tool_variant == "+" else -T[:3, 1]
        assert angle_between(side, tail - head) <= 0.05 + 1e-6
        assert angle_between(-T[:3, 2], outward) <= 0.8 + 1e-6
        assert np.all(solution.q >= arm.q_lower)
        assert np.all(solution.q <= arm.q_upper)
        assert np.all(T[:3, 3] >= arm.workspace[0])
        assert np.all(T[:3, 3] <= arm.workspace[1])
        assert solution.residuals[0].value == pytest.approx(np.abs(tool - head).max(), abs=1e-12)


def test_solutions_are_distinct_and_cheapest_first(solver, arm, door, open_setting):
    solutions = solver.solve_all(open_setting.constraint_list, door(), q_reference=arm.q_home)
    costs = [s.cost for s in solutions]
    assert costs == sorted(costs)
    q = np.array([s.q for s in solutions])
    apart = np.abs(q[:, None] - q[None]).max(axis=2) + np.eye(len(q))
    assert apart.min() > 0.05


def test_the_same_problem_gives_the_same_bits(solver, arm, door, open_setting):
    first = solver.solve_all(open_setting.constraint_list, door(), q_reference=arm.q_home)
    solver.solve_all(open_setting.constraint_list, door(yaw=0.3), q_reference=arm.q_home)
    second = solver.solve_all(open_setting.constraint_list, door(), q_reference=arm.q_home)
    assert [s.q.tobytes() for s in first] == [s.q.tobytes() for s in second]


def test_an_asymmetric_gripper_is_not_turned(arm, door, open_setting):
    solver = GoalSolver(replace(arm, symmetric_gripper=False))
    solutions = solver.solve_all(open_setting.constraint_list, door(), q_reference=arm.q_home)
    assert {s.tool_variant for s in solutions} == {"+"}


def test_out_of_reach_is_not_found_and_says_how_far(solver, arm, door, open_setting):
    solution = solver.solve(open_setting.constraint_list, door(x=2.0), q_reference=arm.q_home)
    assert not solution.found
    assert solution.residuals[0].name == "fingers at the handle"
    assert 0.5 < solution.residuals[0].value < 2.0
    assert not solution.residuals[0].satisfied
    assert solution.to_dict()["q"] is None


def test_reading_q_of_a_missing_solution_raises_with_the_reason(solver, arm, door, open_setting):
    solution = solver.solve(open_setting.constraint_list, door(x=2.0), q_reference=arm.q_home)
    with pytest.raises(NoSolutionError, match=r"no joints to read: .*fingers at the handle .* OUT by") as caught:
        _ = solution.q
    assert caught.value.residuals == solution.residuals


def test_a_cost_moves_the_solution(solver, arm, door):
    plane = {
        "type": "point2plane_constraint",
        "keypoint_name": "tool_head",
        "target_keypoint_name": "articulated_object_head",
        "plane_normal": [0, 0, 1],
        "target_axis_frame": "world",
        "tolerance": 1e-3,
    }
    cost = {
        "type": "point2point_cost",
        "keypoint_name": "tool_head",
        "target_keypoint_name": "articulated_object_head",
        "weight": 500.0,
    }
    setting = PlannerSettingCfg(success_threshold=0.1, constraint_list=[plane], cost_list=[cost])
    scene = door()

    def distance(costs):
        solution = solver.solve(setting.constraint_list, scene, q_reference=arm.q_home, costs=costs)
        T = arm.kinematics.pose(solution.q)
        return np.linalg.norm(T @ arm.tool_keypoints["tool_head"] - scene.keypoints["articulated_object_head"])

    assert distance(setting.cost_list) < 0.25 * distance([])


def test_limits_that_exclude_the_only_goal_are_named(arm, door, open_setting):
    low = replace(arm, q_upper=np.where(np.arange(7) == 3, -2.9, arm.q_upper), symmetric_gripper=False)
    solution = GoalSolver(low).solve(open_setting.constraint_list, door(x=0.85), q_reference=low.q_home)
    assert not solution.found
    assert any(bound.startswith("panda_joint4 at its upper limit -2.900") for bound in solution.active_bounds)


def test_repr_shows_each_constraint(solver, arm, door, open_setting):
    text = repr(solver.solve(open_setting.constraint_list, door(), q_reference=arm.q_home))
    assert "found=True" in text
    assert "fingers across the handle (keypoint_axis_parallel)" in text
    assert math.isfinite(solver.solve(open_setting.constraint_list, door(), q_reference=arm.q_home).cost)


@pytest.mark.parametrize("weight", [1e2, 1e4, 1e6])
def test_a_cost_of_any_weight_counts_and_is_reported(solver, arm, door, open_setting, weight):
    cost = {
        "type": "point2point_cost",
        "keypoint_name": "tool_tail",
        "target_keypoint_name": "articulated_object_tail",
        "weight": weight,
    }
    constraints = open_setting.constraint_list
    setting = PlannerSettingCfg(success_threshold=0.1, constraint_list=constraints, cost_list=[cost])
    scene = door(yaw=0.1)
    solution = solver.solve(setting.constraint_list, scene, q_reference=arm.q_home, costs=setting.cost_list)
    assert solution.found, solution
    T, home = arm.kinematics.pose(solution.q), arm.kinematics.pose(arm.q_home)
    tail = arm.tool_keypoints["tool_tail"] if solution.tool_variant == "+" else arm.tool_variants()[1][1]["tool_tail"]
    away = float(((T @ tail - scene.keypoints["articulated_object_tail"]) ** 2).sum())
    near = float(((solution.q - arm.q_home) ** 2).sum() + ((T.p - home.p) ** 2).sum())
    near += 0.5 * (3.0 - float((T.R * home.R).sum()))
    assert solution.cost == pytest.approx(near + weight * away, rel=1e-6)
    free = solver.solve(open_setting.constraint_list, scene, q_reference=arm.q_home)
    T_free = arm.kinematics.pose(free.q)
    tail = arm.tool_keypoints["tool_tail"] if free.tool_variant == "+" else arm.tool_variants()[1][1]["tool_tail"]
    assert away <= float(((T_free @ tail - scene.keypoints["articulated_object_tail"]) ** 2).sum()) + 1e-9


@pytest.mark.slow
def test_a_range_of_angles_need_not_lie_evenly_about_the_wanted_one(solver, arm, door, row_term):
    x, a = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
    near = row_term(AxisRow(x, a, 0.0, 0.05, 0.0), "near")
    wide = row_term(AxisRow(x, a, 0.3, 1.2, 0.4), "wide")
    refused = solver.solve([near, wide], door(), q_reference=arm.q_home, waves=1)
    assert not refused.found
    assert sum(r.excess for r in refused.residuals) >= 0.24
    alone = solver.solve([wide], door(), q_reference=arm.q_home)
    angle = angle_between(arm.kinematics.pose(alone.q).R @ x, a)
    assert 0.3 - 1e-6 <= angle <= 1.2 + 1e-6


def _height(R, p, numbers):
    return p[2] - numbers[0]


@pytest.mark.parametrize(("low", "high"), [(0.1, math.inf), (-math.inf, -0.2), (0.05, 0.06)])
def test_a_quantity_may_be_open_to_one_side(solver, arm, door, row_term, low, high):
    row = ExpressionRow(RowKind("height", "m", 1, _height), np.array([0.5]), low, high)
    solution = solver.solve([row_term(row, "height")], door(), q_reference=arm.q_home)
    assert solution.found, solution
    height = float(arm.kinematics.pose(solution.q).p[2]) - 0.5
    assert low - 1e-6 <= height <= high + 1e-6
    assert math.isfinite(solution.residuals[0].value)


def test_one_expression_is_one_program_however_often_it_is_written(arm):
    def kind():
        return RowKind("up", "m", 1, lambda R, p, numbers: p[2] - numbers[0])

    rows = [ExpressionRow(kind(), np.array([0.4]), -0.1, 0.1) for _ in range(3)]
    assert len({id(program_of(arm.kinematics, [row], pose=True)) for row in rows}) == 1
    other = ExpressionRow(RowKind("up", "m", 1, lambda R, p, numbers: p[1] - numbers[0]), np.array([0.4]), 0.0, 0.1)
    assert program_of(arm.kinematics, [other], pose=True) is not program_of(arm.kinematics, rows[:1], pose=True)


def test_an_expression_that_captures_numbers_is_refused():
    offset = 0.3
    with pytest.raises(ConfigError, match=r"closes over variables.*Pass them as numbers"):
        RowKind("up", "m", 0, lambda R, p, numbers: p[2] - offset)


def test_programs_go_with_their_arm(door, open_setting, arm):
    kinematics = Kinematics(
        list(arm.kinematics.joints), arm.kinematics.T_last_tip, base_link="panda_link0", tip_link="panda_hand"
    )
    own = replace(arm, kinematics=kinematics)
    GoalSolver(own).solve(open_setting.constraint_list, door(), q_reference=arm.q_home)
    gone = weakref.ref(kinematics)
    del own, kinematics
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(("q", "message"), [([math.nan] * 7, "must hold 7 finite"), ([0.0] * 6, "must hold 7 finite")])
def test_an_invalid_reference_is_refused(solver, door, open_setting, q, message):
    with pytest.raises(ConfigError, match=message):
        solver.solve(open_setting.constraint_list, door(), q_reference=np.array(q))


def test_an_empty_list_of_constraints_is_refused(solver, arm, door):
    with pytest.raises(ConfigError, match="no constraint"):
        solver.solve([], door(), q_reference=arm.q_home)


def test_a_keypoint_that_is_no_number_is_refused(door):
    scene = door()
    with pytest.raises(ConfigError, match=r"keypoint 'articulated_object_head' of the object is \[nan"):
        replace(scene, keypoints={**scene.keypoints, "articulated_object_head": np.full(3, math.nan)})
