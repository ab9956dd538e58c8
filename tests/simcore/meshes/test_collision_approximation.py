"""Colliders against shapes whose best answer is known: approximations, distances and volumes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.simcore.meshes.builders import box, centred_box, sheet
from unlatch.simcore.geometry import Pose, matrix_from_rpy
from unlatch.simcore.meshes.collider_pieces import collider_quality
from unlatch.simcore.meshes.convex_decomposition import Colliders, CollisionApproximation, make_colliders
from unlatch.simcore.meshes.obj_file import read_obj
from unlatch.simcore.meshes.solids import convex_hull, mesh_hull
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, closed_volume, join_meshes, simplify_mesh
from unlatch.simcore.urdf.model import ShapeKind

UNIT = centred_box((1, 1, 1))


@pytest.fixture
def angle_surface():
    """A closed L, 1 m long and high, 0.4 m wide, 0.1 m thick: 0.076 m^3; its hull has more than twice its volume."""
    return read_obj(Path(__file__).parents[2] / "data" / "meshes" / "angle.obj").mesh


def colliders(mesh: TriangleMesh, kind: str) -> Colliders:
    return make_colliders([mesh], CollisionApproximation(kind), size_m=1.0, where="test")


def test_the_box_around_a_slanted_box_is_that_box():
    T = Pose(matrix_from_rpy([0.4, -0.3, 1.1]), np.array([0.3, 0.2, -0.1]))
    found = colliders(centred_box((1.0, 0.5, 0.2), T), "boundingCube")
    assert found.primitive.kind is ShapeKind.box
    assert sorted(found.primitive.size) == pytest.approx([0.2, 0.5, 1.0], rel=1e-4)
    np.testing.assert_allclose(found.primitive.T_link_shape.p, T.p, atol=1e-4)
    assert found.convex[0].volume == pytest.approx(0.1, rel=1e-3)


def test_the_box_around_a_straight_box_is_not_turned():
    found = colliders(centred_box((1.0, 0.5, 0.2)), "boundingCube")
    np.testing.assert_allclose(found.primitive.size, (1.0, 0.5, 0.2), atol=1e-9)
    np.testing.assert_array_equal(found.primitive.T_link_shape.R, np.eye(3))


def test_the_ball_is_the_smallest_and_holds_everything():
    T = Pose.from_translation(np.array([1.0, 2.0, 3.0]))
    mesh = centred_box((1.0, 0.5, 0.2), T)
    found = colliders(mesh, "boundingSphere")
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
    assert mesh_hull(sheet(1, 1), least_m=0.002, where="sheet").volume == pytest.approx(0.002, rel=1e-3)
    assert closed_volume(sheet(1, 1)) is None


def test_only_closed_surfaces_have_a_volume():
    whole = centred_box((1.0, 0.5, 0.2))
    assert closed_volume(whole) == pytest.approx(0.1)
    assert closed_volume(TriangleMesh(whole.vertices, whole.faces[1:])) is None
    assert closed_volume(TriangleMesh(whole.vertices, whole.faces[:, ::-1])) is None
    both_sides = join_meshes([whole, TriangleMesh(whole.vertices, whole.faces[:, ::-1])])
    assert closed_volume(both_sides) is None


def halves(gap: float = 0.0) -> list[TriangleMesh]:
    return [box((-0.5, -0.5, -0.5), (-gap, 0.5, 0.5)), box((0.0, -0.5, -0.5), (0.5, 0.5, 0.5))]


OPEN = TriangleMesh(UNIT.vertices, UNIT.faces[1:])


@pytest.mark.parametrize(
    ("surface", "colliders", "protruding_m", "uncovered_m", "ratio"),
    [
        (UNIT, [UNIT], 0.0, 0.0, 1.0),
        (UNIT, halves(), 0.0, 0.0, 1.0),
        (UNIT, [centred_box((1.2, 1, 1))], 0.1, 0.0, 1.2),
        (UNIT, [centred_box((1, 1, 0.6))], None, 0.2, 0.6),
        (OPEN, [UNIT], None, 0.0, None),
    ],
    ids=["the same", "halves that meet inside", "too large", "too small", "a hole"],
)
def test_what_stands_out_and_what_is_left_bare(surface, colliders, protruding_m, uncovered_m, ratio):
    found = collider_quality([surface], colliders)
    assert found.parts == len(colliders)
    if protruding_m is not None:
        assert found.protruding_m == pytest.approx(protruding_m, abs=found.spacing_m)
    assert found.uncovered_m == pytest.approx(uncovered_m, abs=found.spacing_m)
    assert found.hausdorff_m == max(found.uncovered_m, found.protruding_m)
    assert found.volume_ratio == (None if ratio is None else pytest.approx(ratio))
    assert found.volume_m3 == pytest.approx(ratio or 1.0)


def test_links_without_surface_or_colliders_have_no_quality():
    assert collider_quality([], [UNIT]) is None
    assert collider_quality([UNIT], []) is None


@pytest.mark.slow
@pytest.mark.parametrize(("gap", "stands_out"), [(0.001, False), (0.05, True)])
def test_faces_of_parts_that_nearly_meet_inside_a_solid_do_not_stand_out(gap, stands_out):
    # the points are 15 mm apart: a gap of 1 mm is one that CoACD leaves, a hand reaches into neither
    found = collider_quality([UNIT], halves(gap))
    assert (found.protruding_m > 0.4) is stands_out
