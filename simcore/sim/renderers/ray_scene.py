"""What rays meet first among surfaces in their places, and what light reaches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simcore.geometry import Pose
from simcore.sim.renderers.ray_surface import RaySurface

Array = np.ndarray

_LIFT_M = 5e-4
"""Rays towards the light start so far off the surface: what Embree computes in single precision is not on it."""
_ROOM = 1e-4
"""Boxes are that much larger, of their distance, than what is in them."""


@dataclass(frozen=True)
class Placed:
    """One visual shape of the world."""

    surface: RaySurface
    T_world_shape: Pose
    link_id: int
    """As of `RawImages.link_ids`."""
    rgb: Array
    """(3,) colour, 0 to 1; with a picture, the factor on it."""
    picture: Path | None
    sheet: bool
    """Whether it is seen from its +z alone and throws no shadow."""


@dataclass(frozen=True)
class Hits:
    """What N rays met first."""

    which: Array
    """(N,) int place of the shape, -1 for none."""
    reach: Array
    """(N,) float32 how many times the ray's direction from its origin; infinite for none."""
    face: Array
    """(N,) int32 place of the triangle among the shape's."""
    uv: Array
    """(N, 2) float32 shares of its second and third corner."""


class RayScene:
    """Shapes, each with its own tree: what moves needs no tree anew."""

    def __init__(self, shapes: Sequence[Placed]) -> None:
        self.shapes = tuple(shapes)
        """In any order."""
        self._corners = [shape.T_world_shape @ shape.surface.box_corners for shape in shapes]

    def first_hits(self, T_world_camera: Pose, directions: Array, *, near: float, far: float, pinhole: bool) -> Hits:
        """What rays from the camera's centre meet.

        Args:
            T_world_camera: Pose of the camera.
            directions: (N, 3) in the camera frame; `near` and `far` count in their lengths.
            near: Nothing nearer is met.
            far: Nothing farther is met.
            pinhole: Whether all have z = 1; else they are unit vectors.
        """
        count = len(directions)
        hits = Hits(
            np.full(count, -1),
            np.full(count, far - near, dtype=np.float32),
            np.zeros(count, dtype=np.int32),
            np.zeros((count, 2), dtype=np.float32),
        )
        boxes = [T_world_camera.inverse() @ corners for corners in self._corners]
        for place in np.argsort([np.linalg.norm(box.mean(axis=0)) for box in boxes]):
            shape = self.shapes[place]
            T_shape_camera = shape.T_world_shape.inverse() @ T_world_camera
            if shape.sheet and T_shape_camera.p[2] <= 0.0:
                continue
            rays = _through_box(directions, boxes[place], near=near, pinhole=pinhole)
            if not len(rays):
                continue
            along = (directions[rays] @ T_shape_camera.R.T).astype(np.float32)
            start = (T_shape_camera.p + near * along).astype(np.float32)
            met = shape.surface.tree.run(start, along, dists=hits.reach[rays], output=True)
            found = (met["primID"] >= 0) & (met["tfar"] < hits.reach[rays])
            rays = rays[found]
            hits.which[rays] = place
            hits.reach[rays] = met["tfar"][found]
            hits.face[rays] = met["primID"][found]
            hits.uv[rays, 0], hits.uv[rays, 1] = met["u"][found], met["v"][found]
        nothing = hits.which < 0
        hits.reach[:] = np.where(nothing, np.inf, hits.reach + np.float32(near))
        return hits

    def lit(self, points_world: Array, normals_world: Array, to_light: Array) -> Array:
        """(N,) bool: whether nothing is between points and a light far away.

        Args:
            points_world: (N, 3) on surfaces [m].
            normals_world: (N, 3) of these, on the light's side.
            to_light: (3,) unit vector.
        """
        R_world_light = _frame_along(to_light)
        starts = points_world + _LIFT_M * normals_world
        seen = starts @ R_world_light  # (N, 3) in a frame whose z points to the light
        free: Array = np.ones(len(starts), dtype=bool)
        for shape, corners in zip(self.shapes, self._corners, strict=True):
            if shape.sheet:
                continue
            box = corners @ R_world_light
            low, high = box.min(axis=0), box.max(axis=0)
            within = free & (seen[:, 2] < high[2])
            for axis in (0, 1):
                within &= (seen[:, axis] > low[axis]) & (seen[:, axis] < high[axis])
            rays = np.flatnonzero(within)
            if len(rays):
                T_shape_world = shape.T_world_shape.inverse()
                along = np.broadcast_to(T_shape_world.rotate(to_light).astype(np.float32), (len(rays), 3)).copy()
                there = shape.surface.tree.run(
                    (T_shape_world @ starts[rays]).astype(np.float32), along, query="OCCLUDED"
                )
                free[rays[there >= 0]] = False
        return free


def _through_box(directions: Array, box: Array, *, near: float, pinhole: bool) -> Array:
    """Places of the rays that may meet a box, of corners (8, 3) in the camera frame; it may name too many."""
    if pinhole:
        if box[:, 2].max() < near:
            return np.zeros(0, dtype=int)
        if box[:, 2].min() < near:
            return np.arange(len(directions))
        at = box[:, :2] / box[:, 2:]
        low, high = at.min(axis=0) - _ROOM, at.max(axis=0) + _ROOM
        x, y = directions[:, 0], directions[:, 1]
        return np.flatnonzero((x >= low[0]) & (x <= high[0]) & (y >= low[1]) & (y <= high[1]))
    middle = box.mean(axis=0)
    distance, radius = float(np.linalg.norm(middle)), float(np.linalg.norm(box - middle, axis=1).max())
    if distance <= radius * (1.0 + _ROOM):
        return np.arange(len(directions))
    least = np.sqrt(1.0 - (radius / distance) ** 2) - _ROOM
    return np.flatnonzero(directions @ (middle / distance) >= least)


def _frame_along(z: Array) -> Array:
    """(3, 3) rotation whose third column is a unit vector."""
    aside = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = np.cross(aside, z)
    x = x / np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])
