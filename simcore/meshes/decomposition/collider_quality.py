"""Measures how well colliders follow a surface: volumes and distances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, closed_volume, join_meshes, sample_surface
from unlatch.simcore.sums import sum_in_order

_SPACING_SHARE = 0.015
"""Spacing of the sample points, as a share of the surface's largest extent."""
_MOST_POINTS = 300_000
_GAP_SPACINGS = 0.2
"""Largest gap between two parts that counts as closed, in spacings."""


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
    spacing_m = _SPACING_SHARE * float(np.max(whole.extents))
    seen = sample_surface(whole, spacing_m=spacing_m, max_points=_MOST_POINTS)
    planes = [_face_planes(part) for part in parts]
    clouds = [sample_surface(part, spacing_m=spacing_m, max_points=_MOST_POINTS) for part in parts]
    # faces between two parts lie inside the whole and are never touched; CoACD leaves thin gaps there
    bare = [
        points[~_are_inside(points, [other for other in planes if other is not own], slack_m=_GAP_SPACINGS * spacing_m)]
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
    if not len(points) or not len(others):
        return 0.0
    distances, _ = scipy.spatial.cKDTree(others).query(points)
    return float(np.max(distances))
