"""Convex hulls of points and meshes, and their inertia."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy

from unlatch.simcore.errors import AssetError
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
from unlatch.simcore.sums import sum_in_order
from unlatch.simcore.urdf.model import Inertial

Array = np.ndarray


def convex_hull(points: Array) -> TriangleMesh:
    """Returns the convex hull of points (N, 3), its triangles turned outwards."""
    hull = scipy.spatial.ConvexHull(points)
    used, renumbered = np.unique(hull.simplices, return_inverse=True)
    mesh = TriangleMesh(points[used], renumbered.reshape(-1, 3))
    flipped = np.einsum("ij,ij->i", mesh.area_normals, hull.equations[:, :3]) < 0
    mesh.faces[flipped] = mesh.faces[flipped][:, ::-1]
    return mesh


def mesh_hull(mesh: TriangleMesh, *, least_m: float, where: str) -> TriangleMesh:
    """Returns the convex hull of a mesh; a flat mesh or a line is thickened to `least_m` first.

    Raises:
        AssetError: The mesh has no extent at all.
    """
    points = mesh.vertices[np.unique(mesh.faces)]
    thickened, changed = thicken_points(points, least_m=least_m)
    try:
        return convex_hull(thickened if changed else points)
    except (scipy.spatial.QhullError, ValueError) as exc:
        raise AssetError(f"{where}: the mesh has no convex hull. Expected a surface. Export it again.") from exc


def thicken_points(points: Array, *, least_m: float) -> tuple[Array, bool]:
    """Spreads points (N, 3) along each principal axis until they extend at least `least_m` along it [m].

    Returns:
        The points, (N, 3) or (8 N, 3); and whether any axis was too short.
    """
    centre = points.mean(axis=0)
    _, _, axes = np.linalg.svd(points - centre, full_matrices=True)
    local = (points - centre) @ axes.T
    shifts = np.maximum(least_m - np.ptp(local, axis=0), 0.0) / 2
    thin = bool(np.any(shifts > 0))
    if thin:
        signs = np.array(np.meshgrid((-1, 1), (-1, 1), (-1, 1))).reshape(3, -1).T
        local = (local[:, None, :] + signs * shifts).reshape(-1, 3)
    return local @ axes + centre, thin


def hulls_inertial(hulls: Sequence[TriangleMesh], mass_kg: float) -> Inertial:
    """Returns mass, centre and inertia of convex pieces of one density; overlaps count twice."""
    volume = sum_in_order(hull.volume for hull in hulls)
    first, second = np.zeros(3), np.zeros((3, 3))
    for hull in hulls:
        a, b, c = (hull.vertices[hull.faces[:, k]] for k in range(3))
        det = np.einsum("ij,ij->i", a, np.cross(b, c))  # (F,) six times the tetrahedra's volumes
        total = a + b + c
        first += (det[:, None] * total).sum(axis=0) / 24.0
        outer = sum(np.einsum("i,ij,ik->jk", det, v, v) for v in (a, b, c, total))
        second += outer / 120.0
    com = first / volume
    covariance = second / volume - np.outer(com, com)
    inertia = mass_kg * (np.trace(covariance) * np.eye(3) - covariance)
    return Inertial(mass_kg=mass_kg, com_link=com, inertia=(inertia + inertia.T) / 2)
