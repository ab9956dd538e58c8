"""The table of starts: scores and picks of the compiled core are those of plain NumPy."""

import math

import numpy as np
import pytest

from unlatch.simcore.errors import ConfigError
from unlatch.solver.parameter_layout import POINT_WEIGHT, is_cone
from unlatch.solver.start_library import start_library_of
from unlatch.solver.term import AxisRow, PlaneRow, PointRow

X, Z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
ROWS = {
    "point": PointRow(0.1 * Z, np.array([0.4, 0.1, 0.3]), 1e-3),
    "cost": PointRow(0.1 * Z, np.array([0.4, 0.1, 0.3]), 1e-3, weight=2.0),
    "cone": AxisRow(Z, X, 0.0, 0.3, 0.0),
    "opposite cone": AxisRow(Z, X, math.pi - 0.3, math.pi, math.pi),
    "angle": AxisRow(X, Z, 0.7, 0.9, 0.8),
    "plane": PlaneRow(0.1 * Z, Z, np.array([0.4, 0.1, 0.3]), 1e-3),
}


@pytest.fixture
def library(arm):
    return start_library_of(arm)


def square_misfits(row, R, p):
    v = R @ row.x_ee
    if isinstance(row, AxisRow):
        cosine, low, high = v @ row.target, math.cos(row.upper), math.cos(row.lower)
        if is_cone(row):
            return 2.0 * np.maximum(0.0, low - cosine if row.lower == 0.0 else cosine - high)
        return np.maximum(0.0, np.maximum(low - cosine, cosine - high)) ** 2
    if isinstance(row, PointRow):
        return (POINT_WEIGHT if row.weight is None else 0.0) * ((v + p - row.target) ** 2).sum(axis=1)
    return POINT_WEIGHT * ((v + p - row.point) @ row.normal) ** 2


@pytest.mark.parametrize("names", [*([name] for name in ROWS), list(ROWS), []])
def test_a_score_adds_violations_and_the_distance_from_the_reference(library, names):
    rows, reference = [ROWS[name] for name in names], library.q[5] + 0.1
    weights = np.linspace(0.1, 1.0, len(reference))
    expected = sum((10.0 * square_misfits(row, library.R, library.p) for row in rows), np.zeros(len(library.q)))
    expected += (library.q - reference) ** 2 @ weights
    assert library.score(rows, reference, weights) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, int])
def test_numbers_of_another_type_are_converted(library, dtype):
    reference, weights = np.round(library.q[5]).astype(dtype), np.ones(library.q.shape[1], dtype)
    expected = library.score([], reference.astype(float), weights.astype(float))
    assert np.array_equal(library.score([], reference, weights), expected)
    assert np.array_equal(
        library.pick(np.round(expected).astype(dtype), count=5), library.pick(np.round(expected), count=5)
    )


def test_a_reference_of_another_length_is_refused(library):
    with pytest.raises(ConfigError, match="q_reference must hold"):
        library.score([], library.q[0, :4], np.ones(library.q.shape[1]))


@pytest.mark.parametrize("count", [0, 1, 15, 90])
def test_the_best_are_picked_that_are_apart(library, count):
    scores = np.random.default_rng(0).integers(0, 500, len(library.q)).astype(float)  # with many that are equal
    scores[::7] = np.nan
    pool, picked = np.argsort(scores, kind="stable")[: 6 * count], []
    for k in pool:
        if all(np.linalg.norm(library.q[k] - library.q[other]) >= 0.8 for other in picked[:count]):
            picked.append(k)
    assert np.array_equal(library.pick(scores, count=count), library.q[picked[:count]])


def test_starts_begin_with_the_reference_and_are_filled_up(arm, library):
    near_one = np.where(np.arange(len(library.q)) == 3, 0.0, np.inf)
    starts = library.starts(near_one, library.q[8] + 100.0, count=2, wave=0)
    assert np.array_equal(starts, [arm.q_upper, library.q[3]])
    assert library.starts(near_one, library.q[8], count=900, wave=0).shape == (900, 7)
