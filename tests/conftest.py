"""Settings of every test, and the folder of real objects."""

from __future__ import annotations

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

from unlatch.objects.config import PARTNET_VARIABLE

# a loaded machine draws slowly; what a test states does not depend on that
settings.register_profile("unlatch", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unlatch")

# a test that needs a Ray cluster starts its own, and does not join the one of a test that runs beside it
os.environ["RAY_ADDRESS"] = "local"


def pytest_collection_finish() -> None:
    """Keeps what the collection made out of Python's garbage collections: it stays to the end."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Lets Python collect everything at its end: what is left then, OMPL reports as leaked, below pytest's summary."""
    gc.unfreeze()


@pytest.fixture
def partnet_dir() -> str:
    """The real data, from outside the repository."""
    folder = os.environ.get(PARTNET_VARIABLE)
    if not folder:
        pytest.skip(f"{PARTNET_VARIABLE} is not set: real PartNet-Mobility objects are tested only where they are")
    return folder
