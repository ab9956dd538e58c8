"""Which frames of a traceback are shown: the last ones in the code of a user."""

import json
import sys
import traceback
from pathlib import Path

import pytest

from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.workflows.runs.code_versions import MADE_WITH, library_folders
from unlatch.workflows.runs.traceback_frames import frames_to_show, user_frames


def traceback_of(code: str, file: Path, **names: object) -> str:
    """Runs the code of a file, which raises an exception; returns its traceback as Python prints it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(code)
    try:
        exec(compile(code, file, "exec"), names)
    except Exception:  # noqa: BLE001 - any exception has a traceback
        return traceback.format_exc()
    raise AssertionError(code)


def test_the_last_three_frames_of_the_user_are_shown_and_not_those_of_python(tmp_path):
    code = "import json\n" + "".join(f"def f{n}():\n    f{n + 1}()\n" for n in range(4)) + "def f4():\n"
    code += "    json.loads(\n        'no json'\n    )\nf0()\n"
    file = tmp_path / "skill.py"
    assert user_frames(traceback_of(code, file), ()) == [
        f'  File "{file}", line 7, in f2',
        "    f3()",
        f'  File "{file}", line 9, in f3',
        "    f4()",
        f'  File "{file}", line 11, in f4',
        "    json.loads(",
    ]
    assert json.__file__ in traceback_of(code, file)


def test_an_installed_package_counts_only_if_it_is_a_plugin(tmp_path, monkeypatch):
    monkeypatch.setattr("unlatch.workflows.runs.traceback_frames.library_folders", lambda: [tmp_path, Path(__file__)])
    package = tmp_path / "some_plugin_of_mine"
    package.mkdir()
    (package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    trace = traceback_of("1 / 0\n", package / "skill.py")
    assert user_frames(trace, ()) == []
    assert user_frames(trace, ["some_plugin_of_mine"])[0].startswith(f'  File "{package / "skill.py"}", line 1, in ')


def test_a_package_that_a_virtual_environment_shares_with_its_system_is_no_code_of_a_user(tmp_path, monkeypatch):
    shared, own = tmp_path / "lib" / "site-packages", tmp_path / "project"
    monkeypatch.setattr(f"{user_frames.__module__}.library_folders", library_folders.__wrapped__)  # without its cache
    monkeypatch.setattr("sys.path", [str(own), str(shared), *sys.path])
    hidden = [frame for frame in user_frames(traceback_of("1 / 0\n", shared / "hydra.py"), ()) if "hydra.py" in frame]
    shown = [frame for frame in user_frames(traceback_of("1 / 0\n", own / "skill.py"), ()) if "skill.py" in frame]
    assert hidden == []
    assert len(shown) == 1


def test_a_syntax_error_is_shown_with_its_line(tmp_path):
    file = tmp_path / "policy.py"
    file.write_text("def act(:\n")
    try:
        compile(file.read_text(), file, "exec")
    except SyntaxError:
        trace = traceback.format_exc()
    assert user_frames(trace, ())[-2:] == [f'  File "{file}", line 1', "    def act(:"]


def test_without_a_frame_of_the_user_the_innermost_one_is_shown():
    trace = f'Traceback (most recent call last):\n  File "{json.__file__}", line 3, in a\n    b()\nTypeError: no\n'
    record = EpisodeRecord(number=0, seed=0, success=False, code="error", evidence={"traceback": trace})
    assert frames_to_show(record) == [f'  File "{json.__file__}", line 3, in a', "    b()"]


@pytest.mark.parametrize("evidence", [{}, {"traceback": "", MADE_WITH: None}, {"traceback": 3, MADE_WITH: []}])
def test_an_error_without_a_traceback_shows_none(evidence):
    record = EpisodeRecord(number=0, seed=0, success=False, code="error", evidence=evidence)
    assert frames_to_show(record) == []
