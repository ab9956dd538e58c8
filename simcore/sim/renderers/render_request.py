"""What one look of a camera is: from where, through which lens, and what of it is wanted."""

from __future__ import annotations

from dataclasses import dataclass

from unlatch.simcore.geometry import Fisheye, Pinhole, Pose


@dataclass(frozen=True)
class RenderRequest:
    """One look."""

    optics: Pinhole | Fisheye
    """Size and lens."""
    T_world_camera: Pose
    """Pose of the camera's frame: x to the right of the image, y down, z forward."""
    near_m: float
    """Nothing nearer is seen [m]."""
    far_m: float
    """Nothing farther is seen [m]."""
    colours: bool = True
    """Whether colours are wanted; else they may be anything."""
    shadow: bool = True
    """Whether shadows are drawn where the world's light throws any; the other images do not depend on them."""
    depth: bool = True
    """Whether depth is wanted as exact as it can be; else it may be rough."""
    normals: bool = False
    """Whether normals are wanted."""
