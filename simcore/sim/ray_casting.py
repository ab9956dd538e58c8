"""Where rays meet the collision shapes of a world."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pybullet as p

from unlatch.simcore.sim.world import World

Array = np.ndarray

_BATCH = 8_192
"""Rays that are cast at once; of 16384, the most that Bullet takes, it answers one less."""


@dataclass(frozen=True)
class RayHits:
    """What R rays met first."""

    found: Array
    """(R,) bool: whether a ray met anything."""
    share: Array
    """(R,) where on its way from start to end; 1 where it met nothing."""
    normals: Array
    """(R, 3) unit normals of the surfaces there, world frame; 0 where it met nothing."""
    classes: tuple[str, ...]
    """Semantic class of the body that each met; empty where it met nothing."""


def cast_rays(world: World, starts_world: Array, ends_world: Array) -> RayHits:
    """Casts rays, of any number; the world is left as it is.

    Args:
        world: The world.
        starts_world: (R, 3) where they start [m].
        ends_world: (R, 3) where they end [m].
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
