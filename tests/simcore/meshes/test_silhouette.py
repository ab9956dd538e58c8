"""Coverage and depth of triangles are those of rays through the centres of pixels."""

from __future__ import annotations

import numpy as np
import pytest

from unlatch.simcore.cameras import Pinhole
from unlatch.simcore.meshes.silhouette import clip_at_near_plane, nearest_triangles
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh

PINHOLE = Pinhole(24, 18, 20.0, 25.0, 10.0, 9.5)
NEAR_M = 0.1


def mesh_of(triangles: np.ndarray) -> TriangleMesh:
    return TriangleMesh(triangles.reshape(-1, 3), np.arange(3 * len(triangles)).reshape(-1, 3))


def traced(triangles: np.ndarray) -> np.ndarray:
    """Depth of the nearest triangle on each ray, one by one: Möller and Trumbore 1997."""
    v, u = np.mgrid[0:18, 0:24]
    rays = np.stack([(u - 10.0) / 20.0, (v - 9.5) / 25.0, np.ones(u.shape)], axis=-1).reshape(-1, 3)
    depth = np.full(len(rays), np.inf)
    for a, b, c in triangles:
        across = np.cross(rays, c - a)
        det = across @ (b - a)
        s = -(across @ a) / det
        up = np.cross(-a, b - a)
        t = rays @ up / det
        z = (c - a) @ up / det
        hit = (s >= 0) & (t >= 0) & (s + t <= 1) & (z >= NEAR_M)
        depth = np.where(hit, np.minimum(depth, z), depth)
    return depth.reshape(18, 24)


@pytest.mark.parametrize("seed", range(4))
def test_random_triangles_on_all_sides_of_the_camera(seed):
    rng = np.random.default_rng(seed)
    triangles = rng.normal(size=(30, 3, 3)) * [0.6, 0.6, 0.5] + [0.0, 0.0, 0.4]
    expected = traced(triangles)
    assert 0.3 < np.isfinite(expected).mean() <= 1.0
    depth, which = nearest_triangles(PINHOLE, mesh_of(triangles), near_m=NEAR_M)
    np.testing.assert_allclose(depth, expected, rtol=1e-6)
    for number in np.unique(which[which >= 0]):
        alone = traced(triangles[[number]])
        np.testing.assert_allclose(alone[which == number], depth[which == number], rtol=1e-6)
    assert (np.isinf(depth) == (which < 0)).all()


def test_without_triangles_nothing_is_covered():
    depth, which = nearest_triangles(PINHOLE, mesh_of(np.zeros((0, 3, 3))), near_m=NEAR_M)
    assert np.isinf(depth).all()
    assert (which == -1).all()


def test_triangles_in_front_of_the_near_plane_are_cut_off():
    triangle = np.array([[[0.0, 0.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 0.0, -1.0]]])
    cut = clip_at_near_plane(mesh_of(triangle), 0.5)[0].vertices
    assert cut[:, 2].min() == 0.5
    np.testing.assert_allclose(sorted(cut[:, 0]), [-0.25, 0.0, 0.25])
    mesh, source = clip_at_near_plane(mesh_of(-triangle + [0.0, 0.0, 0.2]), 0.5)
    first, second = mesh.vertices[mesh.faces]
    assert source.tolist() == [0, 0]
    assert np.concatenate([first, second])[:, 2].min() == 0.5
    area = sum(np.linalg.norm(np.cross(t[1] - t[0], t[2] - t[0])) / 2 for t in (first, second))
    assert area == pytest.approx(2.0 * (1 - (1.3 / 2) ** 2))
