"""Triangle meshes: joining, welding, splitting, sampling, distances and normals."""

from __future__ import annotations

import numpy as np
import pytest

from tests.simcore.meshes.builders import box
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.shape_surface import surface_distance, triangle_distances
from unlatch.simcore.meshes.triangle_mesh import (
    TriangleMesh,
    creased_normals,
    draw_surface_points,
    join_meshes,
    sample_surface,
    split_components,
    weld_vertices,
)
from unlatch.simcore.urdf.model import Shape, ShapeKind

TRIANGLE = TriangleMesh(np.eye(3), np.array([[0, 1, 2]]))


def test_joined_meshes_keep_their_triangles_and_move():
    T = Pose.from_rpy((1.0, 2.0, 3.0), (0.1, 0.2, 0.3))
    whole = join_meshes([TRIANGLE, TRIANGLE.moved(T)])
    np.testing.assert_allclose(whole.vertices[whole.faces], [np.eye(3), T @ np.eye(3)])
    assert join_meshes([]).vertices.shape == (0, 3)


@pytest.mark.property
@pytest.mark.parametrize("flat", [False, True])
def test_outermost_vertices_reach_as_far_as_all_along_any_direction(flat):
    rng = np.random.default_rng(2)
    vertices = rng.normal(size=(200, 3)) * [1.0, 1.0, 0.0 if flat else 1.0]
    mesh = TriangleMesh(vertices, np.arange(198).reshape(-1, 3))
    directions = rng.normal(size=(50, 3))
    np.testing.assert_allclose((mesh.hull_points @ directions.T).max(axis=0), (vertices @ directions.T).max(axis=0))
    assert flat or len(mesh.hull_points) < 100


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


def test_welding_connects_loose_triangles():
    whole = box((0, 0, 0), (1, 1, 1))
    loose = TriangleMesh(whole.triangles.reshape(-1, 3), np.arange(36).reshape(-1, 3))
    assert len(split_components(loose)) == 12
    assert len(split_components(weld_vertices(loose, distance_m=1e-4))) == 1


def test_components_keep_their_triangles():
    two = join_meshes([box((0, 0, 0), (1, 1, 1)), box((2, 0, 0), (3, 1, 1))])
    pieces = split_components(two)
    assert [len(piece.faces) for piece in pieces] == [12, 12]
    np.testing.assert_allclose(pieces[1].vertices.min(axis=0), [2, 0, 0])


def test_welding_drops_triangles_without_area():
    vertices = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 0], [0, 1, 1e-7]], dtype=float)
    mesh = TriangleMesh(vertices, np.array([[0, 1, 2], [0, 3, 4], [0, 1, 3]]))
    assert len(weld_vertices(mesh, distance_m=1e-4).faces) == 1


def test_samples_cover_the_surface():
    mesh = box((0, 0, 0), (1, 0.5, 0.25))
    points = sample_surface(mesh, spacing_m=0.05)
    rng = np.random.default_rng(0)
    weights = rng.dirichlet([1, 1, 1], size=200)
    inside = np.einsum("nk,nkd->nd", weights, mesh.triangles[rng.integers(12, size=200)])
    gaps = np.linalg.norm(points[None] - inside[:, None], axis=2).min(axis=1)
    assert gaps.max() <= 0.05
    assert len(sample_surface(mesh, spacing_m=1e-4, max_points=5000)) == pytest.approx(5000, rel=0.2)


@pytest.mark.parametrize(
    ("kind", "size", "point", "distance"),
    [
        (ShapeKind.box, (2.0, 2.0, 2.0), (0.0, 0.0, 0.9), 0.1),
        (ShapeKind.box, (2.0, 2.0, 2.0), (2.0, 2.0, 1.0), np.sqrt(2.0)),
        (ShapeKind.cylinder, (0.5, 2.0), (0.4, 0.0, 0.0), 0.1),
        (ShapeKind.cylinder, (0.5, 2.0), (0.8, 0.0, 1.4), 0.5),
        (ShapeKind.sphere, (0.5,), (0.0, 0.2, 0.0), 0.3),
    ],
)
def test_distances_to_primitives_are_exact(kind, size, point, distance):
    T = Pose.from_rpy([1.0, -2.0, 0.5], [0.3, -0.7, 1.1])
    assert surface_distance([Shape(kind, size, T)], T @ np.array(point)) == pytest.approx(distance)


def test_triangles_agree_with_dense_sampling():
    rng = np.random.default_rng(4)
    triangles = rng.normal(size=(20, 3, 3))
    u, v = np.meshgrid(np.linspace(0, 1, 200), np.linspace(0, 1, 200))
    keep = u + v <= 1
    weights = np.stack([1 - u[keep] - v[keep], u[keep], v[keep]], axis=1)
    for point in rng.normal(size=(10, 3)) * 2:
        sampled = [np.linalg.norm(weights @ t - point, axis=1).min() for t in triangles]
        np.testing.assert_allclose(triangle_distances(point, triangles), sampled, atol=0.02)


def test_a_crease_parts_normals_and_a_bend_does_not():
    bend = np.radians(20.0)
    vertices = np.array([[0, 0, 0], [0, 1, 0], [-1, 0, 0], [np.cos(bend), 0, -np.sin(bend)]])
    mesh = TriangleMesh(vertices, np.array([[0, 1, 2], [0, 3, 1]]))
    smooth = creased_normals(mesh, crease_rad=np.radians(30.0))
    sharp = creased_normals(mesh, crease_rad=np.radians(10.0))
    np.testing.assert_allclose(smooth[0, 0], smooth[1, 0])
    np.testing.assert_allclose(smooth[0, 0], [np.sin(bend / 2), 0.0, np.cos(bend / 2)], atol=1e-9)
    np.testing.assert_allclose(sharp[0], np.broadcast_to([0.0, 0.0, 1.0], (3, 3)), atol=1e-12)
