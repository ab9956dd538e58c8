"""Pinholes and fisheye lenses: pixels, rays, depth and normals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unlatch.simcore.cameras import Fisheye, Pinhole
from unlatch.simcore.errors import GeometryError

CAMERA = Pinhole(24, 18, 30.0, 28.0, 9.0, 7.5)


def test_the_axis_is_in_the_middle_and_the_edges_are_half_a_pixel_beyond_the_outer_centres():
    camera = Pinhole.from_fov(64, 48, np.radians(90.0))
    assert (camera.cx, camera.cy) == (31.5, 23.5)
    upper, lower = camera.project([[0.0, -1.0, 1.0], [0.0, 1.0, 1.0]])[:, 1]
    assert upper == pytest.approx(-0.5)
    assert lower == pytest.approx(47.5)


@pytest.mark.property
@given(seed=st.integers(0, 2**32 - 1))
def test_points_of_a_depth_image_project_onto_their_pixels(seed):
    depth = np.random.default_rng(seed).uniform(0.1, 5.0, (18, 24))
    pixels = CAMERA.project(CAMERA.points(depth).reshape(-1, 3)).reshape(18, 24, 2)
    u, v = np.meshgrid(np.arange(24), np.arange(18))
    np.testing.assert_allclose(pixels, np.stack([u, v], axis=-1), atol=1e-9)


@pytest.mark.property
@given(x=st.floats(-0.6, 0.6), y=st.floats(-0.6, 0.6), distance=st.floats(0.2, 4.0))
def test_normals_of_a_plane_are_exact(x, y, distance):
    normal = np.array([x, y, -1.0]) / np.linalg.norm([x, y, 1.0])
    depth = -distance / (CAMERA.rays() @ normal)
    np.testing.assert_allclose(CAMERA.normals(depth), np.broadcast_to(normal, (18, 24, 3)), atol=1e-9)


def test_normals_do_not_blur_over_a_step_or_a_crease():
    far = np.full((18, 24), 2.0)
    far[:, :12] = 1.0
    np.testing.assert_allclose(CAMERA.normals(far), np.broadcast_to([0.0, 0.0, -1.0], (18, 24, 3)), atol=1e-9)
    roof = np.array([[0.6, 0.0, -0.8], [-0.6, 0.0, -0.8]])
    depth = np.max([-1.0 / (CAMERA.rays() @ side) for side in roof], axis=0)
    found = CAMERA.normals(depth)
    closest = np.max(found @ roof.T, axis=-1)
    np.testing.assert_allclose(closest, 1.0, atol=1e-9)


def test_normals_are_zero_without_a_surface_and_on_specks():
    depth = np.full((18, 24), np.inf)
    depth[3, 4] = 1.0
    depth[8:14, 8:14] = 1.0
    found = CAMERA.normals(depth)
    assert not found[3, 4].any()
    assert np.isnan(CAMERA.points(depth)[0, 0]).all()
    np.testing.assert_allclose(found[8:14, 8:14, 2], -1.0)
    assert np.count_nonzero(found.any(axis=-1)) == 36


@pytest.mark.parametrize("change", [{"width": 0}, {"fx": 0.0}, {"fy": -1.0}])
def test_an_impossible_camera_is_refused(change):
    with pytest.raises(GeometryError, match="is impossible"):
        Pinhole(**{**{"width": 4, "height": 3, "fx": 1.0, "fy": 1.0, "cx": 0.0, "cy": 0.0}, **change})


EQUIDISTANT = Fisheye.from_fov(160, 120, np.pi)
BENT = Fisheye.from_fov(160, 120, np.radians(150.0), k=(0.05, -0.01, 0.003, -0.0004))
OFF_CENTRE = Fisheye(160, 120, 60.0, 55.0, 70.0, 65.0, (-0.02, 0.001, 0.0, 0.0))


@pytest.mark.parametrize("lens", [EQUIDISTANT, BENT, OFF_CENTRE])
def test_every_pixel_is_where_its_ray_is_seen(lens):
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
    assert np.isnan(CAMERA.project([[0.1, 0.1, -1.0], [0.1, 0.1, 0.0]])).all()
    assert np.isnan(EQUIDISTANT.project([[0.0, 0.1, -1.0], [0.0, 0.0, 0.0]])).all()
    wide = Fisheye.from_fov(100, 100, np.radians(220.0))
    assert np.isnan(wide.rays()[0, 0]).all()  # the corner is beyond the widest angle
    assert (wide.rays()[50, 0, 2]) < 0.0  # the middle of an edge is behind the image plane


def test_a_lens_with_a_non_monotonic_polynomial_is_refused():
    with pytest.raises(GeometryError, match="folds the image"):
        Fisheye.from_fov(100, 100, 2.0, k=(-0.5, 0.0, 0.0, 0.0))
