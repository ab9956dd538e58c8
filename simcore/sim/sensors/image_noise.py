"""Image noise: grain, blur, exposure, errors and holes of depth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import scipy

from unlatch.simcore.ranges import Range, check_ranges

Array = np.ndarray

_PATCH_PX = 5
"""Width of the patches of holes [px]."""


@dataclass
class ImageNoise:
    """Strengths of noise; the defaults change nothing."""

    image_noise: Annotated[float, Range(0.0, 128.0, unit="[levels]")] = 0.0
    """Standard deviation of every colour value [of 255 levels]."""
    image_blur: Annotated[float, Range(0.0, 20.0, unit="[px]")] = 0.0
    """Standard deviation of a Gaussian blur [px]."""
    exposure: Annotated[float, Range(0.0, 8.0, unit="[-]")] = 1.0
    """Factor on every colour value."""
    depth_noise: Annotated[float, Range(0.0, 0.5, unit="[1/m]")] = 0.0
    """Standard deviation of a depth of 1 m [m]; it grows with the square of the depth, as for stereo cameras."""
    depth_holes: Annotated[float, Range(0.0, 1.0, unit="[-]")] = 0.0
    """Share of the pixels without a depth (infinite), in patches."""

    def __post_init__(self) -> None:
        check_ranges(self, "noise")

    def add_colour_noise(self, rgb: Array, rng: np.random.Generator) -> Array:
        """Returns the rendered image (height, width, 3) uint8 with noise."""
        if self.image_noise == 0.0 and self.image_blur == 0.0 and self.exposure == 1.0:
            return rgb
        seen: Array = rgb.astype(float)
        if self.image_blur > 0.0:
            seen = scipy.ndimage.gaussian_filter(seen, sigma=(self.image_blur, self.image_blur, 0.0), mode="nearest")
        seen = seen * self.exposure + rng.normal(0.0, 1.0, rgb.shape) * self.image_noise
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
            patches = scipy.ndimage.uniform_filter(speckle, size=_PATCH_PX, mode="wrap")
            noisy[patches <= np.quantile(patches, self.depth_holes)] = np.inf
        return noisy.astype(np.float32)
