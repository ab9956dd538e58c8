"""Kinds of images."""

from __future__ import annotations

from enum import Enum, auto


class Rendering(Enum):
    """Kinds of images that a sensor may have."""

    rgb = auto()
    """Colours."""
    depth = auto()
    """Distance to the image plane [m]."""
    distance = auto()
    """Distance to the camera's centre [m]."""
    segmentation = auto()
    """Class of the visible body."""
    instance_id_segmentation = auto()
    """Visible link and its body."""
    normals = auto()
    """Normals of visible surfaces."""
