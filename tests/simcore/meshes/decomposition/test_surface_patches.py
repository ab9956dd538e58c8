"""Open surfaces become plates that follow them; nothing between them is filled."""

from __future__ import annotations

import numpy as np
import pytest

from unlatch.simcore.meshes.collider_pieces import SampledSurface, convex_patches, winding_numbers
from unlatch.simcore.meshes.convex_decomposition import ConvexDecompositionCfg, decompose
from unlatch.simcore.meshes.shape_surface import triangle_distances
from unlatch.simcore.meshes.solids import convex_hull
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, drop_duplicate_faces, is_closed, sample_triangles


def cube() -> TriangleMesh:
    corners = np.array(np.meshgrid((0.0, 0.4), (0.0, 0.4), (0.0, 0.4))).reshape(3, -1).T
    return convex_hull(corners)


def without_front(mesh: TriangleMesh) -> TriangleMesh:
    """A cube without its side at x = 0.4."""
    front = np.all(np.isclose(mesh.triangles[:, :, 0], 0.4), axis=1)
    return TriangleMesh(mesh.vertices, mesh.faces[~front])


def doubled(mesh: TriangleMesh) -> TriangleMesh:
    """Each triangle from both sides, as in PartNet."""
    return TriangleMesh(mesh.vertices, np.concatenate([mesh.faces, mesh.faces[:, ::-1]]))


def gutter(steps: int) -> TriangleMesh:
    """Half a pipe of radius 0.1 and length 0.4, open along its length."""
    angles = np.linspace(0.0, np.pi, steps + 1)
    ring = 0.1 * np.column_stack([np.cos(angles), np.sin(angles)])
    vertices = np.concatenate([np.column_stack([ring, np.full(len(ring), z)]) for z in (0.0, 0.4)])
    n = steps + 1
    faces = [f for k in range(steps) for f in ((k, k + 1, k + 1 + n), (k, k + 1 + n, k + n))]
    return TriangleMesh(vertices, np.array(faces))


def cross(*, width: float, reach: float, depth: float) -> TriangleMesh:
    """A lock wheel of four spokes without its back, as such small things are drawn."""
    half, quarter_turn = width / 2, np.array([[0, 1], [-1, 0]])
    arm = np.array([(reach, -half), (reach, half), (half, half)])
    outline = np.concatenate([arm @ np.linalg.matrix_power(quarter_turn, k) for k in range(4)])
    vertices = np.concatenate([np.column_stack([outline, np.full(12, z)]) for z in (0.0, depth)])
    sides = [f for k in range(12) for m in [(k + 1) % 12] for f in ((k, m, m + 12), (k, m + 12, k + 12))]
    arms = [f for k in range(0, 12, 3) for f in ((k, k + 1, k + 2), (k, k + 2, (k - 1) % 12))]
    front = np.array([*arms, (2, 5, 8), (2, 8, 11)]) + 12
    return TriangleMesh(vertices, np.concatenate([sides, front]))


def holds(hull: TriangleMesh, point: np.ndarray) -> bool:
    return bool(winding_numbers(point[None], hull.triangles)[0] > 0.5)


def patches(mesh: TriangleMesh, *, finest_m: float = 0.001, enough: int = 24, most: int = 48):
    return convex_patches(mesh, finest_m=finest_m, coarse_m=0.01, coarsest_m=0.02, enough=enough, most=most)


def test_the_walls_of_an_open_box_are_its_patches():
    found = patches(without_front(cube()))
    assert sorted(len(patch) for patch in found) == [4] * 5
    assert all(np.min(np.ptp(patch, axis=0)) == 0.0 for patch in found)


def test_every_triangle_lies_in_a_patch_and_the_order_is_fixed():
    mesh = gutter(20)
    found, again = patches(mesh), patches(mesh)
    assert {tuple(point) for patch in found for point in patch} == {tuple(point) for point in mesh.vertices}
    assert all(np.array_equal(one, other) for one, other in zip(found, again, strict=True))


def test_a_curved_wall_is_made_of_as_few_plates_as_the_distance_allows():
    fine, coarse = patches(gutter(20), finest_m=0.001), patches(gutter(20), finest_m=0.004)
    # a chord over an angle a stands 0.1 (1 - cos(a / 2)) off its arc: 1 mm at 16 degrees, 4 mm at 33
    assert len(coarse) < len(fine) <= 22
    for patch in fine:
        assert 0.1 - np.min(np.linalg.norm((patch[:, :2].max(axis=0) + patch[:, :2].min(axis=0)) / 2)) < 0.004


