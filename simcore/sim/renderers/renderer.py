"""The contract of a renderer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from simcore.geometry import Pinhole, Pose

if TYPE_CHECKING:
    from simcore.sim.world import World

Array = np.ndarray


@dataclass(frozen=True)
class RawImages:
    """What one call of a renderer gives."""

    rgb: Array
    """(height, width, 3) uint8."""
    depth_m: Array
    """(height, width) float32, distance to the image plane [m]; infinite where nothing is seen."""
    link_ids: Array
    """(height, width) int32: 0 where nothing is seen, else the place, from 1, of the link in `link_labels`."""


class Renderer(ABC):
    """Makes images of the visual shapes of one world.

    `open` is called once, before anything is in the world; `render` as often as wanted, the world being what it is at
    that moment: bodies, looks and light may have changed, and `World.reset` may have emptied it; `close` at the end.

    Every renderer has the geometry of the pinhole to the pixel: `tests/simcore/sim/test_renderers.py`.
    """

    name: ClassVar[str]
    """Its name in the catalog."""

    @property
    @abstractmethod
    def version(self) -> str:
        """What makes the pictures, with its version; noted beside images."""

    @abstractmethod
    def open(self, world: World) -> None:
        """Prepares for a world.

        Raises:
            WorldError: It cannot work here; the message says what is missing.
        """

    @abstractmethod
    def render(
        self,
        world: World,
        pinhole: Pinhole,
        T_world_camera: Pose,
        *,
        near_m: float,
        far_m: float,
        shadow: bool = True,
        depth: bool = True,
    ) -> RawImages:
        """Colours, depth and links seen by a pinhole camera.

        Args:
            world: The world that it was opened for.
            pinhole: Size and intrinsics.
            T_world_camera: Pose of its frame: x to the right of the image, y down, z forward.
            near_m: Nothing nearer is seen [m].
            far_m: Nothing farther is seen [m].
            shadow: Whether shadows are drawn.
            depth: Whether depth is wanted as exact as it can be; else it may be rough.
        """

    @abstractmethod
    def close(self) -> None:
        """Gives back what `open` took; may be called twice."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.version})"
