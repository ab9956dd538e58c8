"""Goals hold when measured anew, are repeatable, and what is not found cannot be read."""

import math
from dataclasses import replace

import numpy as np
import pytest

from simcore.errors import NoSolutionError
from simcore.geometry import angle_between
from solver.goal.goal_solver import GoalSolver
from solver.settings.setting import PlannerSettingCfg


@pytest.fixture
def solver(arm):
    return GoalSolver(arm)


def test_residuals_recomputed_from_q_lie_inside_the_tolerances(solver, arm, door, open_setting):
    scene = door(yaw=0.2, s=0.05)
    solutions = solver.solve_all(open_setting.constraints, scene, q_reference=arm.q_home)
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
    solutions = solver.solve_all(open_setting.constraints, door(), q_reference=arm.q_home)
    costs = [s.cost for s in solutions]
    assert costs == sorted(costs)
    q = np.array([s.q for s in solutions])
    apart = np.abs(q[:, None] - q[None]).max(axis=2) + np.eye(len(q))
    assert apart.min() > 0.05


def test_the_same_problem_gives_the_same_bits(solver, arm, door, open_setting):
    first = solver.solve_all(open_setting.constraints, door(), q_reference=arm.q_home)
    solver.solve_all(open_setting.constraints, door(yaw=0.3), q_reference=arm.q_home)
    second = solver.solve_all(open_setting.constraints, door(), q_reference=arm.q_home)
    assert [s.q.tobytes() for s in first] == [s.q.tobytes() for s in second]


def test_an_asymmetric_gripper_is_not_turned(arm, door, open_setting):
    solver = GoalSolver(replace(arm, symmetric_gripper=False))
    solutions = solver.solve_all(open_setting.constraints, door(), q_reference=arm.q_home)
    assert {s.tool_variant for s in solutions} == {"+"}


def test_out_of_reach_is_not_found_and_says_how_far(solver, arm, door, open_setting):
    solution = solver.solve(open_setting.constraints, door(x=2.0), q_reference=arm.q_home)
    assert not solution.found
    assert solution.residuals[0].name == "fingers at the handle"
    assert 0.5 < solution.residuals[0].value < 2.0
    assert not solution.residuals[0].satisfied
    assert solution.to_dict()["q"] is None


def test_reading_q_of_what_was_not_found_raises_with_the_reason(solver, arm, door, open_setting):
    solution = solver.solve(open_setting.constraints, door(x=2.0), q_reference=arm.q_home)
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
        solution = solver.solve(setting.constraints, scene, q_reference=arm.q_home, costs=costs)
        T = arm.kinematics.pose(solution.q)
        return np.linalg.norm(T @ arm.tool_keypoints["tool_head"] - scene.keypoints["articulated_object_head"])

    assert distance(setting.costs) < 0.25 * distance([])


def test_limits_that_exclude_the_only_goal_are_named(arm, door, open_setting):
    low = replace(arm, q_upper=np.where(np.arange(7) == 3, -2.9, arm.q_upper), symmetric_gripper=False)
    solution = GoalSolver(low).solve(open_setting.constraints, door(x=0.85), q_reference=low.q_home)
    assert not solution.found
    assert any(bound.startswith("panda_joint4 at its upper limit -2.900") for bound in solution.active_bounds)


def test_repr_shows_each_constraint(solver, arm, door, open_setting):
    text = repr(solver.solve(open_setting.constraints, door(), q_reference=arm.q_home))
    assert "found=True" in text
    assert "fingers across the handle (keypoint_axis_parallel)" in text
    assert math.isfinite(solver.solve(open_setting.constraints, door(), q_reference=arm.q_home).cost)
