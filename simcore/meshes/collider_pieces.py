"""Cuts surfaces into pieces without CoACD, and measures how well pieces fit and how deep points lie in them."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import scipy

from unlatch.simcore.meshes.shape_surface import triangle_distances
from unlatch.simcore.meshes.triangle_mesh import (
    TriangleMesh,
    closed_volume,
    join_meshes,
    sample_surface,
    sample_triangles,
    split_components,
    weld_vertices,
)
from unlatch.simcore.rng import sum_in_order

_NEAREST = 3


class SampledSurface:
    """A surface with samples, which restrict distance queries to triangles near a point."""

    def __init__(self, mesh: TriangleMesh) -> None:
        """Samples a mesh."""
        self.triangles = mesh.triangles
        spacing_m = float(np.max(mesh.extents)) / 100
        points, self._owners = sample_triangles(mesh, spacing_m=spacing_m, max_points=20_000)
        self._samples = scipy.spatial.cKDTree(points)

    def distances(self, points: np.ndarray) -> np.ndarray:
        """Returns distances (N,) of points (N, 3) to the triangles of the nearest samples; some are a bit too large."""
        found = self._owners[self._samples.query(points, k=range(1, _NEAREST + 1))[1]]  # (N, _NEAREST)
        measured = triangle_distances(np.repeat(points, _NEAREST, axis=0), self.triangles[found.reshape(-1)])
        return measured.reshape(found.shape).min(axis=1)

    def is_near(self, hull: TriangleMesh, *, limit_m: float, solid: bool = False) -> bool:
        """Returns whether no point of a hull lies farther from the surface than a limit; at most 400 are checked.

        If `solid`, the inside of a closed surface counts as near.
        """
        spacing = float(np.max(hull.extents)) / 10
        points = sample_surface(hull, spacing_m=spacing, max_points=3000)
        if len(points) > 400:
            points = points[:: len(points) // 400 + 1]
        points = points[self.distances(points) > limit_m]
        if solid and len(points):
            points = points[winding_numbers(points, self.triangles) < 0.9]
        return all(float(triangle_distances(point, self.triangles).min()) <= limit_m for point in points)


def winding_numbers(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Returns the winding numbers (N,) of triangles (F, 3, 3) around points (N, 3).

    It is 1 inside a closed outward surface, 0 outside: the sum of solid angles over 4 pi (van Oosterom and Strackee
    1983).
    """
    numbers = np.zeros(len(points))
    for n, point in enumerate(points):
        a, b, c = (triangles[:, k] - point for k in range(3))
        la, lb, lc = (np.linalg.norm(v, axis=1) for v in (a, b, c))
        triple = np.einsum("ij,ij->i", a, np.cross(b, c))
        dots = [np.einsum("ij,ij->i", u, v) for u, v in ((a, b), (b, c), (c, a))]
        numbers[n] = np.sum(np.arctan2(triple, la * lb * lc + dots[0] * lc + dots[1] * la + dots[2] * lb)) / (2 * np.pi)
    return numbers


def convex_patches(
    mesh: TriangleMesh, *, finest_m: float, coarse_m: float, coarsest_m: float, enough: int, most: int
) -> list[np.ndarray] | None:
    """Splits a surface into patches whose convex hulls stay near it.

    Patches are merged bottom up, as in Mamou's HACD (2009), with a distance in place of its concavity. The neighbours
    whose common hull protrudes least are merged first. All that protrude up to `finest_m` are merged, those up to
    `coarse_m` until there are `enough`, those up to `coarsest_m` until there are at most `most`. The time grows with
    the number of triangles, about 3 ms each.

    Args:
        mesh: The surface, each triangle once.
        finest_m: Protrusion of hulls that is always allowed [m].
        coarse_m: Allowed protrusion while there are more than `enough` patches [m].
        coarsest_m: Allowed protrusion while there are more than `most` patches [m].
        enough: A good number of patches.
        most: Most patches.

    Returns:
        (N, 3) corners of each patch [m]; None if `most` patches do not stay near the surface.
    """
    merging = _PatchMerger(mesh, finest_m=finest_m)
    while merging.candidates:
        cost_m, one, other, hull_corners = merging.candidates[0]
        if one not in merging.corners or other not in merging.corners:
            heapq.heappop(merging.candidates)
        elif hull_corners is None:
            merging.measure_first()
        elif cost_m > finest_m and len(merging.corners) <= (enough if cost_m <= coarse_m else most):
            break
        elif cost_m > coarsest_m:
            return None
        else:
            merging.merge_cheapest()
    if len(merging.corners) > most:
        return None
    return [mesh.vertices[sorted(corners)] for _, corners in sorted(merging.corners.items())]


