"""Distances to surfaces."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from simcore.assets.surface import read_obj, surface_distance, triangle_distances
from simcore.assets.urdf_model import Shape, ShapeKind
from simcore.errors import AssetError
from simcore.geometry import Pose


@pytest.mark.parametrize(
    ("kind", "size", "point", "distance"),
    [
        (ShapeKind.box, (2.0, 2.0, 2.0), (0.0, 0.0, 0.9), 0.1),
        (ShapeKind.box, (2.0, 2.0, 2.0), (2.0, 2.0, 1.0), np.sqrt(2.0)),
        (ShapeKind.cylinder, (0.5, 2.0), (0.4, 0.0, 0.0), 0.1),
        (ShapeKind.cylinder, (0.5, 2.0), (0.8, 0.0, 1.4), 0.5),
        (ShapeKind.sphere, (0.5,), (0.0, 0.2, 0.0), 0.3),
    ],
)
def test_primitives(kind: ShapeKind, size: tuple[float, ...], point: tuple[float, ...], distance: float) -> None:
    T = Pose.from_rpy([1.0, -2.0, 0.5], [0.3, -0.7, 1.1])
    assert surface_distance([Shape(kind, size, T)], T @ np.array(point)) == pytest.approx(distance)


def test_triangles_agree_with_dense_sampling() -> None:
    rng = np.random.default_rng(4)
    triangles = rng.normal(size=(20, 3, 3))
    u, v = np.meshgrid(np.linspace(0, 1, 200), np.linspace(0, 1, 200))
    keep = u + v <= 1
    weights = np.stack([1 - u[keep] - v[keep], u[keep], v[keep]], axis=1)
    for point in rng.normal(size=(10, 3)) * 2:
        sampled = [np.linalg.norm(weights @ t - point, axis=1).min() for t in triangles]
        np.testing.assert_allclose(triangle_distances(point, triangles), sampled, atol=0.02)


def test_obj_polygons_and_negative_indices(tmp_path: Path) -> None:
    path = tmp_path / "a.obj"
    path.write_text("# a\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nf 1/1 2/1 3/1 4/1\nf -4 -3 -2\n")
    vertices, faces = read_obj(path)
    assert len(vertices) == 4
    assert faces.tolist() == [[0, 1, 2], [0, 2, 3], [0, 1, 2]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("v 0 0 0\nf 1 2 9", "a face names vertex 9 of 1"),
        ("v 0 0 x", "no readable OBJ mesh"),
        ("v 0 0 nan", "not finite"),
    ],
)
def test_damaged_meshes_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "a.obj"
    path.write_text(text)
    with pytest.raises(AssetError, match=message):
        read_obj(path)
