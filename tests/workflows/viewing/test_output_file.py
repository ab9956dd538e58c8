"""A file that cannot be written is refused before the work whose result it takes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.workflows.commands import looking as phases
from unlatch.workflows.commands.looking import plan_command as plan
from unlatch.workflows.commands.looking import preview_command as preview
from unlatch.workflows.viewing.picture import output_path


@pytest.fixture
def protect(monkeypatch) -> Callable[[Path], None]:
    """Makes a folder read-only, also for the superuser."""
    access = os.access

    def make_read_only(folder: Path) -> None:
        monkeypatch.setattr(os, "access", lambda path, mode: access(path, mode) and Path(path) != folder)

    return make_read_only


def test_a_new_file_below_folders_that_do_not_exist_is_accepted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert output_path("a/b/c.png", Path("x.png")) == tmp_path / "a/b/c.png"
    assert output_path(None, Path("x.png")) == tmp_path / "x.png"
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_refused_with_a_file_in_it(tmp_path):
    message = f"out={tmp_path} is a folder. Expected a file, such as {tmp_path}/x.png."
    with pytest.raises(ConfigError, match=re.escape(message)):
        output_path(str(tmp_path), Path("x.png"))


def test_a_folder_without_rights_and_a_file_in_place_of_a_folder_are_refused(tmp_path, protect):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=f"this user cannot write to '{tmp_path}/file'"):
        output_path(f"{tmp_path}/file/x.png", Path())
    protect(tmp_path)
    with pytest.raises(ConfigError, match=rf"cannot write to '{tmp_path}'.*Name one with out=FOLDER/x.png.$"):
        output_path(f"{tmp_path}/sub/x.png", Path())


def test_phases_are_refused_before_they_are_drawn(tmp_path, protect, monkeypatch, capsys):
    with DataSet.create_or_resume(tmp_path / "set", header={}) as data:
        data.write(EpisodeRecord(number=0, seed=0, success=True))
    monkeypatch.setattr(phases, "config_of", lambda data_set: pytest.fail("it reads the episode first"))
    protect(tmp_path / "set")
    assert phases.phases_command([str(tmp_path / "set")]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"unlatch: '{tmp_path}/set/phases-0.png' cannot be written")
    assert err.count("\n") == 1


@pytest.mark.parametrize(("main", "words"), [(plan, ["picture=true"]), (preview, [])], ids=["plan", "preview"])
def test_pictures_of_plan_and_preview_are_refused_before_anything_is_loaded(main, words, tmp_path, capsys):
    assert main(["task=close_drawer", *words, f"out={tmp_path}"]) == 2
    out, err = capsys.readouterr()
    assert (out, err) != ("", "")
    assert out == ""
    assert err.count("\n") == 1
    assert "is a folder" in err or "does not end in .png" in err