class _PatchMerger:
    """The patches, their neighbours, and the costs of merging two of them."""

    def __init__(self, mesh: TriangleMesh, *, finest_m: float) -> None:
        self.mesh = mesh
        self.flat_m = finest_m / 20
        self.corners = {n: set(face) for n, face in enumerate(mesh.faces.tolist())}
        self.candidates: list[tuple[float, int, int, np.ndarray | None]] = []
        self._finest_m = finest_m
        self._hull_corners = {n: np.array(face) for n, face in enumerate(mesh.faces.tolist())}
        self._costs_m: dict[tuple[int, int], float] = {}
        self._next = len(self.corners)
        self._surface = SampledSurface(mesh)
        by_edge: dict[tuple[int, int], list[int]] = defaultdict(list)
        for number, (a, b, c) in enumerate(mesh.faces.tolist()):
            for start, end in ((a, b), (b, c), (c, a)):
                by_edge[(min(start, end), max(start, end))].append(number)
        self._neighbours: dict[int, set[int]] = {n: set() for n in self.corners}
        for sharing in by_edge.values():
            for number in sharing:
                self._neighbours[number] |= set(sharing) - {number}
        for one in self.corners:
            for other in sorted(self._neighbours[one]):
                if one < other:
                    self._propose_merge(one, other, 0.0)

    def merge_cheapest(self) -> None:
        """Merges the two patches of the cheapest candidate.

        The costs with their neighbours can only grow. So each is measured again only when it is the smallest of all.
        """
        _, one, other, hull_corners = heapq.heappop(self.candidates)
        new, self._next = self._next, self._next + 1
        if hull_corners is not None:
            self._hull_corners[new] = hull_corners
        self.corners[new] = self.corners.pop(one) | self.corners.pop(other)
        around = (self._neighbours.pop(one) | self._neighbours.pop(other)) - {one, other}
        self._neighbours[new] = around
        for neighbour in sorted(around):
            self._neighbours[neighbour] -= {one, other}
            self._neighbours[neighbour].add(new)
            least_m = max(self._costs_m.pop((neighbour, old), 0.0) for old in (one, other))
            self._propose_merge(neighbour, new, least_m)

    def measure_first(self) -> None:
        """Measures the cost of the first candidate, which was only a lower bound."""
        _, one, other, _ = heapq.heappop(self.candidates)
        corners = np.union1d(self._hull_corners[one], self._hull_corners[other])
        cost_m, kept = self._measure_protrusion(self.mesh.vertices[corners])
        self._propose_merge(one, other, cost_m, corners[kept])

    def _propose_merge(self, one: int, other: int, cost_m: float, hull_corners: np.ndarray | None = None) -> None:
        self._costs_m[one, other] = self._costs_m[other, one] = cost_m
        heapq.heappush(self.candidates, (cost_m, one, other, hull_corners))

    def _measure_protrusion(self, points: np.ndarray) -> tuple[float, np.ndarray]:
        """Returns the protrusion of the hull of some points from the surface [m], and the indices of its corners."""
        centre = points.mean(axis=0)
        _, _, axes = np.linalg.svd(points - centre, full_matrices=False)
        local = (points - centre) @ axes.T
        if np.ptp(local[:, 2]) < self.flat_m:  # a hull of points in one plane needs a thickness
            local = np.concatenate([local, local])
            local[len(points) :, 2] += self.flat_m
        try:
            hull = scipy.spatial.ConvexHull(local)
        except (scipy.spatial.QhullError, ValueError):
            return float("inf"), np.arange(len(points))
        spacing_m = max(float(np.max(np.ptp(local, axis=0))) / 12, self._finest_m)
        found = sample_surface(TriangleMesh(local, hull.simplices), spacing_m=spacing_m, max_points=400) @ axes + centre
        # rounded, so that ties do not depend on last bits, which vary with the threads of the linear algebra
        return round(float(np.max(self._surface.distances(found))), 9), np.unique(hull.vertices % len(points))


