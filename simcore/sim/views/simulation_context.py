"""Gravity of the world as an attribute."""

from __future__ import annotations

import numpy as np

from unlatch.simcore.sim.views.attribute import ViewAttribute
from unlatch.simcore.sim.world import World

Array = np.ndarray


def gravity_attribute(world: World) -> ViewAttribute:
    """Returns gravity as an attribute; all environments share it."""

    def read(_env: int) -> Array:
        return world.gravity_m_s2

    def write(_env: int, values: Array) -> None:
        world.set_gravity(values)

    return ViewAttribute("gravity", 3, "m/s^2", "x, y, z", read, write)
