"""The images that a policy observes in one episode."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from unlatch.simcore.recording.observed.camera_cloud import CameraView
from unlatch.simcore.state import Rendering
from unlatch.workflows.episode.scene import EpisodeScene
from unlatch.workflows.gym.camera_views import camera_view, point_cameras, switch_views_on
from unlatch.workflows.gym.config import ObservationCfg

Array = np.ndarray

IMAGES = ("rgb", "depth", "segmentation", "normals")
"""Tags of image buffers."""


class ObservedImages:
    """Images of the configured kinds, and those from which points are made.

    The first ones are made with the object. Then each simulated frame runs within `frame`, and every
    `images_every`-th of these frames makes new images. Between them, `values` and `views` stay as they are, and nothing
    is rendered.
    """

    def __init__(self, scene: EpisodeScene, cfg: ObservationCfg) -> None:
        """Makes the first images, of the present state.

        Raises:
            ConfigError: There is no camera for the points.
        """
        self.values: dict[str, Array] = {}
        """The last images by record key."""
        self.views: list[CameraView] = []
        """What the cameras that give points saw when the last images were made."""
        self._scene = scene.state_tree
        self._kinds = [Rendering[kind] for kind in cfg.images]
        # not the names of labels, nor images that are there for points
        self._asked = tuple(f"{kind}_image" for kind in cfg.images)
        self._every = cfg.images_every
        self._cameras = point_cameras(scene, cfg.point_cloud_cameras) if cfg.has_camera_points else []
        self._has_images = cfg.has_images
        self._frame = 0
        if self._has_images:
            self._switch_on()
            self._scene.update_state()
            self._take_and_switch_off()

    @contextmanager
    def frame(self) -> Iterator[None]:
        """Makes new images of the frame that is simulated within this context, if they are due in it."""
        self._frame += 1
        is_due = self._has_images and self._frame % self._every == 0
        if is_due:
            self._switch_on()
        yield
        if is_due:
            self._take_and_switch_off()

    def _switch_on(self) -> None:
        for kind in self._kinds:
            self._scene.switch_rendering(kind, on=True)
        for camera in self._cameras:
            switch_views_on(camera)

    def _take_and_switch_off(self) -> None:
        """Takes the images over from the sensors, whose buffers are then empty."""
        images = self._scene.state_dict(include_tags=IMAGES)
        self.values = {key: image for key, image in images.items() if key.split(".")[-1].startswith(self._asked)}
        self.views = [camera_view(camera) for camera in self._cameras]
        self._scene.disable_rendering()
