"""Fisheye images, assembled from pinhole images of the faces of a cube around the camera."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unlatch.simcore.geometry import Fisheye, Pose
from unlatch.simcore.geometry.cube_faces import CubeFace, cube_faces
from unlatch.simcore.sim.renderers.renderer import RawImages, RenderRequest
from unlatch.simcore.sim.world import World

Array = np.ndarray


def take_fisheye_images(world: World, lens: Fisheye, request: RenderRequest) -> RawImages:
    """Renders a fisheye image with a renderer that supports only pinholes.

    The near and far planes of the request are those of the cube's faces. Outside the lens, colours are black. Depth is
    infinite at directions behind the camera, too.
    """
    shape = (lens.height, lens.width)
    rgb: Array = np.zeros((*shape, 3), dtype=np.uint8)
    distance: Array = np.full(shape, np.inf, dtype=np.float32)
    ids: Array = np.zeros(shape, dtype=np.int32)
    directions: Array | None = np.zeros((*shape, 3)) if request.normals else None
    faces, forward = cube_faces(lens)
    for face in faces:
        T_world_face = request.T_world_camera @ Pose(face.R_camera_face, np.zeros(3))
        seen = world.renderer.render(world, replace(request, optics=face.pinhole, T_world_camera=T_world_face))
        row, column = np.rint(face.row).astype(int), np.rint(face.column).astype(int)
        rgb[face.pixels] = _interpolate_colours(seen.rgb, face)
        ids[face.pixels] = seen.link_ids[row, column]
        distance[face.pixels] = _interpolate_depths(seen, face) * face.stretch
        if directions is not None:
            found = face.pinhole.normals(seen.depth_m)[row, column]
            directions[face.pixels] = found @ face.R_camera_face.T
    with np.errstate(invalid="ignore"):
        depth_m: Array = np.where((forward > 0.0) & np.isfinite(distance), distance * forward, np.inf)
    return RawImages(rgb, depth_m.astype(np.float32), ids, distance, directions)


def _bilinear_corners(face: CubeFace) -> tuple[Array, Array, Array]:
    """Returns rows and columns (4, N) of the four pixels around each place, and their weights (4, N)."""
    top, left = np.floor(face.row).astype(int), np.floor(face.column).astype(int)
    down, right = face.row - top, face.column - left
    rows, columns = np.stack([top, top, top + 1, top + 1]), np.stack([left, left + 1, left, left + 1])
    weights = np.stack([(1 - down) * (1 - right), (1 - down) * right, down * (1 - right), down * right])
    return rows, columns, weights


def _interpolate_colours(rgb: Array, face: CubeFace) -> Array:
    rows, columns, weights = _bilinear_corners(face)
    mixed = np.einsum("kn,knc->nc", weights, rgb[rows, columns].astype(float))
    return np.rint(mixed).astype(np.uint8)


def _interpolate_depths(seen: RawImages, face: CubeFace) -> Array:
    """Returns distances (N,) to the face's image plane [m].

    The inverse depth of a plane is affine in the pixel, so it is interpolated where all four pixels are of one link and
    about as far; on an edge the nearest one counts.
    """
    rows, columns, weights = _bilinear_corners(face)
    depths, ids = seen.depth_m[rows, columns].astype(float), seen.link_ids[rows, columns]
    nearest = seen.depth_m[np.rint(face.row).astype(int), np.rint(face.column).astype(int)].astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        together = (ids == ids[0]).all(axis=0) & (depths.max(axis=0) < 1.1 * depths.min(axis=0))
        mixed = 1.0 / np.sum(weights / depths, axis=0)
    return np.where(together, mixed, nearest)
