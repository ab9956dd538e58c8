"""The header of a data set says with which configuration its episodes are made."""

from __future__ import annotations

import re

import pytest

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.json_values import differences
from unlatch.workflows.runs.code_versions import header_of
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.recorded_config import config_of


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        "object=bottle skill=rotate robot=dual_panda",
        "task=open_cabinet_drawer",
        "task=open_microwave sensors=[front,imu]",
    ],
)
def test_a_configuration_that_is_read_from_a_header_gives_the_same_header(words, tmp_path):
    header = header_of(load(*words.split()))
    with DataSet.create_or_resume(tmp_path / "set", header=header) as data_set:
        again = header_of(config_of(data_set))
    assert list(differences(data_set.header["config"], again["config"])) == []


def test_a_data_set_of_a_version_without_a_rule_is_judged_without_it(tmp_path):
    header = header_of(load("task=open_microwave"))
    assert header["config"]["skills"][0].pop("scene_force_threshold_n") == 30.0
    with DataSet.create_or_resume(tmp_path / "set", header=header) as data_set:
        assert config_of(data_set).skills[0].scene_force_threshold_n is None


def test_a_data_set_of_a_skill_that_is_not_installed_names_the_skill(tmp_path):
    header = header_of(load("task=open_microwave"))
    header["config"]["skills"][0] |= {"name": "wave", "wait_s": 2.0}
    expected = "made with a plugin that is not installed here: skills[0].name: Unknown skill 'wave'."
    with (
        DataSet.create_or_resume(tmp_path / "set", header=header) as data_set,
        pytest.raises(RecordingError, match=re.escape(expected)),
    ):
        config_of(data_set)
