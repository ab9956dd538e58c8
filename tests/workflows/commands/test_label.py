"""Images with labels of recorded episodes: what is refused before anything is made."""

from __future__ import annotations

import pytest

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.recording.data_set import DataSet
from unlatch.workflows.images.export import LabelCfg, label


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "label got 0 folders"),
        (["DATA"], "out= is missing"),
        (["DATA", "out=x", "every=0"], "every=0 is out of range"),
        (["DATA", "out=x", "evry=3"], "Did you mean 'every'"),
    ],
)
def test_wrong_arguments_are_reported_in_one_line(arguments, message, assert_refused, tmp_path):
    DataSet.create_or_resume(tmp_path / "d", header={"config": {}}).close()
    given = [tmp_path / "d" if word == "DATA" else word for word in arguments]
    assert_refused("label", *given, text=message, folder=tmp_path)


def test_a_failed_call_leaves_no_folder(tmp_path):
    with DataSet.create_or_resume(tmp_path / "d", header={"config": {}}) as data_set:
        out = tmp_path / "out"
        with pytest.raises(ConfigError, match="Did you mean 'part'"):
            label(data_set, LabelCfg(out=str(out), semantic_types=["prt"]))
        with pytest.raises(ConfigError, match="nothing to label"):
            label(data_set, LabelCfg(out=str(out)))
    assert not out.exists()
