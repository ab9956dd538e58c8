"""A camera for what a hand does on a part: near, and from where both are seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from unlatch.simcore.sim.visuals.pictures import LookAtCamera, framing_camera, visible_links
from unlatch.simcore.sim.world import World

Array = np.ndarray

_LOOKS_FROM = {
    (-0.68, -1.05, 0.62): 1.0,
    (-0.68, 1.05, 0.62): 1.0,
    (-0.10, -1.20, 0.45): 0.8,
    (-0.10, 1.20, 0.45): 0.8,
    (-0.55, -0.70, 1.00): 0.8,
    (-0.55, 0.70, 1.00): 0.8,
}
"""From where the camera may look, world frame: from behind the robot's shoulders, from its sides, from above; and what
that counts. From the shoulders the object is recognized best; the first is where the other pictures look from."""
_FOV_DEG = 30.0
_MARGIN_M = 0.05
"""Around each point that must be in the picture: half the width of a hand."""
_PROBE_PX = (80, 64)
"""Width and height of the pictures that are only counted."""


@dataclass(frozen=True)
class Subject:
    """What a picture is about."""

    frames: Sequence[int]
    """Moments at which fingers and part should be seen."""
    points_world: Array
    """(K, 3) what must be in the picture [m]."""
    fingers: frozenset[str]
    """Labels of the links that act, `<body>/<link>`."""
    part: str
    """Label of the link that they act on."""


def close_up(world: World, show: Callable[[int], None], subject: Subject, *, aspect: float) -> LookAtCamera:
    """The camera that sees fingers and part best, over all moments.

    Args:
        world: A world with visual shapes.
        show: Brings the world to the state of a frame.
        subject: What must be seen, and when.
        aspect: Width of the pictures over their height.
    """
    around = _MARGIN_M * np.array(list(product((-1.0, 1.0), repeat=3)))  # (8, 3)
    points = (subject.points_world[:, None] + around).reshape(-1, 3)
    views = [framing_camera(points, direction, fov_deg=_FOV_DEG, aspect=aspect) for direction in _LOOKS_FROM]
    seen = np.zeros((len(views), len(subject.frames), 2))
    for column, frame in enumerate(subject.frames):
        show(frame)
        for row, view in enumerate(views):
            pixels = visible_links(world, view, width=_PROBE_PX[0], height=_PROBE_PX[1])
            fingers = sum(pixels.get(label, 0) for label in subject.fingers)
            seen[row, column] = fingers, pixels.get(subject.part, 0)
    shares = seen / np.maximum(seen.max(axis=0, keepdims=True), 1.0)  # of what the best view of that moment sees
    fingers, part = shares[:, :, 0], shares[:, :, 1]
    # what is hidden in one moment is missing in the story, and a part seen from behind hides the hand
    scores = np.sqrt(fingers * part).mean(axis=1) + fingers.min(axis=1)
    return views[int(np.argmax(scores * np.array(list(_LOOKS_FROM.values()))))]
