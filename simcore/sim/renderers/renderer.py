"""The contract of a renderer: the requested images, the resulting images, and the renderer itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Protocol

from unlatch.simcore.cameras import Fisheye, Pinhole
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.visuals.visual_shapes import Light, Paint


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
    labels: bool = True
    """Whether links are wanted; without labels, depth and normals, links and depth may be missing."""
    normals: bool = False
    """Whether normals are wanted."""
    fine: bool = False
    """Whether the picture is drawn as well as the renderer can, for people to look at; it only changes colours and
    takes more time."""
    exact: bool = True
    """Whether links, depth and normals are those of all triangles; counts of visible pixels do not need them."""
    smooth: bool = True
    """Whether edges may be smoothed. A picture that is shrunk afterwards needs one sample a pixel: shrinking smooths
    its edges."""


@dataclass(frozen=True)
class RawImages:
    """The images of one call of a renderer."""

    rgb: Array
    """(height, width, 3) uint8."""
    depth_m: Array
    """(height, width) float32, distance to the image plane [m]; infinite where nothing is visible."""
    link_ids: Array
    """(height, width) int32: 0 where nothing is visible, else the position of the link in `link_labels`, from 1."""
    distance_m: Array | None = None
    """(height, width) float32, distance to the camera's centre [m], infinite likewise. None: it follows from depth,
    as for every pinhole."""
    normals: Array | None = None
    """(height, width, 3) unit normals in the camera frame, towards it; None: they follow from depth."""


class RenderedWorld(Protocol):
    """The part of a `World` that renderers read."""

    light: Light
    paint: dict[tuple[int, int, int], Paint]

    @property
    def client(self) -> int:
        """Bullet's client number."""

    def seen_bodies(self) -> list[Body]:
        """Returns all bodies that may be in an image."""


class Renderer(ABC):
    """Makes images of the visual shapes of one world.

    `open` is called once, before anything is in the world. `render` is called any number of times and shows the world
    as it is at that moment: bodies, colours and light may have changed, and `World.reset` may have emptied it. `close`
    is called at the end.

    Every renderer reproduces the geometry of the lens to the pixel: `tests/simcore/sim/test_renderers.py`.
    """

    name: ClassVar[str]
    """Its name in the catalog."""
    lenses: ClassVar[tuple[type[Pinhole] | type[Fisheye], ...]] = (Pinhole,)
    """The lenses that it supports. Without `Fisheye`, fisheye images are assembled from pinhole images."""

    @property
    @abstractmethod
    def version(self) -> str:
        """Name and version of the rendering software; recorded beside the images."""

    def open(self, world: RenderedWorld) -> None:  # noqa: B027 - optional
        """Prepares to render a world; nothing by default.

        Raises:
            WorldError: The renderer cannot run here; the message says what is missing.
        """

    @abstractmethod
    def render(self, world: RenderedWorld, request: RenderRequest) -> RawImages:
        """Returns colours, depth and links that a camera sees.

        Args:
            world: The world passed to `open`.
            request: Camera and wanted images; its lens is one of `lenses`.
        """

    def close(self) -> None:  # noqa: B027 - optional
        """Releases the resources of `open`, nothing by default; may be called twice."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.version})"
