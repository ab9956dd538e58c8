"""Commercial cameras: image size, field of view and range of depth, from data sheets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
