"""The workplace of an export, which keeps what was there until the new is in its place; formats of plugins."""

import json
import sys
from pathlib import Path

import pytest

from unlatch import command_table
from unlatch.simcore import catalogs
from unlatch.simcore.errors import DuplicateEntryError, PluginError, RecordingError
from unlatch.simcore.recording.export.exporter import Draft


def names(folder):
    return sorted(path.name for path in folder.iterdir())


class TestDraft:
    @pytest.fixture
    def target(self, tmp_path):
        path = tmp_path / "deep" / "set"
        path.mkdir(parents=True)
        (path / "old.txt").write_text("old")
        return path

    @staticmethod
    def refuse_renames(patch, *sources):
        rename = Path.rename

        def failing(self, other):
            if self.name in sources:
                raise OSError(5, "Input/output error")
            return rename(self, other)

        patch.setattr(Path, "rename", failing)

    def test_it_takes_the_targets_place(self, target):
        with Draft(target, key="a", is_file=False) as draft:
            (draft.path / "new.txt").write_text("new")
            draft.commit()
        assert names(target) == ["new.txt"]
        assert names(target.parent) == ["set"]

    def test_a_target_that_cannot_be_replaced_is_what_it_was(self, target, monkeypatch):
        self.refuse_renames(monkeypatch, "draft")
        with pytest.raises(RecordingError, match="Input/output error"), Draft(target, key="a", is_file=False) as draft:
            draft.commit()
        assert names(target) == ["old.txt"]
        assert names(target.parent) == ["set"]

    def test_what_cannot_be_put_back_either_is_kept_for_the_next_call(self, target, monkeypatch):
        with monkeypatch.context() as patched:
            self.refuse_renames(patched, "draft", "old")
            with pytest.raises(RecordingError), Draft(target, key="a", is_file=False) as draft:
                draft.commit()
        with Draft(target, key="a", is_file=False):
            assert names(target) == ["old.txt"]

    def test_a_second_export_at_the_same_time_is_refused(self, target):
        with (
            Draft(target, key="a", is_file=False),
            pytest.raises(RecordingError, match="Another command is writing"),
            Draft(target, key="a", is_file=False),
        ):
            pass
        assert names(target.parent) == ["set"]


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


class TestPlugins:
    """A format of another distribution: found by its entry point, refused by its name or version, used like ours."""

    @pytest.fixture
    def install(self, tmp_path, monkeypatch):
        def put(name, target, *, requires="unlatch>=0.1"):
            site = tmp_path / "site"
            info = site / "their_format-1.0.dist-info"
            info.mkdir(parents=True)
            (site / "their_format.py").write_text(MODULE)
            about = "Metadata-Version: 2.1\nName: their-format\nVersion: 1.0\nSummary: lines\n"
            (info / "METADATA").write_text(f"{about}Requires-Dist: {requires}\n")
            (info / "entry_points.txt").write_text(f"[unlatch.exporters]\n{name} = their_format:{target}\n")
            monkeypatch.syspath_prepend(str(site))
            monkeypatch.setattr(catalogs.EXPORTERS, "_all", None)

        yield put
        catalogs.EXPORTERS._all = None
        sys.modules.pop("their_format", None)

    def test_it_is_used_like_ours(self, tmp_path, make_set, install, capsys):
        install("lines", "Lines")
        data_set = make_set([0, 1])
        assert command_table.main(["list", "exporters"]) == 0
        assert "lines (from their-format)" in capsys.readouterr().out
        out = tmp_path / "out.jsonl"
        assert command_table.main(["export", str(data_set.path), "format=lines", "digits=2", f"out={out}"]) == 0
        said = capsys.readouterr().err
        assert "without images; render=NAME force=true adds those of a render set (make one: unlatch" in said
        lines = [json.loads(line) for line in out.read_text().splitlines()]
        assert [line["number"] for line in lines] == [0, 1]
        wanted = data_set.read(1).arrays["actions.panda.left.joint_targets"].round(2)
        assert [row[:7] for row in lines[1]["actions"]] == wanted.tolist()
        assert command_table.main(["export", str(data_set.path), "format=lines", "digit=2", f"out={out}"]) == 2
        assert "digit is unknown. Did you mean 'digits'" in capsys.readouterr().err

    def test_a_misspelt_key_is_told_with_those_that_are_near(self, make_set, capsys):
        path = str(make_set([0]).path)
        for keys, message in (
            (["fromat=lerobot"], "fromat is unknown. Did you mean 'format'"),
            (["otu=x"], "otu is unknown. Did you mean 'out'?"),
            (["valid_every=5", "formt=robomimic"], "formt is unknown. Did you mean 'format'"),
            (["rendr=default"], "rendr is unknown. Did you mean 'render'"),
            (["format=lerobto"], "Did you mean 'lerobot'"),
        ):
            assert command_table.main(["export", path, *keys]) == 2
            assert message in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("target", "requires", "message"),
        [
            ("Lines", "unlatch>=99", r"'lines' of their-format was made for unlatch >=99"),
            (
                "not_a_class",
                "unlatch",
                r"Expected a subclass of unlatch.simcore.recording.export.exporter.Exporter",
            ),
        ],
    )
    def test_one_that_does_not_fit_is_refused(self, install, target, requires, message):
        install("lines", target, requires=requires)
        with pytest.raises(PluginError, match=message):
            catalogs.EXPORTERS.load("lines")

    def test_a_name_of_ours_is_refused_with_both_origins(self, install):
        install("lerobot", "Lines")
        with pytest.raises(DuplicateEntryError, match=r"by unlatch .*lerobot.* and by their-format"):
            catalogs.EXPORTERS.names()
