"""Points of an object that cameras see, from their depth images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unlatch.simcore.geometry import Fisheye, Pinhole, Pose
from unlatch.simcore.recording.images.modality import DEPTH, DISTANCE
from unlatch.simcore.recording.observed.object_geometry import ObjectGeometry
from unlatch.simcore.rng import stream

Array = np.ndarray


@dataclass(frozen=True)
class CameraView:
    """What one camera sees in one frame."""

    camera: str
    """Name of the camera."""
    optics: Pinhole | Fisheye
    """Size of its images and lens."""
    T_world_camera: Pose
    """Pose of its frame (x right, y down, z forward)."""
    lengths_m: Array
    """(H, W) depth of a pinhole camera, distance of a fisheye, infinite where nothing is seen [m]."""
    links: Array
    """(H, W) index of the visible link in `labels`."""
    labels: Sequence[str]
    """`<object>/<link>` of every link."""


def length_kind(optics: Pinhole | Fisheye) -> str:
    """Returns the kind of image that holds the lengths of a view: `depth`, or `distance` for a fisheye."""
    return DEPTH if isinstance(optics, Pinhole) else DISTANCE


class CameraCloud:
    """Points of one object in the images of cameras.

    The pixels that show the object have a random order, and the first n of them become points. The order comes from one
    number per pixel, drawn once for an episode, so that a camera that stands still keeps its points. A pixel that shows
    a larger patch comes earlier: points are spread evenly over what the cameras see, however near a camera is.
    """

    def __init__(self, item: ObjectGeometry, name: str, n: int, *, seed: int) -> None:
        """Takes the object.

        Args:
            item: The object.
            name: Its name, with which the labels of its links begin.
            n: Number of points.
            seed: Seed of the episode; orders the pixels.
        """
        self._item, self._name, self._n, self._seed = item, name, n, seed
        self._draws: dict[str, Array] = {}

    def points(self, views: Sequence[CameraView], part: str, T_base_world: Pose) -> Array:
        """Returns the points of one frame; (n, 4) float32.

        Each has x, y, z in the base frame of the arm [m], then 1 if the joint of the part moves it, else 0. If fewer
        than n pixels show the object, points are repeated; if none does, all numbers are 0.

        Args:
            views: What every camera sees, in any order.
            part: The part that is acted on.
            T_base_world: World frame in the base frame of the arm.
        """
        on_part = self._labels_on_part(part)
        found, turns = [np.zeros((0, 4))], [np.zeros(0)]
        for view in sorted(views, key=lambda each: each.camera):
            rows, columns, turn = self._first_pixels(view)
            lengths = view.lengths_m[rows, columns].astype(float)
            at_camera = view.optics.rays_at(columns, rows) * lengths[:, None]
            label = np.array([each in on_part for each in view.labels])[view.links[rows, columns]]
            found.append(np.column_stack([T_base_world @ view.T_world_camera @ at_camera, label]))
            turns.append(turn)
        order = np.argsort(np.concatenate(turns), kind="stable")[: self._n]
        if not len(order):
            return np.zeros((self._n, 4), dtype=np.float32)
        return np.concatenate(found)[np.resize(order, self._n)].astype(np.float32)

    def _first_pixels(self, view: CameraView) -> tuple[Array, Array, Array]:
        """Returns rows, columns and turns of the first pixels of a view that show the object, at most n."""
        own = np.array([label.startswith(f"{self._name}/") for label in view.labels])
        rows, columns = np.nonzero(own[view.links] & np.isfinite(view.lengths_m) & (view.lengths_m > 0.0))
        if view.camera not in self._draws:
            rng = stream(self._seed, f"points.{self._name}.{view.camera}")
            self._draws[view.camera] = rng.exponential(size=view.links.shape)
        patch = view.lengths_m[rows, columns].astype(float) ** 2 / (view.optics.fx * view.optics.fy)  # [m^2]
        # exponential waiting times at rates of these areas: each next pixel is drawn in proportion to its area
        turns = self._draws[view.camera][rows, columns] / patch
        if len(turns) > self._n:
            first = np.argpartition(turns, self._n)[: self._n]
            rows, columns, turns = rows[first], columns[first], turns[first]
        return rows, columns, turns

    def _labels_on_part(self, part: str) -> set[str]:
        """Returns the labels of the links that the joint of a part moves."""
        model = self._item.model
        top = model.joints[self._item.parts[part].joint].child
        return {f"{self._name}/{link}" for link in model.links if model.is_below(link, top)}
