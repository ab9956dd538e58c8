"""The one light that pictures are made under."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Light:
    """A light far away, by the terms of Bullet's renderers; physics does not know of it."""

    direction: tuple[float, float, float] = (-1.0, -1.2, 2.5)
    """From the scene towards the light, world frame; any length."""
    colour: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """Red, green and blue, 0 to 1."""
    ambient: float = 0.6
    """Share of a surface's colour that is seen without light."""
    diffuse: float = 0.35
    """Share that is seen where the light meets the surface head on, beside the ambient one."""
    specular: float = 0.05
    """Strength of highlights."""
    shadow: bool = True
    """Whether things throw shadows."""
