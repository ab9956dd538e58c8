"""Builds links from primitives; the link of a panel (a door, a lid) in its directions across, along and out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from unlatch.objects.procedural.parameters import Colour
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.urdf.model import Link, Shape, ShapeKind, composed_inertial

Builder = TypeVar("Builder", bound="LinkBuilder")


@dataclass(frozen=True)
class PanelFrame:
    """How a panel lies in the frame of its link; every direction is plus or minus x, y or z.

    `across` runs from the hinge to the free edge (down on a drawer's front), `out` to the hand, and `along = out x
    across` along the hinge, which is the contact axis of the annotation.
    """

    across: tuple[float, float, float]
    out: tuple[float, float, float]

    @cached_property
    def rotation(self) -> Array:
        """(3, 3) from panel to link: columns across, along, out."""
        return np.column_stack([self.across, np.cross(self.out, self.across), self.out])

    @property
    def along(self) -> Array:
        """(3,) unit direction."""
        return self.rotation[:, 1]

    def at(self, across: float, along: float, out: float) -> Array:
        """Returns (3,) a point in the frame of the link [m]."""
        point: Array = self.rotation @ np.array([across, along, out])
        return point

    def link_axis(self, direction: str) -> str:
        """Returns `x`, `y` or `z`: the link's axis along `across`, `along` or `out`."""
        column = self.rotation[:, ("across", "along", "out").index(direction)]
        return "xyz"[int(np.argmax(np.abs(column)))]


X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
FRONT = PanelFrame(across=Y, out=X)
"""A panel in the front; a door with its hinge on the left, as seen from the front."""
FLAP_BELOW = PanelFrame(across=Z, out=X)
"""A door in the front that is hinged below."""
LID_BEHIND = PanelFrame(across=X, out=Z)
"""A lid that is hinged behind."""
DRAWER_FRONT = PanelFrame(across=(0.0, 0.0, -1.0), out=X)
"""A drawer's front; a hand holds its upper edge."""


def door_frame(hinge_side: str) -> PanelFrame:
    """Returns the frame of a door in the front, hinged `left` or `right` as seen from the front."""
    return FRONT if hinge_side == "left" else PanelFrame(across=(0.0, -1.0, 0.0), out=X)


class LinkBuilder:
    """Collects the primitives of one link: they are seen and collide.

    Those added through `visual` are only seen, those added through `collider` only collide. Neither adds to the volume.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.volume_m3 = 0.0
        """Volume of the colliding primitives so far."""
        self._visuals: list[Shape] = []
        self._collisions: list[Shape] = []

    @property
    def visual(self: Builder) -> Builder:
        """The same link, for primitives that are only seen."""
        twin = copy(self)
        twin._collisions = []
        return twin

    @property
    def collider(self: Builder) -> Builder:
        """The same link, for primitives that only collide."""
        twin = copy(self)
        twin._visuals = []
        return twin

    def box(self, name: str, lower: Sequence[float], upper: Sequence[float], *, rgba: Colour) -> None:
        """Adds a box by two opposite corners [m]: link frame, or (across, along, out) of a panel."""
        corners = np.stack([self._to_link_point(lower), self._to_link_point(upper)])  # (2, 3)
        a, b = corners.min(axis=0), corners.max(axis=0)
        size = np.round(b - a, 6)
        centre = np.round((a + b) / 2, 7)
        shape = Shape(
            ShapeKind.box, (float(size[0]), float(size[1]), float(size[2])), Pose.from_translation(centre), name, rgba
        )
        self._add(shape)

    def boxes(self, rgba: Colour, corners: Mapping[str, tuple[Sequence[float], Sequence[float]]]) -> None:
        """Adds boxes of one colour, by name two opposite corners [m], see `box`."""
        for name, (lower, upper) in corners.items():
            self.box(name, lower, upper, rgba=rgba)

    def cylinder(
        self,
        name: str,
        centre: Sequence[float],
        *,
        axis: str,
        radius: float,
        length: float,
        rgba: Colour,
    ) -> None:
        """Adds a cylinder about its centre [m] along `x`, `y` or `z`; of a panel, `across`, `along` or `out`."""
        rpy = {"x": (0.0, np.pi / 2, 0.0), "y": (-np.pi / 2, 0.0, 0.0), "z": (0.0, 0.0, 0.0)}[self._to_link_axis(axis)]
        pose = Pose.from_rpy(np.round(self._to_link_point(centre), 7), rpy)
        self._add(Shape(ShapeKind.cylinder, (round(radius, 6), round(length, 6)), pose, name, rgba))

    def turned_box(self, name: str, size: Sequence[float], T_link_box: Pose, *, rgba: Colour) -> None:
        """Adds a box of full extents [m] about its centre, with a pose."""
        x, y, z = (round(float(v), 6) for v in size)
        self._add(Shape(ShapeKind.box, (x, y, z), T_link_box, name, rgba))

    def rod(
        self,
        name: str,
        start: ArrayLike,
        end: ArrayLike,
        *,
        radius: float,
        rgba: Colour,
    ) -> None:
        """Adds a cylinder from one point of the link frame to another [m]."""
        a, b = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
        length = float(np.linalg.norm(b - a))
        x, y, z = (b - a) / length
        pose = Pose.from_rpy(np.round((a + b) / 2, 7), (0.0, float(np.arctan2(np.hypot(x, y), z)), np.arctan2(y, x)))
        self._add(Shape(ShapeKind.cylinder, (round(radius, 6), round(length, 6)), pose, name, rgba))

    def sphere(self, name: str, centre: ArrayLike, *, radius: float, rgba: Colour) -> None:
        """Adds a sphere about its centre in the link frame [m]."""
        pose = Pose.from_translation(np.round(np.asarray(centre, dtype=float), 7))
        self._add(Shape(ShapeKind.sphere, (round(radius, 6),), pose, name, rgba))

    def mass_kg(self, density_kg_m3: float, *, digits: int = 4) -> float:
        """Returns the mass of the colliding primitives so far, rounded."""
        return round(self.volume_m3 * density_kg_m3, digits)

    def build(self, *, mass_kg: float) -> Link:
        """Returns the link; its inertia is that of the colliding primitives with one density."""
        return Link(
            name=self.name,
            visuals=tuple(self._visuals),
            collisions=tuple(self._collisions),
            inertial=composed_inertial(self._collisions, mass_kg),
        )

    def _to_link_point(self, point: Sequence[float]) -> Array:
        """Returns (3,) a point in the link frame [m]. A panel has points in another frame."""
        return np.asarray(point, dtype=float)

    def _to_link_axis(self, axis: str) -> str:
        """Returns `x`, `y` or `z`: the axis of the link. A panel has other names of axes."""
        return axis

    def _add(self, shape: Shape) -> None:
        self._visuals.append(shape)
        self._collisions.append(shape)
        self.volume_m3 += _VOLUMES[shape.kind](shape.size)


_VOLUMES: dict[ShapeKind, Callable[[tuple[float, ...]], float]] = {
    ShapeKind.box: lambda size: size[0] * size[1] * size[2],
    ShapeKind.cylinder: lambda size: float(np.pi) * size[0] ** 2 * size[1],
    ShapeKind.sphere: lambda size: float(np.pi) * 4 / 3 * size[0] ** 3,
}


class PanelBuilder(LinkBuilder):
    """A link whose boxes and cylinders are given in (across, along, out) of its panel."""

    def __init__(self, name: str, frame: PanelFrame) -> None:
        super().__init__(name)
        self.frame = frame

    def border(
        self,
        name: str,
        span: tuple[float, float],
        half_along: float,
        *,
        width: float,
        out: tuple[float, float],
        rgba: Colour,
    ) -> None:
        """Adds a frame of four strips inside a rectangle.

        Args:
            name: Beginning of the names of the strips.
            span: From the hinge side to the free side, across [m].
            half_along: Half of the extent of the rectangle along [m].
            width: Width of a strip [m].
            out: Lower and upper side of the strips, outwards [m].
            rgba: Colour.
        """
        (a, b), (o, p) = span, out
        inner = half_along - width
        strips = {
            "hinge": ((a, -half_along, o), (a + width, half_along, p)),
            "free": ((b - width, -half_along, o), (b, half_along, p)),
            "low": ((a + width, -half_along, o), (b - width, -inner, p)),
            "high": ((a + width, inner, o), (b - width, half_along, p)),
        }
        self.boxes(rgba, {f"{name}_{side}": corners for side, corners in strips.items()})

    def _to_link_point(self, point: Sequence[float]) -> Array:
        """Returns (3,) a point given as (across, along, out), in the link frame [m]."""
        return self.frame.at(*point)

    def _to_link_axis(self, axis: str) -> str:
        """Returns the link's axis along `across`, `along` or `out`."""
        return self.frame.link_axis(axis)
