"""Switches for image buffers: off until one of these is called, on the root or on one sensor."""

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
    """Which class of thing is seen."""
    instance_id_segmentation = auto()
    """Which link of which body is seen."""
    normals = auto()
    """Directions of the surfaces seen."""


class RenderingSwitches(ABC):
    """Images cost far more than all other state together, so that they are made only where they were asked for.

    Each switch holds for the module it is called on and for all below it; calling one twice changes nothing. From then
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
