"""Levels of detail: fewer triangles for shapes that are far from the camera, with the same outlines, edges and shading.

A level belongs to the size of a pixel at the distance of a shape. Edges of the mesh are collapsed by quadric error
metrics (Garland and Heckbert 1997) for as long as the error stays below a share of that size. Vertices of open borders
stay where they are, so shapes that meet there still meet. Normals are those of the original surface.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np
import scipy

from unlatch.simcore.geometry import Pinhole, Pose
from unlatch.simcore.kept.arrays import arrays_key, kept_arrays
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
from unlatch.simcore.sim.renderers.link_geometry import ShapeGeometry, corner_keys

Array = np.ndarray

FINEST_PIXEL_M = 0.001
"""Size of a pixel at level 0; where pixels are smaller, all triangles are drawn [m]."""
COARSEST_LEVEL = 6
"""Its pixels are 64 times as large as those of level 0."""
_ERROR_PX = 0.5
"""Limit of the quadric error of a vertex, as a share of a pixel.

The quadric error is the root of the summed squared distances from the planes of all triangles that were merged into the
vertex. The surfaces of the Panda's links are half a pixel apart at most. The exception is 1 mm on the small screws of
its base, at any level: fast_simplification drops a few of their triangles. Therefore no level is finer than 1 mm.
"""
_LEAST_FACES = 500
"""Shapes with fewer triangles stay as they are."""
_WELD_M = 1e-6
"""Corners that are not further apart are one vertex [m]."""
_COLLAPSE_ERROR = 1e-9
"""The squared error up to which fast_simplification collapses edges with `agg=0`."""
_CANDIDATES = 16
"""Original normals among which that of a corner is chosen."""
_COST_OF_A_PIXEL = 0.1
"""Distance of an original normal against its angle to the triangle: a pixel counts as much as 26 degrees."""
_LEAST_AREA = 1e-12
"""Triangles with less area are not drawn, as they have no normal [m^2]."""


def pixel_size(pinhole: Pinhole, distance_m: float) -> float:
    """Returns the size of a pixel at a distance from the camera [m]; 0 behind the lens."""
    return max(distance_m, 0.0) / max(pinhole.fx, pinhole.fy)


def level_of_detail(pixel_m: float) -> int | None:
    """Returns the level for pixels of a size, rounded to finer meshes; None: all triangles are drawn."""
    if pixel_m < FINEST_PIXEL_M:
        return None
    return min(int(np.floor(np.log2(pixel_m / FINEST_PIXEL_M))), COARSEST_LEVEL)


def bounding_sphere(shapes: list[ShapeGeometry]) -> tuple[Array, float]:
    """Returns centre (3,) and radius of a sphere around shapes of one link, in the frame of the link [m]."""
    vertices = np.concatenate([shape.vertices for shape in shapes]).astype(float)
    centre: Array = (vertices.min(axis=0) + vertices.max(axis=0)) / 2.0
    return centre, float(np.linalg.norm(vertices - centre, axis=1).max())


def nearest_distance(centre: Array, radius_m: float, T_world_link: Pose, T_world_camera: Pose) -> float:
    """Returns the distance from the camera to a bounding sphere [m]; negative inside of it."""
    return float(np.linalg.norm(T_world_link @ centre - T_world_camera.p)) - radius_m


def can_simplify(shape: ShapeGeometry) -> bool:
    """Returns whether a shape has levels of detail: many triangles, and no texture that would move on them."""
    return not shape.textured and len(shape.faces) >= _LEAST_FACES


def simplify_shape(shape: ShapeGeometry, level: int) -> ShapeGeometry:
    """Returns a shape with the triangles that pixels of a level need; the same one if it has no levels of detail."""
    if not can_simplify(shape):
        return shape
    versions = version("fast_simplification"), version("scipy")
    key = arrays_key(__file__, versions, level, shape.vertices, shape.normals, shape.faces)
    found: dict[str, Any] = {**kept_arrays("levels_of_detail", key, lambda: _simplified_arrays(shape, level))}
    return replace(shape, **found)


def _simplified_arrays(shape: ShapeGeometry, level: int) -> dict[str, Array]:
    """Returns the arrays of a shape that a level changes; empty if it has no fewer triangles there."""
    pixel_m = FINEST_PIXEL_M * 2.0**level
    mesh = _collapse_edges(_weld_corners(shape), _ERROR_PX * pixel_m)
    if not 0 < len(mesh.faces) < len(shape.faces):
        return {}
    normals = _find_normals(mesh, shape, pixel_m).reshape(-1, 3)
    corners = mesh.faces.ravel()
    keys = corner_keys(corners, normals, np.zeros((len(corners), 2)))
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return {
        "vertices": mesh.vertices[corners[first]].astype(np.float32),
        "normals": normals[first].astype(np.float32),
        "uvs": np.zeros((len(first), 2), dtype=np.float32),
        "faces": which.reshape(-1, 3).astype(np.uint32),
    }


def _weld_corners(shape: ShapeGeometry) -> TriangleMesh:
    """Returns its triangles with one vertex at each place; those without area are left out."""
    keys = np.rint(shape.vertices.astype(float) / _WELD_M).astype(np.int64)
    _, first, which = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    faces = which.reshape(-1)[shape.faces]
    distinct = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 0] != faces[:, 2])
    return TriangleMesh(shape.vertices[first].astype(float), faces[distinct])


def _collapse_edges(mesh: TriangleMesh, error_m: float) -> TriangleMesh:
    """Collapses edges up to a quadric error [m]."""
    from fast_simplification import simplify

    # with agg=0 the limit of the error is the same in every round, but a constant: the mesh is scaled to it
    scale = np.sqrt(_COLLAPSE_ERROR) / error_m
    vertices, faces = simplify(
        mesh.vertices * scale, mesh.faces.astype(np.int32), target_count=1, agg=0.0, preserve_border=True
    )
    collapsed = TriangleMesh(np.asarray(vertices, dtype=float) / scale, np.asarray(faces, dtype=np.int64))
    return collapsed.cut(np.linalg.norm(collapsed.area_normals, axis=1) > 2.0 * _LEAST_AREA)


def _find_normals(mesh: TriangleMesh, shape: ShapeGeometry, pixel_m: float) -> Array:
    """Returns (F, 3, 3) normals of the corners of a simplified mesh: near ones of the original surface.

    A corner takes a normal that is close to it and to the direction of its triangle. So a sharp edge, where the
    original has one normal for each side, stays sharp. A flat side whose rounded edge is smaller than a pixel stays
    flat, and a curved surface stays smooth.
    """
    across = mesh.area_normals
    of_faces = across / np.linalg.norm(across, axis=1, keepdims=True)
    count = min(_CANDIDATES, len(shape.vertices))
    distance_m, near = scipy.spatial.cKDTree(shape.vertices).query(mesh.vertices, k=count)  # (V, K)
    near, far = near[mesh.faces], (_COST_OF_A_PIXEL * (distance_m / pixel_m) ** 2)[mesh.faces]  # (F, 3, K)
    cosine = np.einsum("fckx,fx->fck", shape.normals[near], of_faces)
    best = np.argmin(far - cosine, axis=2)[..., None]
    found: Array = shape.normals[np.take_along_axis(near, best, axis=2)[..., 0]]  # (F, 3, 3)
    behind = np.take_along_axis(cosine, best, axis=2) < 0.0  # of the other side of a thin sheet
    return np.where(behind, of_faces[:, None, :], found)
