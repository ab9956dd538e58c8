"""Configurations of one kind that are made of another kind."""

import pytest

from unlatch.simcore.errors import ConfigError
from unlatch.workflows.gym.config import SuccessWhen
from unlatch.workflows.runs.loading import config_as, load_config
from unlatch.workflows.runs.schema import CollectCfg, EvaluateCfg


@pytest.fixture(scope="module")
def collected():
    return load_config("collect", CollectCfg, ["task=open_drawer"]).cfg


@pytest.mark.parametrize("value", ["still", SuccessWhen.still])
def test_a_text_or_a_member_sets_a_field_that_holds_an_enumeration(collected, value):
    assert config_as(EvaluateCfg, collected, policy="random", success_when=value).success_when is SuccessWhen.still


def test_a_text_that_names_no_member_is_refused_with_the_members(collected):
    text = r"success_when='stil' is not a known value. Did you mean 'still'\? Known: held, still"
    with pytest.raises(ConfigError, match=text):
        config_as(EvaluateCfg, collected, policy="random", success_when="stil")
