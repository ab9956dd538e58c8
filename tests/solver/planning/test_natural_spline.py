"""The spline of timed paths: that of SciPy, whose import it saves."""

import numpy as np
import pytest
import scipy.interpolate

from unlatch.solver.planning.natural_spline import NaturalSpline


def made_path(seed, count, *, widest=1.0):
    rng = np.random.default_rng(seed)
    steps = rng.uniform(0.05, 1.0, count - 1) ** widest
    knots = np.concatenate([[0.0], np.cumsum(steps)])
    return knots / knots[-1], rng.normal(size=(count, 8))


@pytest.mark.parametrize("widest", [1.0, 5.0], ids=["even", "uneven"])  # uneven knots exchange rows
@pytest.mark.parametrize("count", [2, 3, 4, 7, 60])
def test_values_and_derivatives_are_those_of_scipy(count, widest):
    for seed in range(20):
        knots, rows = made_path(seed, count, widest=widest)
        spline = NaturalSpline(knots, rows)
        known = scipy.interpolate.CubicSpline(knots, rows, bc_type="natural")
        at = np.concatenate([knots, np.linspace(0.0, 1.0, 101), [-0.01, 1.01]])
        for order in range(3):
            scale = np.abs(known(at, order)).max()
            np.testing.assert_allclose(spline(at, order), known(at, order), rtol=0, atol=1e-12 * scale)


def test_the_spline_passes_through_its_rows_without_curvature_at_its_ends():
    knots, rows = made_path(0, 9)
    spline = NaturalSpline(knots, rows)
    np.testing.assert_allclose(spline(knots), rows, atol=1e-12)
    np.testing.assert_allclose(spline(knots[[0, -1]], 2), 0.0, atol=1e-9)
    assert spline.path_interval.tolist() == [0.0, 1.0]
