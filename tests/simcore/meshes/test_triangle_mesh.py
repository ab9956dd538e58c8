"""Joining, welding, splitting and sampling of triangle meshes."""

from __future__ import annotations

import numpy as np
import pytest

from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.solids import convex_hull
from unlatch.simcore.meshes.triangle_mesh import (
    TriangleMesh,
    draw_surface_points,
    join_meshes,
    sample_surface,
    split_components,
    weld_vertices,
)

TRIANGLE = TriangleMesh(np.eye(3), np.array([[0, 1, 2]]))


def test_joined_meshes_keep_their_triangles_and_move():
    T = Pose.from_rpy((1.0, 2.0, 3.0), (0.1, 0.2, 0.3))
    whole = join_meshes([TRIANGLE, TRIANGLE.moved(T)])
    np.testing.assert_allclose(whole.vertices[whole.faces], [np.eye(3), T @ np.eye(3)])
    assert join_meshes([]).vertices.shape == (0, 3)


@pytest.mark.property
@pytest.mark.parametrize("flat", [False, True])
def test_outermost_vertices_reach_as_far_as_all_along_any_direction(flat: bool):
    rng = np.random.default_rng(2)
    vertices = rng.normal(size=(200, 3)) * [1.0, 1.0, 0.0 if flat else 1.0]
    mesh = TriangleMesh(vertices, np.arange(198).reshape(-1, 3))
    directions = rng.normal(size=(50, 3))
    np.testing.assert_allclose((mesh.hull_points @ directions.T).max(axis=0), (vertices @ directions.T).max(axis=0))
    assert flat or len(mesh.hull_points) < 100


def box(low: tuple[float, float, float], high: tuple[float, float, float]) -> TriangleMesh:
    corners = [[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])]
    return convex_hull(np.array(corners))


def test_drawn_points_are_uniform_over_the_area():
    mesh = join_meshes([box((0, 0, 0), (3, 1, 1)), TRIANGLE.moved(Pose.from_translation([9.0, 0.0, 0.0]))])
    n = 40_000
    points, faces = draw_surface_points(mesh, n, np.random.default_rng(0))
    areas = np.linalg.norm(mesh.area_normals, axis=1) / 2
    shares = areas / areas.sum()
    found = np.bincount(faces, minlength=len(shares)) / n
    assert np.all(np.abs(found - shares) < 4 * np.sqrt(shares / n) + 1e-12)
    on_triangle = points[faces == len(shares) - 1] - [9.0, 0.0, 0.0]
    np.testing.assert_allclose(on_triangle.sum(axis=1), 1.0)
    np.testing.assert_allclose(on_triangle.mean(axis=0), 1 / 3, atol=0.03)
    assert on_triangle.min() >= 0.0


def test_welding_connects_loose_triangles() -> None:
    whole = box((0, 0, 0), (1, 1, 1))
    loose = TriangleMesh(whole.triangles.reshape(-1, 3), np.arange(36).reshape(-1, 3))
    assert len(split_components(loose)) == 12
    assert len(split_components(weld_vertices(loose, distance_m=1e-4))) == 1


def test_components_keep_their_triangles() -> None:
    two = join_meshes([box((0, 0, 0), (1, 1, 1)), box((2, 0, 0), (3, 1, 1))])
    pieces = split_components(two)
    assert [len(piece.faces) for piece in pieces] == [12, 12]
    np.testing.assert_allclose(pieces[1].vertices.min(axis=0), [2, 0, 0])


def test_welding_drops_triangles_without_area() -> None:
    vertices = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 0], [0, 1, 1e-7]], dtype=float)
    mesh = TriangleMesh(vertices, np.array([[0, 1, 2], [0, 3, 4], [0, 1, 3]]))
    assert len(weld_vertices(mesh, distance_m=1e-4).faces) == 1


def test_samples_cover_the_surface() -> None:
    mesh = box((0, 0, 0), (1, 0.5, 0.25))
    points = sample_surface(mesh, spacing_m=0.05)
    rng = np.random.default_rng(0)
    weights = rng.dirichlet([1, 1, 1], size=200)
    inside = np.einsum("nk,nkd->nd", weights, mesh.triangles[rng.integers(12, size=200)])
    gaps = np.linalg.norm(points[None] - inside[:, None], axis=2).min(axis=1)
    assert gaps.max() <= 0.05
    assert len(sample_surface(mesh, spacing_m=1e-4, max_points=5000)) == pytest.approx(5000, rel=0.2)
