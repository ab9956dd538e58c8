"""The finish of a surface: how it reflects light. Its colour and its picture are stored elsewhere."""

from __future__ import annotations

from dataclasses import dataclass


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
