"""A request for images: the camera, and the wanted images."""

from __future__ import annotations

from dataclasses import dataclass

from unlatch.simcore.geometry import Fisheye, Pinhole, Pose


@dataclass(frozen=True)
class RenderRequest:
    """A request for images of one camera."""

    optics: Pinhole | Fisheye
    """Image size and lens."""
    T_world_camera: Pose
    """Pose of the camera's frame: x to the right of the image, y down, z forward."""
    near_m: float
    """Distance of the near plane [m]."""
    far_m: float
    """Distance of the far plane [m]."""
    colours: bool = True
    """Whether colours are wanted; otherwise they are arbitrary."""
    shadow: bool = True
    """Whether shadows are drawn, if the world's light casts any; they only change colours."""
    depth: bool = True
    """Whether exact depth is wanted; otherwise it may be approximate."""
    normals: bool = False
    """Whether normals are wanted."""
