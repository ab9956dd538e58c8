"""Meshes joined, and their outermost vertices."""

from __future__ import annotations

import numpy as np
import pytest

from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh

TRIANGLE = TriangleMesh(np.eye(3), np.array([[0, 1, 2]]))


def test_joined_meshes_keep_their_triangles_and_move():
    T = Pose.from_rpy((1.0, 2.0, 3.0), (0.1, 0.2, 0.3))
    whole = TriangleMesh.joined([(Pose.identity(), TRIANGLE), (T, TRIANGLE)])
    np.testing.assert_allclose(whole.vertices[whole.faces], [np.eye(3), T @ np.eye(3)])
    assert TriangleMesh.joined([]).vertices.shape == (0, 3)


@pytest.mark.property
@pytest.mark.parametrize("flat", [False, True])
def test_outermost_vertices_reach_as_far_as_all_along_any_direction(flat: bool):
    rng = np.random.default_rng(2)
    vertices = rng.normal(size=(200, 3)) * [1.0, 1.0, 0.0 if flat else 1.0]
    mesh = TriangleMesh(vertices, np.arange(198).reshape(-1, 3))
    directions = rng.normal(size=(50, 3))
    np.testing.assert_allclose((mesh.outermost @ directions.T).max(axis=0), (vertices @ directions.T).max(axis=0))
    assert flat or len(mesh.outermost) < 100
