"""What rays meet first among links in their places, and what light reaches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from unlatch.simcore.geometry import Pinhole, Pose
from unlatch.simcore.sim.renderers.ray_surface import RaySurface

Array = np.ndarray

_LIFT_M = 5e-4
"""Rays towards the light start so far off the surface: what Embree computes in single precision is not on it."""
_BAND = 32_768
"""Rays that are worked on at a time: beyond that, memory takes longer than arithmetic."""
_ROOM = 1e-4
"""Boxes are that much larger, of their distance, than what is in them."""

_EDGES = np.array([(i, i | 1 << axis) for axis in range(3) for i in range(8) if not i >> axis & 1])
"""(12, 2) corners of a box that an edge joins, in the order of `RaySurface.box_corners`."""


@dataclass(frozen=True)
class Placed:
    """One link."""

    surface: RaySurface
    T_world_link: Pose
    link_id: int
    """As of `RawImages.link_ids`."""
    rgb: tuple[tuple[float, ...], ...]
    """Colour of every shape, 0 to 1; with a picture, the factor on it."""
    pictures: tuple[Path | None, ...]
    """Picture of every shape."""
    sheet: bool
    """Whether it is seen from its +z alone and throws no shadow."""


@dataclass(frozen=True)
class Rays:
    """Rays from the centre of a camera."""

    directions: Array
    """(N, 3) float32 in the camera frame: through a pinhole with z = 1, else unit vectors."""
    pinhole: Pinhole | None
    """Whose pixels they are, all of them in order; None for any others."""
    flat: bool
    """Whether all have z = 1."""

    def bands(self) -> Iterator[Rays]:
        """All of them in parts, of which the arrays stay small: whole rows where they are those of an image."""
        width = 1 if self.pinhole is None else self.pinhole.width
        size = max(1, _BAND // width) * width
        for first in range(0, len(self.directions), size):
            directions, lens = self.directions[first : first + size], self.pinhole
            if lens is not None:
                lens = replace(lens, height=len(directions) // width, cy=lens.cy - first // width)
            yield Rays(directions, lens, self.flat)

    def through(self, box: Array, *, near: float) -> Array:
        """Places of the rays that may meet a box of corners (8, 3) in the camera frame; it may name too many."""
        if not self.flat:
            return self._about(box)
        front = _in_front(box, near)
        if not len(front):
            return np.zeros(0, dtype=int)
        at = front[:, :2] / front[:, 2:]
        (left, top), (right, bottom) = at.min(axis=0) - _ROOM, at.max(axis=0) + _ROOM
        lens = self.pinhole
        if lens is None:
            x, y = self.directions[:, 0], self.directions[:, 1]
            return np.flatnonzero((x >= left) & (x <= right) & (y >= top) & (y <= bottom))
        columns = _between(left * lens.fx + lens.cx, right * lens.fx + lens.cx, lens.width)
        rows = _between(top * lens.fy + lens.cy, bottom * lens.fy + lens.cy, lens.height)
        return (rows[:, None] * lens.width + columns).ravel()

    def _about(self, box: Array) -> Array:
        """Those within the cone about the ball about a box."""
        middle = box.mean(axis=0)
        distance, radius = float(np.linalg.norm(middle)), float(np.linalg.norm(box - middle, axis=1).max())
        if distance <= radius * (1.0 + _ROOM):
            return np.arange(len(self.directions))
        least = np.sqrt(1.0 - (radius / distance) ** 2) - _ROOM
        return np.flatnonzero(self.directions @ (middle / distance).astype(np.float32) >= least)


def _in_front(box: Array, near: float) -> Array:
    """(C, 3) corners of what of a box (8, 3) lies at z >= near."""
    inside = box[:, 2] >= near
    if inside.all():
        return box
    crossed = inside[_EDGES[:, 0]] != inside[_EDGES[:, 1]]
    a, b = box[_EDGES[crossed, 0]], box[_EDGES[crossed, 1]]
    met = a + (near - a[:, 2:]) / (b[:, 2:] - a[:, 2:]) * (b - a)
    return np.concatenate([box[inside], met])


def _between(low: float, high: float, most: int) -> Array:
    """Whole numbers from low to high, of those from 0 to below the most."""
    return np.arange(int(np.clip(np.ceil(low), 0, most)), int(np.clip(np.floor(high) + 1, 0, most)))


@dataclass(frozen=True)
class Hits:
    """What N rays met first."""

    which: Array
    """(N,) place of the link, -1 for none."""
    reach: Array
    """(N,) float32 how many times the ray's direction from the camera's centre; infinite for none."""
    face: Array
    """(N,) place of the triangle among all of the scene."""
    uv: Array
    """(N, 2) float32 shares of its second and third corner."""


@dataclass(frozen=True)
class Tables:
    """What shading looks up, of the triangles of all links one after the other."""

    first_face: Array
    """(L,) place of each link's first triangle."""
    first_shape: Array
    """(L,) place of each link's first shape."""
    normals: Array
    """(F, 3), each in the frame of its link."""
    corner_normals: Array
    """(F, 3, 3), likewise."""
    uvs: Array
    """(F, 3, 2)."""
    uvs_per_m: Array
    """(F,)."""
    shape_of_face: Array
    """(F,) place among all shapes."""

    @classmethod
    def of(cls, surfaces: Sequence[RaySurface]) -> Tables:
        """The tables of some links."""
        faces = np.cumsum([0, *(len(surface.normals) for surface in surfaces)])[:-1]
        shapes = np.cumsum([0, *(len(surface.pictures) for surface in surfaces)])[:-1]
        return cls(
            faces,
            shapes,
            np.concatenate([surface.normals for surface in surfaces]),
            np.concatenate([surface.corner_normals for surface in surfaces]),
            np.concatenate([surface.uvs for surface in surfaces]),
            np.concatenate([surface.uvs_per_m for surface in surfaces]),
            np.concatenate([surface.shape_of_face + first for surface, first in zip(surfaces, shapes, strict=True)]),
        )


