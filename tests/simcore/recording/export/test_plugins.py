"""A format of another distribution: found by its entry point, refused by its name or its version, used like ours."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from unlatch import command_table
from unlatch.simcore import catalogs
from unlatch.simcore.errors import DuplicateEntryError, PluginError
from unlatch.simcore.recording.data_set import DataSet

MODULE = """
import json
from dataclasses import dataclass
from unlatch.simcore.recording.export.exporter import Exporter
from unlatch.simcore.recording.export.config import ExportCfg

@dataclass
class LinesCfg(ExportCfg):
    digits: int = 3

class Lines(Exporter):
    cfg_type = LinesCfg
    suffix = ".jsonl"

    def write(self, draft, trajectories, *, parts, base):
        with draft.open("w") as file:
            for trajectory in trajectories:
                rows = trajectory.columns["action"].values.round(self.cfg.digits).tolist()
                file.write(json.dumps({"number": trajectory.number, "actions": rows}) + "\\n")

def not_a_class():
    return None
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Puts a distribution with one exporter where Python finds it."""

    def put(name: str, target: str, *, requires: str = "unlatch>=0.1") -> None:
        site = tmp_path / "site"
        info = site / "their_format-1.0.dist-info"
        info.mkdir(parents=True)
        (site / "their_format.py").write_text(MODULE)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: their-format\nVersion: 1.0\nSummary: lines\nRequires-Dist: {requires}\n"
        )
        (info / "entry_points.txt").write_text(f"[unlatch.exporters]\n{name} = their_format:{target}\n")
        monkeypatch.syspath_prepend(str(site))
        monkeypatch.setattr(catalogs.EXPORTERS, "_all", None)

    yield put
    catalogs.EXPORTERS._all = None
    sys.modules.pop("their_format", None)


def test_a_format_of_another_distribution_is_used_like_ours(
    tmp_path: Path, make_set: Callable[..., DataSet], install: Callable[..., None], capsys: pytest.CaptureFixture[str]
):
    install("lines", "Lines")
    data_set = make_set([0, 1])
    assert command_table.main(["list", "exporters"]) == 0
    assert "lines (from their-format)" in capsys.readouterr().out
    out = tmp_path / "out.jsonl"
    assert command_table.main(["export", str(data_set.path), "format=lines", "digits=2", f"out={out}"]) == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["number"] for line in lines] == [0, 1]
    wanted = data_set.read(1).arrays["actions.panda.left.joint_targets"].round(2)
    assert [row[:7] for row in lines[1]["actions"]] == wanted.tolist()
    assert command_table.main(["export", str(data_set.path), "format=lines", "digit=2", f"out={out}"]) == 2
    assert "digit is unknown. Did you mean 'digits'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (["fromat=lerobot"], "fromat is unknown. Did you mean 'format'"),
        (["otu=x"], "otu is unknown. Did you mean 'out'?"),
        (["valid_every=5", "formt=robomimic"], "formt is unknown. Did you mean 'format'"),
        (["rendr=default"], "rendr is unknown. Did you mean 'render'"),
        (["format=lerobto"], "Did you mean 'lerobot'"),
    ],
)
def test_a_misspelt_key_is_told_with_those_that_are_near(
    make_set: Callable[..., DataSet], capsys: pytest.CaptureFixture[str], keys: list[str], message: str
):
    assert command_table.main(["export", str(make_set([0]).path), *keys]) == 2
    assert message in capsys.readouterr().err


def test_a_format_made_for_another_version_is_refused(install: Callable[..., None]):
    install("lines", "Lines", requires="unlatch>=99")
    with pytest.raises(PluginError, match=r"'lines' of their-format was made for unlatch >=99"):
        catalogs.EXPORTERS.load("lines")


def test_what_is_no_exporter_is_refused(install: Callable[..., None]):
    install("lines", "not_a_class")
    with pytest.raises(PluginError, match=r"Expected a subclass of unlatch.simcore.recording.export.exporter.Exporter"):
        catalogs.EXPORTERS.load("lines")


def test_a_name_of_ours_is_refused_with_both_origins(install: Callable[..., None]):
    install("lerobot", "Lines")
    with pytest.raises(DuplicateEntryError, match=r"by unlatch .*lerobot.* and by their-format"):
        catalogs.EXPORTERS.names()
