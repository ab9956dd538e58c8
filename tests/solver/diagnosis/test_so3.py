"""Searches over rotations: derivatives, what is found holds, and what is proved impossible is."""

import math

import numpy as np
import pytest

from unlatch.simcore.geometry import matrix_from_axis_angle, unit
from unlatch.solver.contradiction import (
    AngleCondition,
    LinearCondition,
    proves_no_rotation,
    rotations_of_vectors,
    search_rotation,
)

X, Y, Z = np.eye(3)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def direction(rng):
    return unit(rng.normal(size=3))


def test_rotations_of_vectors_are_those_of_axis_and_angle(rng):
    vectors = np.vstack([rng.normal(size=(20, 3)), np.zeros((1, 3)), [[1e-9, 0.0, 0.0]]])
    expected = [matrix_from_axis_angle(v, np.linalg.norm(v)) if np.any(v) else np.eye(3) for v in vectors]
    np.testing.assert_allclose(rotations_of_vectors(vectors), expected, atol=1e-9)


def test_derivatives_are_those_of_finite_differences(rng):
    R = rotations_of_vectors(rng.normal(size=(30, 3)))
    step = 1e-6 * rng.normal(size=3)
    for condition in (
        AngleCondition(direction(rng), direction(rng), 0.4, 0.5),
        LinearCondition(rng.normal(size=3), np.eye(3), np.full(3, -0.05), np.full(3, 0.05)),
        LinearCondition(rng.normal(size=3), direction(rng)[None], np.array([-0.01]), np.array([0.01])),
    ):
        before, J = condition.linearize(R)
        after, _ = condition.linearize(rotations_of_vectors(step[None]) @ R)
        np.testing.assert_allclose(after - before, J @ step, atol=5e-11)
        np.testing.assert_allclose(np.linalg.norm(before, axis=1), condition.excess(R), atol=1e-12)


@pytest.mark.property
def test_a_rotation_is_found_where_one_exists_by_construction(rng):
    for _ in range(60):
        R = rotations_of_vectors(rng.normal(size=(1, 3)))[0]
        slack = 10.0 ** rng.uniform(-4.0, 0.0)
        conditions = []
        for _ in range(int(rng.integers(1, 5))):
            x, a = direction(rng), direction(rng)
            angle = math.acos(float(np.clip(a @ R @ x, -1.0, 1.0)))
            low, high = angle - slack * rng.uniform(), angle + slack * rng.uniform()
            conditions.append(AngleCondition(x, a, max(0.0, low), min(math.pi, high)))
        found = search_rotation(conditions)
        assert found.found, found.excess


@pytest.mark.parametrize("margin", [0.2, 0.01, 0.002])
def test_three_cones_that_share_no_direction_are_proved_to(margin):
    # the direction nearest to three axes at right angles is acos(1 / sqrt 3) from each
    widest = math.acos(1.0 / math.sqrt(3.0))
    asked = [AngleCondition(Z, axis, 0.0, widest - margin) for axis in (X, Y, Z)]
    assert not search_rotation(asked).found
    assert proves_no_rotation(asked)
    assert search_rotation([AngleCondition(Z, axis, 0.0, widest + margin) for axis in (X, Y, Z)]).found


def test_what_can_be_is_not_proved_impossible():
    assert not proves_no_rotation([AngleCondition(Z, axis, 0.0, 0.96) for axis in (X, Y, Z)])


def test_no_pair_of_the_three_is_impossible():
    asked = [AngleCondition(Z, axis, 0.0, 0.9) for axis in (X, Y, Z)]
    for omitted_setting in range(3):
        assert search_rotation([c for i, c in enumerate(asked) if i != omitted_setting]).found
