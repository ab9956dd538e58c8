"""The goal of least cost: it holds, and nothing feasible that is known, near or far, costs less."""

from dataclasses import replace

import numpy as np
import pytest

from tests.solver.builders import Y, Z, solve_all
from unlatch.simcore.geometry import angle_between
from unlatch.solver.goal_solver import GoalSolver
from unlatch.solver.least_cost import solve_least_cost
from unlatch.solver.parameter_layout import Nearness
from unlatch.solver.solution import box_excess, row_excess
from unlatch.solver.term import AxisRow, PointRow


@pytest.fixture
def nearness(arm):
    return Nearness(np.ones(7), arm.kinematics.pose(arm.q_home), 1.0, 1.0)


@pytest.fixture
def solve(arm, nearness):
    return lambda rows, arm=arm: solve_least_cost(arm, rows, q_reference=arm.q_home, nearness=nearness)


def problem(arm, rng):
    """Rows that a drawn configuration meets: a point, a direction, and half the time a second one at an angle."""
    lower = np.maximum(arm.workspace[0] + 0.05, [0.2, -0.6, 0.1])
    while True:
        q = rng.uniform(arm.q_lower + 0.1, arm.q_upper - 0.1)
        T = arm.kinematics.pose(q)
        if np.all((T.p > lower) & (T.p < arm.workspace[1] - 0.05)):
            break
    head, wide = arm.tool_keypoints["tool_head"], float(rng.uniform(0.0, 0.3))
    rows = [
        PointRow(head, T @ head + rng.uniform(-5e-4, 5e-4, 3), 1e-3),
        AxisRow(-Z, T.R @ -Z, 0.0, 0.01 + wide, 0.0),
    ]
    if rng.random() < 0.5:
        target = np.array([0.6, 0.0, 0.8])
        angle = angle_between(T.R @ Y, target)
        rows.append(AxisRow(Y, target, max(0.01, angle - 0.02), min(3.13, angle + 0.02), angle))
    return tuple(rows), q


@pytest.mark.property
def test_a_solution_holds_and_costs_no_more_than_the_configuration_that_generated_the_problem(arm, solve, nearness):
    rng = np.random.default_rng(1)
    for _ in range(40):
        rows, known = problem(arm, rng)
        end = solve(rows)
        assert end is not None, rows
        R, p = arm.kinematics.fk_batch(end.q[None])
        assert max(row_excess(rows, R, p).max(), box_excess(arm, p)[0]) <= 1e-6
        assert np.maximum(arm.q_lower - end.q, end.q - arm.q_upper).max() <= 1e-6
        T_known = arm.kinematics.pose(known)
        assert end.cost == pytest.approx(nearness.value(end.q, R[0], p[0], arm.q_home), abs=1e-6)
        assert end.cost <= nearness.value(known, T_known.R, T_known.p, arm.q_home) + 1e-6


@pytest.mark.property
def test_no_feasible_neighbour_is_cheaper(arm, solve, nearness):
    rng = np.random.default_rng(2)
    cheaper = []
    for _ in range(10):
        rows, _ = problem(arm, rng)
        end = solve(rows)
        near = end.q + 10.0 ** rng.uniform(-4, -1.5, (4000, 1)) * rng.normal(size=(4000, 7))
        R, p = arm.kinematics.fk_batch(near)
        inside = (row_excess(rows, R, p).max(axis=1) <= 0.0) & (box_excess(arm, p) <= 0.0)
        inside &= np.all((near >= arm.q_lower) & (near <= arm.q_upper), axis=1)
        costs = [nearness.value(near[i], R[i], p[i], arm.q_home) for i in np.flatnonzero(inside)]
        cheaper.append(max([0.0, *(end.cost - c for c in costs)]))
    assert max(cheaper) <= 1e-5


def test_none_of_the_other_goals_is_cheaper(arm, door, open_setting):
    scene, solver, terms = door(yaw=0.1), GoalSolver(arm), open_setting.constraint_list
    best = solver.solve(terms, scene, q_reference=arm.q_home, nearness=Nearness(np.ones(7)))
    others = solve_all(solver, terms, scene, q_reference=arm.q_home)
    assert best.cost < min(float(((s.q - arm.q_home) ** 2).sum()) for s in others)


def test_a_limit_that_the_goal_rests_on_is_reached_and_not_left(arm, solve):
    rows, _ = problem(arm, np.random.default_rng(3))
    free = solve(rows)
    upper = arm.q_upper.copy()
    upper[0] = free.q[0] - 0.05
    end = solve(rows, arm=replace(arm, q_upper=upper))
    assert end.q[0] == pytest.approx(upper[0], abs=1e-6)
    assert end.q[0] <= upper[0] + 1e-9
    assert end.cost > free.cost


def test_the_same_problem_gives_the_same_bits_whatever_ran_before(arm, solve):
    rng = np.random.default_rng(4)
    first, second = problem(arm, rng)[0], problem(arm, rng)[0]
    a, _, b = solve(first), solve(second), solve(first)
    assert a.q.tobytes() == b.q.tobytes()


def test_no_solution_is_claimed_for_an_infeasible_problem(solve):
    assert solve((PointRow(np.zeros(3), np.array([2.0, 0.0, 0.5]), 1e-3),)) is None
