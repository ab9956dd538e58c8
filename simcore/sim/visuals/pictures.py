"""Pictures of a world: for people by eye and target, for sensors by lens and pose.

Fisheye images are assembled from pinhole images of the faces of a cube around the camera, unless the renderer supports
fisheye lenses itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pybullet as p
from numpy.typing import ArrayLike

from unlatch.simcore.cameras import CubeFace, Fisheye, Pinhole, cube_faces
from unlatch.simcore.errors import WorldError
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.sim.renderers.renderer import RawImages, RenderRequest
from unlatch.simcore.sim.world import World

_FRAMING_STEPS = 6
_NEAR_M, _FAR_M = 0.02, 10.0
"""Near and far planes of pictures [m]."""


@dataclass(frozen=True)
class LookAtCamera:
    """A pinhole camera by eye and target in the world frame [m]."""

    eye: tuple[float, float, float] = (0.15, -1.15, 0.95)
    target: tuple[float, float, float] = (0.5, 0.0, 0.25)
    fov_deg: float = 48.0
    """Vertical field of view [deg]."""

    @property
    def view_matrix(self) -> tuple[float, ...]:
        """OpenGL's view matrix (16,), column by column; z is up in the image."""
        return p.computeViewMatrix(self.eye, self.target, (0.0, 0.0, 1.0))

    @property
    def T_world_camera(self) -> Pose:
        """Pose of the camera's frame: x to the right of the image, y down, z forward."""
        look: Array = np.reshape(self.view_matrix, (4, 4))  # the upper left part is R_world_view
        return Pose(look[:3, :3] @ np.diag([1.0, -1.0, -1.0]), np.array(self.eye))

    def pinhole(self, width: int, height: int) -> Pinhole:
        """Returns the lens for an image size [pixels]."""
        return Pinhole.from_fov(width, height, np.radians(self.fov_deg))


def framing_camera(
    points_world: ArrayLike, looks_from: ArrayLike, *, fov_deg: float, aspect: float = 1.0, margin: float = 1.0
) -> LookAtCamera:
    """Returns the camera that shows points as large as possible, from a fixed direction.

    Args:
        points_world: (K, 3) points that must be in the picture [m].
        looks_from: (3,) direction from the points to the eye, not straight up.
        fov_deg: Vertical field of view [deg].
        aspect: Width of the picture over its height.
        margin: Factor on the smallest distance from which a flat set of points fits the picture.
    """
    points = np.atleast_2d(np.asarray(points_world, dtype=float))
    back = np.asarray(looks_from, dtype=float) / np.linalg.norm(looks_from)
    right = np.cross([0.0, 0.0, 1.0], back)
    right = right / np.linalg.norm(right)
    R_world_view = np.stack([right, np.cross(back, right), back]).T
    seen = points @ R_world_view  # (K, 3)
    low, high = seen.min(axis=0), seen.max(axis=0)
    half = float(np.max((high - low)[:2] / [aspect, 1.0])) / 2
    distance = half / float(np.tan(np.deg2rad(fov_deg / 2))) * margin + (high[2] - low[2]) / 2
    target = R_world_view @ ((low + high) / 2)
    camera = LookAtCamera(tuple((target + back * distance).tolist()), tuple(target.tolist()), fov_deg)
    for _ in range(_FRAMING_STEPS):  # near points appear larger than far ones: centre what is seen, then come closer
        at = camera.T_world_camera.inverse() @ points
        slopes = at[:, :2] / at[:, 2:]  # (K, 2)
        middle = (slopes.min(axis=0) + slopes.max(axis=0)) / 2
        half = float(np.max((slopes.max(axis=0) - slopes.min(axis=0)) / [aspect, 1.0])) / 2
        target = target + distance * (middle[0] * R_world_view[:, 0] - middle[1] * R_world_view[:, 1])
        distance *= half * margin / float(np.tan(np.deg2rad(fov_deg / 2)))
        camera = LookAtCamera(tuple((target + back * distance).tolist()), tuple(target.tolist()), fov_deg)
    return camera


