"""The goal of least cost: it holds, and nothing feasible that is known, near or far, costs less."""

from dataclasses import replace

import numpy as np
import pytest

from unlatch.simcore.geometry import angle_between
from unlatch.solver.goal_solver import GoalSolver
from unlatch.solver.least_cost import solve_least_cost
from unlatch.solver.parameter_layout import Nearness
from unlatch.solver.solution import box_excess, row_excess
from unlatch.solver.term import AxisRow, PointRow


def nearness_of(arm):
    return Nearness(np.ones(7), arm.kinematics.pose(arm.q_home), 1.0, 1.0)


def problem(arm, rng):
    """Rows that a drawn configuration meets: a point, a direction, and half the time a second one at an angle."""
    lower = np.maximum(arm.workspace[0] + 0.05, [0.2, -0.6, 0.1])
    while True:
        q = rng.uniform(arm.q_lower + 0.1, arm.q_upper - 0.1)
        T = arm.kinematics.pose(q)
        if np.all(T.p > lower) and np.all(T.p < arm.workspace[1] - 0.05):
            break
    tool = arm.tool_keypoints
    head, back = tool["tool_head"], np.array([0.0, 0.0, -1.0])
    side = np.array([0.0, 1.0, 0.0])
    wide = float(rng.uniform(0.0, 0.3))
    rows = [
        PointRow(head, T @ head + rng.uniform(-5e-4, 5e-4, 3), 1e-3),
        AxisRow(back, T.R @ back, 0.0, 0.01 + wide, 0.0),
    ]
    if rng.random() < 0.5:
        target = np.array([0.6, 0.0, 0.8])
        angle = angle_between(T.R @ side, target)
        rows.append(AxisRow(side, target, max(0.01, angle - 0.02), min(3.13, angle + 0.02), angle))
    return tuple(rows), q


def beyond(arm, rows, q):
    R, p = arm.kinematics.fk_batch(q[None])
    limits = float(np.maximum(arm.q_lower - q, q - arm.q_upper).max())
    return max(float(row_excess(rows, R, p).max()), float(box_excess(arm, p)[0]), limits)


@pytest.mark.property
def test_a_solution_holds_and_costs_no_more_than_the_configuration_that_generated_the_problem(arm):
    rng, nearness = np.random.default_rng(1), nearness_of(arm)
    for _ in range(60):
        rows, known = problem(arm, rng)
        end = solve_least_cost(arm, rows, q_reference=arm.q_home, nearness=nearness)
        assert end is not None, rows
        assert beyond(arm, rows, end.q) <= 1e-6
        T, T_known = arm.kinematics.pose(end.q), arm.kinematics.pose(known)
        assert end.cost == pytest.approx(nearness.value(end.q, T.R, T.p, arm.q_home), abs=1e-6)
        assert end.cost <= nearness.value(known, T_known.R, T_known.p, arm.q_home) + 1e-6


@pytest.mark.property
def test_no_feasible_neighbour_is_cheaper(arm):
    rng, nearness = np.random.default_rng(2), nearness_of(arm)
    cheaper = []
    for _ in range(10):
        rows, _ = problem(arm, rng)
        end = solve_least_cost(arm, rows, q_reference=arm.q_home, nearness=nearness)
        near = end.q + 10.0 ** rng.uniform(-4, -1.5, (4000, 1)) * rng.normal(size=(4000, 7))
        R, p = arm.kinematics.fk_batch(near)
        inside = (row_excess(rows, R, p).max(axis=1) <= 0.0) & (box_excess(arm, p) <= 0.0)
        inside &= np.all((near >= arm.q_lower) & (near <= arm.q_upper), axis=1)
        costs = [nearness.value(near[i], R[i], p[i], arm.q_home) for i in np.flatnonzero(inside)]
        cheaper.append(max([0.0, *(end.cost - c for c in costs)]))
    assert max(cheaper) <= 1e-5


def test_none_of_the_other_goals_is_cheaper(arm, door, open_setting):
    scene = door(yaw=0.1)
    solver = GoalSolver(arm)
    nearness = Nearness(np.ones(7))
    best = solver.solve(open_setting.constraint_list, scene, q_reference=arm.q_home, nearness=nearness)
    others = solver.solve_all(open_setting.constraint_list, scene, q_reference=arm.q_home)
    assert all(best.cost <= float(((s.q - arm.q_home) ** 2).sum()) + 1e-6 for s in others)
    assert best.cost < min(float(((s.q - arm.q_home) ** 2).sum()) for s in others)


def test_a_limit_that_the_goal_rests_on_is_reached_and_not_left(arm):
    rng = np.random.default_rng(3)
    rows, _ = problem(arm, rng)
    nearness = nearness_of(arm)
    free = solve_least_cost(arm, rows, q_reference=arm.q_home, nearness=nearness)
    upper = arm.q_upper.copy()
    upper[0] = free.q[0] - 0.05
    tight = replace(arm, q_upper=upper)
    end = solve_least_cost(tight, rows, q_reference=arm.q_home, nearness=nearness)
    assert end.q[0] == pytest.approx(upper[0], abs=1e-6)
    assert end.q[0] <= upper[0] + 1e-9
    assert end.cost > free.cost


def test_the_same_problem_gives_the_same_bits_whatever_ran_before(arm):
    rng, nearness = np.random.default_rng(4), nearness_of(arm)
    first, second = problem(arm, rng)[0], problem(arm, rng)[0]
    a = solve_least_cost(arm, first, q_reference=arm.q_home, nearness=nearness)
    solve_least_cost(arm, second, q_reference=arm.q_home, nearness=nearness)
    b = solve_least_cost(arm, first, q_reference=arm.q_home, nearness=nearness)
    assert a.q.tobytes() == b.q.tobytes()


def test_no_solution_is_claimed_for_an_infeasible_problem(arm):
    far = (PointRow(np.zeros(3), np.array([2.0, 0.0, 0.5]), 1e-3),)
    assert solve_least_cost(arm, far, q_reference=arm.q_home, nearness=nearness_of(arm)) is None
