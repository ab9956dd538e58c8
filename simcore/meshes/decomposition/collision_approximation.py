"""Makes colliders of meshes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.convex_hull import convex_hull, mesh_hull
from unlatch.simcore.meshes.decomposition.convex_decomposition import ConvexDecompositionCfg, decompose
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, join_meshes, simplify_mesh
from unlatch.simcore.urdf.model import Shape, ShapeKind


class CollisionApproximation(str, Enum):
    """How colliders follow a mesh; the values are those of `UsdPhysics.MeshCollisionAPI`."""

    convexDecomposition = "convexDecomposition"  # noqa: N815 - the reference's own words
    """Several convex parts: near-convex components are hulled, CoACD takes the rest."""
    convexHull = "convexHull"  # noqa: N815
    """One convex hull."""
    boundingCube = "boundingCube"  # noqa: N815
    """The smallest box around it."""
    boundingSphere = "boundingSphere"  # noqa: N815
    """The smallest sphere around it."""
    meshSimplification = "meshSimplification"  # noqa: N815
    """Its own triangles, simplified; for fixed bodies."""
    none = "none"
    """No collider."""


SIMPLIFIED_FACES = 1500
"""Largest number of triangles of `meshSimplification`."""


@dataclass(frozen=True)
class Colliders:
    """Colliders of some meshes, in their frame."""

    convex: list[TriangleMesh]
    """Convex parts. A primitive is here, too, as a mesh, so that all colliders can be measured and drawn alike."""
    primitive: Shape | None = None
    """The same collider as a box or sphere, for formats with primitives; None if it is neither."""
    triangles: TriangleMesh | None = None
    """A concave surface in place of convex parts."""


def make_colliders(
    meshes: list[TriangleMesh],
    approximation: CollisionApproximation,
    *,
    size_m: float,
    where: str,
    settings: ConvexDecompositionCfg | None = None,
) -> Colliders:
    """Makes the colliders of the surfaces of one link, in one frame [m].

    `size_m` is the largest extent of the whole object [m]; `where` names the meshes in errors.

    Raises:
        AssetError: The meshes have no surface, or CoACD cannot run.
    """
    settings = settings or ConvexDecompositionCfg()
    if approximation is CollisionApproximation.none or not meshes:
        return Colliders([])
    if approximation is CollisionApproximation.convexDecomposition:
        hulls = decompose(meshes, settings, size_m=size_m, where=where, solid=True).hulls
        if hulls:
            return Colliders(hulls)
        approximation = CollisionApproximation.convexHull  # all pieces are too small for colliders
    whole = join_meshes(meshes)
    if approximation is CollisionApproximation.convexHull:
        return Colliders([mesh_hull(whole, least_m=settings.sheet_m, where=where)])
    if approximation is CollisionApproximation.boundingCube:
        return _bounding_box(whole, least_m=settings.sheet_m, where=where)
    if approximation is CollisionApproximation.boundingSphere:
        return _bounding_sphere(whole)
    first_m = float(np.max(whole.extents)) / 2000
    triangles = simplify_mesh(whole, max_faces=SIMPLIFIED_FACES, first_distance_m=first_m)
    return Colliders([], triangles=triangles)


def _bounding_box(mesh: TriangleMesh, *, least_m: float, where: str) -> Colliders:
    import trimesh

    hull = mesh_hull(mesh, least_m=least_m, where=where)
    low, high = hull.vertices.min(axis=0), hull.vertices.max(axis=0)
    pose, size = Pose.from_translation((low + high) / 2), high - low
    to_origin, extents = trimesh.bounds.oriented_bounds(hull.vertices, angle_digits=6)
    # an axis-parallel box is preferred unless the oriented one is clearly smaller
    if float(np.prod(extents)) < 0.995 * float(np.prod(size)):
        T = np.linalg.inv(to_origin)
        pose, size = Pose(T[:3, :3], T[:3, 3]), np.asarray(extents, dtype=float)
    corners = np.array(np.meshgrid((-0.5, 0.5), (-0.5, 0.5), (-0.5, 0.5))).reshape(3, -1).T * size
    shape = Shape(ShapeKind.box, (float(size[0]), float(size[1]), float(size[2])), pose, "bounding_cube")
    return Colliders([convex_hull(pose @ corners)], primitive=shape)


def _bounding_sphere(mesh: TriangleMesh) -> Colliders:
    points = mesh.vertices[np.unique(mesh.faces)]
    centre = (points.min(axis=0) + points.max(axis=0)) / 2
    # Badoiu and Clarkson: shrinking steps towards the farthest point; after n steps the error is at most 1/n
    for n in range(1, 2001):
        away = points - centre
        centre = centre + away[int(np.argmax(np.einsum("ij,ij->i", away, away)))] / (n + 1)
    radius = float(np.max(np.linalg.norm(points - centre, axis=1)))
    pose = Pose.from_translation(centre)
    shape = Shape(ShapeKind.sphere, (radius,), pose, "bounding_sphere")
    return Colliders([convex_hull(pose @ (_sphere_points() * radius))], primitive=shape)


def _sphere_points(rings: int = 12) -> np.ndarray:
    """Returns points (N, 3) on the unit sphere, evenly in height and angle."""
    heights = np.cos(np.linspace(0.0, np.pi, rings + 1))
    angles = np.linspace(0.0, 2 * np.pi, 2 * rings, endpoint=False)
    radii = np.sqrt(np.maximum(0.0, 1.0 - heights**2))
    points = np.stack(
        [np.outer(radii, np.cos(angles)), np.outer(radii, np.sin(angles)), np.outer(heights, np.ones_like(angles))],
        axis=-1,
    )
    return np.unique(points.reshape(-1, 3).round(12), axis=0)