@pytest.mark.slow
def test_plates_get_coarser_only_while_there_are_too_many():
    # plates of 30 degrees stand 3 mm off their arc, of 36 degrees 5 mm, of 60 degrees 13 mm, which is for what would be
    # too many only
    assert len(patches(gutter(20))) > 6
    assert len(patches(gutter(20), enough=6)) == 6
    assert 5 <= len(patches(gutter(20), enough=2)) <= 6
    assert len(patches(gutter(20), enough=2, most=4)) <= 4
    assert patches(gutter(20), enough=1, most=1) is None


@pytest.mark.parametrize(
    ("mesh", "closed"),
    [
        (cube(), True),
        (without_front(cube()), False),
        (doubled(cube()), False),
        (drop_duplicate_faces(doubled(cube())), True),
    ],
)
def test_only_a_surface_with_an_inside_is_closed(mesh: TriangleMesh, closed: bool):
    assert is_closed(mesh) is closed


def test_a_triangle_that_is_written_twice_counts_once():
    mesh = cube()
    np.testing.assert_array_equal(drop_duplicate_faces(doubled(mesh)).faces, mesh.faces)
    assert drop_duplicate_faces(mesh) is mesh


def test_an_open_box_becomes_thin_plates_without_coacd(monkeypatch: pytest.MonkeyPatch):
    from unlatch.simcore.meshes import convex_decomposition

    monkeypatch.setattr(convex_decomposition, "run_coacd_child", lambda *_, **__: pytest.fail("CoACD was run"))
    result = decompose([doubled(without_front(cube()))], ConvexDecompositionCfg(), size_m=0.4)
    assert result.methods == {"plates": 1}
    assert [hull.volume for hull in result.hulls] == [pytest.approx(0.4 * 0.4 * 0.002)] * 5


def test_a_frame_that_is_drawn_from_both_sides_stays_open():
    square = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) / 2
    vertices = np.concatenate([np.column_stack([square * side, np.zeros(4)]) for side in (0.4, 0.25)])
    faces = [f for k in range(4) for n in [(k + 1) % 4] for f in ((k, n, n + 4), (k, n + 4, k + 4))]
    result = decompose([doubled(TriangleMesh(vertices, np.array(faces)))], ConvexDecompositionCfg(), size_m=1.0)
    assert not any(holds(hull, np.zeros(3)) for hull in result.hulls)
    assert any(holds(hull, np.array([0.16, 0.0, 0.0])) for hull in result.hulls)


def test_the_gaps_between_the_spokes_of_a_small_wheel_stay_open():
    """A hand reaches around a spoke: what is small beside the object is not small beside the fingers."""
    wheel = cross(width=0.04, reach=0.06, depth=0.015)
    hulls = decompose([wheel], ConvexDecompositionCfg(), size_m=1.45).hulls
    for x, y in ((1, 1), (-1, 1), (-1, -1), (1, -1)):
        assert not any(holds(hull, np.array([0.028 * x, 0.028 * y, 0.0075])) for hull in hulls)
    for x, y in ((1, 0), (0, 1), (-1, 0), (0, -1)):
        assert any(holds(hull, np.array([0.04 * x, 0.04 * y, 0.0148])) for hull in hulls)


def test_samples_know_their_triangle_and_distances_are_nearly_exact():
    mesh = gutter(8)
    points, owners = sample_triangles(mesh, spacing_m=0.05, max_points=1000)
    own = [triangle_distances(point, mesh.triangles[[owner]])[0] for point, owner in zip(points, owners, strict=True)]
    np.testing.assert_allclose(own, 0.0, atol=1e-9)
    asked = np.random.default_rng(2).uniform(-0.2, 0.5, size=(200, 3))
    exact = np.array([triangle_distances(point, mesh.triangles).min() for point in asked])
    found = SampledSurface(mesh).distances(asked)
    assert np.all(found >= exact - 1e-12)
    assert np.max(found - exact) < 1e-3


def test_a_hull_is_near_if_no_point_of_it_is_beyond_the_limit():
    box = without_front(cube())
    hull = convex_hull(box.vertices)
    # the middle of the open side is 0.2 m from the nearest wall
    assert not SampledSurface(box).is_near(hull, limit_m=0.17)
    assert SampledSurface(box).is_near(hull, limit_m=0.201)
    inner = convex_hull(cube().vertices * 0.2 + 0.16)
    assert not SampledSurface(cube()).is_near(inner, limit_m=0.05)
    assert SampledSurface(cube()).is_near(inner, limit_m=0.05, solid=True)
