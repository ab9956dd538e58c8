"""The workplace of an export: what was there before stays until the new is in its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.export.exporter import Draft


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "deep" / "set"
    path.mkdir(parents=True)
    (path / "old.txt").write_text("old")
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_draft_takes_the_targets_place(target: Path):
    with Draft(target, key="a", is_file=False) as draft:
        (draft.path / "new.txt").write_text("new")
        draft.commit()
    assert names(target) == ["new.txt"]
    assert names(target.parent) == ["set"]


def test_a_target_that_cannot_be_replaced_is_what_it_was(target: Path, monkeypatch: pytest.MonkeyPatch):
    rename = Path.rename

    def failing(self: Path, other: Path) -> Path:
        if self.name == "draft":
            raise OSError(5, "Input/output error")
        return rename(self, other)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(RecordingError, match="Input/output error"), Draft(target, key="a", is_file=False) as draft:
        draft.commit()
    assert names(target) == ["old.txt"]
    assert names(target.parent) == ["set"]


def test_what_cannot_be_put_back_either_is_kept_for_the_next_call(target: Path, monkeypatch: pytest.MonkeyPatch):
    rename = Path.rename

    def failing(self: Path, other: Path) -> Path:
        if self.name in ("draft", "old"):
            raise OSError(5, "Input/output error")
        return rename(self, other)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", failing)
        with pytest.raises(RecordingError), Draft(target, key="a", is_file=False) as draft:
            draft.commit()
    with Draft(target, key="a", is_file=False):
        assert names(target) == ["old.txt"]


def test_a_second_export_at_the_same_time_is_refused(target: Path):
    with (
        Draft(target, key="a", is_file=False),
        pytest.raises(RecordingError, match="Another command is writing"),
        Draft(target, key="a", is_file=False),
    ):
        pass
    assert names(target.parent) == ["set"]
