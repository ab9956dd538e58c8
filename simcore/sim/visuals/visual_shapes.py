"""Visual shapes of a body's model, the paint over them, and the light on them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pybullet as p

from unlatch.simcore.geometry import Pose


@dataclass(frozen=True)
class VisualShape:
    """One shape of a link."""

    body: int
    """Bullet's number of the body."""
    link: int
    """Bullet's number of the link."""
    index: int
    """Its index among the link's shapes."""
    kind: int
    """Bullet's number of its kind."""
    size: tuple[float, ...]
    """Its sizes, as Bullet reports them; for a mesh, factors on its coordinates."""
    path: str
    """The mesh file; empty for other kinds."""
    T_link_shape: Pose
    """Its pose in the link's frame."""
    rgba: tuple[float, float, float, float]
    """Its own colour."""
    texture: int
    """Bullet's number of its own texture, -1 for none."""


@dataclass(frozen=True)
class Light:
    """One distant light, with the parameters of Bullet's renderers; physics does not depend on it."""

    direction: tuple[float, float, float] = (-1.0, -1.2, 2.5)
    """From the scene towards the light, world frame; any length."""
    colour: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """Red, green and blue, 0 to 1."""
    ambient: float = 0.6
    """Share of a surface's colour without light."""
    diffuse: float = 0.35
    """Additional share under light along the surface normal."""
    specular: float = 0.05
    """Strength of highlights."""
    shadow: bool = True
    """Whether bodies cast shadows."""


@dataclass(frozen=True)
class Paint:
    """The appearance of a shape in place of its own."""

    rgba: tuple[float, ...]
    """Red, green, blue and alpha."""
    picture: Path | None
    """The texture; None: the shape's own."""


def read_visual_shapes(body: int, *, client: int) -> tuple[VisualShape, ...]:
    """Reads the visual shapes of a body that is not painted yet.

    Once one shape of a link is painted, Bullet reports its colour for all of them, and never reports a new texture.
    Body and client are given by Bullet's numbers.
    """
    counts: dict[int, int] = {}
    shapes = []
    for row in p.getVisualShapeData(body, flags=p.VISUAL_SHAPE_DATA_TEXTURE_UNIQUE_IDS, physicsClientId=client):
        link = int(row[1])
        index = counts.get(link, 0)
        counts[link] = index + 1
        pose = Pose.from_quat_xyzw(row[5], row[6])
        shapes.append(
            VisualShape(body, link, index, row[2], tuple(row[3]), row[4].decode(), pose, tuple(row[7]), int(row[8]))
        )
    return tuple(shapes)
