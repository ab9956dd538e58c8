"""The visual shapes of a body, the paint over them, and the finish of their surfaces."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from unlatch.simcore.geometry import Pose


@dataclass(frozen=True)
class Finish:
    """Roughness, metalness and emitted light of a surface, as in glTF; Bullet's renderers do not use them."""

    roughness: float = 0.5
    """0 is a mirror, 1 is chalk."""
    metalness: float = 0.0
    """1 for bare metal, whose reflections have its colour; 0 for everything else."""
    emission: float = 0.0
    """Emitted light as a factor on the colour: of lamps, and of the sky behind a window."""


FINISHES = {
    "brushed_metal": Finish(0.36, 1.0),
    "cardboard": Finish(0.9),
    "cast_metal": Finish(0.6, 0.8),
    "chrome": Finish(0.16, 1.0),
    "cloth": Finish(1.0),
    "enamel": Finish(0.25),
    "glass": Finish(0.06),
    "hammered_metal": Finish(0.5, 0.6),
    "lacquer": Finish(0.28),
    "lamp": Finish(0.5, 0.0, 1.0),
    "paint": Finish(0.5),
    "painted_wood": Finish(0.42),
    "plaster": Finish(0.95),
    "plastic": Finish(0.4),
    "rubber": Finish(0.85),
    "stone": Finish(0.5),
    "tiles": Finish(0.2),
    "wood": Finish(0.55),
}
"""Finishes of common materials, by name."""


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
