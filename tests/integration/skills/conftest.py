"""Skills in the scene of an episode; the whole task is made from its YAML, as a user's is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.schema import CollectCfg


@pytest.fixture(scope="session")
def config() -> Callable[..., CollectCfg]:
    """The configuration of a task, with overrides as on the command line."""
    return load
