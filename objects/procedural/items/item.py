"""The generator of one kind of free object: one link without joints, with the keypoints of an upright object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from unlatch.objects.annotation import Articulation, FramedVector
from unlatch.objects.procedural.building.assembly import LICENCE
from unlatch.objects.procedural.building.drawing import Colour, parameter_record
from unlatch.objects.procedural.building.generated_object import GeneratedObject, model_bounds
from unlatch.objects.procedural.building.link_builder import LinkBuilder
from unlatch.simcore.geometry import Pose
from unlatch.simcore.rng import stream
from unlatch.simcore.urdf.model import UrdfModel

Drawn = TypeVar("Drawn")

LINK = "item"
"""Name of the only link."""
_OVERLAP = 1.04
"""Neighbouring boards of a round wall overlap by this factor, so that no gap is seen."""


@dataclass(frozen=True)
class Stand:
    """What a generator says of the object that it has built."""

    mass_kg: float
    """Mass of the whole object."""
    keypoints: dict[str, tuple[float, float, float]]
    """Further keypoints, root frame [m]."""


@dataclass(frozen=True)
class ItemGenerator(Generic[Drawn]):
    """Draws parameters and builds a free object from them; its root frame is at the middle of its underside, z up."""

    category: str
    draw: Callable[[np.random.Generator], Drawn]
    """Draws all parameters, a dataclass, from a random stream of the seed and the category."""
    build: Callable[[LinkBuilder, Drawn], Stand]
    """Fills the link, without random numbers."""

    def __call__(self, seed: int, *, name: str | None = None) -> GeneratedObject:
        """Generates the object of a seed, any whole number from 0; `name` is that of the robot element in the URDF."""
        drawn = self.draw(stream(seed, f"assets.procedural.{self.category}"))
        builder = LinkBuilder(LINK)
        stand = self.build(builder, drawn)
        link = builder.build(mass_kg=stand.mass_kg)
        model = UrdfModel(name or self.category, {LINK: link}, {})
        bounds = model_bounds(model)
        points = {
            "bottom_center": (0.0, 0.0, float(bounds[0, 2])),
            "top_center": (0.0, 0.0, float(bounds[1, 2])),
            **stand.keypoints,
        }
        articulation = Articulation(
            category=self.category,
            source={"dataset": "procedural", "id": str(seed), "licence": LICENCE},
            parts={},
            free=True,
            keypoints={key: FramedVector.of("obj", np.round(xyz, 7)) for key, xyz in points.items()},
        )
        record = {**parameter_record(drawn), "mass_kg": stand.mass_kg}
        return GeneratedObject(model, articulation, bounds, friction={}, damping={}, parameters=record)


def add_prism(
    builder: LinkBuilder, name: str, *, radius: float, low: float, high: float, rgba: Colour, sides: int = 16
) -> float:
    """Adds an upright cylinder that collides as a prism, and returns its volume [m^3].

    Pads rest on a flat side with four contact points. On the primitive cylinder, Bullet keeps contact points of a
    closed finger whose normals point across it: the object then sticks to a finger that opens.

    Args:
        builder: The link.
        name: Name of the cylinder, and beginning of the names of the boxes.
        radius: Radius of the cylinder [m]; the sides of the prism touch it.
        low: Height of its lower end [m].
        high: Height of its upper end [m].
        rgba: Colour.
        sides: Number of sides, an even one.
    """
    middle, length = 0.5 * (low + high), high - low
    builder.visual.cylinder(name, (0.0, 0.0, middle), axis="z", radius=radius, length=length, rgba=rgba)
    width = 2.0 * radius * float(np.tan(np.pi / sides))
    for number in range(sides // 2):
        turn = Pose.from_rpy((0.0, 0.0, middle), (0.0, 0.0, 2.0 * np.pi * number / sides))
        T = Pose(np.round(turn.R, 9), turn.p)
        builder.collider.turned_box(f"{name}_{number}", (2.0 * radius, width, length), T, rgba=rgba)
    return float(np.pi) * radius**2 * length


def add_round_wall(
    builder: LinkBuilder,
    name: str,
    *,
    low: tuple[float, float],
    high: tuple[float, float],
    thickness_m: float,
    boards: int,
    rgba: Colour,
) -> None:
    """Adds a round wall of flat boards, a convex collider each.

    Args:
        builder: The link.
        name: Beginning of the names of the boards.
        low: Outer radius and height of its lower edge [m].
        high: Those of its upper edge [m].
        thickness_m: Thickness of the wall.
        boards: Number of boards.
        rgba: Colour.
    """
    (r0, z0), (r1, z1) = low, high
    slant, length = float(np.arctan2(r1 - r0, z1 - z0)), float(np.hypot(r1 - r0, z1 - z0))
    width = 2.0 * max(r0, r1) * float(np.tan(np.pi / boards)) * _OVERLAP
    radius = 0.5 * (r0 + r1) - 0.5 * thickness_m
    for number in range(boards):
        turn = Pose.from_rpy((0.0, 0.0, 0.0), (0.0, 0.0, 2.0 * np.pi * number / boards))
        tilt = Pose.from_rpy((radius, 0.0, 0.5 * (z0 + z1)), (0.0, slant, 0.0))
        T = turn @ tilt
        builder.turned_box(
            f"{name}_{number}", (thickness_m, width, length), Pose(np.round(T.R, 9), np.round(T.p, 7)), rgba=rgba
        )
