"""Points are inside the closed pieces of meshes, convex or not, and never inside open ones."""

from __future__ import annotations

import numpy as np
import trimesh

from unlatch.simcore.meshes.collider_pieces import SolidPieces
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, join_meshes


def box(size: tuple[float, float, float], centre: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> TriangleMesh:
    made = trimesh.creation.box(size)
    return TriangleMesh(np.asarray(made.vertices) + centre, np.asarray(made.faces))


def test_depths_in_a_box_are_distances_to_its_faces():
    points = np.array([[0.0, 0.0, 0.0], [0.9, 0.0, 0.0], [0.0, 0.0, 0.4], [1.1, 0.0, 0.0]])
    solids = SolidPieces([join_meshes([box((2.0, 2.0, 1.0)), box((0.2, 0.2, 0.2), (5.0, 0.0, 0.0))])])
    np.testing.assert_allclose(solids.depths(points), [0.5, 0.1, 0.1, 0.0], atol=1e-9)
    np.testing.assert_allclose(solids.depths(np.array([[5.0, 0.0, 0.05]])), [0.05], atol=1e-9)


def test_the_hollow_of_a_tube_is_outside():
    tube = trimesh.creation.annulus(r_min=0.1, r_max=0.2, height=1.0, sections=64)
    solids = SolidPieces([TriangleMesh(np.asarray(tube.vertices), np.asarray(tube.faces))])
    depths = solids.depths(np.array([[0.0, 0.0, 0.0], [0.15, 0.0, 0.0], [0.11, 0.0, 0.0], [0.3, 0.0, 0.0]]))
    np.testing.assert_allclose(depths, [0.0, 0.05, 0.01, 0.0], atol=1e-3)


def test_an_open_piece_has_no_inside():
    whole = box((1.0, 1.0, 1.0))
    assert SolidPieces([TriangleMesh(whole.vertices, whole.faces[:-1])]).depths(np.zeros((1, 3))) == 0.0
    assert SolidPieces([join_meshes([])]).depths(np.zeros((1, 3))) == 0.0