class RayScene:
    """Links, each with its own tree: what moves needs no tree anew."""

    def __init__(self, links: Sequence[Placed], tables: Tables) -> None:
        """Places the links.

        Args:
            links: In any order; at least one.
            tables: Those of the links' surfaces.
        """
        self.links, self.tables = tuple(links), tables
        self.R_world_links: Array = np.array([link.T_world_link.R for link in links], dtype=np.float32)
        """(L, 3, 3)."""
        self._corners = [link.T_world_link @ link.surface.box_corners for link in links]

    def first_hits(self, T_world_camera: Pose, rays: Rays, *, near: float, far: float) -> Hits:
        """What rays meet.

        Args:
            T_world_camera: Pose of the camera.
            rays: The rays; `near` and `far` count in their lengths.
            near: Nothing nearer is met.
            far: Nothing farther is met.
        """
        count = len(rays.directions)
        hits = Hits(
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
            chosen = rays.through(boxes[place], near=near)
            if rays.flat:  # what is met already, before the box begins, cannot be met there
                chosen = chosen[hits.reach.take(chosen) > boxes[place][:, 2].min() - near]
            if not len(chosen):
                continue
            along = rays.directions.take(chosen, axis=0) @ T_link_camera.R.T.astype(np.float32)
            start = T_link_camera.p.astype(np.float32) + np.float32(near) * along
            met = link.surface.tree.run(start, along, dists=hits.reach.take(chosen), output=True)
            found = np.flatnonzero(met["primID"] >= 0)
            chosen = chosen.take(found)
            hits.which[chosen] = place
            hits.reach[chosen] = met["tfar"].take(found)
            hits.face[chosen] = met["primID"].take(found) + self.tables.first_face[place]
            hits.uv[chosen] = np.stack([met["u"].take(found), met["v"].take(found)], axis=1)
        np.add(hits.reach, np.float32(near), out=hits.reach)
        hits.reach[hits.which < 0] = np.inf
        return hits

    def lit(self, points_world: Array, normals_world: Array, to_light: Array) -> Array:
        """(N,) bool: whether nothing is between points and a light far away.

        Args:
            points_world: (N, 3) float32 on surfaces [m].
            normals_world: (N, 3) float32 of these, on the light's side.
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
    """(3, 3) rotation whose third column is a unit vector."""
    aside = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = np.cross(aside, z)
    x = x / np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])
