"""A closed mesh, and a Bullet client, for tests of decomposition."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pybullet as p
import pytest

from unlatch.simcore.meshes.obj_file import read_obj
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
    return read_obj(Path(__file__).parents[3] / "data" / "meshes" / "angle.obj").mesh
