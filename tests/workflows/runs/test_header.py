"""The header of a data set says with which configuration its episodes are made."""

from __future__ import annotations

from pathlib import Path

import pytest

from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.simcore.recording.json_values import differences
from unlatch.workflows.runs.header import header_of
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.recorded_config import config_of


@pytest.mark.parametrize(
    "words",
    [
        "object=bottle skill=rotate robot=dual_panda",
        "task=open_cabinet_drawer",
        "task=open_microwave sensors=[front,imu]",
    ],
)
def test_a_configuration_that_is_read_from_a_header_gives_the_same_header(words: str, tmp_path: Path):
    header = header_of(load(*words.split()))
    with DataSet.create_or_resume(tmp_path / "set", header=header) as data_set:
        again = header_of(config_of(data_set))
    assert list(differences(data_set.header["config"], again["config"])) == []
