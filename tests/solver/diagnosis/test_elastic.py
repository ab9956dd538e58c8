"""The elastic re-solve: its ends are stationary, its multipliers are what room behind a bound is worth."""

from dataclasses import replace

import numpy as np
import pytest

from unlatch.simcore.geometry import unit
from unlatch.solver.elastic import (
    compromise,
    compromises,
    default_weights,
    elastic_rows,
    least_violated,
    measure_compromise,
    promising_starts,
)
from unlatch.solver.term import AxisRow, PlaneRow, PointRow


@pytest.fixture
def problem(arm, door, open_setting):
    def make(arm=arm, **more):
        scene = door(**more)
        rows = elastic_rows([term.row(arm.tool_keypoints, scene) for term in open_setting.constraint_list])
        return rows, promising_starts(arm, rows, 4)

    return make


def test_a_solution_is_found_where_one_exists(arm, problem):
    rows, starts = problem(x=0.85)
    end = compromise(arm, rows, starts)
    assert end.rows.max() <= 1e-6
    assert end.faces.max() <= 1e-6
    assert np.all(end.joints == 0.0)


def test_no_small_step_inside_the_limits_violates_less(arm, problem):
    rng = np.random.default_rng(2)
    for x in (1.1, 1.3, 2.0):
        rows, starts = problem(x=x)
        weights = default_weights(arm, rows)
        end = compromise(arm, rows, starts)
        least = end.cost(weights)
        for size in (1e-4, 1e-3, 1e-2):
            for _ in range(60):
                q = np.clip(end.q + size * rng.normal(size=arm.n_q), arm.q_lower, arm.q_upper)
                assert measure_compromise(arm, rows, q, weights).cost(weights) >= least - 1e-6


def test_what_can_hold_holds_and_the_rest_carries_all(arm, problem):
    rows, starts = problem(x=2.0)
    end = compromise(arm, rows, starts)
    assert end.rows[0] > 0.5
    assert end.rows[1:].max() <= 1e-6


def test_the_pull_of_a_limit_is_what_more_room_takes_off(arm, problem):
    low = replace(arm, q_upper=np.where(np.arange(7) == 3, -2.9, arm.q_upper), symmetric_gripper=False)
    rows, starts = problem(arm=low, x=0.85)
    weights = default_weights(low, rows)
    end = compromise(low, rows, starts)
    assert end.pull_joints[3] > 0.1
    room = 1e-3
    wider = replace(low, q_upper=low.q_upper + room * (np.arange(7) == 3))
    gained = end.cost(weights) - compromise(wider, rows, end.q[None]).cost(weights)
    assert gained / room == pytest.approx(end.pull_joints[3], rel=0.03)


def test_the_pull_of_a_face_is_what_more_room_takes_off(arm, problem):
    narrow = replace(arm, workspace=np.array([[-0.3, -0.85, -0.1], [0.3, 0.85, 1.1]]))
    rows, starts = problem(arm=narrow, x=0.85)
    weights = default_weights(narrow, rows)
    end = compromise(narrow, rows, starts)
    room = 1e-3
    wider = replace(narrow, workspace=narrow.workspace + room * np.array([[0, 0, 0], [1.0, 0, 0]]))
    gained = end.cost(weights) - compromise(wider, rows, end.q[None]).cost(weights)
    assert gained / room == pytest.approx(end.pull_faces[1], rel=0.03)


@pytest.mark.property
def test_ends_stay_inside_the_joint_limits(arm):
    rng = np.random.default_rng(8)
    for _ in range(10):
        rows = (
            PointRow(np.array([0, 0, 0.1]), rng.normal(size=3), 1e-3),
            AxisRow(unit(rng.normal(size=3)), unit(rng.normal(size=3)), 0.5, 0.6, 0.55),
            PlaneRow(np.array([0, 0.1, 0]), unit(rng.normal(size=3)), rng.normal(size=3), 1e-3),
        )
        weights = default_weights(arm, rows)
        for end in compromises(arm, rows, promising_starts(arm, rows, 2), weights=weights):
            assert np.all(end.q >= arm.q_lower)
            assert np.all(end.q <= arm.q_upper)


def test_the_same_starts_give_the_same_bits(arm, problem):
    rows, starts = problem(x=1.3)
    first, second = (compromise(arm, rows, starts) for _ in range(2))
    assert first.q.tobytes() == second.q.tobytes()


def test_the_first_of_equal_ends_is_taken(arm, problem):
    rows, starts = problem(x=1.3)
    weights = default_weights(arm, rows)
    end = compromise(arm, rows, starts[:1])
    assert least_violated([end, replace(end, q=end.q + 1.0)], weights) is end
