"""Pictures: which episodes and moments are shown, and marks where they belong."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.workflows.builders import data_set_of, episode
from unlatch.simcore.errors import ConfigError, RecordingError
from unlatch.simcore.sim.visuals.pictures import LookAtCamera
from unlatch.workflows.commands import looking as phases
from unlatch.workflows.commands.looking import plan_command as plan
from unlatch.workflows.commands.looking import preview_command as preview
from unlatch.workflows.viewing.picture import Overlay, SheetRow, compose_sheet, output_path, write_picture
from unlatch.workflows.viewing.scene_picture import choose_episodes, contact_frame


def forces(force_n: list[float]) -> dict[str, np.ndarray]:
    """Returns arrays of an episode in which the fingers press with these forces."""
    key = "contacts.r.left.microwave.fingers_link.force_max_n"
    return {"time": np.arange(len(force_n) + 1) / 30.0, key: np.array(force_n)}


@pytest.mark.parametrize(
    ("force_n", "frame"), [([0.0, 0.05, 3.0, 2.0], 3), ([0.0] * 10, 5)], ids=["first force", "without, the middle"]
)
def test_the_contact_moment_is_the_state_after_the_first_force(force_n, frame):
    assert contact_frame(episode(arrays=forces(force_n))) == frame


@pytest.mark.parametrize(
    ("outcomes", "rows", "chosen"),
    [
        ([True, True, True, True, True], 3, [0, 1, 2]),
        ([True, False, True, True, False], 3, [0, 1, 2]),
        ([False, False, True], 4, [0, 1, 2]),
        ([False, False, False, False], 2, [0, 1]),
        ([True, False], 1, [1]),
        ([], 3, []),
    ],
)
def test_successes_and_one_failure_are_chosen(tmp_path, outcomes, rows, chosen):
    codes = [None if success else "slipped" for success in outcomes]
    data_set = data_set_of(tmp_path / "set", codes, arrays=forces([1.0]))
    assert choose_episodes(data_set, range(100), rows=rows) == chosen


def test_a_sheet_has_a_caption_and_a_strip_for_each_row():
    tile = np.full((40, 60, 3), 128, dtype=np.uint8)
    sheet = compose_sheet([SheetRow("one", [tile] * 3, True), SheetRow("two", [tile] * 2, False)])
    assert sheet.shape == (2 * (22 + 40), 180, 3)
    assert (sheet[22:62] == 128).all()
    assert (sheet[62 + 22 :, 120:] == 255).all()
    assert compose_sheet([]).shape[1] > 100


def test_marks_lie_where_the_camera_sees_the_point():
    view = LookAtCamera(eye=(0.0, -2.0, 0.0), target=(0.0, 0.0, 0.0), fov_deg=60.0)
    overlay = Overlay(np.full((200, 300, 3), 255, dtype=np.uint8), view)
    overlay.labels({"part.point": np.array([0.0, 0.0, 0.0]), "part.behind_the_camera": np.array([0.0, -5.0, 0.0])})
    rows, columns = np.nonzero((overlay.picture() == (250, 180, 20)).all(axis=2))
    assert abs(rows.mean() - 100) < 1.0
    assert abs(columns.mean() - 150) < 1.0
    assert max(np.ptp(rows), np.ptp(columns)) < 10  # one dot


@pytest.mark.parametrize("height_m", [-0.35, 0.0, 0.35])
def test_names_of_points_in_one_place_are_below_each_other(height_m):
    view = LookAtCamera(eye=(0.0, -1.0, 0.0), target=(0.0, 0.0, 0.0))
    overlay = Overlay(np.full((300, 400, 3), 255, dtype=np.uint8), view)
    overlay.labels({f"{part}.iii": np.array([0.0, 0.0, height_m]) for part in "abcdefgh"})
    overlay.labels({"behind": np.array([0.0, -5.0, 0.0])})
    inked = (overlay.picture()[:, 380:] < 100).all(axis=-1).any(axis=-1)
    assert np.count_nonzero(inked[1:] & ~inked[:-1]) >= 8


def test_a_picture_that_cannot_be_written_is_an_error_of_ours(tmp_path):
    picture = np.zeros((2, 2, 3), dtype=np.uint8)
    write_picture(picture, tmp_path / "deep" / "a.png")
    with Image.open(tmp_path / "deep" / "a.png") as image:
        assert image.size == (2, 2)
    with pytest.raises(RecordingError, match=r"Picture '.*nonsense' cannot be written"):
        write_picture(picture, tmp_path / "a.nonsense")


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
    data_set_of(tmp_path / "set", [None])
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
