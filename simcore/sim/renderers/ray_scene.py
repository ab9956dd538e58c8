"""First hits of rays on placed links, and shadow tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from unlatch.simcore.geometry import Pinhole, Pose
from unlatch.simcore.sim.renderers.ray_surface import FaceShading, RaySurface

Array = np.ndarray

_LIFT_M = 5e-4
"""Distance from the surface at which rays towards the light start: Embree's single precision is not exact."""
_BATCH = 32_768
"""Rays per batch; larger batches are slower because of memory."""
_BOX_MARGIN = 1e-4
"""Margin of bounding boxes, as a share of their distance."""

_EDGES = np.array([(i, i | 1 << axis) for axis in range(3) for i in range(8) if not i >> axis & 1])
"""(12, 2) edges of a box as pairs of corners, in the order of `RaySurface.box_corners`."""


@dataclass(frozen=True)
class PlacedLink:
    """One link at its pose."""

    surface: RaySurface
    T_world_link: Pose
    link_id: int
    """As in `RawImages.link_ids`."""
    rgb: tuple[tuple[float, ...], ...]
    """Colour of every shape, 0 to 1; a factor on its picture, if any."""
    pictures: tuple[Path | None, ...]
    """Picture of every shape."""
    sheet: bool
    """Whether it is visible only from its +z side and casts no shadow."""


