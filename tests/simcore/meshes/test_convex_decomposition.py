"""Colliders are convex, stay near their surface, and never fill a cavity."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pybullet as p
import pytest
from scipy.spatial import ConvexHull

from tests.simcore.meshes.builders import box, contains, sheet
from unlatch.simcore.errors import AssetError, ConfigError
from unlatch.simcore.meshes import convex_decomposition
from unlatch.simcore.meshes.collider_pieces import SampledSurface, convex_patches, voxel_boxes
from unlatch.simcore.meshes.convex_decomposition import ConvexDecompositionCfg, Decomposition, decompose
from unlatch.simcore.meshes.obj_file import format_obj, read_obj
from unlatch.simcore.meshes.shape_surface import triangle_distances
from unlatch.simcore.meshes.solids import convex_hull, hulls_inertial
from unlatch.simcore.meshes.triangle_mesh import (
    TriangleMesh,
    drop_duplicate_faces,
    is_closed,
    join_meshes,
    sample_triangles,
    simplify_mesh,
)

CUBE = box((0, 0, 0), (0.4, 0.4, 0.4))


def open_box() -> TriangleMesh:
    """A cube without its front (+x), of sheets without thickness, as modellers make them."""
    front = np.all(np.isclose(CUBE.triangles[:, :, 0], 0.4), axis=1)
    return TriangleMesh(CUBE.vertices, CUBE.faces[~front])


def angle_bar() -> TriangleMesh:
    """A closed bar with the section of an L: the smallest concave piece that CoACD cuts well."""
    outline = np.array([(0, 0), (0.4, 0), (0.4, 0.03), (0.03, 0.03), (0.03, 0.4), (0, 0.4)])
    vertices = np.concatenate([np.column_stack([outline, np.full(6, z)]) for z in (0.0, 0.3)])
    bottom = [(0, 2, 1), (0, 3, 2), (0, 4, 3), (0, 5, 4)]
    top = [(a + 6, c + 6, b + 6) for a, b, c in bottom]
    sides = [f for k in range(6) for n in [(k + 1) % 6] for f in ((k, n, n + 6), (k, n + 6, k + 6))]
    return TriangleMesh(vertices, np.array(bottom + top + sides))


def test_a_hull_is_closed_and_turned_outwards():
    points = np.random.default_rng(1).normal(size=(50, 3))
    hull = convex_hull(points)
    assert hull.volume == pytest.approx(ConvexHull(points).volume)
    assert box((-1, -1, -1), (1, 1, 2)).volume == pytest.approx(12.0)


def decomposed(*meshes: TriangleMesh, size_m: float = 0.4, **settings: Any) -> Decomposition:
    return decompose(list(meshes), ConvexDecompositionCfg(**settings), size_m=size_m, where="ovens/7")


def fills(result: Decomposition, *point: float) -> bool:
    return any(contains(hull, np.array(point)) for hull in result.hulls)


@pytest.mark.parametrize(
    ("meshes", "methods", "volume_m3"),
    [
        ([join_meshes([box((0, 0, 0), (1, 1, 0.1)), box((0, 0, 0.9), (1, 1, 1))])], {"hull": 2}, 0.2),
        ([sheet(0.5, 0.4)], {"sheet": 1}, 0.5 * 0.4 * 0.002),
        (
            [box((0, 0, 0), (0.03, 0.03, 0.03)), box((1, 0, 0), (1.004, 0.004, 0.004))],
            {"hull": 1, "skipped": 1},
            0.03**3,
        ),
    ],
    ids=["near convex pieces", "a flat sheet gets a thickness", "a tiny piece is left out"],
)
def test_simple_pieces_become_their_hulls(meshes, methods, volume_m3):
    result = decomposed(*meshes, size_m=1.0)
    assert result.methods == methods
    assert sum(hull.volume for hull in result.hulls) == pytest.approx(volume_m3)


@pytest.mark.slow
def test_an_open_box_stays_open():
    result = decomposed(open_box())
    assert sum(result.methods.values()) == 1
    assert not fills(result, 0.2, 0.2, 0.2)
    assert not fills(result, 0.35, 0.2, 0.2)


@pytest.mark.slow
@pytest.mark.parametrize("threads", ["1", "4"])
def test_a_slow_machine_and_its_threads_do_not_change_the_result(monkeypatch, tmp_path, threads):
    usual = decomposed(angle_bar(), size_m=1.0)
    assert usual.methods == {"coacd": 1}
    slow = tmp_path / "child.py"
    slow.write_text(f"import time\ntime.sleep(1)\n{Path(convex_decomposition.coacd_child.__file__).read_text()}")
    monkeypatch.setattr(convex_decomposition.coacd_child, "__file__", str(slow))
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    again = decomposed(angle_bar(), size_m=1.0)
    assert again.methods == usual.methods
    for one, other in zip(usual.hulls, again.hulls, strict=True):
        np.testing.assert_array_equal(one.vertices, other.vertices)


@pytest.fixture
def child(monkeypatch, tmp_path):
    """Replaces CoACD by a program that first notes the largest extent of its piece; returns the file of the notes."""
    path, notes = tmp_path / "child.py", tmp_path / "notes.txt"
    monkeypatch.setattr(convex_decomposition.coacd_child, "__file__", str(path))

    def write(program):
        path.write_text(
            "import sys, os, time, numpy as np\n"
            "vertices = np.load(sys.argv[1] + '/in.npz')['vertices']\n"
            f"print(np.ptp(vertices, axis=0).max().round(6), file=open({str(notes)!r}, 'a'))\n"
            f"{program}\n"
        )
        return notes

    return write


def test_a_piece_that_never_ends_is_an_error_not_another_result(child):
    child("time.sleep(60)")
    with pytest.raises(AssetError) as caught:
        decomposed(open_box(), piece_limit_s=0.05, most_plates=1)
    assert str(caught.value) == (
        "ovens/7: CoACD is not done with one piece after 0.05 s. Expected seconds. "
        "Try again while the machine does less, or leave this object out."
    )


@pytest.mark.parametrize("program", ["os.kill(os.getpid(), 9)", "raise MemoryError('no memory')"])
def test_a_child_without_memory_is_an_error_not_another_result(child, program):
    child(program)
    with pytest.raises(AssetError, match=r"^ovens/7: CoACD ended with code (-9|1)") as caught:
        decomposed(open_box(), most_plates=1)
    assert str(caught.value).endswith(
        "Expected convex pieces. Check that the package coacd works here and that there is memory for it."
    )


def test_a_piece_that_crashes_coacd_becomes_boxes(child):
    child("os.abort()")
    result = decomposed(open_box(), most_plates=1)
    assert result.methods == {"boxes": 1}
    assert len(result.hulls) <= ConvexDecompositionCfg().most_boxes
    assert not fills(result, 0.2, 0.2, 0.2)
    for point in ((0.0005, 0.2, 0.2), (0.2, 0.0005, 0.2), (0.2, 0.2, 0.3995)):
        assert fills(result, *point), point


@pytest.mark.parametrize(
    ("settings", "given"),
    [
        ({"coacd_pieces": 1, "most_plates": 1}, "0.4"),  # the larger one
        # The larger piece has used up the triangles of the link for plates, so CoACD gets only the other one.
        ({"plate_faces": 10}, "0.2"),
    ],
)
def test_the_largest_pieces_and_those_too_complex_for_plates_are_given_to_coacd(child, settings, given):
    notes = child("os.abort()")
    small = TriangleMesh(open_box().vertices * 0.5 + 2.0, open_box().faces)
    decomposed(join_meshes([small, open_box()]), **settings)
    assert notes.read_text().split() == [given]


def test_the_effort_is_chosen_by_the_size_of_a_piece_before_it_starts():
    cfg = ConvexDecompositionCfg(many_faces=25)
    large = convex_decomposition._coacd_settings(angle_bar(), cfg, size_m=0.4)
    small = convex_decomposition._coacd_settings(angle_bar(), cfg, size_m=2.0)
    assert (large["threshold"], large["preprocess_resolution"]) == (cfg.coacd_threshold, cfg.coacd_grid)
    assert (small["threshold"], small["preprocess_resolution"]) == (cfg.coarse_threshold, cfg.coarse_grid)
    assert large["mcts_iterations"] == cfg.coacd_mcts_iterations
    assert large["seed"] == 0
    for piece, few in ((open_box(), 25), (angle_bar(), 5)):
        settings = convex_decomposition._coacd_settings(piece, ConvexDecompositionCfg(many_faces=few), size_m=0.4)
        assert settings["mcts_iterations"] == cfg.many_faces_mcts_iterations


def test_a_piece_of_many_faces_is_simplified():
    points = np.random.default_rng(0).normal(size=(3000, 3))
    ball = convex_hull(points / np.linalg.norm(points, axis=1, keepdims=True))
    fewer = simplify_mesh(ball, max_faces=500, first_distance_m=0.005)
    assert len(ball.faces) > 5000
    assert 400 < len(fewer.faces) <= 500  # no fewer than necessary
    np.testing.assert_allclose(fewer.extents, ball.extents, atol=0.2)
    assert simplify_mesh(ball, max_faces=6000, first_distance_m=0.005) is ball


def test_hulls_that_fill_a_cavity_are_refused(monkeypatch):
    monkeypatch.setattr(
        convex_decomposition, "_run_coacd", lambda pieces, cfg, **_: [[convex_hull(open_box().vertices)]]
    )
    result = decomposed(open_box(), most_plates=1)
    assert result.methods == {"boxes": 1}


def test_boxes_of_walls_have_the_thickness_of_the_walls():
    boxes = voxel_boxes(open_box(), cells=20, thickness_m=0.002)
    # Cells at an edge belong to one of the walls that meet there: a box is at most one cell thick elsewhere.
    assert len(boxes) <= 8
    thinnest = [float(np.ptp(corners, axis=0).min()) for corners in boxes]
    assert max(thinnest) <= 0.4 / 20 + 1e-9
    assert min(thinnest) == pytest.approx(0.002)


def test_masses_of_hulls_are_those_of_solid_boxes():
    one = hulls_inertial([box((0, 0, 0), (0.2, 0.4, 0.6))], 3.0)
    np.testing.assert_allclose(one.com_link, [0.1, 0.2, 0.3])
    np.testing.assert_allclose(one.inertia, np.diag([0.16 + 0.36, 0.04 + 0.36, 0.04 + 0.16]) * 3.0 / 12.0, atol=1e-12)
    two = hulls_inertial([box((0, 0, 0), (0.2, 0.4, 0.3)), box((0, 0, 0.3), (0.2, 0.4, 0.6))], 3.0)
    np.testing.assert_allclose(two.inertia, one.inertia, atol=1e-12)


@pytest.mark.integration
def test_bullet_makes_one_hull_of_each_object_in_the_file(tmp_path, world):
    (tmp_path / "c.obj").write_text(
        format_obj([box((0, 0, 0), (0.1, 1, 1)), box((0.9, 0, 0), (1, 1, 1))], named=True, decimals=6)
    )
    mesh = read_obj(tmp_path / "c.obj").mesh
    assert (len(mesh.vertices), len(mesh.faces)) == (16, 24)
    (tmp_path / "a.urdf").write_text(
        '<robot name="a">\n<link name="b">\n<collision>\n<geometry>\n<mesh filename="c.obj"/>\n</geometry>\n'
        "</collision>\n</link>\n</robot>\n"
    )
    body = p.loadURDF(str(tmp_path / "a.urdf"), useFixedBase=True, physicsClientId=world.client)
    ball = p.createCollisionShape(p.GEOM_SPHERE, radius=0.05, physicsClientId=world.client)
    middle = p.createMultiBody(0, ball, -1, [0.5, 0.5, 0.5], physicsClientId=world.client)
    (point,) = sorted(p.getClosestPoints(body, middle, 1.0, physicsClientId=world.client), key=lambda q: q[8])[:1]
    assert point[8] == pytest.approx(0.35, abs=0.003), "the gap between the two hulls is free"


def test_settings_out_of_range_are_refused():
    with pytest.raises(ConfigError, match=r"^convex_decomposition\.piece_limit_s=0 is out of range\. Expected above 0"):
        ConvexDecompositionCfg(piece_limit_s=0.0)


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


def patches(mesh: TriangleMesh, *, finest_m: float = 0.001, enough: int = 24, most: int = 48):
    return convex_patches(mesh, finest_m=finest_m, coarse_m=0.01, coarsest_m=0.02, enough=enough, most=most)


def test_the_walls_of_an_open_box_are_its_patches():
    found = patches(open_box())
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
        (CUBE, True),
        (open_box(), False),
        (doubled(CUBE), False),
        (drop_duplicate_faces(doubled(CUBE)), True),
    ],
)
def test_only_a_surface_with_an_inside_is_closed(mesh, closed):
    assert is_closed(mesh) is closed


def test_a_triangle_that_is_written_twice_counts_once():
    np.testing.assert_array_equal(drop_duplicate_faces(doubled(CUBE)).faces, CUBE.faces)
    assert drop_duplicate_faces(CUBE) is CUBE


def test_an_open_box_becomes_thin_plates_without_coacd(monkeypatch):
    monkeypatch.setattr(convex_decomposition, "run_coacd_child", lambda *_, **__: pytest.fail("CoACD was run"))
    result = decomposed(doubled(open_box()))
    assert result.methods == {"plates": 1}
    assert [hull.volume for hull in result.hulls] == [pytest.approx(0.4 * 0.4 * 0.002)] * 5


def test_a_frame_that_is_drawn_from_both_sides_stays_open():
    square = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) / 2
    vertices = np.concatenate([np.column_stack([square * side, np.zeros(4)]) for side in (0.4, 0.25)])
    faces = [f for k in range(4) for n in [(k + 1) % 4] for f in ((k, n, n + 4), (k, n + 4, k + 4))]
    result = decomposed(doubled(TriangleMesh(vertices, np.array(faces))), size_m=1.0)
    assert not fills(result, 0.0, 0.0, 0.0)
    assert fills(result, 0.16, 0.0, 0.0)


def test_the_gaps_between_the_spokes_of_a_small_wheel_stay_open():
    """A hand reaches around a spoke: what is small beside the object is not small beside the fingers."""
    wheel = cross(width=0.04, reach=0.06, depth=0.015)
    hulls = decomposed(wheel, size_m=1.45).hulls
    for x, y in ((1, 1), (-1, 1), (-1, -1), (1, -1)):
        assert not any(contains(hull, [0.028 * x, 0.028 * y, 0.0075]) for hull in hulls)
    for x, y in ((1, 0), (0, 1), (-1, 0), (0, -1)):
        assert any(contains(hull, [0.04 * x, 0.04 * y, 0.0148]) for hull in hulls)


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
    hull = convex_hull(CUBE.vertices)
    # the middle of the open side is 0.2 m from the nearest wall
    assert not SampledSurface(open_box()).is_near(hull, limit_m=0.17)
    assert SampledSurface(open_box()).is_near(hull, limit_m=0.201)
    inner = convex_hull(CUBE.vertices * 0.2 + 0.16)
    assert not SampledSurface(CUBE).is_near(inner, limit_m=0.05)
    assert SampledSurface(CUBE).is_near(inner, limit_m=0.05, solid=True)
