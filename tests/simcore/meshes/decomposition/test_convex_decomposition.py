"""Colliders are convex, stay near their surface, and never fill a cavity."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pybullet as p
import pytest

from unlatch.simcore.errors import AssetError, ConfigError
from unlatch.simcore.meshes import convex_decomposition
from unlatch.simcore.meshes.collider_pieces import voxel_boxes, winding_numbers
from unlatch.simcore.meshes.convex_decomposition import ConvexDecompositionCfg, decompose
from unlatch.simcore.meshes.obj_file import format_obj, read_obj
from unlatch.simcore.meshes.solids import convex_hull, hulls_inertial
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, join_meshes, simplify_mesh


def box(low: tuple[float, float, float], high: tuple[float, float, float]) -> TriangleMesh:
    corners = [[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])]
    return convex_hull(np.array(corners))


def open_box() -> TriangleMesh:
    """A cube without its front (+x), of sheets without thickness, as modellers make them."""
    cube = box((0, 0, 0), (0.4, 0.4, 0.4))
    faces = [f for f in cube.faces if not np.allclose(cube.vertices[f][:, 0], 0.4)]
    return TriangleMesh(cube.vertices, np.array(faces))


def angle_bar() -> TriangleMesh:
    """A closed bar with the section of an L: the smallest concave piece that CoACD cuts well."""
    outline = np.array([(0, 0), (0.4, 0), (0.4, 0.03), (0.03, 0.03), (0.03, 0.4), (0, 0.4)])
    vertices = np.concatenate([np.column_stack([outline, np.full(6, z)]) for z in (0.0, 0.3)])
    bottom = [(0, 2, 1), (0, 3, 2), (0, 4, 3), (0, 5, 4)]
    top = [(a + 6, c + 6, b + 6) for a, b, c in bottom]
    sides = [f for k in range(6) for n in [(k + 1) % 6] for f in ((k, n, n + 6), (k, n + 6, k + 6))]
    return TriangleMesh(vertices, np.array(bottom + top + sides))


def _contains(hull: TriangleMesh, point: np.ndarray) -> bool:
    return bool(winding_numbers(point[None], hull.triangles)[0] > 0.5)


def test_a_hull_is_closed_and_turned_outwards() -> None:
    points = np.random.default_rng(1).normal(size=(50, 3))
    hull = convex_hull(points)
    from scipy.spatial import ConvexHull

    assert hull.volume == pytest.approx(ConvexHull(points).volume)
    assert box((-1, -1, -1), (1, 1, 2)).volume == pytest.approx(12.0)


def test_near_convex_pieces_become_their_hulls() -> None:
    result = decompose(
        [join_meshes([box((0, 0, 0), (1, 1, 0.1)), box((0, 0, 0.9), (1, 1, 1))])], ConvexDecompositionCfg(), size_m=1.0
    )
    assert result.methods == {"hull": 2}
    assert sum(hull.volume for hull in result.hulls) == pytest.approx(0.2)


def test_a_flat_sheet_gets_a_thickness() -> None:
    sheet = TriangleMesh(
        np.array([[0, 0, 0], [0.5, 0, 0], [0.5, 0.4, 0], [0, 0.4, 0]], dtype=float), np.array([[0, 1, 2], [0, 2, 3]])
    )
    result = decompose([sheet], ConvexDecompositionCfg(), size_m=0.5)
    assert result.methods == {"sheet": 1}
    assert result.hulls[0].volume == pytest.approx(0.5 * 0.4 * 0.002)


def test_small_pieces_are_hulls_and_tiny_ones_are_left_out() -> None:
    pieces = [box((0, 0, 0), (0.03, 0.03, 0.03)), box((1, 0, 0), (1.004, 0.004, 0.004))]
    assert decompose(pieces, ConvexDecompositionCfg(), size_m=1.0).methods == {"hull": 1, "skipped": 1}


@pytest.mark.slow
def test_an_open_box_stays_open() -> None:
    result = decompose([open_box()], ConvexDecompositionCfg(), size_m=0.4)
    assert sum(result.methods.values()) == 1
    assert not any(_contains(hull, np.array([0.2, 0.2, 0.2])) for hull in result.hulls)
    assert not any(_contains(hull, np.array([0.35, 0.2, 0.2])) for hull in result.hulls)


@pytest.mark.slow
@pytest.mark.parametrize("threads", ["1", "4"])
def test_a_slow_machine_and_its_threads_do_not_change_the_result(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, threads: str
) -> None:
    usual = decompose([angle_bar()], ConvexDecompositionCfg(), size_m=1.0)
    assert usual.methods == {"coacd": 1}
    slow = tmp_path / "child.py"
    slow.write_text(f"import time\ntime.sleep(1)\n{Path(convex_decomposition.coacd_child.__file__).read_text()}")
    monkeypatch.setattr(convex_decomposition.coacd_child, "__file__", str(slow))
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    again = decompose([angle_bar()], ConvexDecompositionCfg(), size_m=1.0)
    assert again.methods == usual.methods
    for one, other in zip(usual.hulls, again.hulls, strict=True):
        np.testing.assert_array_equal(one.vertices, other.vertices)


def _child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str) -> None:
    """Replaces CoACD by a program that first writes the name of its piece."""
    path = tmp_path / "child.py"
    path.write_text(
        "import sys, pathlib, os, time\nfolder = pathlib.Path(sys.argv[1])\n"
        "given = sorted(p.name for p in folder.glob('in_*'))\n"
        "(folder / 'started').write_text(given[0] if given else '')\n"
        f"{program}\n"
    )
    monkeypatch.setattr(convex_decomposition.coacd_child, "__file__", str(path))


def test_a_piece_that_never_ends_is_an_error_not_another_result(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _child(monkeypatch, tmp_path, "time.sleep(60)")
    with pytest.raises(AssetError) as caught:
        decompose([open_box()], ConvexDecompositionCfg(piece_limit_s=0.05, most_plates=1), size_m=0.4, where="ovens/7")
    assert str(caught.value) == (
        "ovens/7: CoACD is not done with one piece after 0.05 s. Expected seconds. "
        "Try again while the machine does less, or leave this object out."
    )


@pytest.mark.parametrize("program", ["os.kill(os.getpid(), 9)", "raise MemoryError('no memory')"])
def test_a_child_without_memory_is_an_error_not_another_result(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str
) -> None:
    _child(monkeypatch, tmp_path, program)
    with pytest.raises(AssetError, match=r"^ovens/7: CoACD ended with code (-9|1)") as caught:
        decompose([open_box()], ConvexDecompositionCfg(most_plates=1), size_m=0.4, where="ovens/7")
    assert str(caught.value).endswith(
        "Expected convex pieces. Check that the package coacd works here and that there is memory for it."
    )


def test_a_piece_that_crashes_coacd_becomes_boxes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _child(monkeypatch, tmp_path, "os.abort() if given else None")
    cfg = ConvexDecompositionCfg(most_plates=1)
    result = decompose([open_box()], cfg, size_m=0.4)
    assert result.methods == {"boxes": 1}
    assert len(result.hulls) <= cfg.most_boxes
    assert not any(_contains(hull, np.array([0.2, 0.2, 0.2])) for hull in result.hulls)
    walls = np.array([[0.0005, 0.2, 0.2], [0.2, 0.0005, 0.2], [0.2, 0.2, 0.3995]])
    for point in walls:
        assert any(_contains(hull, point) for hull in result.hulls), point


def test_only_the_largest_pieces_are_given_to_coacd(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _child(monkeypatch, tmp_path, "print(given, file=sys.stderr)\nsys.exit(3)")
    small = TriangleMesh(open_box().vertices * 0.5 + 2.0, open_box().faces)
    with pytest.raises(AssetError, match=r"in_00000\.npz") as caught:
        decompose([join_meshes([small, open_box()])], ConvexDecompositionCfg(coacd_pieces=1, most_plates=1), size_m=0.4)
    assert "in_00001.npz" not in str(caught.value)


def test_surfaces_too_complex_for_plates_go_to_coacd(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _child(monkeypatch, tmp_path, "print(given, file=sys.stderr)\nsys.exit(3)")
    small = TriangleMesh(open_box().vertices * 0.5 + 2.0, open_box().faces)
    with pytest.raises(AssetError) as caught:
        decompose([join_meshes([small, open_box()])], ConvexDecompositionCfg(plate_faces=10), size_m=0.4)
    # the larger piece has used up the triangles of the link, so CoACD gets only the other one
    assert "['in_00000.npz']" in str(caught.value)


def test_the_effort_is_chosen_by_the_size_of_a_piece_before_it_starts() -> None:
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


def test_a_piece_of_many_faces_is_simplified() -> None:
    points = np.random.default_rng(0).normal(size=(3000, 3))
    ball = convex_hull(points / np.linalg.norm(points, axis=1, keepdims=True))
    fewer = simplify_mesh(ball, max_faces=500, first_distance_m=0.005)
    assert len(ball.faces) > 5000
    assert 100 < len(fewer.faces) <= 500
    np.testing.assert_allclose(fewer.extents, ball.extents, atol=0.2)
    assert simplify_mesh(ball, max_faces=6000, first_distance_m=0.005) is ball


def test_hulls_that_fill_a_cavity_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        convex_decomposition, "_run_coacd", lambda pieces, cfg, **_: [[convex_hull(open_box().vertices)]]
    )
    result = decompose([open_box()], ConvexDecompositionCfg(most_plates=1), size_m=0.4)
    assert result.methods == {"boxes": 1}


def test_boxes_of_walls_have_the_thickness_of_the_walls() -> None:
    boxes = voxel_boxes(open_box(), cells=20, thickness_m=0.002)
    # Cells at an edge belong to one of the walls that meet there: a box is at most one cell thick elsewhere.
    assert len(boxes) <= 8
    thinnest = [float(np.ptp(corners, axis=0).min()) for corners in boxes]
    assert max(thinnest) <= 0.4 / 20 + 1e-9
    assert min(thinnest) == pytest.approx(0.002)


def test_masses_of_hulls_are_those_of_solid_boxes() -> None:
    one = hulls_inertial([box((0, 0, 0), (0.2, 0.4, 0.6))], 3.0)
    np.testing.assert_allclose(one.com_link, [0.1, 0.2, 0.3])
    np.testing.assert_allclose(one.inertia, np.diag([0.16 + 0.36, 0.04 + 0.36, 0.04 + 0.16]) * 3.0 / 12.0, atol=1e-12)
    two = hulls_inertial([box((0, 0, 0), (0.2, 0.4, 0.3)), box((0, 0, 0.3), (0.2, 0.4, 0.6))], 3.0)
    np.testing.assert_allclose(two.inertia, one.inertia, atol=1e-12)


@pytest.mark.integration
def test_bullet_makes_one_hull_of_each_object_in_the_file(tmp_path: Path, client: int) -> None:
    (tmp_path / "c.obj").write_text(
        format_obj([box((0, 0, 0), (0.1, 1, 1)), box((0.9, 0, 0), (1, 1, 1))], named=True, decimals=6)
    )
    mesh = read_obj(tmp_path / "c.obj").mesh
    assert (len(mesh.vertices), len(mesh.faces)) == (16, 24)
    (tmp_path / "a.urdf").write_text(
        '<robot name="a">\n<link name="b">\n<collision>\n<geometry>\n<mesh filename="c.obj"/>\n</geometry>\n'
        "</collision>\n</link>\n</robot>\n"
    )
    body = p.loadURDF(str(tmp_path / "a.urdf"), useFixedBase=True, physicsClientId=client)
    ball = p.createCollisionShape(p.GEOM_SPHERE, radius=0.05, physicsClientId=client)
    middle = p.createMultiBody(0, ball, -1, [0.5, 0.5, 0.5], physicsClientId=client)
    (point,) = sorted(p.getClosestPoints(body, middle, 1.0, physicsClientId=client), key=lambda q: q[8])[:1]
    assert point[8] == pytest.approx(0.35, abs=0.003), "the gap between the two hulls is free"


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"^convex_decomposition\.piece_limit_s=0 is out of range\. Expected above 0\."
    ):
        ConvexDecompositionCfg(piece_limit_s=0.0)
