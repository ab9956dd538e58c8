"""The light of images."""

from __future__ import annotations

from dataclasses import dataclass


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
