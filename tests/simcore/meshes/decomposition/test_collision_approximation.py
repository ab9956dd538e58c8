"""Each approximation against shapes whose best answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from unlatch.simcore.geometry import Pose, matrix_from_rpy
from unlatch.simcore.meshes.convex_decomposition import Colliders, CollisionApproximation, make_colliders
from unlatch.simcore.meshes.solids import convex_hull, mesh_hull
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, closed_volume, join_meshes, simplify_mesh
from unlatch.simcore.urdf.model import ShapeKind

CORNERS = np.array(np.meshgrid((-0.5, 0.5), (-0.5, 0.5), (-0.5, 0.5))).reshape(3, -1).T


def box(size: tuple[float, float, float], T: Pose | None = None) -> TriangleMesh:
    return convex_hull((T or Pose.identity()) @ (CORNERS * np.asarray(size)))


def colliders(mesh: TriangleMesh, kind: str) -> Colliders:
    return make_colliders([mesh], CollisionApproximation(kind), size_m=1.0, where="test")


def test_the_box_around_a_slanted_box_is_that_box():
    T = Pose(matrix_from_rpy([0.4, -0.3, 1.1]), np.array([0.3, 0.2, -0.1]))
    found = colliders(box((1.0, 0.5, 0.2), T), "boundingCube")
    assert found.primitive is not None
    assert found.primitive.kind is ShapeKind.box
    assert sorted(found.primitive.size) == pytest.approx([0.2, 0.5, 1.0], rel=1e-4)
    np.testing.assert_allclose(found.primitive.T_link_shape.p, T.p, atol=1e-4)
    assert found.convex[0].volume == pytest.approx(0.1, rel=1e-3)


def test_the_box_around_a_straight_box_is_not_turned():
    found = colliders(box((1.0, 0.5, 0.2)), "boundingCube")
    assert found.primitive is not None
    np.testing.assert_allclose(found.primitive.size, (1.0, 0.5, 0.2), atol=1e-9)
    np.testing.assert_array_equal(found.primitive.T_link_shape.R, np.eye(3))


def test_the_ball_is_the_smallest_and_holds_everything():
    T = Pose.from_translation(np.array([1.0, 2.0, 3.0]))
    mesh = box((1.0, 0.5, 0.2), T)
    found = colliders(mesh, "boundingSphere")
    assert found.primitive is not None
    (radius,) = found.primitive.size
    assert radius == pytest.approx(np.linalg.norm([0.5, 0.25, 0.1]), rel=2e-3)
    centre = found.primitive.T_link_shape.p
    assert np.max(np.linalg.norm(mesh.vertices - centre, axis=1)) <= radius


def test_one_hull_fills_a_corner_and_a_decomposition_does_not(angle_surface):
    hull, parts = colliders(angle_surface, "convexHull"), colliders(angle_surface, "convexDecomposition")
    assert len(hull.convex) == 1
    assert hull.convex[0].volume > 2 * 0.076
    assert len(parts.convex) >= 2
    assert sum(part.volume for part in parts.convex) == pytest.approx(0.076, rel=0.02)
    assert closed_volume(angle_surface) == pytest.approx(0.076)


def test_simplified_triangles_keep_the_shape():
    heights, angles = np.meshgrid(np.linspace(0, 1, 60), np.linspace(0, 2 * np.pi, 80, endpoint=False))
    points = np.stack([np.cos(angles), np.sin(angles), heights], axis=-1).reshape(-1, 3)
    dense = convex_hull(points)
    fine = join_meshes([TriangleMesh(dense.vertices, dense.faces)])
    found = simplify_mesh(fine, max_faces=200, first_distance_m=0.001)
    assert len(fine.faces) > 200
    assert 20 <= len(found.faces) <= 200
    np.testing.assert_allclose(found.extents, fine.extents, atol=0.2)


def test_simplified_colliders_are_concave_and_few(angle_surface):
    found = colliders(angle_surface, "meshSimplification")
    assert found.convex == []
    assert found.triangles is not None
    assert len(found.triangles.faces) == len(angle_surface.faces)


def test_approximation_none_makes_no_colliders(angle_surface):
    found = colliders(angle_surface, "none")
    assert (found.convex, found.triangles, found.primitive) == ([], None, None)


def test_a_flat_sheet_gets_a_thickness():
    sheet = TriangleMesh(
        np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], dtype=float), np.array([[0, 1, 2], [0, 2, 3]])
    )
    assert mesh_hull(sheet, least_m=0.002, where="sheet").volume == pytest.approx(0.002, rel=1e-3)
    assert closed_volume(sheet) is None


def test_only_closed_surfaces_have_a_volume():
    whole = box((1.0, 0.5, 0.2))
    assert closed_volume(whole) == pytest.approx(0.1)
    assert closed_volume(TriangleMesh(whole.vertices, whole.faces[1:])) is None
    assert closed_volume(TriangleMesh(whole.vertices, whole.faces[:, ::-1])) is None
    both_sides = join_meshes([whole, TriangleMesh(whole.vertices, whole.faces[:, ::-1])])
    assert closed_volume(both_sides) is None
