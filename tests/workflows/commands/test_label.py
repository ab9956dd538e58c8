"""Images with labels of recorded episodes: what is refused before anything is made."""

from __future__ import annotations

from pathlib import Path

import pytest

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.workflows.commands.label import main
from unlatch.workflows.images.label import LabelCfg, label


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "label got 0 folders"),
        (["DATA"], "out= is missing"),
        (["DATA", "out=x", "every=0"], "every=0 is out of range"),
        (["DATA", "out=x", "evry=3"], "Did you mean 'every'"),
    ],
)
def test_wrong_arguments_are_reported_in_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    DataSet.create_or_resume(tmp_path / "d", header={"config": {}}).close()
    assert main([str(tmp_path / "d") if word == "DATA" else word for word in arguments]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said


def test_a_failed_call_leaves_no_folder(tmp_path: Path):
    with DataSet.create_or_resume(tmp_path / "d", header={"config": {}}) as data_set:
        out = tmp_path / "out"
        with pytest.raises(ConfigError, match="Did you mean 'part'"):
            label(data_set, LabelCfg(out=str(out), semantic_types=["prt"]))
        with pytest.raises(ConfigError, match="has no success"):
            label(data_set, LabelCfg(out=str(out)))
    assert not out.exists()
