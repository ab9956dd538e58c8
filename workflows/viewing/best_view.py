"""Chooses the camera that shows best how hands move parts: the part from its broad side, and the hand before it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from unlatch.simcore.sim.visuals.pictures import LookAtCamera, framing_camera, project_points, visible_links
from unlatch.simcore.sim.world import World

Array = np.ndarray
Direction = tuple[float, float, float]

_MARGIN_M = 0.05
"""Margin around each point that must be in the picture: half the width of a hand [m]."""
_PROBE_PX = (96, 72)
"""Width and height of the pictures in which visible pixels are counted."""
_LEAST_SHARE = 0.02
"""What is hidden counts as this share of the most that a camera sees of it."""
_MOTION_WEIGHT = 0.5
"""Weight of the part's motion in the picture, beside 1 for what is visible of hand and part."""


@dataclass(frozen=True)
class Subject:
    """What should be visible in one recorded frame."""

    frame: int
    """State frame."""
    fingers: frozenset[str]
    """Labels of the links that act, `<body>/<link>`."""
    part: str
    """Label of the link that they act on."""
    in_contact: bool = True
    """Whether the hand is at the part, so that it should be visible, too."""


def choose_best_view(
    world: World,
    show: Callable[[int], None],
    *,
    subjects: Sequence[Subject],
    points_world: Array,
    directions: Mapping[Direction, float],
    motions: Collection[tuple[Array, Array]] = (),
    fov_deg: float,
    aspect: float,
    margin: float = 1.0,
    near_points_world: Array | None = None,
) -> LookAtCamera:
    """Returns the camera that shows hands and parts best over all subjects.

    A direction scores by the visible pixels of the part and of the hand, each relative to the direction that shows most
    of it. A part that is seen edge-on has few pixels, and so has one that is hidden.

    Args:
        world: The world of the scene, with visual shapes.
        show: Sets the world to a recorded frame.
        subjects: What should be visible in which frame; at least one.
        points_world: (K, 3) points that must be in the picture [m].
        directions: Directions from the scene to the camera in the world frame, with their weights.
        motions: Where points of the parts are before and after a motion, (3,) each [m]; the motion should be visible.
        fov_deg: Vertical field of view [deg].
        aspect: Width over height of the picture.
        margin: See `framing_camera`.
        near_points_world: (K, 3) points of hands and parts, where visible pixels are counted [m]; None: the whole
            picture. Of a picture of a whole robot, too few pixels show a hand.
    """
    around = _MARGIN_M * np.array(list(product((-1.0, 1.0), repeat=3)))  # (8, 3)
    points = (points_world[:, None] + around).reshape(-1, 3)
    views = [framing_camera(points, each, fov_deg=fov_deg, aspect=aspect, margin=margin) for each in directions]
    counted = views if near_points_world is None else [_zoom_in(view, near_points_world) for view in views]
    seen = np.zeros((len(views), len(subjects), 2))
    for frame in sorted({subject.frame for subject in subjects}):
        show(frame)
        for row, view in enumerate(counted):
            pixels = visible_links(world, view, width=_PROBE_PX[0], height=_PROBE_PX[1])
            for column, subject in enumerate(subjects):
                if subject.frame == frame:
                    of_hand = sum(pixels.get(label, 0) for label in subject.fingers)
                    seen[row, column] = of_hand, pixels.get(subject.part, 0)
    shares = seen / np.maximum(seen.max(axis=0, keepdims=True), 1.0)  # relative to the best view of the frame
    of_fingers, of_part = shares[:, :, 0], shares[:, :, 1]
    contact = np.array([subject.in_contact for subject in subjects])
    shown = np.where(contact, np.sqrt(of_fingers * of_part), of_part)
    # a geometric mean: the part should be seen in every picture; one picture does not make up for another
    typical = np.exp(np.log(shown + _LEAST_SHARE).mean(axis=1))
    # the frame that shows the least of the hand counts too: the hand should be seen in every picture
    least = of_fingers[:, contact].min(axis=1) if contact.any() else 0.0
    scores = typical + least + _MOTION_WEIGHT * _motion_shares(views, motions)
    return views[int(np.argmax(scores * np.array(list(directions.values()))))]


def _zoom_in(view: LookAtCamera, points_world: Array) -> LookAtCamera:
    """Returns a camera at the same place that shows some points (K, 3) as large as possible."""
    target = (points_world.min(axis=0) + points_world.max(axis=0)) / 2
    axis, rays = target - np.array(view.eye), points_world - np.array(view.eye)
    cosines = rays @ axis / (np.linalg.norm(rays, axis=1) * np.linalg.norm(axis))
    angle = float(np.rad2deg(np.arccos(np.clip(cosines.min(), -1.0, 1.0))))
    return LookAtCamera(view.eye, tuple(target.tolist()), min(2.0 * angle, view.fov_deg))


def _motion_shares(views: Sequence[LookAtCamera], motions: Collection[tuple[Array, Array]]) -> Array:
    """Returns how far the points move in the picture of each view, relative to the view with most; (V,) in 0 to 1."""
    width, height = _PROBE_PX
    total: Array = np.zeros(len(views))
    for motion in motions:
        moved = [np.ptp(project_points(view, np.stack(motion), width=width, height=height), axis=0) for view in views]
        lengths = np.linalg.norm(moved, axis=1)
        total += lengths / max(float(lengths.max()), 1.0)
    return total / max(len(motions), 1)
