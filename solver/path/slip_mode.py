"""Words for what the hand may do about the part that it leads; standard library only, for who reads settings."""

from __future__ import annotations

from enum import Enum


class SlipMode(Enum):
    """What the hand may do about the contact point while the part moves."""

    fixed = "fixed"
    """Nothing: the hand moves with the part."""
    bar = "bar"
    """Turn about the bar (the annotation's contact axis), as on a round bar."""
    side = "side"
    """Turn about the line between the fingertips, as on a panel."""
    gimbal = "gimbal"
    """Both: the fingertip line stays at right angles to the bar."""
    cone = "cone"
    """Any rotation with the approach axis inside the cone, as a pushing fingertip."""