@dataclass(frozen=True)
class Rays:
    """Rays from the centre of a camera."""

    directions: Array
    """(N, 3) float32 in the camera frame: through a pinhole with z = 1, else unit vectors."""
    pinhole: Pinhole | None
    """The pinhole whose pixels the rays are, in order; None for other rays."""
    flat: bool
    """Whether all have z = 1."""

    def batches(self) -> Iterator[Rays]:
        """Yields the rays in batches; batches of an image are whole rows."""
        width = 1 if self.pinhole is None else self.pinhole.width
        size = max(1, _BATCH // width) * width
        for first in range(0, len(self.directions), size):
            directions, lens = self.directions[first : first + size], self.pinhole
            if lens is not None:
                lens = replace(lens, height=len(directions) // width, cy=lens.cy - first // width)
            yield Rays(directions, lens, self.flat)

    def indices_near(self, box: Array, *, near: float) -> Array:
        """Returns the indices of rays that may hit a box of corners (8, 3) in the camera frame, and maybe some more."""
        if not self.flat:
            return self._within_cone(box)
        front = _in_front(box, near)
        if not len(front):
            return np.zeros(0, dtype=int)
        at = front[:, :2] / front[:, 2:]
        (left, top), (right, bottom) = at.min(axis=0) - _BOX_MARGIN, at.max(axis=0) + _BOX_MARGIN
        lens = self.pinhole
        if lens is None:
            x, y = self.directions[:, 0], self.directions[:, 1]
            return np.flatnonzero((x >= left) & (x <= right) & (y >= top) & (y <= bottom))
        columns = _integers_between(left * lens.fx + lens.cx, right * lens.fx + lens.cx, lens.width)
        rows = _integers_between(top * lens.fy + lens.cy, bottom * lens.fy + lens.cy, lens.height)
        return (rows[:, None] * lens.width + columns).ravel()

    def _within_cone(self, box: Array) -> Array:
        """Returns the indices of rays within the cone around the bounding sphere of a box."""
        middle = box.mean(axis=0)
        distance, radius = float(np.linalg.norm(middle)), float(np.linalg.norm(box - middle, axis=1).max())
        if distance <= radius * (1.0 + _BOX_MARGIN):
            return np.arange(len(self.directions))
        least = np.sqrt(1.0 - (radius / distance) ** 2) - _BOX_MARGIN
        return np.flatnonzero(self.directions @ (middle / distance).astype(np.float32) >= least)


def _in_front(box: Array, near: float) -> Array:
    """Returns the corners (C, 3) of the part of a box (8, 3) at z >= near."""
    inside = box[:, 2] >= near
    if inside.all():
        return box
    crossed = inside[_EDGES[:, 0]] != inside[_EDGES[:, 1]]
    a, b = box[_EDGES[crossed, 0]], box[_EDGES[crossed, 1]]
    met = a + (near - a[:, 2:]) / (b[:, 2:] - a[:, 2:]) * (b - a)
    return np.concatenate([box[inside], met])


def _integers_between(low: float, high: float, most: int) -> Array:
    """Returns the whole numbers from low to high that are in 0 to most - 1."""
    return np.arange(int(np.clip(np.ceil(low), 0, most)), int(np.clip(np.floor(high) + 1, 0, most)))


@dataclass(frozen=True)
class RayHits:
    """The first hits of N rays."""

    link_index: Array
    """(N,) index of the link, -1 for none."""
    reach: Array
    """(N,) float32 factor on the ray's direction at which it hits; infinite for none."""
    face: Array
    """(N,) index of the triangle in the scene."""
    uv: Array
    """(N, 2) float32 barycentric shares of its second and third corner."""


class RayScene:
    """Placed links, each with its own ray tree, so that motion needs no new tree."""

    def __init__(self, links: Sequence[PlacedLink], shading: FaceShading) -> None:
        """Places links, at least one, with the joined shading of their surfaces."""
        self.links, self.shading = tuple(links), shading
        self._first_faces = np.cumsum([0, *(len(link.surface.shading.normals) for link in links)])
        self.R_world_links: Array = np.array([link.T_world_link.R for link in links], dtype=np.float32)
        """(L, 3, 3)."""
        self._corners = [link.T_world_link @ link.surface.box_corners for link in links]

    def first_hits(self, T_world_camera: Pose, rays: Rays, *, near: float, far: float) -> RayHits:
        """Returns the first hits of rays from `near` to `far`, in lengths of the rays' directions."""
        count = len(rays.directions)
        hits = RayHits(
            np.full(count, -1, dtype=np.int32),
            np.full(count, far - near, dtype=np.float32),
            np.zeros(count, dtype=np.int32),
            np.zeros((count, 2), dtype=np.float32),
        )
        T_camera_world = T_world_camera.inverse()
        boxes = [T_camera_world @ corners for corners in self._corners]
        for place in np.argsort([np.linalg.norm(box.mean(axis=0)) for box in boxes]):
            link = self.links[place]
            T_link_camera = link.T_world_link.inverse() @ T_world_camera
            if link.sheet and T_link_camera.p[2] <= 0.0:
                continue
            chosen = rays.indices_near(boxes[place], near=near)
            if rays.flat:  # rays with a hit in front of the box cannot hit it
                chosen = chosen[hits.reach.take(chosen) > boxes[place][:, 2].min() - near]
            if not len(chosen):
                continue
            along = rays.directions.take(chosen, axis=0) @ T_link_camera.R.T.astype(np.float32)
            start = T_link_camera.p.astype(np.float32) + np.float32(near) * along
            met = link.surface.tree.run(start, along, dists=hits.reach.take(chosen), output=True)
            found = np.flatnonzero(met["primID"] >= 0)
            chosen = chosen.take(found)
            hits.link_index[chosen] = place
            hits.reach[chosen] = met["tfar"].take(found)
            hits.face[chosen] = met["primID"].take(found) + self._first_faces[place]
            hits.uv[chosen] = np.stack([met["u"].take(found), met["v"].take(found)], axis=1)
        np.add(hits.reach, np.float32(near), out=hits.reach)
        hits.reach[hits.link_index < 0] = np.inf
        return hits

    def lit(self, points_world: Array, normals_world: Array, to_light: Array) -> Array:
        """Returns (N,) bool: whether nothing lies between points and a distant light.

        Args:
            points_world: (N, 3) float32 on surfaces [m].
            normals_world: (N, 3) float32 their normals, on the light's side.
            to_light: (3,) unit vector.
        """
        R_world_light = _frame_along(to_light)
        starts = points_world + np.float32(_LIFT_M) * normals_world
        x, y, z = np.ascontiguousarray((starts @ R_world_light.astype(np.float32)).T)  # z points to the light
        free: Array = np.ones(len(starts), dtype=bool)
        for link, corners in zip(self.links, self._corners, strict=True):
            if link.sheet:
                continue
            box = corners @ R_world_light
            low, high = box.min(axis=0), box.max(axis=0)
            within = free & (z < high[2]) & (x > low[0]) & (x < high[0]) & (y > low[1]) & (y < high[1])
            chosen = np.flatnonzero(within)
            if len(chosen):
                T_link_world = link.T_world_link.inverse()
                R_world_link = T_link_world.R.T.astype(np.float32)
                along = np.broadcast_to(T_link_world.rotate(to_light).astype(np.float32), (len(chosen), 3)).copy()
                begin = starts.take(chosen, axis=0) @ R_world_link + T_link_world.p.astype(np.float32)
                there = link.surface.tree.run(begin, along, query="OCCLUDED")
                free[chosen[there >= 0]] = False
        return free


def _frame_along(z: Array) -> Array:
    """Returns a rotation (3, 3) whose third column is a given unit vector."""
    aside = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = np.cross(aside, z)
    x = x / np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])
