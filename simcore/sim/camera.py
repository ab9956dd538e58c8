"""Pictures of a world by Bullet's software renderer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pybullet as p
from numpy.typing import ArrayLike

from simcore.sim.world import World

Array = np.ndarray


@dataclass(frozen=True)
class View:
    """A pinhole camera by eye and target in the world frame [m]."""

    eye: tuple[float, float, float] = (0.15, -1.15, 0.95)
    target: tuple[float, float, float] = (0.5, 0.0, 0.25)
    fov_deg: float = 48.0


def take_picture(world: World, view: View, *, width: int, height: int) -> Array:
    """An rgb picture (height, width, 3) uint8 of the world as it is.

    Args:
        world: The world.
        view: The camera.
        width: Pixels across.
        height: Pixels down.
    """
    look = p.computeViewMatrix(view.eye, view.target, (0.0, 0.0, 1.0))
    projection = p.computeProjectionMatrixFOV(view.fov_deg, width / height, 0.02, 10.0)
    _, _, rgba, _, _ = p.getCameraImage(
        width,
        height,
        viewMatrix=look,
        projectionMatrix=projection,
        lightDirection=(-1.0, -1.2, 2.5),
        shadow=1,
        renderer=p.ER_TINY_RENDERER,
        physicsClientId=world.client,
    )
    return np.reshape(np.asarray(rgba, dtype=np.uint8), (height, width, 4))[:, :, :3].copy()


def project(view: View, points_world: ArrayLike, *, width: int, height: int) -> Array:
    """(K, 2) pixels of points (K, 3) [m]; NaN for points behind the camera."""
    look = np.reshape(p.computeViewMatrix(view.eye, view.target, (0.0, 0.0, 1.0)), (4, 4)).T
    projection = np.reshape(p.computeProjectionMatrixFOV(view.fov_deg, width / height, 0.02, 10.0), (4, 4)).T
    points = np.atleast_2d(np.asarray(points_world, dtype=float))  # (K, 3)
    clip = np.c_[points, np.ones(len(points))] @ (projection @ look).T  # (K, 4)
    pixels = np.full((len(points), 2), np.nan)
    front = clip[:, 3] > 0
    ndc = clip[front, :2] / clip[front, 3:4]
    pixels[front] = np.c_[(ndc[:, 0] + 1) * width / 2, (1 - ndc[:, 1]) * height / 2]
    return pixels
