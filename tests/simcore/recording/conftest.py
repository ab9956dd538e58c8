"""The synthetic attempt of `builders` as a fixture."""

from collections.abc import Callable

import pytest

from tests.simcore.recording import builders
from unlatch.simcore.recording.episode import EpisodeRecord


@pytest.fixture
def make_record() -> Callable[..., EpisodeRecord]:
    """Makes a successful attempt; keyword arguments replace fields of the record."""
    return builders.make_record
