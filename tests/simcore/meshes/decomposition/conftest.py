"""A closed mesh, and a Bullet client, for tests of decomposition."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pybullet as p
import pytest

from unlatch.simcore.meshes.triangle_mesh import TriangleMesh


@pytest.fixture
def client() -> Iterator[int]:
    """A Bullet client without a screen."""
    number = p.connect(p.DIRECT)
    yield number
    p.disconnect(number)


@pytest.fixture
def angle_surface() -> TriangleMesh:
    """A closed L, 1 m long and high, 0.4 m wide, 0.1 m thick: 0.076 m^3; its hull has more than twice its volume."""
    outline = [(0, 0), (1, 0), (1, 0.1), (0.1, 0.1), (0.1, 1), (0, 1)]
    vertices = np.array([[x, y, z] for y in (0.0, 0.4) for x, z in outline])
    cap = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
    faces = cap + [(a + 6, c + 6, b + 6) for a, b, c in cap]
    for i in range(6):
        j = (i + 1) % 6
        faces += [(i, i + 6, j), (j, i + 6, j + 6)]
    return TriangleMesh(vertices, np.array(faces))
