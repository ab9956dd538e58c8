"""The contract of a renderer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from unlatch.simcore.geometry import Fisheye, Pinhole
from unlatch.simcore.sim.renderers.exposure import Exposure

if TYPE_CHECKING:
    from unlatch.simcore.sim.world import World

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
    distance_m: Array | None = None
    """(height, width) float32, distance to the camera's centre [m], infinite likewise; None: it follows from depth,
    which of a fisheye it does not."""
    normals: Array | None = None
    """(height, width, 3) unit normals in the camera frame, towards it; None: they follow from depth."""


class Renderer(ABC):
    """Makes images of the visual shapes of one world.

    `open` is called once, before anything is in the world; `render` as often as wanted, the world being what it is at
    that moment: bodies, looks and light may have changed, and `World.reset` may have emptied it; `close` at the end.

    Every renderer has the geometry of the lens to the pixel: `tests/simcore/sim/test_renderers.py`.
    """

    name: ClassVar[str]
    """Its name in the catalog."""
    lenses: ClassVar[tuple[type[Pinhole] | type[Fisheye], ...]] = (Pinhole,)
    """What it looks through by itself. For one without `Fisheye` such images are put together from pinhole images."""

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
    def render(self, world: World, exposure: Exposure) -> RawImages:
        """Colours, depth and links that a camera sees.

        Args:
            world: The world that it was opened for.
            exposure: The look; its lens is one of `lenses`.
        """

    @abstractmethod
    def close(self) -> None:
        """Gives back what `open` took; may be called twice."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.version})"
