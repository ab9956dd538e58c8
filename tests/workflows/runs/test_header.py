"""Headers of data sets that were made before: a run of the same configuration goes on in them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unlatch.simcore.recording.json_values import differences
from unlatch.workflows.cli.arguments import CommandLine, load_configs
from unlatch.workflows.runs.run import header_of
from unlatch.workflows.runs.schema import CollectCfg

STORED = json.loads(Path(__file__).with_name("headers.json").read_text(encoding="utf-8"))
"""What headers held, by command line. A key that is added has a default that leaves episodes as they were, and is left
out of headers where it has that; nothing here changes with it."""


@pytest.mark.parametrize("words", STORED)
def test_a_data_set_of_before_is_gone_on_with(words: str):
    (loaded,) = load_configs("collect", CollectCfg, CommandLine(words.split()))
    assert list(differences(STORED[words], header_of(loaded.cfg)["config"])) == []
