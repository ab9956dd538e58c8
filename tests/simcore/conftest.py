"""Settings of Hypothesis for all tests of simcore, a world, and a robot whose motion has a closed form."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from unlatch.simcore.sim.world import World, WorldCfg

# no deadline: a busy machine must not fail a test; the same examples in every run, so that a failure can be repeated
settings.register_profile("simcore", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("simcore")


@pytest.fixture
def world() -> Iterator[World]:
    with World(WorldCfg()) as opened:
        yield opened


@pytest.fixture(scope="session")
def sled_and_wheel() -> Path:
    """A URDF: a sled of 2 kg on the joint `rail` along x, and a wheel of 0.02 kg m^2 on the joint `shaft` about z."""
    return Path(__file__).parents[1] / "data" / "urdf" / "sled_and_wheel.urdf"