def voxel_boxes(mesh: TriangleMesh, *, cells: int, thickness_m: float) -> list[np.ndarray]:
    """Covers the surface of a mesh, watertight or not, with axis-parallel boxes; returns the corners (8, 3) of each.

    The surface is sampled, cells of a grid that hold samples are merged greedily into boxes, and each box shrinks to
    the samples in it: a wall that is parallel to an axis becomes one box of its true thickness. The grid has `cells`
    cells along the longest side; no box is thinner than `thickness_m`.
    """
    pitch = float(np.max(mesh.extents)) / cells
    points = sample_surface(mesh, spacing_m=pitch / 2)
    origin = mesh.vertices.min(axis=0) - pitch * 0.25
    cell = np.floor((points - origin) / pitch).astype(int)
    grid = np.zeros(cell.max(axis=0) + 1, dtype=bool)
    grid[tuple(cell.T)] = True
    owner = np.full(grid.shape, -1)
    spans = _merge_cells(grid, owner)
    member = owner[tuple(cell.T)]
    order = np.argsort(member, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(member, minlength=len(spans)))])
    boxes = []
    for number in range(len(spans)):
        inside = points[order[starts[number] : starts[number + 1]]]
        low, high = inside.min(axis=0), inside.max(axis=0)
        missing = np.maximum(thickness_m - (high - low), 0.0) / 2
        boxes.append(np.array(list(product(*zip(low - missing, high + missing, strict=True)))))
    return boxes


def _merge_cells(grid: np.ndarray, owner: np.ndarray) -> list[tuple[slice, slice, slice]]:
    """Merges occupied cells greedily into boxes; fills `owner` with the number of each cell's box."""
    free = grid.copy()
    spans: list[tuple[slice, slice, slice]] = []
    for cell in zip(*np.nonzero(grid), strict=True):
        if not free[cell]:
            continue
        start = np.array(cell, dtype=int)
        end = start + 1
        # Grow along each axis in turn, the longest run first, so that walls become plates.
        runs = [_count_free_layers(free, start, end, axis) for axis in range(3)]
        for axis in sorted(range(3), key=lambda k: -runs[k]):
            end[axis] += _count_free_layers(free, start, end, axis)
        span = tuple(slice(int(a), int(b)) for a, b in zip(start, end, strict=True))
        owner[span] = len(spans)
        free[span] = False
        spans.append((span[0], span[1], span[2]))
    return spans


def _count_free_layers(free: np.ndarray, start: np.ndarray, end: np.ndarray, axis: int) -> int:
    """Returns the number of further free layers along an axis."""
    count = 0
    window = [slice(int(a), int(b)) for a, b in zip(start, end, strict=True)]
    while int(end[axis]) + count < free.shape[axis]:
        window[axis] = slice(int(end[axis]) + count, int(end[axis]) + count + 1)
        if not free[tuple(window)].all():
            break
        count += 1
    return count


_MOST_POINTS = 300_000


@dataclass(frozen=True)
class ColliderQuality:
    """How well the colliders of one link match its surface."""

    parts: int
    volume_m3: float
    """Volume of all parts together; overlaps count twice."""
    volume_ratio: float | None
    """Volume of the parts over that of the surface; None if the surface is not closed."""
    uncovered_m: float
    """Largest distance from the surface to the colliders: how deep a body enters before contact [m]."""
    protruding_m: float
    """Largest distance from the outside of the colliders to the surface: how early contact begins [m]."""
    spacing_m: float
    """Spacing of the points between which both distances are measured [m]."""

    @property
    def hausdorff_m(self) -> float:
        """The larger of both distances [m]."""
        return max(self.uncovered_m, self.protruding_m)


