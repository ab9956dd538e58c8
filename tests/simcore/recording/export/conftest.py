"""Makes the data sets of `builders` in the folder of a test."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.simcore.recording.export.builders import write_set
from unlatch.simcore.recording.data_set import DataSet


@pytest.fixture
def make_set(tmp_path: Path) -> Callable[..., DataSet]:
    """Makes a data set of records, or of successful episodes with these numbers."""
    return lambda records, *, name="data", **keys: write_set(tmp_path / name, records, **keys)
