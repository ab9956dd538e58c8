"""A pinhole camera."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from simcore.errors import ConfigError, WorldError
from simcore.geometry import Pinhole, Pose
from simcore.rng import stream
from simcore.sim.camera import link_labels, require_visuals, take_images
from simcore.sim.sensors.config import SensorCfg
from simcore.sim.sensors.image_noise import ImageNoise
from simcore.sim.sensors.sensor import Sensor
from simcore.sim.world import World
from simcore.state import Buffer, Rendering

Array = np.ndarray

MAX_PIXELS = 16_000_000
"""Most pixels of one image."""
_NOTHING = "nothing"


@dataclass
class CameraCfg(SensorCfg):
    """A camera's size, opening and range. Its frame has x to the right of the image, y down and z forward."""

    width: int = 320
    """Pixels across."""
    height: int = 240
    """Pixels down."""
    fov_deg: float = 60.0
    """Angle between the upper and the lower edge of the image [degrees]."""
    intrinsics: list[float] | None = None
    """In place of `fov_deg`: fx, fy, cx, cy [pixels], whole numbers at the centres of pixels, as OpenCV has them."""
    near_m: float = 0.02
    """Nothing nearer is seen [m]."""
    far_m: float = 10.0
    """Nothing farther is seen [m]."""
    noise: ImageNoise = field(default_factory=ImageNoise)
    """What its images lack."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(self.width, self.height) < 8 or self.width * self.height > MAX_PIXELS:
            raise ConfigError(
                f"width={self.width} and height={self.height} are out of range. Expected at least 8 each and "
                f"{MAX_PIXELS} pixels at most. Change them.",
                key="width",
            )
        if not 1.0 <= self.fov_deg <= 170.0:
            raise ConfigError(f"fov_deg={self.fov_deg} is out of range. Expected 1 to 170. Change it.", key="fov_deg")
        if self.intrinsics is not None and (len(self.intrinsics) != 4 or min(self.intrinsics[:2]) <= 0.0):
            raise ConfigError(
                f"intrinsics={self.intrinsics} cannot be. Expected fx, fy, cx, cy in pixels, fx and fy above 0. "
                "Change them.",
                key="intrinsics",
            )
        if not 0.0 < self.near_m < self.far_m:
            raise ConfigError(
                f"near_m={self.near_m} and far_m={self.far_m} are out of range. Expected 0 < near_m < far_m. "
                "Change them.",
                key="near_m",
            )

    @property
    def pinhole(self) -> Pinhole:
        """Size and intrinsics."""
        if self.intrinsics is None:
            return Pinhole.from_fov(self.width, self.height, float(np.radians(self.fov_deg)))
        return Pinhole(self.width, self.height, *self.intrinsics)

    def lens(self) -> dict[str, Any]:
        """What a reader of its images needs: `model` and `intrinsics`, fx, fy, cx, cy [pixels]."""
        pinhole = self.pinhole
        return {"model": "pinhole", "intrinsics": [pinhole.fx, pinhole.fy, pinhole.cx, pinhole.cy]}

    def farthest_m(self, modality: str) -> float:
        """The largest value that its images of lengths may have [m].

        Args:
            modality: `depth` or `distance`; of others it says nothing.
        """
        return self.far_m * (float(self.pinhole.ray_lengths().max()) if modality == "distance" else 1.0)


class Camera(Sensor[CameraCfg]):
    """Images of what it sees, each kind from the moment it is switched on.

    Buffers and tags: `rgb_image` (rgb), `depth_image_m` and `distance_image_m` (depth), `segmentation_image` and
    `segmentation_labels`, `instance_id_segmentation_image` and `instance_id_segmentation_labels` (segmentation),
    `normals_image` (normals). The value of a segmentation pixel is the place of its label among the labels; place 0 is
    `nothing`.
    """

    cfg_type: ClassVar[type[SensorCfg]] = CameraCfg

    def __init__(self, cfg: CameraCfg, world: World) -> None:
        super().__init__(cfg, world)
        self.pinhole = cfg.pinhole
        """Size and intrinsics."""
        self.noise = replace(cfg.noise)
        """What its images lack; the draws of an image depend on the episode's seed, the camera and the physics step."""
        self._on: set[Rendering] = set()
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
        """The image of a kind that is switched on, as of the last `update_state`.

        Raises:
            WorldError: It is switched off, or nothing was read since.
        """
        image = self._buffers_of(kind)[0].get_value()
        if image is None:
            raise WorldError(
                f"Camera '{self.cfg.name}' has no image of kind '{kind.name}'. Switch it on and call update_state().",
                kind=kind.name,
            )
        return image

    def labels(self, kind: Rendering) -> list[str]:
        """What the values of a segmentation mean, place by place; empty for other kinds of images."""
        buffers = self._buffers_of(kind)
        found = buffers[1].get_value() if len(buffers) > 1 else None
        return [] if found is None else [str(label) for label in found]

    def track(self) -> dict[str, Array]:
        """Its pose in the world and its intrinsics now, by name."""
        pinhole, T_world_camera = self.pinhole, self.T_world_sensor
        return {
            "position": T_world_camera.p,
            "quat_xyzw": T_world_camera.quat_xyzw,
            "intrinsics": np.array([pinhole.fx, pinhole.fy, pinhole.cx, pinhole.cy]),
        }

    def _measure(self, T_world_sensor: Pose) -> None:
        if not self._on:
            return
        cfg = self.cfg
        images = take_images(
            self.world,
            self.pinhole,
            T_world_sensor,
            near_m=cfg.near_m,
            far_m=cfg.far_m,
            shadow=Rendering.rgb in self._on,
        )
        if Rendering.rgb in self._on:
            self.rgb_image.set_value(self.noise.of_colours(images.rgb, self._draws("rgb")))
        if Rendering.depth in self._on:
            self.depth_image_m.set_value(self.noise.of_depth(images.depth_m, self._draws("depth")))
        if Rendering.distance in self._on:
            depth_m = self.noise.of_depth(images.depth_m, self._draws("depth"))
            self.distance_image_m.set_value((depth_m * self.pinhole.ray_lengths()).astype(np.float32))
        if Rendering.normals in self._on:
            in_world = T_world_sensor.rotate(self.pinhole.normals(images.depth_m))
            self.normals_image.set_value(in_world.astype(np.float32))
        if Rendering.instance_id_segmentation in self._on:
            self.instance_id_segmentation_image.set_value(images.link_ids)
            self.instance_id_segmentation_labels.set_value([_NOTHING, *(label for label, _ in link_labels(self.world))])
        if Rendering.segmentation in self._on:
            self._segment(images.link_ids)

    def _draws(self, kind: str) -> np.random.Generator:
        """Source of the noise of one image: the same whenever, and in whatever order, it is made."""
        return stream(self.seed, f"sensors.{self.cfg.name}.{kind}.{self.world.picture_step}")

    def _segment(self, link_ids: Array) -> None:
        classes = [_NOTHING, *(name for _, name in link_labels(self.world))]
        labels = list(dict.fromkeys(classes))
        class_of_link: Array = np.array([labels.index(name) for name in classes], dtype=np.int32)
        self.segmentation_image.set_value(class_of_link[link_ids])
        self.segmentation_labels.set_value(labels)
