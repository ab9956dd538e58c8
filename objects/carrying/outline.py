"""The outline of an object: a few balls and points whose convex hull is nearly that of its colliders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import product

import numpy as np

from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.shape_surface import shape_mesh
from unlatch.simcore.urdf.model import Shape, ShapeKind, UrdfModel

MOST_ROWS = 56
"""Largest number of rows of an outline."""
ERROR_M = 5e-4
"""An outline takes further rows while the colliders stand out of it by more than this [m]."""
_DECIMALS = 4
"""Numbers of an outline are whole tenths of a millimetre."""
_GRID = 8
"""Number of steps between the middle of a face and its edge, in a grid on a cube that gives the directions."""
_TIE_M = 1e-9
"""Of rows that reach equally far up to this, the first one counts, so that every machine finds the same outline [m]."""


def find_outline(model: UrdfModel, positions: Mapping[str, float]) -> np.ndarray:
    """Returns the outline of an object at joint positions [rad or m]; missing joints are at 0.

    Each row is the centre and the radius of a ball: a ball of the colliders, or one of their corners, with radius 0.
    Rows are added in the direction in which the colliders stand out the furthest, until they stand out by at most
    `ERROR_M` in some 3,000 directions, or there are `MOST_ROWS` rows.

    The convex hull of the rows is never larger than that of the colliders, apart from rounding (0.05 mm in each
    number). It is smaller by at most 0.7 mm for an outline with fewer rows than `MOST_ROWS`, and by 1.2 mm for the
    bowls, the generated objects with the most corners. Of a ball that is a mesh, it is smaller by 7 % of the radius.

    Returns:
        (N, 4) rows of x, y, z, radius in the root frame [m]; (0, 4) of an object without colliders.
    """
    found = [np.zeros((0, 4)), *(_support_rows(rows) for rows in _collider_rows(model, positions))]
    rows = np.unique(np.concatenate(found).round(_DECIMALS) + 0.0, axis=0)
    if not len(rows):
        return rows
    directions = _directions_for(rows)
    reach = rows[:, :3] @ directions.T + rows[:, 3:]  # (N, D)
    farthest = reach.max(axis=0)
    chosen: list[int] = []
    short = np.full(len(farthest), np.inf)
    while len(chosen) < MOST_ROWS and short.max() > ERROR_M:
        direction = _first_largest(short)
        chosen.append(_first_largest(reach[:, direction]))
        short = farthest - reach[chosen].max(axis=0)
    return rows[sorted(chosen)]


def _collider_rows(model: UrdfModel, positions: Mapping[str, float]) -> Iterator[np.ndarray]:
    """Yields the balls (N, 4) of each collider, root frame [m]."""
    for name, link in model.links.items():
        T_root_link = model.link_pose(name, dict(positions))
        for shape in link.collisions:
            yield _shape_rows(shape, T_root_link @ shape.T_link_shape)


def _shape_rows(shape: Shape, T_root_shape: Pose) -> np.ndarray:
    if shape.kind is ShapeKind.sphere:
        return np.array([[*T_root_shape.p, shape.size[0]]])
    corners = T_root_shape @ shape_mesh(shape).vertices
    return np.column_stack([corners, np.zeros(len(corners))])


def _support_rows(rows: np.ndarray) -> np.ndarray:
    """Returns those of many rows that reach the furthest in one of the directions."""
    directions = _directions_for(rows)
    if len(rows) <= len(directions):
        return rows
    return rows[np.unique([_first_largest(rows[:, :3] @ direction + rows[:, 3]) for direction in directions])]


def _first_largest(values: np.ndarray) -> int:
    return int(np.flatnonzero(values >= values.max() - _TIE_M)[0])


def _directions_for(rows: np.ndarray) -> np.ndarray:
    """Returns (D, 3) unit directions: even ones, and those that are even after things are scaled to a cube.

    The latter find the ends of long things, and the rims of flat ones.
    """
    size = np.ptp(rows[:, :3], axis=0) + 2.0 * rows[:, 3].max()
    scaled = _directions() / np.maximum(size, 1e-3)
    return np.concatenate([_directions(), scaled / np.linalg.norm(scaled, axis=1, keepdims=True)])


@lru_cache(maxsize=1)
def _directions() -> np.ndarray:
    """Returns (D, 3) unit directions; any other one is within 5 degrees of one of them."""
    steps = range(-_GRID, _GRID + 1)
    grid = np.array([point for point in product(steps, repeat=3) if max(map(abs, point)) == _GRID], dtype=float)
    directions: np.ndarray = grid / np.linalg.norm(grid, axis=1, keepdims=True)
    return directions
