"""Pictures of a world: quick views, and images of exact cameras."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pybullet as p
from numpy.typing import ArrayLike

from unlatch.simcore.errors import WorldError
from unlatch.simcore.geometry import Pinhole, Pose
from unlatch.simcore.sim.renderers.bullet_image import convert_mask
from unlatch.simcore.sim.renderers.render_request import RenderRequest
from unlatch.simcore.sim.renderers.renderer import RawImages
from unlatch.simcore.sim.visuals.fisheye_images import take_fisheye_images
from unlatch.simcore.sim.world import World

Array = np.ndarray


@dataclass(frozen=True)
class LookAtCamera:
    """A pinhole camera by eye and target in the world frame [m]."""

    eye: tuple[float, float, float] = (0.15, -1.15, 0.95)
    target: tuple[float, float, float] = (0.5, 0.0, 0.25)
    fov_deg: float = 48.0
    """Vertical field of view [deg]."""


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
    eye = target + back * distance
    return LookAtCamera(eye=_to_triple(eye), target=_to_triple(target), fov_deg=fov_deg)


def _to_triple(values: Array) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in values)
    return x, y, z


def take_picture(world: World, view: LookAtCamera, *, width: int, height: int) -> Array:
    """Returns a picture (height, width, 3) uint8 of the world.

    Args:
        world: The world.
        view: The camera.
        width: Pixels across.
        height: Pixels down.
    """
    seen = RenderRequest(
        Pinhole.from_fov(width, height, np.radians(view.fov_deg)),
        _camera_pose(view),
        near_m=0.02,
        far_m=10.0,
        depth=False,
    )
    return world.renderer.render(world, seen).rgb


def _camera_pose(view: LookAtCamera) -> Pose:
    """Returns T_world_camera: z along the view, x level."""
    look: Array = np.reshape(
        p.computeViewMatrix(view.eye, view.target, (0.0, 0.0, 1.0)), (4, 4)
    )  # of R_world_view: its rows
    return Pose(look[:3, :3] @ np.diag([1.0, -1.0, -1.0]), np.array(view.eye))


def visible_links(world: World, view: LookAtCamera, *, width: int, height: int) -> dict[str, int]:
    """Returns the number of visible pixels of each visible link, by its label.

    Args:
        world: The world, loaded with visual shapes.
        view: The camera.
        width: Pixels across.
        height: Pixels down.

    Raises:
        WorldError: The world has no visual shapes.
    """
    require_visuals(world)
    _, _, _, _, mask = p.getCameraImage(
        width,
        height,
        viewMatrix=p.computeViewMatrix(view.eye, view.target, (0.0, 0.0, 1.0)),
        projectionMatrix=p.computeProjectionMatrixFOV(view.fov_deg, width / height, 0.02, 10.0),
        shadow=0,
        renderer=p.ER_TINY_RENDERER,
        flags=p.ER_SEGMENTATION_MASK_OBJECT_AND_LINKINDEX,
        physicsClientId=world.client,
    )
    counts = np.bincount(convert_mask(world, np.reshape(np.asarray(mask, dtype=np.int32), (height, width))).ravel())
    labels = link_labels(world)
    return {labels[index - 1][0]: int(count) for index, count in enumerate(counts) if index and count}


def project_points(view: LookAtCamera, points_world: ArrayLike, *, width: int, height: int) -> Array:
    """Returns the pixels (K, 2) of points (K, 3) [m]; NaN for points behind the camera."""
    look = np.reshape(p.computeViewMatrix(view.eye, view.target, (0.0, 0.0, 1.0)), (4, 4)).T
    projection = np.reshape(p.computeProjectionMatrixFOV(view.fov_deg, width / height, 0.02, 10.0), (4, 4)).T
    points = np.atleast_2d(np.asarray(points_world, dtype=float))  # (K, 3)
    clip = np.c_[points, np.ones(len(points))] @ (projection @ look).T  # (K, 4)
    pixels = np.full((len(points), 2), np.nan)
    front = clip[:, 3] > 0
    ndc = clip[front, :2] / clip[front, 3:4]
    pixels[front] = np.c_[(ndc[:, 0] + 1) * width / 2, (1 - ndc[:, 1]) * height / 2]
    return pixels


def take_images(world: World, request: RenderRequest) -> RawImages:
    """Renders colours, depth and links that a camera sees.

    Args:
        world: The world, loaded with visual shapes.
        request: Camera and wanted images.

    Raises:
        WorldError: The world has no visual shapes.
    """
    require_visuals(world)
    if isinstance(request.optics, world.renderer.lenses):
        return world.renderer.render(world, request)
    return take_fisheye_images(world, request)


def require_visuals(world: World) -> None:
    """Raises an error unless a world has visual shapes.

    Raises:
        WorldError: The world was opened without visual shapes.
    """
    if not world.visuals:
        raise WorldError(
            "This World has no visual shapes, so that nothing can be seen in it. Open it as World(cfg, visuals=True)."
        )


def link_labels(world: World) -> list[tuple[str, str]]:
    """Returns (label, class) of every link; `RawImages.link_ids` numbers them from 1."""
    return [(body.label(index), body.semantic_class) for body in world.seen_bodies() for index in body.link_names]
