"""The configuration of a camera."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Annotated, Any

import numpy as np

from unlatch.simcore.errors import ConfigError, GeometryError, check_range, unknown_name
from unlatch.simcore.geometry import Fisheye, Pinhole
from unlatch.simcore.ranges import Range, check_ranges
from unlatch.simcore.sim.sensors.camera_models import CAMERA_MODELS
from unlatch.simcore.sim.sensors.config import SensorCfg
from unlatch.simcore.sim.sensors.image_noise import ImageNoise

Array = np.ndarray

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
