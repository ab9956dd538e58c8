"""Builds a link from primitives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from unlatch.objects.procedural.building.drawing import Colour
from unlatch.simcore.geometry import Pose
from unlatch.simcore.urdf.model import Link, Shape, ShapeKind, composed_inertial

Builder = TypeVar("Builder", bound="LinkBuilder")


class LinkBuilder:
    """Collects the primitives of one link: they are seen and collide, those added through `visual` are only seen."""

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

    def box(self, name: str, lower: Sequence[float], upper: Sequence[float], *, rgba: Colour) -> None:
        """Adds a box by two opposite corners, see `_to_link_point` [m]."""
        corners = np.stack([self._to_link_point(lower), self._to_link_point(upper)])  # (2, 3)
        a, b = corners.min(axis=0), corners.max(axis=0)
        size = np.round(b - a, 6)
        centre = np.round((a + b) / 2, 7)
        shape = Shape(
            ShapeKind.box, (float(size[0]), float(size[1]), float(size[2])), Pose.from_translation(centre), name, rgba
        )
        self._add(shape)

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
        """Adds a cylinder about its centre, see `_to_link_point` [m], along an axis, see `_to_link_axis`."""
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

    def _to_link_point(self, point: Sequence[float]) -> np.ndarray:
        """Returns (3,) a point of a box or cylinder in the link frame [m]; here it is given in that frame."""
        return np.asarray(point, dtype=float)

    def _to_link_axis(self, axis: str) -> str:
        """Returns `x`, `y` or `z`, the link's axis along a cylinder; here it is given so."""
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
