"""Chooses a close camera that shows both a hand and the part that it acts on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import product

import numpy as np

from unlatch.simcore.sim.visuals.pictures import LookAtCamera, framing_camera, visible_links
from unlatch.simcore.sim.world import World

Array = np.ndarray

_DIRECTIONS = {
    (-0.68, -1.05, 0.62): 1.0,
    (-0.68, 1.05, 0.62): 1.0,
    (-0.10, -1.20, 0.45): 0.8,
    (-0.10, 1.20, 0.45): 0.8,
    (-0.55, -0.70, 1.00): 0.8,
    (-0.55, 0.70, 1.00): 0.8,
}
"""Directions of the camera in the world frame with their weights: behind the robot's shoulders, its sides, and above.
The object is recognized best from the shoulders; other pictures use the first direction."""
_FOV_DEG = 30.0
_MARGIN_M = 0.05
"""Margin around each point that must be in the picture: half the width of a hand [m]."""
_PROBE_PX = (80, 64)
"""Width and height of the pictures in which visible pixels are counted."""


def choose_close_up(
    world: World,
    show: Callable[[int], None],
    *,
    frames: Sequence[int],
    points_world: Array,
    fingers: Collection[str],
    part: str,
    aspect: float,
) -> LookAtCamera:
    """Returns the camera that shows fingers and part best over all frames.

    Args:
        world: The world of the scene, with visual shapes.
        show: Sets the world to a recorded frame.
        frames: Frames in which fingers and part should be visible.
        points_world: (K, 3) points that must be in the picture [m].
        fingers: Labels of the links that act, `<body>/<link>`.
        part: Label of the link that they act on.
        aspect: Width over height of the picture.
    """
    around = _MARGIN_M * np.array(list(product((-1.0, 1.0), repeat=3)))  # (8, 3)
    points = (points_world[:, None] + around).reshape(-1, 3)
    views = [framing_camera(points, direction, fov_deg=_FOV_DEG, aspect=aspect) for direction in _DIRECTIONS]
    seen = np.zeros((len(views), len(frames), 2))
    for column, frame in enumerate(frames):
        show(frame)
        for row, view in enumerate(views):
            pixels = visible_links(world, view, width=_PROBE_PX[0], height=_PROBE_PX[1])
            seen[row, column] = sum(pixels.get(label, 0) for label in fingers), pixels.get(part, 0)
    shares = seen / np.maximum(seen.max(axis=0, keepdims=True), 1.0)  # relative to the best view of the frame
    of_fingers, of_part = shares[:, :, 0], shares[:, :, 1]
    # the frame that shows the least of the hand counts too: the hand should be seen in every picture
    scores = np.sqrt(of_fingers * of_part).mean(axis=1) + of_fingers.min(axis=1)
    return views[int(np.argmax(scores * np.array(list(_DIRECTIONS.values()))))]
