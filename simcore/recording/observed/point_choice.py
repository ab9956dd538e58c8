"""Which points of an object a policy or a data set gets: from what, and on which of its shapes."""

from __future__ import annotations

from enum import Enum


class PointSurface(Enum):
    """Shapes on whose surface points are drawn."""

    visual = "visual"
    """What a camera sees."""
    collision = "collision"
    """What touches."""


class PointSource(Enum):
    """Where points come from."""

    geometry = "geometry"
    """The whole surface of the object, seen or not."""
    camera = "camera"
    """What cameras see of the object."""
    both = "both"
    """Two clouds, one of each."""
