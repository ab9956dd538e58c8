"""A camera with a pinhole or a fisheye lens."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from unlatch.simcore.errors import WorldError
from unlatch.simcore.geometry import Fisheye, Pinhole, Pose
from unlatch.simcore.rng import stream
from unlatch.simcore.sim.renderers.renderer import RawImages, RenderRequest
from unlatch.simcore.sim.sensors.camera_cfg import MAX_PIXELS, CameraCfg
from unlatch.simcore.sim.sensors.config import SensorCfg
from unlatch.simcore.sim.sensors.sensor import Sensor
from unlatch.simcore.sim.visuals.pictures import link_labels, require_colours, require_visuals, take_images
from unlatch.simcore.sim.world import World
from unlatch.simcore.state import Buffer, Rendering

Array = np.ndarray

__all__ = ["MAX_PIXELS", "Camera", "CameraCfg"]

_NOTHING = "nothing"


class Camera(Sensor[CameraCfg]):
    """A camera. Each kind of image is made from the moment it is switched on.

    Buffers and tags: `rgb_image` (rgb), `depth_image_m` and `distance_image_m` (depth), `segmentation_image` and
    `segmentation_labels`, `instance_id_segmentation_image` and `instance_id_segmentation_labels` (segmentation),
    `normals_image` (normals). The value of a segmentation pixel is the index of its label; index 0 is
    `nothing`.
    """

    cfg_type: ClassVar[type[SensorCfg]] = CameraCfg

    def __init__(self, cfg: CameraCfg, world: World) -> None:
        super().__init__(cfg, world)
        self.optics = cfg.optics()
        """Image size and lens."""
        self.noise = replace(cfg.noise)
        """Noise of its images; the draws depend on the episode's seed, the camera and the physics step."""
        self._on: set[Rendering] = set()
        self._raw: RawImages | None = None
        self.rgb_image = Buffer(tags=["rgb"])
        self.depth_image_m = Buffer(tags=["depth"])
        self.distance_image_m = Buffer(tags=["depth"])
        self.segmentation_image = Buffer(tags=["segmentation"])
        self.segmentation_labels = Buffer(tags=["segmentation"])
        self.instance_id_segmentation_image = Buffer(tags=["segmentation"])
        self.instance_id_segmentation_labels = Buffer(tags=["segmentation"])
        self.normals_image = Buffer(tags=["normals"])

    def _switch_rendering(self, kind: Rendering, *, on: bool) -> None:
        if on:
            require_visuals(self.world)
            self._on.add(kind)
            return
        self._on.discard(kind)
        for buffer in self._buffers_of(kind):
            buffer.set_value(None)

    def _buffers_of(self, kind: Rendering) -> tuple[Buffer, ...]:
        return {
            Rendering.rgb: (self.rgb_image,),
            Rendering.depth: (self.depth_image_m,),
            Rendering.distance: (self.distance_image_m,),
            Rendering.segmentation: (self.segmentation_image, self.segmentation_labels),
            Rendering.instance_id_segmentation: (
                self.instance_id_segmentation_image,
                self.instance_id_segmentation_labels,
            ),
            Rendering.normals: (self.normals_image,),
        }[kind]

    def image(self, kind: Rendering) -> Array:
        """Returns the image of a kind of the last `update_state`.

        Raises:
            WorldError: The kind is switched off, or `update_state` was not called since.
        """
        image = self._buffers_of(kind)[0].get_value()
        if image is None:
            raise WorldError(
                f"Camera '{self.cfg.name}' has no image of kind '{kind.name}'. Switch it on and call update_state().",
                kind=kind.name,
            )
        return image

    def raw_images(self) -> RawImages:
        """Returns the images of the last `update_state` without noise; depth is exact if depth images are switched on.

        Raises:
            WorldError: All images are switched off, or `update_state` was not called since.
        """
        if self._raw is None:
            raise WorldError(
                f"Camera '{self.cfg.name}' has seen nothing. Switch depth on and call update_state().",
                name=self.cfg.name,
            )
        return self._raw

    def labels(self, kind: Rendering) -> list[str]:
        """Returns the label of each value of a segmentation image; empty for other kinds of images."""
        buffers = self._buffers_of(kind)
        found = buffers[1].get_value() if len(buffers) > 1 else None
        return [] if found is None else [str(label) for label in found]

    @property
    def pinhole(self) -> Pinhole:
        """Size and intrinsics of a pinhole camera.

        Raises:
            WorldError: It is a fisheye.
        """
        if not isinstance(self.optics, Pinhole):
            raise WorldError(
                f"Camera '{self.cfg.name}' is a fisheye and has no pinhole. Use its optics, or a camera with lens: "
                "pinhole.",
                name=self.cfg.name,
            )
        return self.optics

    def pose_and_intrinsics(self) -> dict[str, Array]:
        """Returns its present pose in the world and its intrinsics by key, for `CameraTrack`."""
        optics, T_world_camera = self.optics, self.T_world_sensor
        return {
            "position": T_world_camera.p,
            "quat_xyzw": T_world_camera.quat_xyzw,
            "intrinsics": np.array([optics.fx, optics.fy, optics.cx, optics.cy]),
        }

    def _measure(self, T_world_sensor: Pose) -> None:
        if not self._on:
            self._raw = None
            return
        seen = self._raw = self._render_images(T_world_sensor)
        if Rendering.rgb in self._on:
            self.rgb_image.set_value(self.noise.add_colour_noise(seen.rgb, self._noise_generator("rgb")))
        if self._on & {Rendering.depth, Rendering.distance}:
            self._measure_lengths(seen)
        if Rendering.normals in self._on and seen.normals is not None:
            self.normals_image.set_value(T_world_sensor.rotate(seen.normals).astype(np.float32))
        if Rendering.instance_id_segmentation in self._on:
            self.instance_id_segmentation_image.set_value(seen.link_ids)
            self.instance_id_segmentation_labels.set_value([_NOTHING, *(label for label, _ in link_labels(self.world))])
        if Rendering.segmentation in self._on:
            self._fill_segmentation(seen.link_ids)

    def _render_images(self, T_world_camera: Pose) -> RawImages:
        """Renders the images that are switched on, without noise."""
        if Rendering.rgb in self._on:
            require_colours(self.world)
        images = take_images(
            self.world,
            RenderRequest(
                self.optics,
                T_world_camera,
                near_m=self.cfg.near_m,
                far_m=self.cfg.far_m,
                colours=Rendering.rgb in self._on,
                depth=bool(self._on & {Rendering.depth, Rendering.distance, Rendering.normals}),
                normals=Rendering.normals in self._on,
                labels=bool(self._on & {Rendering.segmentation, Rendering.instance_id_segmentation}),
            ),
        )
        if isinstance(self.optics, Pinhole) and Rendering.distance in self._on and images.distance_m is None:
            images = replace(images, distance_m=images.depth_m * self.optics.ray_lengths.astype(np.float32))
        if isinstance(self.optics, Pinhole) and Rendering.normals in self._on and images.normals is None:
            images = replace(images, normals=self.optics.normals(images.depth_m))
        return images

    def _measure_lengths(self, seen: RawImages) -> None:
        """Fills depth and distance: a pinhole measures depth, a fisheye distance; the other one gets the same noise."""
        distance_m = seen.depth_m if seen.distance_m is None else seen.distance_m
        measured = distance_m if isinstance(self.optics, Fisheye) else seen.depth_m
        noisy = self.noise.add_depth_noise(measured, self._noise_generator("depth"))
        if self.cfg.depth_range_m is not None:
            least, most = self.cfg.depth_range_m
            noisy = np.where((noisy >= least) & (noisy <= most), noisy, np.inf)
        for kind, buffer, true in (
            (Rendering.depth, self.depth_image_m, seen.depth_m),
            (Rendering.distance, self.distance_image_m, distance_m),
        ):
            if kind in self._on:
                if noisy is not measured and true is not measured:
                    with np.errstate(invalid="ignore"):
                        true = np.where(np.isfinite(noisy) & np.isfinite(true), true * (noisy / measured), np.inf)
                buffer.set_value((noisy if true is measured else true).astype(np.float32))

    def _noise_generator(self, kind: str) -> np.random.Generator:
        """Returns the noise generator of one image, independent of when and in which order images are made."""
        return stream(self.seed, f"sensors.{self.cfg.name}.{kind}.{self.world.picture_step}")

    def _fill_segmentation(self, link_ids: Array) -> None:
        classes = [_NOTHING, *(name for _, name in link_labels(self.world))]
        labels = list(dict.fromkeys(classes))
        class_of_link: Array = np.array([labels.index(name) for name in classes], dtype=np.int32)
        self.segmentation_image.set_value(class_of_link[link_ids])
        self.segmentation_labels.set_value(labels)
