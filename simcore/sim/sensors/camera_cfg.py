"""The configuration of a camera."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any

import numpy as np

from unlatch.simcore.errors import ConfigError, GeometryError, check_range, close_matches
from unlatch.simcore.geometry import Fisheye, Pinhole
from unlatch.simcore.sim.sensors.camera_models import CAMERA_MODELS
from unlatch.simcore.sim.sensors.config import SensorCfg
from unlatch.simcore.sim.sensors.image_noise import ImageNoise

Array = np.ndarray

MAX_PIXELS = 16_000_000
"""Most pixels of one image."""
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

    width: int = 320
    """Pixels across."""
    height: int = 240
    """Pixels down."""
    fov_deg: float = 60.0
    """Vertical field of view [degrees]."""
    intrinsics: list[float] | None = None
    """In place of `fov_deg`: fx, fy, cx, cy [pixels; pixels per radian for a fisheye], whole numbers at the centres of
    pixels, as in OpenCV."""
    lens: Lens = Lens.pinhole
    """Projection of directions to pixels."""
    distortion: list[float] | None = None
    """For a fisheye: k1 to k4, as in OpenCV's fisheye module; null: all 0."""
    preset: str | None = None
    """In place of width, height, `fov_deg` and `intrinsics`: a commercial camera."""
    scale: float = 1.0
    """With `preset`: pixels per pixel of the real camera, along a side."""
    near_m: float = 0.02
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
            self._take_preset(self.preset)
        elif self.scale != 1.0:
            raise ConfigError(f"scale={self.scale:g} has no effect without preset. Set width and height.", key="scale")
        if min(self.width, self.height) < 8 or self.width * self.height > MAX_PIXELS:
            raise ConfigError(
                f"width={self.width} and height={self.height} are out of range. Expected at least 8 each and "
                f"{MAX_PIXELS} pixels at most. Change them.",
                key="width",
            )
        widest = _WIDEST_DEG[self.lens.value]
        check_range("fov_deg", self.fov_deg, 1.0, widest)
        if self.intrinsics is not None and (len(self.intrinsics) != 4 or min(self.intrinsics[:2]) <= 0.0):
            raise ConfigError(
                f"intrinsics={self.intrinsics} is invalid. Expected fx, fy, cx, cy in pixels, fx and fy above 0. "
                "Change them.",
                key="intrinsics",
            )
        if not 0.0 < self.near_m < self.far_m:
            raise ConfigError(
                f"near_m={self.near_m} and far_m={self.far_m} are out of range. Expected 0 < near_m < far_m. "
                "Change them.",
                key="near_m",
            )
        self._check_range()
        self._check_distortion()

    def _take_preset(self, name: str) -> None:
        if name not in CAMERA_MODELS:
            known = list(CAMERA_MODELS)
            raise ConfigError(
                f"preset='{name}' is no camera that is known.{close_matches(name, known)} Known: {', '.join(known)}. "
                "Name one of them, or give width, height and intrinsics.",
                key="preset",
                available=known,
            )
        check_range("scale", self.scale, 0.01, 4.0)
        model = CAMERA_MODELS[name]
        own = {item.name: item.default for item in fields(self)}
        if self.fov_deg != own["fov_deg"] or self.lens is not Lens.pinhole:
            key = "lens" if self.lens is not Lens.pinhole else "fov_deg"
            raise ConfigError(
                f"{key} and preset='{name}' are both given. Expected one of them: a preset is a pinhole camera with an "
                f"opening of its own. Remove {key}, or the preset.",
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

    def _check_range(self) -> None:
        if self.depth_range_m is None:
            return
        if len(self.depth_range_m) != 2 or not 0.0 <= self.depth_range_m[0] < self.depth_range_m[1]:
            raise ConfigError(
                f"depth_range_m={self.depth_range_m} is invalid. Expected the least and the most, from 0. Change it.",
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
        fov_rad = float(np.radians(self.fov_deg))
        if self.lens is Lens.pinhole:
            if self.intrinsics is None:
                return Pinhole.from_fov(self.width, self.height, fov_rad)
            return Pinhole(self.width, self.height, *self.intrinsics)
        k1, k2, k3, k4 = self.distortion or (0.0, 0.0, 0.0, 0.0)
        if self.intrinsics is None:
            return Fisheye.from_fov(self.width, self.height, fov_rad, (k1, k2, k3, k4))
        fx, fy, cx, cy = self.intrinsics
        return Fisheye(self.width, self.height, fx, fy, cx, cy, (k1, k2, k3, k4))

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
        longest = float(optics.ray_lengths().max()) if isinstance(optics, Pinhole) else 3.0**0.5 * 1.05
        return self.far_m * longest
