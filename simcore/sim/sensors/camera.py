"""A camera with a pinhole or a fisheye lens: its configuration, commercial models, the noise of its images, and
views that randomize it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from enum import Enum
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy

from unlatch.simcore.cameras import Fisheye, Pinhole
from unlatch.simcore.errors import ConfigError, GeometryError, WorldError, check_range, unknown_name
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.ranges import Range, Ranged, check_ranges, ranges_of
from unlatch.simcore.rng import stream
from unlatch.simcore.sim.attribute_views import AttributeView
from unlatch.simcore.sim.renderers.renderer import RawImages, RenderRequest
from unlatch.simcore.sim.sensors.config import SensorCfg
from unlatch.simcore.sim.sensors.sensor import Sensor
from unlatch.simcore.sim.visuals.pictures import link_labels, require_visuals, take_images
from unlatch.simcore.sim.world import World
from unlatch.simcore.state import Buffer, Rendering

_INTEL = "Intel, RealSense Product Family D400 Series Datasheet, document 337029"
_MICROSOFT = "Microsoft, Azure Kinect DK hardware specifications"
_STEREOLABS = "Stereolabs, What is the camera focal length and field of view"


@dataclass(frozen=True)
class CameraModel:
    """Data of a commercial camera."""

    width: int
    """Pixels across."""
    height: int
    """Pixels down."""
    fov_across_deg: float
    """Horizontal field of view [degrees]."""
    fov_down_deg: float
    """Vertical field of view [degrees]."""
    depth_range_m: tuple[float, float]
    """Least and largest measured depth [m]."""
    source: str
    """Source of the data."""

    def intrinsics(self, scale: float) -> tuple[int, int, list[float]]:
        """Returns width, height and fx, fy, cx, cy [px] of an image with `scale` times the pixels along each side."""
        width, height = round(self.width * scale), round(self.height * scale)
        fx = 0.5 * width / float(np.tan(0.5 * np.radians(self.fov_across_deg)))
        fy = 0.5 * height / float(np.tan(0.5 * np.radians(self.fov_down_deg)))
        return width, height, [fx, fy, 0.5 * (width - 1), 0.5 * (height - 1)]


CAMERA_MODELS = {
    "azure_kinect_colour": CameraModel(1280, 720, 90.0, 59.0, (0.5, 3.86), _MICROSOFT),
    "azure_kinect_depth_narrow": CameraModel(640, 576, 75.0, 65.0, (0.5, 3.86), _MICROSOFT),
    "realsense_d405": CameraModel(1280, 720, 87.0, 58.0, (0.07, 0.5), _INTEL),
    "realsense_d415_colour": CameraModel(1920, 1080, 69.0, 42.0, (0.5, 3.0), _INTEL),
    "realsense_d415_depth": CameraModel(1280, 720, 65.0, 40.0, (0.5, 3.0), _INTEL),
    "realsense_d435i_colour": CameraModel(1920, 1080, 69.0, 42.0, (0.3, 3.0), _INTEL),
    "realsense_d435i_depth": CameraModel(1280, 720, 87.0, 58.0, (0.3, 3.0), _INTEL),
    "realsense_d455_colour": CameraModel(1280, 800, 90.0, 65.0, (0.6, 6.0), _INTEL),
    "realsense_d455_depth": CameraModel(1280, 720, 87.0, 58.0, (0.6, 6.0), _INTEL),
    "zed": CameraModel(1280, 720, 85.0, 54.0, (0.3, 20.0), _STEREOLABS),
}
"""By name. For cameras with two lenses, `_colour` has depth aligned to colours, `_depth` is the depth sensor."""


@dataclass
class ImageNoise(Ranged, where="noise"):
    """Strengths of noise; the defaults change nothing."""

    image_noise: Annotated[float, Range(0.0, 128.0, unit="[levels]")] = 0.0
    """Standard deviation of every colour value [of 255 levels]."""
    image_blur: Annotated[float, Range(0.0, 20.0, unit="[px]")] = 0.0
    """Standard deviation of a Gaussian blur [px]."""
    exposure: Annotated[float, Range(0.0, 8.0, unit="[-]")] = 1.0
    """Factor on every colour value."""
    white_balance: Annotated[float, Range(-0.5, 0.5, unit="[-]")] = 0.0
    """Share by which red is too bright and blue too dark: above 0, the image is too warm; below, too cold."""
    depth_noise: Annotated[float, Range(0.0, 0.5, unit="[1/m]")] = 0.0
    """Standard deviation of a depth of 1 m [m]; it grows with the square of the depth, as for stereo cameras."""
    depth_holes: Annotated[float, Range(0.0, 1.0, unit="[-]")] = 0.0
    """Share of the pixels without a depth (infinite), in patches."""

    @property
    def changes_colours(self) -> bool:
        """Whether `add_colour_noise` changes anything."""
        return any((self.image_noise, self.image_blur, self.exposure - 1.0, self.white_balance))

    def add_colour_noise(self, rgb: Array, rng: np.random.Generator) -> Array:
        """Returns the rendered image (height, width, 3) uint8 with noise."""
        if not self.changes_colours:
            return rgb
        seen: Array = rgb.astype(float)
        if self.image_blur > 0.0:
            seen = scipy.ndimage.gaussian_filter(seen, sigma=(self.image_blur, self.image_blur, 0.0), mode="nearest")
        gains = self.exposure * np.array([1.0 + self.white_balance, 1.0, 1.0 - self.white_balance])
        seen = seen * gains + rng.normal(0.0, 1.0, rgb.shape) * self.image_noise
        return np.clip(np.rint(seen), 0, 255).astype(np.uint8)

    def add_depth_noise(self, depth_m: Array, rng: np.random.Generator) -> Array:
        """Returns true depths (height, width), infinite where nothing is visible, with noise, float32 [m]."""
        if self.depth_noise == 0.0 and self.depth_holes == 0.0:
            return depth_m
        grain, speckle = rng.normal(0.0, 1.0, depth_m.shape), rng.normal(0.0, 1.0, depth_m.shape)
        seen: Array = np.isfinite(depth_m)
        metres = np.where(seen, depth_m, 0.0)
        noisy = np.where(seen, np.maximum(metres + grain * self.depth_noise * metres**2, 0.0), np.inf)
        if self.depth_holes > 0.0:
            patches = scipy.ndimage.uniform_filter(speckle, size=5, mode="wrap")  # width of the patches of holes [px]
            noisy[patches <= np.quantile(patches, self.depth_holes)] = np.inf
        return noisy.astype(np.float32)


MAX_PIXELS = 16_000_000
"""Largest number of pixels of one image."""
_WIDEST_DEG = {"pinhole": 170.0, "fisheye": 220.0}


class Lens(Enum):
    """Projection of directions to pixels."""

    pinhole = "pinhole"
    """Perspective projection."""
    fisheye = "fisheye"
    """Equidistant projection with `distortion`."""


@dataclass
class CameraCfg(SensorCfg):
    """A camera's image size, lens and range. Its frame has x to the right of the image, y down and z forward."""

    width: Annotated[int, Range(8)] = 320
    """Pixels across."""
    height: Annotated[int, Range(8)] = 240
    """Pixels down."""
    fov_deg: float = 60.0
    """Vertical field of view [degrees]."""
    intrinsics: list[float] | None = None
    """Replaces `fov_deg`: fx, fy, cx, cy [px; for a fisheye, fx and fy in px per radian]. Pixel centres have
    whole-number coordinates, as in OpenCV.
    """
    lens: Lens = Lens.pinhole
    """Projection of directions to pixels."""
    distortion: list[float] | None = None
    """For a fisheye: k1 to k4, as in OpenCV's fisheye module; null: all 0."""
    preset: str | None = None
    """Name of a commercial camera, in place of width, height, `fov_deg` and `intrinsics`."""
    scale: Annotated[float, Range(0.01, 4.0)] = 1.0
    """With `preset`: number of pixels along each side, as a share of the real camera's."""
    near_m: Annotated[float, Range(0.0, above=True, unit="m")] = 0.02
    """Distance of the near plane [m]."""
    far_m: float = 10.0
    """Distance of the far plane [m]."""
    depth_range_m: list[float] | None = None
    """Range of measured depths; others are infinite [m]. null: no limit, or the range of `preset`."""
    noise: ImageNoise = field(default_factory=ImageNoise)
    """Noise of its images."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.preset is not None:
            self._apply_preset(self.preset)
        elif self.scale != 1.0:
            raise ConfigError(f"scale={self.scale:g} has no effect without preset. Set width and height.", key="scale")
        check_ranges(self)
        check_range("width*height", self.width * self.height, 64, MAX_PIXELS, unit="pixels")
        check_range("fov_deg", self.fov_deg, 1.0, _WIDEST_DEG[self.lens.value])
        if self.intrinsics is not None and (len(self.intrinsics) != 4 or min(self.intrinsics[:2]) <= 0.0):
            raise ConfigError(
                f"intrinsics={self.intrinsics} is invalid. Expected fx, fy, cx, cy in pixels, fx and fy above 0. "
                "Change them.",
                key="intrinsics",
            )
        check_range("far_m", self.far_m, self.near_m, above=True, unit="m")
        self._check_depth_range()
        self._check_distortion()

    def _apply_preset(self, name: str) -> None:
        if name not in CAMERA_MODELS:
            raise unknown_name(name, "a known camera", where="preset", known=CAMERA_MODELS)
        check_range("scale", self.scale, 0.01, 4.0)
        model = CAMERA_MODELS[name]
        own = {item.name: item.default for item in fields(self)}
        if self.fov_deg != own["fov_deg"] or self.lens is not Lens.pinhole:
            key = "lens" if self.lens is not Lens.pinhole else "fov_deg"
            raise ConfigError(
                f"{key} and preset='{name}' are both given. Expected one of them: a preset is a pinhole camera with "
                f"its own field of view. Remove {key}, or the preset.",
                key=key,
            )
        # a recorded camera has the values of its preset, which is not a conflict
        before = model.intrinsics(self.width / model.width)
        width, height, intrinsics = model.intrinsics(self.scale)
        taken = (self.width, self.height, self.intrinsics) == before
        for key, value in (("width", width), ("height", height), ("intrinsics", intrinsics)):
            if not taken and getattr(self, key) not in (own[key], value):
                raise ConfigError(
                    f"{key}={getattr(self, key)} and preset='{name}' are both given. Expected one of them. Remove "
                    f"{key}, or set scale for fewer pixels.",
                    key=key,
                )
            setattr(self, key, value)
        if self.depth_range_m is None:
            self.depth_range_m = list(model.depth_range_m)

    def _check_depth_range(self) -> None:
        if self.depth_range_m is None:
            return
        if len(self.depth_range_m) != 2 or not 0.0 <= self.depth_range_m[0] < self.depth_range_m[1]:
            raise ConfigError(
                f"depth_range_m={self.depth_range_m} is wrong. Expected smallest and largest depth from 0. Change it.",
                key="depth_range_m",
            )

    def _check_distortion(self) -> None:
        if self.distortion is None:
            return
        if self.lens is not Lens.fisheye or len(self.distortion) != 4:
            raise ConfigError(
                f"distortion={self.distortion} is invalid. Expected k1, k2, k3, k4 of a camera with lens: fisheye. "
                "Change it, or remove it.",
                key="distortion",
            )
        try:
            self.optics()
        except GeometryError as exc:
            raise ConfigError(f"distortion={self.distortion}: {exc.message}", key="distortion") from exc

    def optics(self) -> Pinhole | Fisheye:
        """Image size and lens."""
        kind: type[Pinhole] | type[Fisheye] = Pinhole if self.lens is Lens.pinhole else Fisheye
        distortion: dict[str, Any] = {} if self.distortion is None else {"k": tuple(self.distortion)}
        if self.intrinsics is None:
            return kind.from_fov(self.width, self.height, float(np.radians(self.fov_deg)), **distortion)
        fx, fy, cx, cy = self.intrinsics
        return kind(self.width, self.height, fx, fy, cx, cy, **distortion)

    def lens_values(self) -> dict[str, Any]:
        """Returns `lens`, `intrinsics` (fx, fy, cx, cy) and, for a fisheye, `distortion`."""
        optics = self.optics()
        distortion = {"distortion": list(optics.k)} if isinstance(optics, Fisheye) else {}
        return {"lens": self.lens.value, "intrinsics": [optics.fx, optics.fy, optics.cx, optics.cy], **distortion}

    def farthest_m(self, modality: str) -> float:
        """Returns the largest value of its depth or distance images [m]; the modality is `depth` or `distance`."""
        if modality != "distance" and self.lens is Lens.pinhole:
            return self.far_m
        optics = self.optics()
        # a face of the cube reaches 45 degrees to both sides
        longest = float(optics.ray_lengths.max()) if isinstance(optics, Pinhole) else 3.0**0.5 * 1.05
        return self.far_m * longest


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
            rgb = seen.rgb
            if self.noise.changes_colours:  # a generator takes a hundred microseconds
                rgb = self.noise.add_colour_noise(rgb, self._noise_generator("rgb"))
            self.rgb_image.set_value(rgb)
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


class CameraView(AttributeView):
    """One camera sensor, in the single environment of an episode."""

    kind = "camera view"

    def __init__(self, camera: Camera) -> None:
        super().__init__(camera.cfg.name)
        self._camera = camera
        mount = camera.mount
        self._add_pose(lambda _env: mount.T_mount_sensor, self._move, turns=not mount.follows_target)
        self._add_attribute(
            "field_of_view",
            1,
            "rad",
            "angle between the upper and lower edge",
            lambda _env: np.array([camera.optics.fov_rad]),
            self._set_fov,
            least=0.02,
            most=2.9,
        )
        self._add_attribute("intrinsics", 4, "px", "fx, fy, cx, cy", self._read_intrinsics, self._set_intrinsics)
        for name, limits in ranges_of(ImageNoise).items():
            unit, least, most = limits.unit.strip("[]"), limits.low, limits.high
            self._add_field(name, 1, unit, "strength", camera, "noise", lambda v: float(v[0]), least=least, most=most)

    def _move(self, _env: int, T_mount_sensor: Pose) -> None:
        self._camera.mount.T_mount_sensor = T_mount_sensor

    def _set_fov(self, _env: int, values: Array) -> None:
        self._camera.optics = self._camera.optics.with_fov(float(values[0]))

    def _read_intrinsics(self, _env: int) -> Array:
        optics = self._camera.optics
        return np.array([optics.fx, optics.fy, optics.cx, optics.cy])

    def _set_intrinsics(self, _env: int, values: Array) -> None:
        fx, fy, cx, cy = (float(value) for value in values)
        self._camera.optics = replace(self._camera.optics, fx=max(fx, 1.0), fy=max(fy, 1.0), cx=cx, cy=cy)
