"""Splits open surfaces into plates: neighbouring triangles are merged while their hull stays near the surface."""

from __future__ import annotations

import heapq
from collections import defaultdict

import numpy as np
import scipy

from unlatch.simcore.meshes.decomposition.hull_nearness import SampledSurface
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, sample_surface


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
        self._note_cost(one, other, cost_m)
        heapq.heappush(self.candidates, (cost_m, one, other, corners[kept]))

    def _propose_merge(self, one: int, other: int, least_m: float) -> None:
        self._note_cost(one, other, least_m)
        heapq.heappush(self.candidates, (least_m, one, other, None))

    def _note_cost(self, one: int, other: int, cost_m: float) -> None:
        self._costs_m[one, other] = self._costs_m[other, one] = cost_m

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
