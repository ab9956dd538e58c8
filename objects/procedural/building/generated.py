"""What a generator returns, and the pieces that generators share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from unlatch.objects.annotation import Articulation
from unlatch.objects.procedural.building.drawing import Colour
from unlatch.objects.procedural.building.textures import TextureKind
from unlatch.simcore.geometry import Pose
from unlatch.simcore.urdf.model import Link, Shape, ShapeKind, UrdfModel, composed_inertial, primitive_bounds

BODY_COLOURS: tuple[Colour, ...] = (
    (0.93, 0.93, 0.91, 1.0),
    (0.24, 0.25, 0.27, 1.0),
    (0.72, 0.74, 0.76, 1.0),
    (0.72, 0.20, 0.17, 1.0),
    (0.62, 0.75, 0.72, 1.0),
)
"""Casings: white, anthracite, steel, red, mint."""

HANDLE_COLOURS: tuple[Colour, ...] = ((0.80, 0.81, 0.83, 1.0), (0.12, 0.12, 0.13, 1.0), (0.86, 0.72, 0.42, 1.0))
"""Chrome, black, brass."""


@dataclass(frozen=True)
class GeneratedObject:
    """An object in memory, before it is written."""

    model: UrdfModel
    articulation: Articulation
    bounds_obj: np.ndarray
    """(2, 3) bounds of the closed object in its root link frame [m]."""
    friction: dict[str, float]
    damping: dict[str, float]
    parameters: dict[str, float | str]
    textures: dict[Colour, TextureKind] = field(default_factory=dict)
    """What the visuals of a colour are made of; a colour that is not there is plain. See `dressing`."""


Builder = TypeVar("Builder", bound="LinkBuilder")


class LinkBuilder:
    """Collects the primitives of one link: they are seen and collide, those added through `visual` are only seen."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.volume_m3 = 0.0
        """Of the colliding primitives so far."""
        self._visuals: list[Shape] = []
        self._collisions: list[Shape] = []

    @property
    def visual(self: Builder) -> Builder:
        """The same link, for primitives that are only seen."""
        twin = copy(self)
        twin._collisions = []
        return twin

    def box(self, name: str, lower: Sequence[float], upper: Sequence[float], *, rgba: Colour) -> None:
        """Adds a box by two opposite corners, see `_place` [m]."""
        corners = np.stack([self._place(lower), self._place(upper)])  # (2, 3)
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
        """Adds a cylinder about its centre, see `_place` [m], along an axis, see `_letter`."""
        rpy = {"x": (0.0, np.pi / 2, 0.0), "y": (-np.pi / 2, 0.0, 0.0), "z": (0.0, 0.0, 0.0)}[self._letter(axis)]
        pose = Pose.from_rpy(np.round(self._place(centre), 7), rpy)
        self._add(Shape(ShapeKind.cylinder, (round(radius, 6), round(length, 6)), pose, name, rgba))

    def turned_box(self, name: str, size: Sequence[float], T_link_box: Pose, *, rgba: Colour) -> None:
        """Adds a box of full extents [m] about its centre, turned as its pose says."""
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
        """The link; its inertia is that of the colliding primitives with one common density."""
        return Link(
            name=self.name,
            visuals=tuple(self._visuals),
            collisions=tuple(self._collisions),
            inertial=composed_inertial(self._collisions, mass_kg),
        )

    def _place(self, point: Sequence[float]) -> np.ndarray:
        """(3,) a point of a box or cylinder in the link frame [m]; here it is given in that frame."""
        return np.asarray(point, dtype=float)

    def _letter(self, axis: str) -> str:
        """`x`, `y` or `z`: the link's axis that a cylinder runs along; here it is given so."""
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


_CORNERS = np.array([[x, y, z] for x in (False, True) for y in (False, True) for z in (False, True)])


def model_bounds(model: UrdfModel, positions: dict[str, float] | None = None) -> np.ndarray:
    """(2, 3) bounds of all colliding primitives in the root link frame [m].

    Args:
        model: Of primitives alone.
        positions: Positions of its joints [rad or m]; 0 for those that are left out.
    """
    corners: list[np.ndarray] = []
    for link in model.links.values():
        pose = model.link_pose(link.name, positions)
        for shape in link.collisions:
            low, high = primitive_bounds(shape)
            corners.append(pose @ np.where(_CORNERS, high, low))  # (8, 3)
    points = np.concatenate(corners)
    return np.stack([points.min(axis=0), points.max(axis=0)])
