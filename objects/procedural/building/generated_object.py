"""The object that a generator returns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from unlatch.objects.annotation import Articulation
from unlatch.objects.procedural.building.drawing import Colour
from unlatch.objects.procedural.building.textures import TextureKind
from unlatch.simcore.urdf.model import UrdfModel, primitive_bounds

_CORNERS = np.array([[x, y, z] for x in (False, True) for y in (False, True) for z in (False, True)])


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
    """Texture by colour of the visuals; other colours are plain. See `textured_urdf`."""


def model_bounds(model: UrdfModel, positions: dict[str, float] | None = None) -> np.ndarray:
    """Returns (2, 3) bounds of all colliding primitives in the root link frame [m]; other joints are at 0."""
    corners: list[np.ndarray] = []
    for link in model.links.values():
        pose = model.link_pose(link.name, positions)
        for shape in link.collisions:
            low, high = primitive_bounds(shape)
            corners.append(pose @ np.where(_CORNERS, high, low))  # (8, 3)
    points = np.concatenate(corners)
    return np.stack([points.min(axis=0), points.max(axis=0)])