def collider_quality(surface: Sequence[TriangleMesh], parts: Sequence[TriangleMesh]) -> ColliderQuality | None:
    """Measures the convex colliders of a link against its visual meshes, all in one frame.

    Returns None for a link without surface or without colliders.
    """
    if not surface or not parts:
        return None
    whole = join_meshes(list(surface))
    # spacing of the sample points, as a share of the surface's largest extent
    spacing_m = 0.015 * float(np.max(whole.extents))
    seen = sample_surface(whole, spacing_m=spacing_m, max_points=_MOST_POINTS)
    planes = [_face_planes(part) for part in parts]
    clouds = [sample_surface(part, spacing_m=spacing_m, max_points=_MOST_POINTS) for part in parts]
    # faces between two parts lie inside the whole and are never touched; CoACD leaves thin gaps there
    # largest gap between two parts that counts as closed, in spacings
    bare = [
        points[~_are_inside(points, [other for other in planes if other is not own], slack_m=0.2 * spacing_m)]
        for points, own in zip(clouds, planes, strict=True)
    ]
    outside = seen[~_are_inside(seen, planes, slack_m=1e-9)]
    uncovered = _largest_distance(outside, np.concatenate(clouds))
    protruding = _largest_distance(np.concatenate(bare), seen)
    volume = sum_in_order(part.volume for part in parts)
    solids = [closed_volume(mesh) for mesh in surface]
    solid = sum_in_order(value for value in solids if value is not None) if all(v is not None for v in solids) else None
    return ColliderQuality(len(parts), volume, volume / solid if solid else None, uncovered, protruding, spacing_m)


def _face_planes(part: TriangleMesh) -> np.ndarray:
    """Returns outward normals and offsets (F, 4) of a convex part's faces."""
    lengths = np.linalg.norm(part.area_normals, axis=1)
    keep = lengths > 1e-15
    normals = part.area_normals[keep] / lengths[keep][:, None]
    corners = part.vertices[part.faces[keep, 0]]
    return np.column_stack([normals, -np.einsum("ij,ij->i", normals, corners)])


def _are_inside(points: np.ndarray, planes: Sequence[np.ndarray], *, slack_m: float) -> np.ndarray:
    """Returns (N,) bool: whether each point lies in at least one of the convex parts."""
    found: np.ndarray = np.zeros(len(points), dtype=bool)
    for part in planes:
        left = np.flatnonzero(~found)
        for plane in part:  # most points lie beyond one of the first planes
            left = left[points[left] @ plane[:3] + plane[3] <= slack_m]
            if not len(left):
                break
        found[left] = True
    return found


def _largest_distance(points: np.ndarray, others: np.ndarray) -> float:
    return float(np.max(scipy.spatial.cKDTree(others).query(points)[0])) if len(points) and len(others) else 0.0


Array = np.ndarray

_MOST_FACES = 1000
"""A piece with more triangles that is not convex is left out: each point would cost a millisecond."""


class SolidPieces:
    """The closed pieces of meshes; open pieces have no inside and are left out."""

    def __init__(self, meshes: Iterable[TriangleMesh]) -> None:
        """Takes meshes of one frame."""
        self._convex: list[tuple[Array, Array]] = []
        self._others: list[Array] = []
        for mesh in meshes:
            if not len(mesh.faces):
                continue
            welded = weld_vertices(mesh, distance_m=max(1e-9, 1e-6 * float(np.max(mesh.extents))))
            for piece in split_components(welded):
                volume = closed_volume(piece)
                if volume is None:
                    continue
                hull = scipy.spatial.ConvexHull(piece.vertices)
                if volume >= 0.999 * hull.volume:  # a piece is convex if it fills this share of its hull
                    self._convex.append((piece.vertices, np.unique(hull.equations.round(9), axis=0)))
                elif len(piece.faces) <= _MOST_FACES:
                    self._others.append(piece.triangles)

    @property
    def face_count(self) -> int:
        """Number of triangles of the pieces that are not convex; each costs time at each point."""
        return sum(map(len, self._others))

    def depths(self, points: Array) -> Array:
        """Returns (N,) the distances of points (N, 3) inside a piece to its surface; 0 outside all pieces."""
        depths = np.zeros(len(points))
        for corners, planes in self._convex:
            near = _find_near(points, corners)
            depths[near] = np.maximum(depths[near], -(points[near] @ planes[:, :3].T + planes[:, 3]).max(axis=1))
        for triangles in self._others:
            near = _find_near(points, triangles.reshape(-1, 3))
            inside = near[winding_numbers(points[near], triangles) > 0.5]
            found = [float(triangle_distances(points[index], triangles).min()) for index in inside]
            depths[inside] = np.maximum(depths[inside], found)
        return depths


def _find_near(points: Array, corners: Array) -> Array:
    """Returns the indices of the points (N, 3) inside the bounding box of corners (M, 3)."""
    return np.flatnonzero(np.all((points > corners.min(axis=0)) & (points < corners.max(axis=0)), axis=1))