def take_picture(
    world: World, view: LookAtCamera, *, width: int, height: int, fine: bool = True, smooth: bool = True
) -> Array:
    """Returns a picture (height, width, 3) uint8 of the world.

    Args:
        world: The world, with visual shapes.
        view: The camera.
        width: Of the picture [pixels].
        height: Of the picture [pixels].
        fine: Whether the picture is looked at for long; one of many frames takes less time.
        smooth: Whether edges are smoothed; shrinking the picture smooths them, too.

    Raises:
        WorldError: The world has no visual shapes.
    """
    require_visuals(world)
    optics, T_world_camera = view.pinhole(width, height), view.T_world_camera
    request = RenderRequest(
        optics, T_world_camera, _NEAR_M, _FAR_M, depth=False, labels=False, fine=fine, smooth=smooth
    )
    return world.renderer.render(world, request).rgb


def visible_links(world: World, view: LookAtCamera, *, width: int, height: int) -> dict[str, int]:
    """Returns the number of visible pixels of each visible link, by its label.

    Raises:
        WorldError: The world has no visual shapes.
    """
    require_visuals(world)
    optics, T_world_camera = view.pinhole(width, height), view.T_world_camera
    request = RenderRequest(optics, T_world_camera, _NEAR_M, _FAR_M, colours=False, depth=False, exact=False)
    counts = np.bincount(world.renderer.render(world, request).link_ids.ravel())
    labels = link_labels(world)
    return {labels[index - 1][0]: int(count) for index, count in enumerate(counts) if index and count}


def project_points(view: LookAtCamera, points_world: ArrayLike, *, width: int, height: int) -> Array:
    """Returns the positions (K, 2) of points (K, 3) [m] from the picture's upper left corner [pixels].

    They are NaN for points behind the camera.
    """
    points_camera = view.T_world_camera.inverse() @ np.atleast_2d(np.asarray(points_world, dtype=float))
    return view.pinhole(width, height).project(points_camera) + 0.5


def take_images(world: World, request: RenderRequest) -> RawImages:
    """Renders colours, depth and links that a camera sees.

    Raises:
        WorldError: The world has no visual shapes.
    """
    require_visuals(world)
    if isinstance(request.optics, Fisheye) and Fisheye not in world.renderer.lenses:
        return _take_fisheye_images(world, request.optics, request)
    return world.renderer.render(world, request)


def require_visuals(world: World) -> None:
    """Raises an error unless a world has visual shapes.

    Raises:
        WorldError: The world was opened without visual shapes.
    """
    if not world.visuals:
        raise WorldError(
            "This World has no visual shapes, so images of it would be empty. Open it as World(cfg, visuals=True)."
        )


def link_labels(world: World) -> list[tuple[str, str]]:
    """Returns (label, class) of every link; `RawImages.link_ids` numbers them from 1."""
    return [(body.label(index), body.semantic_class) for body in world.seen_bodies() for index in body.link_names]


def _take_fisheye_images(world: World, lens: Fisheye, request: RenderRequest) -> RawImages:
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
        rows, columns, weights = _bilinear_corners(face)
        mixed = np.einsum("kn,knc->nc", weights, seen.rgb[rows, columns].astype(float))
        rgb[face.pixels] = np.rint(mixed).astype(np.uint8)
        ids[face.pixels] = seen.link_ids[row, column]
        distance[face.pixels] = _interpolate_depths(seen, face) * face.ray_lengths
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


def _interpolate_depths(seen: RawImages, face: CubeFace) -> Array:
    """Returns distances (N,) to the face's image plane [m].

    The inverse depth of a plane is affine in the pixel, so it is interpolated where all four pixels show one link at
    about the same distance. On an edge, the depth of the nearest pixel counts.
    """
    rows, columns, weights = _bilinear_corners(face)
    depths, ids = seen.depth_m[rows, columns].astype(float), seen.link_ids[rows, columns]
    nearest = seen.depth_m[np.rint(face.row).astype(int), np.rint(face.column).astype(int)].astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        together = (ids == ids[0]).all(axis=0) & (depths.max(axis=0) < 1.1 * depths.min(axis=0))
        mixed = 1.0 / np.sum(weights / depths, axis=0)
    return np.where(together, mixed, nearest)
