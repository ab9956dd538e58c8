"""Welding, splitting and sampling of meshes."""

from __future__ import annotations

import numpy as np
import pytest

from unlatch.simcore.meshes.decomposition.convex_decomposition import convex_hull
from unlatch.simcore.meshes.mesh_parts import TriangleMesh, components, join, surface_points, welded


def box(low: tuple[float, float, float], high: tuple[float, float, float]) -> TriangleMesh:
    corners = [[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])]
    return convex_hull(np.array(corners))


def test_loose_triangles_of_one_surface_are_one_piece_after_welding() -> None:
    whole = box((0, 0, 0), (1, 1, 1))
    loose = TriangleMesh(whole.triangles.reshape(-1, 3), np.arange(36).reshape(-1, 3))
    assert len(components(loose)) == 12
    assert len(components(welded(loose, distance_m=1e-4))) == 1


def test_pieces_keep_their_triangles() -> None:
    two = join([box((0, 0, 0), (1, 1, 1)), box((2, 0, 0), (3, 1, 1))])
    pieces = components(two)
    assert [len(piece.faces) for piece in pieces] == [12, 12]
    np.testing.assert_allclose(pieces[1].vertices.min(axis=0), [2, 0, 0])


def test_triangles_without_area_are_dropped() -> None:
    vertices = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 0], [0, 1, 1e-7]], dtype=float)
    mesh = TriangleMesh(vertices, np.array([[0, 1, 2], [0, 3, 4], [0, 1, 3]]))
    assert len(welded(mesh, distance_m=1e-4).faces) == 1


def test_points_cover_the_surface() -> None:
    mesh = box((0, 0, 0), (1, 0.5, 0.25))
    points = surface_points(mesh, spacing_m=0.05)
    rng = np.random.default_rng(0)
    weights = rng.dirichlet([1, 1, 1], size=200)
    inside = np.einsum("nk,nkd->nd", weights, mesh.triangles[rng.integers(12, size=200)])
    gaps = np.linalg.norm(points[None] - inside[:, None], axis=2).min(axis=1)
    assert gaps.max() <= 0.05
    assert len(surface_points(mesh, spacing_m=1e-4, most=5000)) == pytest.approx(5000, rel=0.2)
