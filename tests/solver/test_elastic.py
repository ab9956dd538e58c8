"""The elastic re-solve: its ends are stationary, its multipliers are what room behind a bound is worth."""

from dataclasses import replace

import numpy as np
import pytest

from tests.solver.builders import assert_inside
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

ROOM = 1e-3


@pytest.fixture
def problem(arm, door, open_setting):
    def make(arm=arm, **more):
        rows = elastic_rows([term.row(arm.tool_keypoints, door(**more)) for term in open_setting.constraint_list])
        return rows, promising_starts(arm, rows, 4)

    return make


def test_a_solution_is_found_where_one_exists(arm, problem):
    end = compromise(arm, *problem(x=0.85))
    assert max(end.rows.max(), end.faces.max()) <= 1e-6
    assert np.all(end.joints == 0.0)


@pytest.mark.slow
def test_no_small_step_inside_the_limits_violates_less(arm, problem):
    rng = np.random.default_rng(2)
    for x in (1.1, 1.3, 2.0):
        rows, starts = problem(x=x)
        weights = default_weights(arm, rows)
        end = compromise(arm, rows, starts)
        least = end.cost(weights)
        for size in np.repeat((1e-4, 1e-3, 1e-2), 60):
            q = np.clip(end.q + size * rng.normal(size=arm.n_q), arm.q_lower, arm.q_upper)
            assert measure_compromise(arm, rows, q, weights).cost(weights) >= least - 1e-6


def test_what_can_hold_holds_and_the_rest_carries_all(arm, problem):
    end = compromise(arm, *problem(x=2.0))
    assert end.rows[0] > 0.5
    assert end.rows[1:].max() <= 1e-6


def narrow_joint(arm, room=0.0):
    fourth = np.arange(7) == 3
    return replace(arm, q_upper=np.where(fourth, -2.9 + room, arm.q_upper), symmetric_gripper=False)


def narrow_box(arm, room=0.0):
    return replace(arm, workspace=np.array([[-0.3, -0.85, -0.1], [0.3 + room, 0.85, 1.1]]))


@pytest.mark.parametrize(
    ("narrowed", "pull_of"),
    [(narrow_joint, lambda end: end.pull_joints[3]), (narrow_box, lambda end: end.pull_faces[1])],
    ids=["joint limit", "face"],
)
def test_the_pull_of_a_bound_is_what_more_room_takes_off(arm, problem, narrowed, pull_of):
    rows, starts = problem(arm=narrowed(arm), x=0.85)
    weights = default_weights(narrowed(arm), rows)
    end = compromise(narrowed(arm), rows, starts)
    assert pull_of(end) > 0.1
    gained = end.cost(weights) - compromise(narrowed(arm, ROOM), rows, end.q[None]).cost(weights)
    assert gained / ROOM == pytest.approx(pull_of(end), rel=0.03)


@pytest.mark.slow
@pytest.mark.property
def test_ends_stay_inside_the_joint_limits(arm):
    rng = np.random.default_rng(8)
    for _ in range(10):
        rows = (
            PointRow(np.array([0, 0, 0.1]), rng.normal(size=3), 1e-3),
            AxisRow(unit(rng.normal(size=3)), unit(rng.normal(size=3)), 0.5, 0.6, 0.55),
            PlaneRow(np.array([0, 0.1, 0]), unit(rng.normal(size=3)), rng.normal(size=3), 1e-3),
        )
        for end in compromises(arm, rows, promising_starts(arm, rows, 2), weights=default_weights(arm, rows)):
            assert_inside(arm, end.q)


def test_the_same_starts_give_the_same_bits_and_the_first_of_equal_ends_is_taken(arm, problem):
    rows, starts = problem(x=1.3)
    first, second = (compromise(arm, rows, starts) for _ in range(2))
    assert first.q.tobytes() == second.q.tobytes()
    assert least_violated([first, replace(first, q=first.q + 1.0)], default_weights(arm, rows)) is first
