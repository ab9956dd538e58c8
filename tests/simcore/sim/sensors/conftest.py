"""A turntable: one link on a hinge about z, 0.5 m above the ground."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.world import World, WorldCfg

URDF_FOLDER = Path(__file__).parents[3] / "data" / "urdf"


@pytest.fixture
def turntable() -> Iterator[tuple[World, Body]]:
    with World(WorldCfg(), visuals=True) as world:
        yield world, world.load_urdf(URDF_FOLDER / "turntable.urdf", name="turntable", T_world_root=Pose.identity())
