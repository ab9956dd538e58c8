"""Makes the surfaces that are seen: solids of revolution, tubes, slabs and boxes with bevels, with places in a picture.

What is touched are convex primitives, see `links.py`; nothing here changes them. A surface is triangles with a place in
a picture, (0, 0) to (1, 1), at each corner: to the right and upwards, as seen from outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, creased_normals

Profile = list[tuple[float, float]]
"""(radius, height) from the middle of the underside outwards and up; from the rim on down the inside [m]."""

_CREASE_RAD = float(np.radians(56.0))
"""Angle between triangles from which their edge is sharp: a bevel of two quarters is smooth."""
_DIGITS = 6
"""Values are rounded to this, because machines differ in the last digits."""


@dataclass(frozen=True)
class TexturedMesh:
    """Triangles of one texture in the frame of their link."""

    vertices: Array
    """(V, 3) [m]; every face of a box has vertices of its own."""
    normals: Array
    """(V, 3) outward unit vectors."""
    uvs: Array
    """(V, 2) places in the picture; it repeats at every whole number, and Bullet shows black below 0."""
    faces: Array
    """(F, 3) indices, counterclockwise from outside."""

    def obj_lines(self) -> list[str]:
        """Returns the lines of an OBJ after those of its material."""
        tables: tuple[tuple[str, Array], ...] = (
            ("v %.6g %.6g %.6g", self.vertices.round(_DIGITS) + 0.0),
            ("vt %.6g %.6g", self.uvs.round(4) + 0.0),
            ("vn %.4g %.4g %.4g", self.normals.round(4) + 0.0),
            ("f %d/%d/%d %d/%d/%d %d/%d/%d", (self.faces + 1).repeat(3, axis=1)),
        )
        # one text for all rows: four times as fast as one a row
        return ["\n".join([form] * len(rows)) % tuple(rows.ravel().tolist()) for form, rows in tables]


def join_textured(meshes: Sequence[TexturedMesh]) -> TexturedMesh:
    """Returns meshes of one texture as one."""
    starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    return TexturedMesh(
        np.concatenate([mesh.vertices for mesh in meshes]),
        np.concatenate([mesh.normals for mesh in meshes]),
        np.concatenate([mesh.uvs for mesh in meshes]),
        np.concatenate([mesh.faces + start for mesh, start in zip(meshes, starts.tolist(), strict=False)]),
    )


@dataclass(frozen=True)
class Surface:
    """Triangles with a place in a picture at each corner."""

    corners: Array
    """(F, 3, 3) [m], counterclockwise from outside."""
    uvs: Array
    """(F, 3, 2), at least 0."""

    def moved(self, T: Pose) -> Surface:
        """Returns the surface in another frame."""
        return replace(self, corners=(T @ self.corners.reshape(-1, 3)).reshape(-1, 3, 3))

    def textured(self) -> TexturedMesh:
        """Returns one vertex for each different corner, with smooth normals between faces of less than 56 degrees."""
        count = len(self.corners)
        mesh = TriangleMesh(self.corners.reshape(-1, 3), np.arange(3 * count).reshape(-1, 3))
        normals = creased_normals(mesh, crease_rad=_CREASE_RAD).reshape(-1, 3)
        rows = np.concatenate(
            [mesh.vertices.round(_DIGITS), normals.round(4), self.uvs.reshape(-1, 2).round(4)], axis=1
        )
        _, first, which = np.unique(rows + 0.0, axis=0, return_index=True, return_inverse=True)
        rows = rows[first]
        return TexturedMesh(rows[:, :3], rows[:, 3:6], rows[:, 6:], which.reshape(-1, 3))


def join(*surfaces: Surface) -> Surface:
    """Returns several surfaces as one."""
    return Surface(np.concatenate([s.corners for s in surfaces]), np.concatenate([s.uvs for s in surfaces]))


def rounded(points: Sequence[Sequence[float]], radius_m: float, steps: int = 3) -> list[Any]:
    """Returns a polyline, of points (2,) or (3,), whose corners between its ends are rounded, by a parabola that starts
    `radius_m` before each [m].
    """
    line = [np.asarray(point, dtype=float) for point in points]
    found = [line[0]]
    for before, at, after in zip(line, line[1:], line[2:], strict=False):
        back, on = before - at, after - at
        lengths = [max(float(np.sqrt(side @ side)), 1e-9) for side in (back, on)]
        a, b = (side * min(radius_m / length, 0.5) for side, length in zip((back, on), lengths, strict=True))
        shares = np.linspace(0.0, 1.0, steps + 1)
        found += [at + (1.0 - t) * (1.0 - t) * a + t * t * b for t in shares.tolist()]
    return [tuple(point.tolist()) for point in (*found, line[-1])]


def loft(rings: Array) -> Surface:
    """Returns the strip through rings (K, N, 3) [m], counterclockwise as seen from the end; the picture spans it."""
    rows = len(rings)
    ring = np.concatenate([rings, rings[:, :1]], axis=1)
    u = np.linspace(0.0, 1.0, ring.shape[1])
    steps = np.sqrt(((rings[1:] - rings[:-1]) ** 2).sum(axis=2)).mean(axis=1)
    v = np.concatenate([[0.0], np.cumsum(steps)]) / max(float(steps.sum()), 1e-9)
    places = np.stack(np.broadcast_arrays(u[None, :], v[:, None]), axis=-1)  # (K, N, 2)
    i, j = (part.ravel() for part in np.indices((rows - 1, ring.shape[1] - 1)))
    quads = np.concatenate(
        [np.stack([(i, j), (i, j + 1), (i + 1, j + 1)]), np.stack([(i, j), (i + 1, j + 1), (i + 1, j)])], axis=2
    )  # (3, 2, F)
    a, b = quads[:, 0].T, quads[:, 1].T  # (F, 3)
    corners, uvs = ring[a, b], places[a, b]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    kept = (across**2).sum(axis=1) > 1e-20  # a ring of radius 0 has triangles without area
    return Surface(corners[kept], uvs[kept])


def circle(sides: int) -> Array:
    """Returns (N, 2) points of a circle of radius 1, counterclockwise."""
    angles = np.linspace(0.0, 2.0 * np.pi, sides + 1)[:-1]
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def lathe(profile: Profile, *, sides: int = 28) -> Surface:
    """Returns a solid of revolution about z; the picture goes once around, and once along the profile."""
    line = np.array(profile, dtype=float)
    ring = circle(sides)
    rings = np.concatenate(
        [line[:, None, :1] * ring[None], np.repeat(line[:, None, 1:], sides, axis=1)], axis=2
    )  # (K, N, 3)
    return loft(rings)


def tube(path: ArrayLike, radii: ArrayLike, *, sides: int = 10, flat: float = 0.0) -> Surface:
    """Returns a tube with closed ends along a path that lies in the plane of x and z.

    Args:
        path: (K, 3) points of its axis [m].
        radii: (K, 2) half of its extent along y, and across it [m].
        sides: Corners of its section.
        flat: 0 for an ellipse, towards 1 for a rectangle with rounded corners.
    """
    axis, across = np.asarray(path, dtype=float), np.array([0.0, 1.0, 0.0])
    tangents = np.gradient(axis, axis=0)
    tangents /= np.sqrt((tangents**2).sum(axis=1, keepdims=True))
    thick = np.cross(tangents, across)  # (K, 3)
    ring = circle(sides)
    ring = ring * (1.0 + flat * (1.0 / np.abs(ring).max(axis=1, keepdims=True) - 1.0))
    half = np.broadcast_to(np.asarray(radii, dtype=float), (len(axis), 2))
    body = (
        axis[:, None]
        + ring[None, :, :1] * half[:, None, :1] * across
        + ring[None, :, 1:] * half[:, None, 1:] * thick[:, None]
    )
    ends = [np.repeat(point[None, None], sides, axis=1) for point in (axis[0], axis[-1])]
    found = loft(np.concatenate([ends[0], body, ends[1]]))
    # the rings turn against the path
    middle = found.corners[: 2 * sides].mean(axis=(0, 1))
    first = found.corners[sides]
    outward = np.cross(first[1] - first[0], first[2] - first[0]) @ (first.mean(axis=0) - middle)
    return found if outward > 0 else Surface(found.corners[:, ::-1], found.uvs[:, ::-1])


def slab(outline: ArrayLike, low: float, high: float, *, bevel_m: float = 0.0, steps: int = 2) -> Surface:
    """Returns a plate over an outline, which its middle sees whole; the picture lies on its bounds, above and below.

    Args:
        outline: (N, 2) corners, counterclockwise [m].
        low: Its underside [m].
        high: Its upper side [m].
        bevel_m: How far its edges are rounded [m].
        steps: Rings of a rounded edge.
    """
    edge = np.asarray(outline, dtype=float)
    middle = 0.5 * (edge.min(axis=0) + edge.max(axis=0))
    reach = edge - middle
    far = np.sqrt((reach**2).sum(axis=1, keepdims=True))
    levels = []
    for share in np.linspace(0.0, 1.0, steps + 1).tolist() if bevel_m else [1.0]:
        out = 1.0 - (1.0 - share) * (1.0 - share)  # a parabola
        levels.append((bevel_m * (1.0 - out), bevel_m * (1.0 - share)))
    rings = [(inset, low + bevel_m - below) for inset, below in levels]
    rings += [(inset, high - bevel_m + below) for inset, below in reversed(levels)]
    flat = [middle + reach * np.maximum(1.0 - inset / far, 0.05) for inset, _ in rings]
    points = [np.column_stack([ring, np.full(len(ring), z)]) for ring, (_, z) in zip(flat, rings, strict=True)]
    ends = [np.broadcast_to(np.array([*middle, z]), points[0].shape) for z in (low, high)]
    surface = loft(np.stack([ends[0], *points, ends[1]]))
    bounds = edge.min(axis=0), np.ptp(edge, axis=0)
    return replace(surface, uvs=np.clip((surface.corners[..., :2] - bounds[0]) / bounds[1], 0.0, 1.0))


SIDES = ("-x", "+x", "-y", "+y", "-z", "+z")
"""Sides of a box."""
Atlas = dict[str, tuple[float, float, float, float]]
"""By side the part of a picture on it: left, lower, right, upper, 0 to 1; other sides show the place (0, 0)."""


def bevelled_box(low: Sequence[float], high: Sequence[float], bevel_m: float, *, atlas: Atlas | None = None) -> Surface:
    """Returns a box between two corners [m] with bevelled edges; the picture lies on the sides of the atlas."""
    a, b = np.array(low, dtype=float), np.array(high, dtype=float)
    corners, axes, signs = box_faces(a, b, bevel_m)
    uvs = np.zeros((len(corners), 3, 2))
    for number, side in enumerate(SIDES):
        rect = (atlas or {}).get(side)
        if rect is not None:
            chosen = (axes == number // 2) & (signs == number % 2)
            uvs[chosen] = _place_on_side(corners[chosen], number // 2, number % 2, a, b, rect)
    return Surface(corners, uvs)


def box_faces(low: Array, high: Array, bevel_m: float | Array) -> tuple[Array, Array, Array]:
    """Returns the triangles (F, 3, 3) of a box with bevelled edges, and the side that each belongs to.

    A side is an axis (F,) and the end of it (F,), 0 or 1. Every bevel belongs to the side before it. `bevel_m` is one
    for all edges, or (2, 3) by the end of each axis [m].
    """
    shown = len(_BOX.faces) if np.any(bevel_m) else 12
    corners = box_vertices(low, high, bevel_m)[_BOX.faces[:shown]]
    return corners, _BOX.axes[:shown], _BOX.signs[:shown]


def box_vertices(low: Array, high: Array, bevel_m: float | Array) -> Array:
    """Returns the corners (24, 3) of the sides of a box with bevelled edges [m]; four of each side."""
    at_low, at_high = np.minimum(np.broadcast_to(bevel_m, (2, 3)), 0.45 * float((high - low).min()))
    points: Array = np.where(_BOX.ends, high - at_high, low + at_low)
    outer = np.where(_BOX.ends, high, low)
    rows = np.arange(24)
    points[rows, _BOX.of_axis] = outer[rows, _BOX.of_axis]
    return points


def bevelled_mesh(low: Array, high: Array, bevel_m: float | Array) -> TexturedMesh:
    """Returns a box with bevelled edges that are shaded as if they were round; without places in a picture."""
    vertices = box_vertices(low, high, bevel_m)
    return TexturedMesh(vertices, _BOX.normals, np.zeros((24, 2)), _BOX.faces)


@dataclass(frozen=True)
class _BoxCorners:
    """The corners of the sides of a box, and the triangles between them: those of sides first, then of bevels."""

    ends: Array
    """(24, 3) end of each axis, 0 or 1."""
    of_axis: Array
    """(24,) axis of the side that a corner belongs to."""
    normals: Array
    """(24, 3) outward normals of the sides."""
    faces: Array
    """(44, 3) triangles."""
    axes: Array
    """(44,) axis of the side of a triangle, or of the side before its bevel."""
    signs: Array
    """(44,) end of that axis."""


def _find_box_corners() -> _BoxCorners:
    ends = [(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    corners = [(axis, key) for axis in range(3) for key in ends]
    number = {corner: place for place, corner in enumerate(corners)}
    sides: list[tuple[int, int, list[int]]] = []
    bevels: list[tuple[int, int, list[int]]] = []
    for axis in range(3):
        o, p = (axis + 1) % 3, (axis + 2) % 3

        def corner(side: int, i: int, j: int, o: int = o, p: int = p, axis: int = axis, sign: int = 0) -> int:
            key = [0, 0, 0]
            key[axis], key[o], key[p] = sign, i, j
            return number[side, (key[0], key[1], key[2])]

        for sign in (0, 1):
            quad = [corner(axis, i, j, sign=sign) for i, j in ((0, 0), (1, 0), (1, 1), (0, 1))]
            sides.append((axis, sign, quad if sign else quad[::-1]))
            for i in (0, 1):  # the edge between this side and a side of axis `o`
                near, far = ([corner(side, i, j, sign=sign) for j in (0, 1)] for side in (axis, o))
                strip = [near[0], far[0], far[1], near[1]]
                bevels.append((axis, sign, strip if sign == i else strip[::-1]))
    for key in ends:
        tip = [number[axis, key] for axis in range(3)]
        bevels.append((0, key[0], tip if sum(key) % 2 else tip[::-1]))
    found = [
        (axis, sign, (polygon[0], polygon[second], polygon[second + 1]))
        for axis, sign, polygon in (*sides, *bevels)
        for second in range(1, len(polygon) - 1)
    ]
    of_axis = np.array([axis for axis, _ in corners])
    at = np.array([key for _, key in corners])
    normals = np.zeros((24, 3))
    normals[np.arange(24), of_axis] = 2.0 * at[np.arange(24), of_axis] - 1.0
    faces, axes, signs = (np.array([row[k] for row in found]) for k in (2, 0, 1))
    return _BoxCorners(at.astype(bool), of_axis, normals, faces, axes, signs)


_BOX = _find_box_corners()


def _place_on_side(points: Array, axis: int, sign: int, low: Array, high: Array, rect: Sequence[float]) -> Array:
    """Returns places (..., 2) in the picture of points on a side: to its right, and up."""
    shares = np.clip((points - low) / (high - low), 0.0, 1.0)
    right, up = ((1, 2), (0, 2), (1, 0))[axis]
    across = shares[..., right]
    across = 1.0 - across if (axis, sign) in ((0, 0), (1, 1)) else across
    above = 1.0 - shares[..., up] if axis == 2 else shares[..., up]  # read from the front, which is at +x
    left, lower, far, upper = rect
    return np.stack([left + across * (far - left), lower + above * (upper - lower)], axis=-1)
