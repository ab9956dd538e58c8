"""Goals hold when measured anew, and what is not found cannot be read; starts keep a distance from each other."""

import gc
import math
import weakref
from dataclasses import replace

import numpy as np
import pytest

from tests.solver.builders import CONTACT, HEAD, TAIL, RowTerm, X, Z, assert_inside, setting_of, solve_all
from unlatch.simcore.errors import ConfigError, NoSolutionError
from unlatch.simcore.geometry import angle_between
from unlatch.solver.goal_solver import GoalSolver
from unlatch.solver.kinematics import Kinematics
from unlatch.solver.least_cost import RefinedEnd
from unlatch.solver.program import program_of
from unlatch.solver.start_library import start_library_of
from unlatch.solver.term import AxisRow, ExpressionRow, RowKind


@pytest.fixture
def solver(arm):
    return GoalSolver(arm)


def test_solutions_are_distinct_cheapest_first_and_lie_inside_the_tolerances(solver, arm, door, open_setting):
    scene = door(yaw=0.2, s=0.05)
    solutions = solve_all(solver, open_setting.constraint_list, scene, q_reference=arm.q_home)
    assert all(s.found for s in solutions)
    assert {s.tool_variant for s in solutions} == {"+", "-"}
    costs, q = [s.cost for s in solutions], np.array([s.q for s in solutions])
    assert costs == sorted(costs)
    assert (np.abs(q[:, None] - q[None]).max(axis=2) + np.eye(len(q))).min() > 0.05
    head, tail = scene.keypoints[HEAD], scene.keypoints[TAIL]
    outward = np.cross(tail - head, scene.axes[CONTACT])
    for solution in solutions:
        T = arm.kinematics.fk(solution.q)
        tool = T[:3, :3] @ np.array([0, 0, 0.1034]) + T[:3, 3]
        assert np.abs(tool - head).max() <= 1e-3 + 1e-6
        side = T[:3, 1] if solution.tool_variant == "+" else -T[:3, 1]
        assert angle_between(side, tail - head) <= 0.05 + 1e-6
        assert angle_between(-T[:3, 2], outward) <= 0.8 + 1e-6
        assert_inside(arm, solution.q)
        assert np.all((T[:3, 3] >= arm.workspace[0]) & (T[:3, 3] <= arm.workspace[1]))
        assert solution.residuals[0].value == pytest.approx(np.abs(tool - head).max(), abs=1e-12)
    assert "found=True" in repr(solutions[0])
    assert "fingers across the handle (keypoint_axis_parallel)" in repr(solutions[0])


@pytest.mark.parametrize("costs", [(2.0, 1.0), (1.0, 2.0)])
def test_the_cheaper_way_to_hold_the_tool_is_taken(solver, arm, door, open_setting, monkeypatch, costs):
    ends = iter([RefinedEnd(arm.q_home, cost, 1) for cost in costs])
    monkeypatch.setattr("unlatch.solver.least_cost.solve_least_cost", lambda *args, **kwargs: next(ends))
    goal, tried = solver.least_cost(open_setting.constraint_list, door(), q_reference=arm.q_home)
    assert (goal.cost, tried) == (1.0, 2)


def test_an_asymmetric_gripper_is_not_turned(arm, door, open_setting):
    solver = GoalSolver(replace(arm, symmetric_gripper=False))
    solutions = solve_all(solver, open_setting.constraint_list, door(), q_reference=arm.q_home)
    assert {s.tool_variant for s in solutions} == {"+"}


def test_what_is_out_of_reach_is_not_found_says_how_far_and_has_no_joints(solver, arm, door, open_setting):
    solution = solver.solve(open_setting.constraint_list, door(x=2.0), q_reference=arm.q_home)
    handle = solution.residuals[0]
    assert (solution.found, handle.name, handle.satisfied) == (False, "fingers at the handle", False)
    assert 0.5 < handle.value < 2.0
    assert solution.to_dict()["q"] is None
    with pytest.raises(NoSolutionError, match=r"no joints to read: .*fingers at the handle .* OUT by") as caught:
        _ = solution.q
    assert caught.value.residuals == solution.residuals


def test_limits_that_exclude_the_only_goal_are_named(arm, door, open_setting):
    low = replace(arm, q_upper=np.where(np.arange(7) == 3, -2.9, arm.q_upper), symmetric_gripper=False)
    solution = GoalSolver(low).solve(open_setting.constraint_list, door(x=0.85), q_reference=low.q_home)
    assert not solution.found
    assert any(bound.startswith("panda_joint4 at its upper limit -2.900") for bound in solution.active_bounds)


