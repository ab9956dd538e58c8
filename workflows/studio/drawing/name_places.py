"""Chooses on which side of its point each name in the scene is written, so that names do not lie on each other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from unlatch.simcore.geometry import Pinhole, Pose
from unlatch.workflows.studio.jobs import Array
from unlatch.workflows.viewing.viewers.viser_scene import FOV_RAD

_ANCHORS = {
    "bottom-right": (1.0, 1.0),
    "top-left": (0.0, 0.0),
    "bottom-left": (0.0, 1.0),
    "top-right": (1.0, 0.0),
    "center-left": (0.0, 0.5),
    "center-right": (1.0, 0.5),
    "bottom-center": (0.5, 1.0),
    "top-center": (0.5, 0.0),
}
"""Shares of the width and height of a name that lie to the left of its point and above it, by the anchor of viser."""
_LETTER_PX = np.array([5.5, 17.0])
"""Width of a letter and height of a line of viser's names at a font scale of 1 [pixels]."""
VIEW_PX = 800
"""Height of the view from which places are chosen; other heights change the distances of the points [pixels]."""


@dataclass(frozen=True)
class SceneName:
    """A name in the scene."""

    label: Any
    """viser's handle."""
    p_world: Array
    """(3,) the point that is named, world frame [m]."""


def keep_names_apart(names: Iterable[SceneName], T_world_camera: Pose) -> None:
    """Sets the anchor of each name to one at which it covers least of the names before it; the present one, if equal.

    The frame of the camera: x to the right of the image, y down, z forward.
    """
    shown = list(names)
    if not shown:
        return
    points_camera = T_world_camera.inverse() @ np.array([name.p_world for name in shown])  # (K, 3)
    pixels = Pinhole.from_fov(VIEW_PX, VIEW_PX, FOV_RAD).project(points_camera)  # (K, 2)
    shares = np.array(list(_ANCHORS.values()))  # (A, 2)
    taken: list[Array] = []
    for name, pixel in zip(shown, pixels, strict=True):
        if not np.isfinite(pixel).all():
            continue
        size = _LETTER_PX * (len(name.label.text), 1) * name.label.font_screen_scale
        low = pixel - shares * size  # (A, 2) upper left corners
        covered = [sum(_overlap(corner, corner + size, box) for box in taken) for corner in low]
        present = list(_ANCHORS).index(name.label.anchor)
        best = present if covered[present] <= min(covered) else int(np.argmin(covered))
        if best != present:
            name.label.anchor = list(_ANCHORS)[best]
        taken.append(np.stack([low[best], low[best] + size]))


def _overlap(low: Array, high: Array, box: Array) -> float:
    """Returns the common area of a rectangle from `low` to `high` and a `box` (2, 2) [square pixels]."""
    return float(np.prod(np.maximum(0.0, np.minimum(high, box[1]) - np.maximum(low, box[0]))))
