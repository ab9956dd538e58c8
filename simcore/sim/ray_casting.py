"""Casts rays against the collision shapes of a world."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pybullet as p

from unlatch.simcore.sim.world import World

Array = np.ndarray

_BATCH = 8_192
"""Rays per call of Bullet: its limit is 16384, but then it returns one less."""


@dataclass(frozen=True)
class RayHits:
    """The first hits of R rays."""

    found: Array
    """(R,) bool: whether a ray hit anything."""
    share: Array
    """(R,) share of the way from start to end; 1 without a hit."""
    normals: Array
    """(R, 3) unit normals of the hit surfaces, world frame; 0 without a hit."""
    classes: tuple[str, ...]
    """Semantic class of each hit body; empty without a hit."""


def cast_rays(world: World, starts_world: Array, ends_world: Array) -> RayHits:
    """Casts any number of rays; the world does not change.

    Args:
        world: The world.
        starts_world: (R, 3) start points [m].
        ends_world: (R, 3) end points [m].
    """
    met = []
    for first in range(0, len(starts_world), _BATCH):
        part = slice(first, first + _BATCH)
        met += p.rayTestBatch(
            starts_world[part].tolist(), ends_world[part].tolist(), numThreads=1, physicsClientId=world.client
        )
    class_of = {body.body_id: body.semantic_class for body in world.bodies.values()}
    bodies = [row[0] for row in met]
    found: Array = np.array([number >= 0 for number in bodies], dtype=bool)
    normals: Array = np.array([row[4] for row in met], dtype=float).reshape(-1, 3)
    return RayHits(
        found,
        np.array([row[2] for row in met], dtype=float),
        np.where(found[:, None], normals, 0.0),
        tuple(class_of.get(number, "") for number in bodies),
    )