@pytest.mark.parametrize("weight", [1e2, 1e4, 1e6])
def test_a_cost_of_any_weight_moves_the_solution_and_is_reported(solver, arm, door, open_setting, weight):
    names = {"keypoint_name": "tool_tail", "target_keypoint_name": TAIL}
    setting = setting_of(*open_setting.constraint_list, costs=[{"type": "point2point_cost", **names, "weight": weight}])
    scene, home = door(yaw=0.1), arm.kinematics.pose(arm.q_home)

    def squared_distance(solution):
        tail = dict(arm.tool_variants())[solution.tool_variant]["tool_tail"]
        return float(((arm.kinematics.pose(solution.q) @ tail - scene.keypoints[TAIL]) ** 2).sum())

    solution = solver.solve(setting.constraint_list, scene, q_reference=arm.q_home, costs=setting.cost_list)
    assert solution.found, solution
    T, away = arm.kinematics.pose(solution.q), squared_distance(solution)
    near = float(((solution.q - arm.q_home) ** 2).sum() + ((T.p - home.p) ** 2).sum())
    near += 0.5 * (3.0 - float((T.R * home.R).sum()))
    assert solution.cost == pytest.approx(near + weight * away, rel=1e-6)
    free = solver.solve(open_setting.constraint_list, scene, q_reference=arm.q_home)
    assert away < squared_distance(free)


@pytest.mark.slow
def test_a_range_of_angles_need_not_lie_evenly_about_the_wanted_one(solver, arm, door):
    near, wide = RowTerm(AxisRow(Z, X, 0.0, 0.05, 0.0), "near"), RowTerm(AxisRow(Z, X, 0.3, 1.2, 0.4), "wide")
    refused = solver.solve([near, wide], door(), q_reference=arm.q_home, waves=1)
    assert not refused.found
    assert sum(r.excess for r in refused.residuals) >= 0.24
    alone = solver.solve([wide], door(), q_reference=arm.q_home)
    assert 0.3 - 1e-6 <= angle_between(arm.kinematics.pose(alone.q).R @ Z, X) <= 1.2 + 1e-6


def _height(R, p, numbers):
    return p[2] - numbers[0]


@pytest.mark.parametrize(("low", "high"), [(0.1, math.inf), (-math.inf, -0.2), (0.05, 0.06)])
def test_a_quantity_may_be_open_to_one_side(solver, arm, door, low, high):
    row = ExpressionRow(RowKind("height", "m", 1, _height), np.array([0.5]), low, high)
    solution = solver.solve([RowTerm(row, "height")], door(), q_reference=arm.q_home, waves=1)
    assert solution.found, solution
    assert low - 1e-6 <= float(arm.kinematics.pose(solution.q).p[2]) - 0.5 <= high + 1e-6
    assert math.isfinite(solution.residuals[0].value)


def test_one_expression_is_one_program_however_often_it_is_written(arm):
    def row(expression):
        return ExpressionRow(RowKind("up", "m", 1, expression), np.array([0.4]), -0.1, 0.1)

    rows = [row(lambda R, p, numbers: p[2] - numbers[0]) for _ in range(3)]
    assert len({id(program_of(arm.kinematics, [each], pose=True)) for each in rows}) == 1
    other = row(lambda R, p, numbers: p[1] - numbers[0])
    assert program_of(arm.kinematics, [other], pose=True) is not program_of(arm.kinematics, rows[:1], pose=True)
    offset = 0.3
    with pytest.raises(ConfigError, match=r"closes over variables.*Pass them as numbers"):
        row(lambda R, p, numbers: p[2] - offset)


def test_programs_go_with_their_arm(door, open_setting, arm):
    names = {"base_link": "panda_link0", "tip_link": "panda_hand"}
    kinematics = Kinematics(list(arm.kinematics.joints), arm.kinematics.T_last_tip, **names)
    own = replace(arm, kinematics=kinematics)
    GoalSolver(own).solve(open_setting.constraint_list, door(), q_reference=arm.q_home)
    gone = weakref.ref(kinematics)
    del own, kinematics
    gc.collect()
    assert gone() is None


def test_what_is_no_problem_is_refused(solver, arm, door, open_setting):
    scene = door()
    for q in (np.full(7, math.nan), np.zeros(6)):
        with pytest.raises(ConfigError, match="must hold 7 finite"):
            solver.solve(open_setting.constraint_list, scene, q_reference=q)
    with pytest.raises(ConfigError, match="no constraint"):
        solver.solve([], scene, q_reference=arm.q_home)
    with pytest.raises(ConfigError, match=r"keypoint 'articulated_object_head' of the object is \[nan"):
        replace(scene, keypoints={**scene.keypoints, HEAD: np.full(3, math.nan)})


def test_a_start_is_left_out_only_where_a_better_one_that_is_picked_is_near(arm):
    library = start_library_of(arm)
    score = np.linalg.norm(library.p - [0.5, 0.1, 0.4], axis=1)
    picked = library.pick(score, count=40)
    assert len(picked) == 40
    assert np.linalg.norm(picked[:, None] - picked[None], axis=-1)[~np.eye(40, dtype=bool)].min() >= 0.8
    better = 0
    for q in library.q[np.argsort(score)][:100]:
        if better < len(picked) and np.array_equal(q, picked[better]):
            better += 1
        elif better < len(picked):
            assert np.linalg.norm(picked[:better] - q, axis=1).min() < 0.8, better
    assert better > 20
