"""Switches for image buffers, which are off by default."""

from __future__ import annotations

from abc import ABC, abstractmethod
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


class RenderingSwitches(ABC):
    """Switches of images, which cost far more than all other state together.

    Each switch applies to its module and all modules below it; a second call changes nothing. From then
    on `update_state` fills the image buffers.
    """

    def enable_rgb_rendering(self) -> None:
        """Switches colour images on (tag `rgb`)."""
        self.switch_rendering(Rendering.rgb, on=True)

    def enable_depth_rendering(self) -> None:
        """Switches depth images on (tag `depth`)."""
        self.switch_rendering(Rendering.depth, on=True)

    def enable_distance_rendering(self) -> None:
        """Switches images of the distance to the camera on (tag `depth`)."""
        self.switch_rendering(Rendering.distance, on=True)

    def enable_segmentation_rendering(self) -> None:
        """Switches images of classes on (tag `segmentation`)."""
        self.switch_rendering(Rendering.segmentation, on=True)

    def enable_instance_id_segmentation_rendering(self) -> None:
        """Switches images of single links on (tag `segmentation`)."""
        self.switch_rendering(Rendering.instance_id_segmentation, on=True)

    def enable_normals_rendering(self) -> None:
        """Switches images of surface normals on (tag `normals`)."""
        self.switch_rendering(Rendering.normals, on=True)

    def disable_rendering(self) -> None:
        """Switches all images off and empties their buffers."""
        for kind in Rendering:
            self.switch_rendering(kind, on=False)

    @abstractmethod
    def switch_rendering(self, kind: Rendering, *, on: bool) -> None:
        """Switches one kind of image for the tree."""
