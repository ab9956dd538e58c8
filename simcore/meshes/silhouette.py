"""Computes which pixels triangles cover, and their depth, without a renderer."""

from __future__ import annotations

import numpy as np

from unlatch.simcore.cameras import Fisheye, Pinhole, cube_faces
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh

Array = np.ndarray

_BATCH = 2_000_000
"""Largest number of pairs of a triangle and a pixel per batch."""


def nearest_triangles(pinhole: Pinhole, mesh: TriangleMesh, *, near_m: float) -> tuple[Array, Array]:
    """Returns depth and index of the nearest triangle on every pixel's ray; the mesh is in the camera frame.

    A pixel is covered if its centre lies in a triangle; both sides count. Parts before the near plane are cut off.

    Returns:
        (height, width) distance to the image plane [m], infinite without a triangle; and (height, width) indices
        of the faces, -1 without a triangle.
    """
    depth: Array = np.full(pinhole.height * pinhole.width, np.inf)
    which: Array = np.full(pinhole.height * pinhole.width, -1)
    cut, source = clip_at_near_plane(mesh, near_m)
    corners = pinhole.project(cut.vertices)[cut.faces]  # (F, 3, 2)
    inverse = (1.0 / cut.vertices[:, 2])[cut.faces]  # (F, 3)
    limits = [pinhole.width, pinhole.height]
    first = np.clip(np.ceil(_lower_corners(corners)), 0, limits).astype(int)  # (F, 2)
    size = np.maximum(np.clip(np.floor(-_lower_corners(-corners)) + 1, 0, limits).astype(int) - first, 0)
    kept = np.flatnonzero(size.prod(axis=1))
    ends = np.cumsum(size[kept].prod(axis=1))
    cuts = np.searchsorted(ends, np.arange(_BATCH, ends[-1] if len(ends) else 0, _BATCH))
    for part in np.split(kept, cuts):
        place, met, of = _find_covered_pixels(pinhole.width, corners[part], inverse[part], first[part], size[part])
        order = np.argsort(-met, kind="stable")  # of several writes to one index, the last one counts: the nearest
        nearest = np.full(len(depth), -1)
        nearest[place[order]] = order
        reached = np.flatnonzero(nearest >= 0)
        reached = reached[met[nearest[reached]] < depth[reached]]
        depth[reached] = met[nearest[reached]]
        which[reached] = source[part[of[nearest[reached]]]]
    shape = (pinhole.height, pinhole.width)
    return depth.reshape(shape), which.reshape(shape)


def nearest_triangles_any_lens(optics: Pinhole | Fisheye, mesh: TriangleMesh, *, near_m: float) -> tuple[Array, Array]:
    """As `nearest_triangles` for any lens; for a fisheye, distances are to the camera's centre.

    Fisheye images are assembled from pinhole images and exact to a pixel.
    """
    if isinstance(optics, Pinhole):
        return nearest_triangles(optics, mesh, near_m=near_m)
    shape = (optics.height, optics.width)
    distance: Array = np.full(shape, np.inf)
    which: Array = np.full(shape, -1)
    for face in cube_faces(optics)[0]:
        turned = TriangleMesh(mesh.vertices @ face.R_camera_face, mesh.faces)
        depth, found = nearest_triangles(face.pinhole, turned, near_m=near_m)
        row, column = np.rint(face.row).astype(int), np.rint(face.column).astype(int)
        distance[face.pixels] = depth[row, column] * face.ray_lengths
        which[face.pixels] = found[row, column]
    met = which >= 0
    hit = TriangleMesh(mesh.vertices, mesh.faces[which[met]])
    normals, a = hit.area_normals, hit.vertices[hit.faces[:, 0]]
    with np.errstate(divide="ignore", invalid="ignore"):  # the pixel's own ray on the triangle's plane
        exact = np.einsum("ij,ij->i", normals, a) / np.einsum("ij,ij->i", normals, optics.rays()[met])
    # largest difference between the distances along a pixel's ray and along a ray beside it, as a share of the latter
    distance[met] = np.where(np.abs(exact - distance[met]) < 0.1 * distance[met], exact, distance[met])
    return distance, which


def clip_at_near_plane(mesh: TriangleMesh, near_m: float) -> tuple[TriangleMesh, Array]:
    """Returns the part of a mesh at z >= near_m [m], and (G,) the original face of each of its faces."""
    inside = mesh.vertices[:, 2] >= near_m  # (V,)
    if inside.all():
        return mesh, np.arange(len(mesh.faces))
    count = inside[mesh.faces].sum(axis=1)
    whole = np.flatnonzero(count == 3)
    pieces, source = [mesh.vertices[mesh.faces[whole]]], [whole]
    for wanted in (1, 2):
        numbers = np.flatnonzero(count == wanted)
        faces = mesh.faces[numbers]
        odd = np.argmax(inside[faces] == (wanted == 1), axis=1)  # the only corner on its side
        a, b, c = (mesh.vertices[faces[np.arange(len(faces)), (odd + k) % 3]] for k in range(3))
        ab, ac = _depth_crossing(a, b, near_m), _depth_crossing(a, c, near_m)
        made = [(a, ab, ac)] if wanted == 1 else [(ab, b, c), (ab, c, ac)]
        pieces += [np.stack(corners, axis=1) for corners in made]
        source += [numbers] * len(made)
    corners = np.concatenate(pieces)  # (G, 3, 3)
    return TriangleMesh(corners.reshape(-1, 3), np.arange(3 * len(corners)).reshape(-1, 3)), np.concatenate(source)


def _depth_crossing(a: Array, b: Array, z: float) -> Array:
    """Returns the points (F, 3) of lines from a to b at a depth, exactly at that depth."""
    share = (z - a[:, 2:]) / (b[:, 2:] - a[:, 2:])
    met = a + share * (b - a)
    met[:, 2] = z
    return met


def _lower_corners(corners: Array) -> Array:
    """Returns the smallest coordinates (F, 2) of three corners; NumPy's own minimum is slow along the middle axis."""
    return np.minimum(np.minimum(corners[:, 0], corners[:, 1]), corners[:, 2])


def _find_covered_pixels(
    width: int, corners: Array, inverse: Array, first: Array, size: Array
) -> tuple[Array, Array, Array]:
    """Returns pairs of a triangle and a covered pixel: index of the pixel, its depth, and the triangle.

    Triangles have corners (F, 3, 2) [pixels] and inverse depths (F, 3) [1/m], which are affine in the pixel; `first`
    and `size` (F, 2) are the first column and row to check, and their numbers.
    """
    counts = size.prod(axis=1)
    of: Array = np.repeat(np.arange(len(counts)), counts)  # (P,) triangle of every pair
    nth = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    u = first[of, 0] + nth % size[of, 0]
    v = first[of, 1] + nth // size[of, 0]
    a, ab, ac = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    area = ab[:, 0] * ac[:, 1] - ab[:, 1] * ac[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        du, dv = u - a[of, 0], v - a[of, 1]
        to_b = (du * ac[of, 1] - dv * ac[of, 0]) / area[of]
        to_c = (dv * ab[of, 0] - du * ab[of, 1]) / area[of]
        hit = (to_b >= 0.0) & (to_c >= 0.0) & (to_b + to_c <= 1.0)
    of, to_b, to_c = of[hit], to_b[hit], to_c[hit]
    met = inverse[of, 0] + to_b * (inverse[of, 1] - inverse[of, 0]) + to_c * (inverse[of, 2] - inverse[of, 0])
    return v[hit] * width + u[hit], 1.0 / met, of
