"""A fisheye lens: rays and pixels are each other's inverse, and both are those of the model."""

from __future__ import annotations

import numpy as np
import pytest

from unlatch.simcore.cameras import Fisheye
from unlatch.simcore.errors import GeometryError

EQUIDISTANT = Fisheye.from_fov(160, 120, np.pi)
BENT = Fisheye.from_fov(160, 120, np.radians(150.0), k=(0.05, -0.01, 0.003, -0.0004))
OFF_CENTRE = Fisheye(160, 120, 60.0, 55.0, 70.0, 65.0, (-0.02, 0.001, 0.0, 0.0))


@pytest.mark.parametrize("lens", [EQUIDISTANT, BENT, OFF_CENTRE])
def test_every_pixel_is_where_its_ray_is_seen(lens: Fisheye):
    rays = lens.rays()
    seen = np.isfinite(rays).all(axis=-1)
    assert seen.mean() > 0.6
    np.testing.assert_allclose(np.linalg.norm(rays[seen], axis=-1), 1.0, atol=1e-12)
    pixels = lens.project(3.0 * rays[seen])
    np.testing.assert_allclose(pixels[:, ::-1], np.argwhere(seen), atol=1e-6)


def test_an_equidistant_lens_turns_angles_into_pixels():
    angles = np.radians([0.0, 10.0, 45.0, 89.0])
    points = np.column_stack([np.sin(angles), np.zeros(4), np.cos(angles)])
    across = EQUIDISTANT.project(points)[:, 0] - EQUIDISTANT.cx
    np.testing.assert_allclose(across, angles * 120 / np.pi, atol=1e-9)
    assert EQUIDISTANT.fov_rad == pytest.approx(np.pi)
    assert BENT.fov_rad == pytest.approx(np.radians(150.0), abs=1e-9)
    assert BENT.with_fov(2.0).fov_rad == pytest.approx(2.0, abs=1e-9)


def test_points_behind_the_lens_have_no_pixel():
    assert np.isnan(EQUIDISTANT.project([[0.0, 0.1, -1.0], [0.0, 0.0, 0.0]])).all()
    wide = Fisheye.from_fov(100, 100, np.radians(220.0))
    assert np.isnan(wide.rays()[0, 0]).all()  # the corner is beyond the widest angle
    assert (wide.rays()[50, 0, 2]) < 0.0  # the middle of an edge is behind the image plane


def test_a_lens_with_a_non_monotonic_polynomial_is_refused():
    with pytest.raises(GeometryError, match="folds the image"):
        Fisheye.from_fov(100, 100, 2.0, k=(-0.5, 0.0, 0.0, 0.0))
